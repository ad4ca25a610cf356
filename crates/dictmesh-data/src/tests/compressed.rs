//! Compressed files and UTF-16.

use super::*;
use flate2::write::GzEncoder;
use ruzstd::encoding::{compress_to_vec, CompressionLevel};
use std::io::Write;

const TABLE: &str = "name,kind,a,b\nZürich,x,1,2\nBern,y,3,4\nGenf,x,5,6\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    let bytes = |unit: u16| match big_endian {
        true => unit.to_be_bytes(),
        false => unit.to_le_bytes(),
    };
    units.flat_map(bytes).collect()
}

#[test]
fn a_table_is_the_same_however_it_is_packed() {
    let options = ReadOptions::default();
    let plain = read_made("t.csv", TABLE, &options).unwrap();
    let (first, rest) = TABLE.as_bytes().split_at(25);
    // A frame of zstd without data, as pzstd writes them.
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 7, 7, 7].to_vec();
    for (name, bytes) in [
        ("t.csv.gz", gzip(TABLE.as_bytes())),
        ("t.csv.gz", [gzip(first), gzip(rest)].concat()),
        ("t.csv.zst", zstd(TABLE.as_bytes())),
        ("t.csv.zst", [zstd(first), zstd(rest)].concat()),
        (
            "t.csv.zst",
            [skipped.clone(), zstd(first), skipped, zstd(rest)].concat(),
        ),
        ("t.csv", utf16(TABLE, false)),
        ("t.csv", utf16(TABLE, true)),
        ("t.csv.gz", gzip(&utf16(TABLE, false))),
        ("T.CSV.GZ", gzip(TABLE.as_bytes())),
    ] {
        let mut table = read_made(name, &bytes, &options).unwrap();
        table.note = plain.note.clone();
        assert_eq!(table, plain, "{name}");
    }
}

#[test]
fn other_formats_are_unpacked_too() {
    let options = ReadOptions::default();
    for name in ["f8.npy", "csr-stored.npz", "coordinate.mtx"] {
        let bytes = std::fs::read(fixture(name)).unwrap();
        let plain = read(&fixture(name), &options).unwrap();
        let packed = read_made(&format!("{name}.gz"), gzip(&bytes), &options).unwrap();
        assert_eq!(packed, plain, "{name}");
    }
    let text = made("t.txt.gz", gzip(b"one two\nthree\n"));
    let documents = crate::text::read_documents(&text.path, &Default::default()).unwrap();
    assert_eq!(documents.texts, ["one two", "three"]);
}

#[test]
fn what_is_cut_off_is_reported_and_damage_never_panics() {
    let options = ReadOptions::default();
    for (name, packed) in [
        ("t.csv.gz", gzip(TABLE.as_bytes())),
        ("t.csv.zst", zstd(TABLE.as_bytes())),
    ] {
        for length in 4..packed.len() {
            let why = read_made(name, &packed[..length], &options).unwrap_err();
            let why = why.to_string();
            assert!(why.contains(name) && why.contains("Copy it again"), "{why}");
        }
        for at in 0..packed.len() {
            let mut damaged = packed.clone();
            damaged[at] ^= 0x55;
            let _ = read_made(name, &damaged, &options);
        }
    }
}

#[test]
fn malformed_utf16_is_reported_with_its_line() {
    let mut bytes = utf16("a,b\n1,2\n", false);
    bytes.extend([0x00, 0xd8, b'x', 0]);
    for malformed in [bytes.clone(), bytes[..bytes.len() - 3].to_vec()] {
        let why = read_made("t.csv", malformed, &ReadOptions::default()).unwrap_err();
        let why = why.to_string();
        assert!(why.contains("line 3: no valid UTF-16LE"), "{why}");
    }
}
