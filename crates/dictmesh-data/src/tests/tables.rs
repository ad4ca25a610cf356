//! Tables as text.

use super::*;

fn table(content: &str) -> Table {
    read_made("t.csv", content, &ReadOptions::default()).unwrap()
}

fn refusal(content: &str, options: &ReadOptions) -> String {
    read_made("t.csv", content, options)
        .unwrap_err()
        .to_string()
}

fn strings(s: &[&str]) -> Option<Vec<String>> {
    Some(s.iter().map(|s| s.to_string()).collect())
}

#[test]
fn header_labels_and_names_are_found() {
    let t = table("id,kind,a,b\nx1,red,1,2\nx2,blue,3,4\nx3,red,5,6\n");
    assert_eq!(columns(&t.samples), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    assert_eq!(t.labels, strings(&["red", "blue", "red"]));
    assert_eq!(t.sample_names, strings(&["x1", "x2", "x3"]));
    assert_eq!(t.feature_names, strings(&["a", "b"]));

    let transpose = ReadOptions {
        transpose: true,
        ..ReadOptions::default()
    };
    let content = "id,kind,a,b\nx1,red,1,2\nx2,blue,3,4\nx3,red,5,6\n";
    let t = read_made("t.csv", content, &transpose).unwrap();
    assert_eq!(columns(&t.samples), [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]);
    assert_eq!(t.sample_names, strings(&["a", "b"]));
    assert_eq!(t.feature_names, strings(&["x1", "x2", "x3"]));
    assert_eq!(t.feature_labels, strings(&["red", "blue", "red"]));
    assert_eq!(t.labels, None);
}

#[test]
fn tables_of_many_habits_hold_the_same_numbers() {
    for content in [
        "1,2\n3,4\n",
        "1,2\r\n3,4",
        "a,b\n1,2\n3,4\n",
        "\u{feff}a,b\n1,2\n3,4\n",
        "a;b\n1;2\n3;4\n",
        "a\tb\n1\t2\n3\t4\n",
        "\"a, with comma\",\"b\"\"\"\n\"1\",2\n3,\"4\"\n",
        " a , b \n 1 , 2 \n 3 , 4 \n",
        "a,b\n\n1,2\n3,4\n\n",
        "a,b\n1e0,+2\n3.0,4.\n",
    ] {
        let t = table(content);
        assert_eq!(columns(&t.samples), [[1.0, 2.0], [3.0, 4.0]], "{content:?}");
        assert_eq!(t.labels, None);
    }
    let t = table(",2001,2002\nr1,1,2\nr2,3,4\n");
    assert_eq!(t.feature_names, strings(&["2001", "2002"]));
    assert_eq!(t.sample_names, strings(&["r1", "r2"]));
}

#[test]
fn a_label_column_can_be_named_or_numbered_and_others_dropped() {
    let content = "topic,date,a\n1,mon,5\n1,mon,6\n2,tue,7\n";
    for name in ["topic", "1"] {
        let options = ReadOptions {
            label_column: Some(name.into()),
            ..ReadOptions::default()
        };
        let t = read_made("t.csv", content, &options).unwrap();
        assert_eq!(t.labels, strings(&["1", "1", "2"]));
        assert_eq!(columns(&t.samples), [[5.0], [6.0], [7.0]]);
    }
    let options = ReadOptions {
        drop_columns: vec!["a".into(), "date".into()],
        ..ReadOptions::default()
    };
    let t = read_made("t.csv", content, &options).unwrap();
    assert_eq!((t.labels, t.feature_names), (None, strings(&["topic"])));
    let options = ReadOptions {
        label_column: Some("topics".into()),
        ..ReadOptions::default()
    };
    let message = refusal(content, &options);
    assert!(message.contains("no column \"topics\"") && message.contains("\"topic\", \"date\""));
    let message = refusal("a,b,c\nx,u,1\nx,v,2\ny,v,3\n", &ReadOptions::default());
    assert!(message.contains("2 columns of text") && message.contains("with label_column "));
}

#[test]
fn a_header_can_be_said() {
    let said = |header| ReadOptions {
        header: Some(header),
        ..ReadOptions::default()
    };
    let t = read_made("t.csv", "1,2\n3,4\n", &said(true)).unwrap();
    assert_eq!(t.feature_names, strings(&["1", "2"]));
    assert_eq!(columns(&t.samples), [[3.0, 4.0]]);
    let message = refusal("a,b\n3,4\n5,6\n", &said(false));
    assert!(message.contains("line 1, column 1: \"a\"") && message.contains("header = yes"));
    let message = refusal("a,b\n", &ReadOptions::default());
    assert!(message.contains("only a header"));
}

#[test]
fn what_is_no_number_is_reported_with_line_and_column() {
    let message = refusal("a,b\n1,2\n3,4\n5,6x\n7,8\n", &ReadOptions::default());
    assert!(
        message.contains("line 4, column 2 (\"b\"): \"6x\""),
        "{message}"
    );
    // A slip in the first line of a table without header is not taken for a header.
    let message = refusal("1,2x,3\n4,5,6\n7,8,9\n", &ReadOptions::default());
    assert!(message.contains("line 1, column 2: \"2x\""), "{message}");
    let message = refusal("a,b\n1,2\n3\n", &ReadOptions::default());
    assert!(
        message.contains("line 3: 1 fields; expected 2"),
        "{message}"
    );
    let message = refusal("x y z\nu v\n", &ReadOptions::default());
    assert!(message.contains("none of numbers"), "{message}");
}

#[test]
fn missing_entries_are_counted_located_or_filled() {
    let content = "a,b\n1,\n3,NA\n?,4\nnan,8\n";
    let message = refusal(content, &ReadOptions::default());
    assert!(message.contains("4 missing (NaN) entries: line 2, column 2 (\"b\")"));
    assert!(
        message.contains("; ...") && message.contains("nan = mean"),
        "{message}"
    );
    let with = |nan, transpose| {
        let options = ReadOptions {
            nan,
            transpose,
            ..ReadOptions::default()
        };
        columns(&read_made("t.csv", content, &options).unwrap().samples)
    };
    assert_eq!(
        with(Nan::Zero, false),
        [[1.0, 0.0], [3.0, 0.0], [0.0, 4.0], [0.0, 8.0]]
    );
    assert_eq!(
        with(Nan::Mean, false),
        [[1.0, 6.0], [3.0, 6.0], [2.0, 4.0], [2.0, 8.0]]
    );
    assert_eq!(
        with(Nan::Mean, true),
        [[1.0, 3.0, 4.0, 8.0], [1.0, 3.0, 4.0, 8.0]]
    );
    let message = refusal("a,b\n1,inf\n2,3\n", &ReadOptions::default());
    assert!(
        message.contains("1 infinite entry: line 2, column 2 (\"b\")"),
        "{message}"
    );
    let all = ReadOptions {
        nan: Nan::Mean,
        ..ReadOptions::default()
    };
    let message = refusal("a,b\n1,\n2,\n", &all);
    assert!(
        message.contains("in features without any number"),
        "{message}"
    );
}

/// The paper's expression table, where it is.
#[test]
fn the_lung_table_has_its_patients() {
    let Some(path) = real_data("lung.csv") else {
        return;
    };
    let t = read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(t.samples.len(), 56);
    let labels = t.labels.unwrap();
    assert_eq!(labels.iter().filter(|l| *l == "Carcinoid").count(), 20);
    assert_eq!(t.feature_names.unwrap()[0], "1000_at");
}

/// pandas writes an index without a name; it once became a feature.
#[test]
fn an_index_without_a_name_names_the_samples_and_is_told() {
    for (text, names) in [
        (",a,b\n0,5,6\n1,7,8\n2,9,1\n", ["0", "1", "2"]),
        ("Unnamed: 0,a,b\n1,5,6\n2,7,8\n3,9,1\n", ["1", "2", "3"]),
        // As pandas writes an array: its columns are numbered too.
        (",0,1\n0,5,6\n1,7,8\n2,9,1\n", ["0", "1", "2"]),
        // A part of a shuffled table.
        (",a,b\n70,5,6\n3,7,8\n511,9,1\n", ["70", "3", "511"]),
    ] {
        let t = table(text);
        assert_eq!((t.samples.rows(), t.samples.len()), (2, 3), "{text}");
        assert_eq!(t.samples.to_dense().column(1), [7.0, 8.0], "{text}");
        assert_eq!(t.sample_names, strings(&names), "{text}");
        assert!(t.note.unwrap().contains("an index without"), "{text}");
    }
    for text in [
        "id,a,b\n0,5,6\n1,7,8\n2,9,1\n",
        ",a,b\n0,5,6\n2,7,8\n2,9,1\n",
        ",a,b\n0,5,6\n2.5,7,8\n3,9,1\n",
        "0,5,6\n1,7,8\n2,9,1\n",
    ] {
        let t = table(text);
        assert_eq!((t.samples.rows(), t.note), (3, None), "{text}");
    }
}

#[test]
fn what_is_not_learned_from_is_told() {
    let t = table("class,id,x,remark\nu,a,1,p\nv,b,2,q\nu,c,3,r\n");
    let note = t.note.unwrap();
    for words in [
        "labels are column 1 (\"class\")",
        "names are column 2 (\"id\")",
        "left out column 4 (\"remark\")",
    ] {
        assert!(note.contains(words), "{note}");
    }
    assert_eq!(table("a,b\n1,2\n3,4\n").note, None);
}

#[test]
fn parts_are_the_table_whatever_its_orientation() {
    let content = "id,kind,a,b,c\nx1,red,1,,3\nx2,blue,4,5,6\nx3,red,7,8,9\nx4,red,10,11,12\n";
    let file = made("t.csv", content);
    for transpose in [false, true] {
        let options = ReadOptions {
            transpose,
            nan: Nan::Mean,
            ..ReadOptions::default()
        };
        let whole = columns(&read(&file.path, &options).unwrap().samples);
        for count in [1, 2, 3, 100] {
            let parts = chunks_at(&file.path, &options, count).unwrap();
            let parts: Vec<_> = parts.flat_map(|part| columns(&part.unwrap())).collect();
            assert_eq!(parts, whole, "{transpose} {count}");
        }
    }
}

/// Only the first million values are compared, so that memory does not grow with the rows.
#[test]
fn names_that_never_repeat_stay_names_in_a_long_table() {
    let rows = (0..300_000).map(|i| format!("s{i},{i}\n"));
    let content: String = std::iter::once("id,a\n".to_string()).chain(rows).collect();
    let t = table(&content);
    assert_eq!(t.sample_names.unwrap()[299_999], "s299999");
    assert_eq!((t.samples.len(), t.labels), (300_000, None));
}

#[test]
fn a_dash_is_missing_where_missing_entries_are_filled() {
    let content = "a,b\n1,-\n3,4\n5,-6\n";
    let message = refusal(content, &ReadOptions::default());
    assert!(message.contains("line 2, column 2 (\"b\"): \"-\"") && message.contains("nan = mean"));
    let options = ReadOptions {
        nan: Nan::Zero,
        ..ReadOptions::default()
    };
    let t = read_made("t.csv", content, &options).unwrap();
    assert_eq!(columns(&t.samples), [[1.0, 0.0], [3.0, 4.0], [5.0, -6.0]]);
}

/// UTF-16 without a byte-order mark once was "line 571: 1 fields".
#[test]
fn zero_bytes_are_no_table() {
    let bytes: Vec<u8> = "a,b\n1,2\n".bytes().flat_map(|b| [b, 0]).collect();
    let why = read_made("t.csv", bytes, &ReadOptions::default()).unwrap_err();
    assert!(why.to_string().contains("line 1: zero bytes"), "{why}");
}

/// Lines count from 1 whatever ends them, and blank ones count too.
#[test]
fn lines_have_their_numbers() {
    for end in ["\n", "\r\n"] {
        for (lines, line) in [
            (["a,b", "1,2", "3,4", "x,5", "6,7", "8,9"], 4),
            (["a,b", "1,2", "", "x,5", "6,7", "8,9"], 4),
            (["a,b", "", "1,2", "3,4", "6,7", "x,5"], 6),
            (["a,\"b\n c\"", "1,2", "3,4", "x,5", "6,7", "8,9"], 5),
        ] {
            let content = lines.join(end) + end;
            let why = read_made("a.csv", &content, &ReadOptions::default()).unwrap_err();
            let place = format!("line {line}, column 1");
            assert!(why.to_string().contains(&place), "{content:?}: {why}");
        }
    }
    let why = read_made("a.csv", "1,2\r\n3,4\r\n5\r\n", &ReadOptions::default());
    assert!(why.unwrap_err().to_string().contains("line 3: 1 fields"));
}
