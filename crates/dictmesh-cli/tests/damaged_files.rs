//! Damaged files of columns within a limit of memory: an error, and neither an abort nor a panic.
#![cfg(all(target_os = "linux", feature = "columnar"))]
#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{said, shell, Scratch};
use std::fs;
use std::path::Path;

/// Learns from a file within 1 GB of address space; the exit code.
fn learned(dir: &Scratch, name: &str) -> Option<i32> {
    let learn = format!("dictmesh learn {name} -o m --atoms 1 --threads 1 --nan mean --quiet");
    let out = shell(&dir.0, &format!("ulimit -v 1000000; {learn}"));
    let quiet = !said(&out).contains("panicked");
    assert!(quiet, "{name}: {}", said(&out));
    assert!(
        matches!(out.status.code(), Some(0 | 1)),
        "{name}: {:?} {}",
        out.status,
        said(&out)
    );
    out.status.code()
}

#[test]
fn changed_bytes_cost_no_memory() {
    let dir = Scratch::new("damaged-bytes");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dictmesh-data/tests/files");
    for name in [
        "pyarrow-snappy.parquet",
        "pyarrow-lz4.parquet",
        "pyarrow-zstd.parquet",
        "pyarrow-zstd.arrows",
        "pyarrow-lz4.feather",
        "polars.arrow",
    ] {
        let whole = fs::read(fixtures.join(name)).unwrap();
        let kind = name.rsplit('.').next().unwrap();
        dir.write(name, &whole);
        assert_eq!(learned(&dir, name), Some(0), "{name}");
        for at in (0..whole.len()).step_by(41) {
            let mut bytes = whole.clone();
            bytes[at] = 0x3f;
            let name = format!("at-{at}.{kind}");
            dir.write(&name, bytes);
            learned(&dir, &name);
            fs::remove_file(dir.0.join(name)).unwrap();
        }
    }
}

/// The first page of a Parquet file says that it has 2 GB, which a decoder would fill with zeros.
#[test]
fn a_page_cannot_claim_more_than_its_bytes_can_hold() {
    let dir = Scratch::new("damaged-page");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dictmesh-data/tests/files");
    for codec in ["snappy", "lz4", "zstd", "gzip"] {
        let whole = fs::read(fixtures.join(format!("pyarrow-{codec}.parquet"))).unwrap();
        // The header: its kind, the size and the packed size, each behind 0x15. The longer size takes the
        // place of what follows them, so that the other pages stay where they are.
        assert_eq!((whole[4], whole[6]), (0x15, 0x15), "{codec}");
        let end = |from: usize| from + 1 + whole[from..].iter().position(|b| *b < 0x80).unwrap();
        let size = 7..end(7);
        let packed = size.end..end(size.end + 1);
        let huge = [0xfe, 0xff, 0xff, 0xff, 0x0f];
        let mut bytes = whole.clone();
        let head = [&whole[..size.start], &huge, &whole[packed]].concat();
        bytes[..head.len()].copy_from_slice(&head);
        let name = format!("{codec}.parquet");
        dir.write(&name, bytes);
        let learn = format!("dictmesh learn {name} -o m --atoms 1 --threads 1 --nan mean --quiet");
        let out = shell(&dir.0, &format!("ulimit -v 1000000; {learn}"));
        assert_eq!(out.status.code(), Some(1), "{codec}: {}", said(&out));
        assert!(
            said(&out).contains("a page that is too long"),
            "{codec}: {}",
            said(&out)
        );
    }
}
