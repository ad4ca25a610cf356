//! svmlight files.

use super::*;

#[test]
fn samples_and_labels_are_read_whole_and_in_parts() {
    let content = "# made by hand\n+1 1:0.5 4:-2 # a comment\n-1 qid:3 2:1e3\n\n+1\n";
    let file = made("a.svm", content);
    let t = read(&file.path, &ReadOptions::default()).unwrap();
    let expected = [
        [0.5, 0.0, 0.0, -2.0],
        [0.0, 1e3, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ];
    assert_eq!(columns(&t.samples), expected);
    assert_eq!(t.labels.unwrap(), ["+1", "-1", "+1"]);
    let parts = chunks_at(&file.path, &ReadOptions::default(), 2).unwrap();
    let parts: Vec<_> = parts.flat_map(|part| columns(&part.unwrap())).collect();
    assert_eq!(parts, expected);
}

#[test]
fn indices_begin_at_1_and_zeros_at_the_end_need_not_be_written() {
    let t = read_made("a.libsvm", "0 2:1 3:3\n", &ReadOptions::default()).unwrap();
    assert_eq!(columns(&t.samples), [[0.0, 1.0, 3.0]]);
    let wide = ReadOptions {
        width: 5,
        ..ReadOptions::default()
    };
    let t = read_made("a.svmlight", "0 1:1\n", &wide).unwrap();
    assert_eq!(t.samples.rows(), 5);
}

#[test]
fn damage_is_reported_with_its_line() {
    for (content, words) in [
        ("1 1:2\n1 x:2\n", "line 2: \"x:2\""),
        ("1 1:2\n1 3\n", "line 2: \"3\""),
        ("1 1:2\n1 3:two\n", "line 2: \"3:two\""),
        ("1\n2\n", "no entries"),
        ("1 1:2\n1 0:2\n", "line 2: \"0:2\": an index 0"),
        ("1 99999999999999999999:1\n", "line 1"),
        ("1 18446744073709551615:1\n", "the file can hold"),
    ] {
        let why = read_made("a.svm", content, &ReadOptions::default()).unwrap_err();
        let why = why.to_string();
        assert!(why.contains(words), "{content}: {why}");
    }
}

#[test]
fn an_index_that_comes_twice_is_refused() {
    let why = read_made("a.svm", "1 1:2 3:4\n2 3:1 3:5\n", &ReadOptions::default());
    let why = why.unwrap_err().to_string();
    assert!(why.contains("line 2: the index 3 twice"), "{why}");
    // Any order is fine.
    let table = read_made("a.svm", "1 3:4 1:2\n", &ReadOptions::default()).unwrap();
    assert_eq!(columns(&table.samples), [[2.0, 0.0, 4.0]]);
}
