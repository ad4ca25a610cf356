//! No bytes make a reader panic.

use super::pictures::write_image;
use super::*;
use proptest::prelude::*;

const FORMATS: [(&str, Format); 5] = [
    ("a.npy", Format::Npy),
    ("a.npz", Format::Npz),
    ("a.mtx", Format::Mtx),
    ("a.csv", Format::Csv),
    ("a.tsv", Format::Tsv),
];

/// Reads in every way; errors are fine, and must be complete sentences.
fn exercise(name: &str, bytes: &[u8]) {
    let file = made(name, bytes);
    for transpose in [false, true] {
        for nan in [Nan::Error, Nan::Mean] {
            let options = ReadOptions {
                transpose,
                nan,
                ..ReadOptions::default()
            };
            if let Err(e) = read(&file.path, &options) {
                assert!(e.to_string().contains("expected"));
            }
            if let Ok(parts) = chunks_at(&file.path, &options, 3) {
                // A damaged size may mean very many empty parts.
                let _: Vec<_> = parts.take(50).collect();
            }
        }
    }
    let _ = read_labels(&file.path, None, 3);
}

/// Seeds for changes: valid files of every kind.
fn seed(at: usize) -> (&'static str, Vec<u8>) {
    let more = [
        "symmetric.mtx",
        "symmetric-array.mtx",
        "skew-array.mtx",
        "pattern.mtx",
        "words.npy",
    ];
    let all: Vec<&'static str> = SAME.iter().chain(&more).copied().collect();
    match at.checked_sub(all.len()) {
        Some(at) if at % 2 == 0 => (
            "a.csv",
            b"id,kind,a,b\nx1,\"r,d\",1,2\nx2,blue,,4\n".to_vec(),
        ),
        Some(_) => ("a.tsv", b"a\tb\n1\t2e3\n-3\t4\n".to_vec()),
        None => (all[at], std::fs::read(fixture(all[at])).unwrap()),
    }
}

/// One change of a file: cut, overwritten, inserted or doubled bytes.
fn change(mut bytes: Vec<u8>, (kind, at, value): (u8, usize, u8)) -> Vec<u8> {
    let at = at % bytes.len().max(1);
    match kind % 5 {
        0 => bytes.truncate(at),
        1 if at < bytes.len() => bytes[at] = value,
        2 => bytes.insert(at, value),
        3 if at < bytes.len() => bytes[at] ^= 1 << (value % 8),
        4 if at < bytes.len() => drop(bytes.remove(at)),
        _ => {}
    }
    bytes
}

/// Text that looks like numbers, for the readers of text.
fn scribble() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "1",
        "0",
        "-2",
        "3.5",
        "1e400",
        "nan",
        "inf",
        " ",
        "\n",
        "\r",
        ",",
        "\t",
        ";",
        "\"",
        "%",
        "x",
        "é",
        "18446744073709551616",
        "2 2 1\n",
        "%%MatrixMarket matrix array real general\n",
        "%%MatrixMarket matrix coordinate pattern symmetric\n",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|p| p.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for (name, _) in FORMATS {
            exercise(name, &bytes);
        }
        let file = made("a.png", &bytes);
        let _ = read_image(&file.path);
    }

    #[test]
    fn changed_headers(
        shape in prop::collection::vec(any::<u64>(), 0..4),
        small in prop::collection::vec(0_u64..4, 2),
        fortran: bool,
        dtype in "[<>|=]?[a-zA-Z][0-9]{0,3}",
    ) {
        for shape in [&shape, &small] {
            let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
            let order = if fortran { "True" } else { "False" };
            let mut bytes = npy_header(&format!(
                "{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': ({}), }}",
                shape.join(", ")
            ));
            bytes.extend([0x3f; 100]);
            exercise("a.npy", &bytes);
            exercise("a.npz", &npz(&[("x", bytes)]));
        }
    }

    #[test]
    fn arbitrary_text(text in scribble()) {
        for (name, _) in FORMATS {
            exercise(name, text.as_bytes());
        }
    }

    #[test]
    fn arbitrary_bytes_after_a_true_beginning(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for (name, start) in [
            ("a.npy", &b"\x93NUMPY\x01\x00"[..]),
            ("a.npz", b"PK\x03\x04"),
            ("a.mtx", b"%%MatrixMarket matrix coordinate real general\n3 3 2\n"),
        ] {
            exercise(name, &[start, &bytes].concat());
        }
        for start in [&b"\x89PNG\r\n\x1a\n"[..], b"P5\n3 3\n255\n", b"P2 2 2 9\n", b"\xff\xd8\xff"] {
            let file = made("a.png", [start, &bytes].concat());
            let _ = read_image(&file.path);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn changed_files(
        at in 0_usize..22,
        changes in prop::collection::vec((any::<u8>(), any::<usize>(), any::<u8>()), 1..6),
    ) {
        let (name, bytes) = seed(at);
        exercise(name, &changes.into_iter().fold(bytes, change));
    }

    #[test]
    fn changed_pictures(
        at in 0_usize..4,
        changes in prop::collection::vec((any::<u8>(), any::<usize>(), any::<u8>()), 1..6),
    ) {
        let name = ["a.png", "a.jpg", "a.pgm", "a.ppm"][at];
        let planes = if name == "a.pgm" { 1 } else { 3 };
        let plane = dictmesh::Matrix::from_fn(5, 4, |i, j| (40 * i + 3 * j) as f64);
        let image = Image { planes: vec![plane; planes], alpha: None, bits: 8 };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        write_image(&path, &image).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, changes.into_iter().fold(bytes, change)).unwrap();
        let _ = read_image(&path);
    }
}
