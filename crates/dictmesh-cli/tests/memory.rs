//! Tables larger than memory: the program learns under a limit of its address space.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{said, Scratch, PROGRAM};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::{Command, Output};

const FEATURES: usize = 1000;
/// Rows that differ; a table repeats them.
const ROWS: usize = 200;

/// A table of `repeats` times [`ROWS`] rows, 3.4 MB each time.
fn write_table(out: &mut impl Write, repeats: usize) {
    let entry = |i: usize| format!("0.{:014}", (i * 7_919_777_321) % 100_000_000_000_000);
    let row = |r: usize| (r * FEATURES..(r + 1) * FEATURES).map(entry);
    let rows = (0..ROWS).map(|r| row(r).collect::<Vec<_>>().join(",") + "\n");
    let rows: String = rows.collect();
    for _ in 0..repeats {
        out.write_all(rows.as_bytes()).unwrap();
    }
}

/// Learns two atoms within this many megabytes of address space.
fn learn(dir: &Scratch, data: &str, megabytes: u64) -> Output {
    let limit = format!("ulimit -v {} && exec \"$@\"", megabytes << 10);
    Command::new("sh")
        .args(["-c", &limit, "sh", PROGRAM, "learn", data, "-o", "m"])
        .args(["--header", "no", "--atoms", "2", "--agents", "1"])
        .args(["--checkpoint-every", "0", "--quiet"])
        .env("MALLOC_ARENA_MAX", "1")
        .env("RAYON_NUM_THREADS", "1")
        .current_dir(&dir.0)
        .output()
        .unwrap()
}

/// The program with its libraries (40 MB), a part (64 MB), and as much again for its copies.
const LIMIT: u64 = 170;

/// A table of 340 MB (160 MB as numbers) is learned from within the memory of a part.
#[test]
fn a_table_larger_than_memory() {
    let dir = Scratch::new("memory");
    let mut plain = BufWriter::new(File::create(dir.0.join("x.csv")).unwrap());
    write_table(&mut plain, 100);
    plain.flush().unwrap();
    let out = learn(&dir, "x.csv", LIMIT);
    assert!(out.status.success(), "{}", said(&out));
}
