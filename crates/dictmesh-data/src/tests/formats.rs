//! One matrix, every format: read, transposed, in chunks, through a pipe.

use super::*;

fn expected() -> Vec<Vec<f64>> {
    vec![
        vec![1.0, 0.0, 2.0],
        vec![0.0, 0.0, 3.0],
        vec![4.0, 5.0, 0.0],
        vec![0.0, 6.0, 0.0],
    ]
}

fn transposed() -> Vec<Vec<f64>> {
    let rows = expected();
    (0..3)
        .map(|j| rows.iter().map(|r| r[j]).collect())
        .collect()
}

fn options(transpose: bool) -> ReadOptions {
    ReadOptions {
        transpose,
        ..ReadOptions::default()
    }
}

#[test]
fn every_format_gives_the_same_samples() {
    for name in SAME {
        let table = read(&fixture(name), &options(false)).unwrap();
        assert_eq!(columns(&table.samples), expected(), "{name}");
        let table = read(&fixture(name), &options(true)).unwrap();
        assert_eq!(columns(&table.samples), transposed(), "{name}");
    }
}

#[test]
fn sparse_stays_sparse_and_dense_dense() {
    for name in SAME {
        let sparse = name.starts_with('c');
        for transpose in [false, true] {
            let all = read(&fixture(name), &options(transpose)).unwrap().samples;
            assert_eq!(all.is_sparse(), sparse, "{name}");
            for part in chunks_at(&fixture(name), &options(transpose), 2).unwrap() {
                assert_eq!(part.unwrap().is_sparse(), sparse, "{name}");
            }
        }
    }
}

#[test]
fn chunks_side_by_side_are_the_whole() {
    for name in SAME {
        for (transpose, whole) in [(false, expected()), (true, transposed())] {
            for count in 1..=5 {
                let parts = chunks_at(&fixture(name), &options(transpose), count).unwrap();
                let source = Arc::new(Source::open(&fixture(name)).unwrap());
                let size = size(&source, &options(transpose)).unwrap();
                assert_eq!(size, (whole.len(), whole[0].len()));
                let parts: Vec<Samples> = parts.collect::<Result<_>>().unwrap();
                let (last, full) = parts.split_last().unwrap();
                assert!(full.iter().all(|p| p.len() == count) && last.len() <= count);
                let joined: Vec<Vec<f64>> = parts.iter().flat_map(columns).collect();
                assert_eq!(joined, whole, "{name} by {count}");
            }
        }
    }
}

#[test]
fn halves_and_patterns_become_whole_matrices() {
    let s = [[1.0, 2.0, 0.0], [2.0, 0.0, 3.0], [0.0, 3.0, 4.0]];
    let k = [[0.0, 2.0, 0.0], [-2.0, 0.0, 3.0], [0.0, -3.0, 0.0]];
    for (name, rows) in [
        ("symmetric.mtx", s),
        ("symmetric-array.mtx", s),
        ("skew.mtx", k),
        ("skew-array.mtx", k),
    ] {
        let table = read(&fixture(name), &options(false)).unwrap();
        assert_eq!(columns(&table.samples), rows, "{name}");
        let parts = chunks_at(&fixture(name), &options(false), 2).unwrap();
        let joined: Vec<Vec<f64>> = parts.flat_map(|p| columns(&p.unwrap())).collect();
        assert_eq!(joined, rows, "{name}");
    }
    let table = read(&fixture("pattern.mtx"), &options(false)).unwrap();
    let ones: Vec<Vec<f64>> = expected()
        .into_iter()
        .map(|r| {
            r.into_iter()
                .map(|v| f64::from(u8::from(v != 0.0)))
                .collect()
        })
        .collect();
    assert_eq!(columns(&table.samples), ones);
}

#[test]
fn the_first_bytes_tell_the_format_if_the_name_does_not() {
    for name in SAME {
        let file = made("data.bin", std::fs::read(fixture(name)).unwrap());
        let table = read(&file.path, &options(false)).unwrap();
        assert_eq!(columns(&table.samples), expected(), "{name}");
    }
    let forced = ReadOptions {
        format: Some(Format::Tsv),
        ..ReadOptions::default()
    };
    let table = read_made("data.bin", "1\t2\n3\t4\n", &forced).unwrap();
    assert_eq!(columns(&table.samples), [[1.0, 2.0], [3.0, 4.0]]);
}

/// A named pipe is read once, as `<(command)` and standard input are.
#[cfg(unix)]
#[test]
fn a_pipe_can_be_read_in_chunks() {
    for name in SAME {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let (from, to) = (fixture(name), path.clone());
        let writer = std::thread::spawn(move || std::fs::copy(from, to));
        let parts = chunks_at(&path, &options(true), 2).unwrap();
        let joined: Vec<Vec<f64>> = parts.flat_map(|p| columns(&p.unwrap())).collect();
        writer.join().unwrap().unwrap();
        assert_eq!(joined, transposed(), "{name}");
    }
}

#[test]
fn one_of_several_arrays_is_named() {
    let two = npz(&[
        ("x", npy(&[1, 2], false, &[1.0, 2.0])),
        ("y", npy(&[1, 1], false, &[3.0])),
    ]);
    let message = read_made("a.npz", &two, &options(false))
        .unwrap_err()
        .to_string();
    assert!(message.contains("2 arrays (x, y)") && message.contains("with array."));
    for (name, value) in [("x", vec![1.0, 2.0]), ("y", vec![3.0])] {
        let named = ReadOptions {
            array: Some(name.into()),
            ..ReadOptions::default()
        };
        let table = read_made("a.npz", &two, &named).unwrap();
        assert_eq!(columns(&table.samples), [value]);
    }
}

#[test]
fn labels_come_from_a_column_a_vector_or_lines() {
    let words = ["red", "blue", "réd"];
    assert_eq!(read_labels(&fixture("words.npy"), None, 3).unwrap(), words);
    let numbers = read_labels(&fixture("numbers.npy"), None, 3).unwrap();
    assert_eq!(numbers, ["3", "1", "2"]);
    for (content, column) in [
        ("red\nblue\nréd\n", None),
        ("label\nred\nblue\nréd\n", None),
        ("id,colour\n1,red\n2,blue\n3,réd\n", Some("colour")),
        ("1\tred\n2\tblue\n3\tréd\n", Some("2")),
    ] {
        let file = made("labels.txt", content);
        assert_eq!(read_labels(&file.path, column, 3).unwrap(), words);
        let message = read_labels(&file.path, column, 5).unwrap_err().to_string();
        assert!(message.contains("labels.txt") && message.contains("expected 5"));
    }
    // A file of blank lines has no record at all.
    let blank = made("labels.txt", "\n\n");
    for expected in [0, 3] {
        let _ = read_labels(&blank.path, None, expected);
    }
}

/// The paper's documents, where they are: whole and in chunks.
#[test]
fn the_tdt2_matrix_is_sparse() {
    let (Some(path), Some(labels)) = (real_data("tdt2.npz"), real_data("tdt2_labels.csv")) else {
        return;
    };
    let path = path.as_path();
    let all = read(path, &options(false)).unwrap().samples;
    assert!(all.is_sparse() && all.len() == 9394);
    let mut at = 0;
    for part in chunks_at(path, &options(false), 1000).unwrap() {
        let part = part.unwrap();
        assert_eq!(part, all.range(at..at + part.len()));
        at += part.len();
    }
    assert_eq!(at, all.len());
    let labels = read_labels(&labels, Some("topic"), at);
    assert_eq!(labels.unwrap()[0], "1");
}
