//! Damaged Parquet and Arrow files: errors, and never an abort.

use super::columnar::{filled, FILES};
use super::*;
use crate::text::{read_documents, DocumentOptions};
use proptest::prelude::*;

/// Reads a file whole and as documents; damaged ones must end in an error or in samples.
fn survives(file: &Made, bytes: &[u8]) {
    std::fs::write(&file.path, bytes).unwrap();
    let _ = read(&file.path, &filled());
    let _ = read_documents(&file.path, &DocumentOptions::default());
}

fn suffix(name: &str) -> &str {
    name.rsplit('.').next().unwrap()
}

#[test]
fn cut_off_files_are_errors() {
    for name in FILES {
        let bytes = std::fs::read(fixture(name)).unwrap();
        let suffix = suffix(name);
        for cut in (1..bytes.len()).step_by(11) {
            let file = made(&format!("a.{suffix}"), &bytes[..cut]);
            let found = read(&file.path, &filled());
            // A stream may end between two batches.
            assert!(
                found.is_err() || suffix == "arrows",
                "{name} of {cut} bytes"
            );
        }
    }
}

/// Lengths are among the bytes: with a high one that is large, a decoder that believed it would take memory
/// that no machine has, and abort.
#[test]
fn a_changed_byte_anywhere_is_an_error_or_samples() {
    for name in FILES {
        let whole = std::fs::read(fixture(name)).unwrap();
        let file = made(&format!("a.{}", suffix(name)), "");
        // One byte of each length, now a low, now a high one.
        for at in (0..whole.len()).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] = 0x3f;
            survives(&file, &bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn flipped_bits_make_no_panic(
        which in 0..FILES.len(), flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8), 1..4),
    ) {
        let name = FILES[which];
        let mut bytes = std::fs::read(fixture(name)).unwrap();
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1_u8 << bit;
        }
        survives(&made(&format!("a.{}", suffix(name)), ""), &bytes);
    }
}
