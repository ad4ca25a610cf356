//! Bad files: what the message says, and that nothing is allocated on a header's word.

use super::*;

fn refusal(name: &str, content: impl AsRef<[u8]>) -> String {
    let file = made(name, content);
    let whole = read(&file.path, &ReadOptions::default());
    let parts = chunks_at(&file.path, &ReadOptions::default(), 2)
        .and_then(|c| c.collect::<Result<Vec<_>>>());
    assert!(parts.is_err(), "{name}");
    let message = whole.unwrap_err().to_string();
    assert!(
        message.contains(name) && message.contains("expected"),
        "{message}"
    );
    message
}

/// [[1, 0], [0, 2]] by rows, with one of its arrays replaced.
fn archive(change: &str, values: &[f64]) -> Vec<u8> {
    let mut format = npy_header("{'descr': '|S3', 'fortran_order': False, 'shape': (), }");
    format.extend(b"csr");
    let mut arrays = vec![("format", format)];
    for (name, right) in [
        ("shape", &[2.0, 2.0][..]),
        ("data", &[1.0, 2.0]),
        ("indices", &[0.0, 1.0]),
        ("indptr", &[0.0, 1.0, 2.0]),
    ] {
        let array = if name == change { values } else { right };
        arrays.push((name, one_dimension(array)));
    }
    npz(&arrays)
}

/// `npy` with the comma of a one-element tuple.
fn one_dimension(values: &[f64]) -> Vec<u8> {
    let n = values.len();
    let mut bytes = npy_header(&format!(
        "{{'descr': '<f8', 'fortran_order': False, 'shape': ({n},), }}"
    ));
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    bytes
}

#[test]
fn files_that_are_not_there_or_not_files() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("none.npy");
    for (path, found) in [
        (missing.as_path(), "there is no such file"),
        (directory.path(), "it is a directory"),
    ] {
        let message = read(path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains(found), "{message}");
        let message = read_image(path).unwrap_err().to_string();
        assert!(message.contains(found), "{message}");
    }
    for name in ["a.npy", "a.npz", "a.mtx", "a.csv"] {
        assert!(refusal(name, "").contains("the file is empty"));
    }
    for blank in ["\n", "\r", "\r\n\n\r"] {
        assert!(refusal("a.csv", blank).contains("only blank lines"));
    }
    assert!(refusal("a.xyz", "hello").contains("what it is with format."));
}

#[test]
fn numpy_arrays_of_the_wrong_kind() {
    let message = refusal(
        "a.npy",
        npy_header("{'descr': '<c16', 'fortran_order': False, 'shape': (2, 2), }"),
    );
    assert!(
        message.contains("type <c16") && message.contains("astype"),
        "{message}"
    );
    let message = refusal(
        "a.npy",
        npy_header("{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }"),
    );
    assert!(message.contains("|O"), "{message}");
    let message = refusal("a.npy", npy(&[2, 2, 1], false, &[1.0; 4]));
    assert!(
        message.contains("[2, 2, 1]") && message.contains("two dimensions"),
        "{message}"
    );
    let message = refusal("a.npy", npy(&[2, 2], false, &[1.0; 3]));
    assert!(message.contains("24 of the 32 bytes"), "{message}");
    assert!(refusal("a.npy", "hello, world").contains("no numpy array"));
    assert!(refusal("a.npy", b"\x93NUMPY\x01\x00\xff").contains("ends inside its header"));
}

#[test]
fn headers_that_claim_too_much_take_no_memory() {
    let million_billion = 1_000_000_000_000_000;
    refusal("a.npy", npy(&[million_billion, 1], false, &[1.0]));
    refusal("a.npy", npy(&[1, million_billion], true, &[1.0]));
    refusal("a.npy", npy(&[u64::MAX, u64::MAX], false, &[1.0]));
    refusal(
        "a.npy",
        npy_header("{'descr': '|S99999999999', 'fortran_order': False, 'shape': (2, 2), }"),
    );
    refusal("a.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}");
    refusal("a.npy", npy_header(&"(".repeat(60_000)));
    let mut deep = "{'descr': ".to_string();
    deep.push_str(&"[('a', ".repeat(5_000));
    refusal("a.npy", npy_header(&deep));
    for nan in [Nan::Error, Nan::Mean] {
        let file = made(
            "a.npz",
            npz(&[("x", npy(&[1, million_billion], true, &[1.0]))]),
        );
        let options = ReadOptions {
            nan,
            ..ReadOptions::default()
        };
        assert!(read(&file.path, &options).is_err());
        let mut parts = chunks_at(&file.path, &options, usize::MAX);
        assert!(parts.is_err() || parts.as_mut().unwrap().next().unwrap().is_err());
    }
    let banner = "%%MatrixMarket matrix coordinate real general\n";
    for sizes in [
        "1000000000000000 1000000000000000 1000000000000000\n1 1 1\n",
        "1000000000000000 1 0\n",
        "1 1000000000000000 0\n",
        "18446744073709551615 18446744073709551615 18446744073709551615\n",
    ] {
        refusal("a.mtx", format!("{banner}{sizes}"));
    }
    for symmetry in ["general", "symmetric", "skew-symmetric"] {
        for n in ["1000000000", "18446744073709551615"] {
            let text = format!("%%MatrixMarket matrix array real {symmetry}\n{n} {n}\n1\n");
            refusal("a.mtx", text);
        }
    }
    refusal("a.npz", archive("shape", &[1e15, 1e15]));
}

#[test]
fn sparse_archives_that_do_not_fit_together() {
    let good = read_made("a.npz", archive("", &[]), &ReadOptions::default()).unwrap();
    assert_eq!(columns(&good.samples), [[1.0, 0.0], [0.0, 2.0]]);
    for (change, values, found) in [
        (
            "indices",
            &[0.0, 2.0][..],
            "\"indices\": 2; expected whole numbers from 0 to 1",
        ),
        ("indices", &[0.0, -1.0], "\"indices\": -1"),
        ("indices", &[0.0, 0.5], "\"indices\": 0.5"),
        ("indices", &[0.0], "\"indices\": 1 numbers; expected 2"),
        ("indptr", &[0.0, 2.0, 1.0], "\"indptr\": 1 after 2"),
        (
            "indptr",
            &[1.0, 1.0, 2.0],
            "\"indptr\": 1; expected 0 first",
        ),
        ("indptr", &[0.0, 1.0, 1.0], "\"indptr\": 1; expected 2"),
        ("indptr", &[0.0, 1.0], "\"indptr\": 2 numbers; expected 3"),
        ("shape", &[2.0, 0.0], "\"shape\""),
        ("shape", &[2.0], "\"shape\""),
    ] {
        let message = refusal("a.npz", archive(change, values));
        assert!(message.contains(found), "{message}");
    }
    let message = refusal(
        "a.npz",
        npz(&[
            ("format", one_dimension(&[1.0])),
            ("shape", one_dimension(&[1.0])),
        ]),
    );
    assert!(message.contains("csr, csc or coo"), "{message}");
}

#[test]
fn a_changed_byte_in_an_archive_is_noticed() {
    let mut bytes = std::fs::read(fixture("dense-stored.npz")).unwrap();
    let at = bytes
        .windows(8)
        .position(|w| w == 5.0_f64.to_le_bytes())
        .unwrap();
    bytes[at] = 1;
    assert!(refusal("a.npz", bytes).contains("check sum"));
}

#[test]
fn matrix_market_lines_are_named() {
    let banner = "%%MatrixMarket matrix coordinate real general\n% comment\n2 3 2\n";
    for (content, found) in [
        (
            format!("{banner}1 1 5\n"),
            "line 5: the end of the file; expected 1 more lines",
        ),
        (
            format!("{banner}1 1 5\n0 1 5\n"),
            "line 5: \"0 1 5\"; expected a row from 1 to 2",
        ),
        (format!("{banner}1 1 5\n1 4 5\n"), "line 5: \"1 4 5\""),
        (format!("{banner}1 1 5\n1 2 x\n"), "line 5: \"1 2 x\""),
        (format!("{banner}1 1 5\n1 2 3 4\n"), "line 5: \"1 2 3 4\""),
        (
            format!("{banner}1 1 5\n1 2 3\n2 2 2\n"),
            "line 6: \"2 2 2\"; expected the end",
        ),
        (
            "%%MatrixMarket matrix coordinate complex general\n".into(),
            "line 1: \"%%Matrix",
        ),
        (
            "%%MatrixMarket matrix array pattern general\n2 2\n".into(),
            "line 1",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n2 3\n".into(),
            "line 2: \"2 3\"",
        ),
        (
            "%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n".into(),
            "a square",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\n".into(),
            "the end of the file",
        ),
        (
            "%%MatrixMarket matrix array real general\n2 1\n1\nfoo\n".into(),
            "line 4: \"foo\"",
        ),
    ] {
        let message = refusal("a.mtx", content);
        assert!(message.contains(found), "{message}");
    }
}

#[test]
fn missing_numbers_are_located_in_every_kind_of_file() {
    let dense = npy(&[3, 2], false, &[1.0, f64::NAN, 3.0, 4.0, 5.0, 8.0]);
    let sparse =
        "%%MatrixMarket matrix coordinate real general\n3 2 4\n1 1 1\n1 2 nan\n2 2 4\n3 2 8\n";
    for (name, content) in [("a.npy", dense), ("a.mtx", sparse.into())] {
        let message = refusal(name, &content);
        assert!(
            message.contains("1 missing (NaN) entry: row 0, column 1"),
            "{message}"
        );
        for (nan, transpose, filled) in [
            (Nan::Mean, false, 6.0),
            (Nan::Zero, false, 0.0),
            (Nan::Mean, true, 1.0),
        ] {
            let options = ReadOptions {
                nan,
                transpose,
                ..ReadOptions::default()
            };
            let file = made(name, &content);
            let whole = columns(&read(&file.path, &options).unwrap().samples);
            let parts = chunks_at(&file.path, &options, 1).unwrap();
            let parts: Vec<Vec<f64>> = parts.flat_map(|p| columns(&p.unwrap())).collect();
            let entry = if transpose { whole[1][0] } else { whole[0][1] };
            assert_eq!(entry, filled, "{name}");
            assert_eq!(whole, parts, "{name}");
        }
    }
    let infinite = npy(&[1, 2], false, &[1.0, f64::INFINITY]);
    let options = ReadOptions {
        nan: Nan::Zero,
        ..ReadOptions::default()
    };
    let message = read_made("a.npy", infinite, &options)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("1 infinite entry: row 0, column 1"),
        "{message}"
    );
}

/// Each front end writes parameters its own way; other angle brackets stay.
#[test]
fn messages_name_parameters() {
    let flag = |name: &str, value: Option<&str>| format!("--{name}{}", value.unwrap_or_default());
    let message = "type <f8: set <nan: mean> or <format>, a < b > c";
    let written = with_parameters(message, &flag);
    assert_eq!(written, "type <f8: set --nanmean or --format, a < b > c");
    let error = DataError::new("a.csv", "<nan>", "a number", "Set <nan: zero>.");
    assert_eq!(
        error.to_string(),
        "a.csv: <nan>; expected a number. Set nan = zero."
    );
    assert_eq!(
        error.told(&flag),
        "a.csv: <nan>; expected a number. Set --nanzero."
    );
}
