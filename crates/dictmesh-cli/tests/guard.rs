//! What must not happen by accident: files written over, a crash for want of room, a wait without end.

#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{files, ok, run, said, samples, shell, Scratch};
use std::fs;

#[test]
fn a_header_that_claims_too_much_is_refused_before_it_takes_memory() {
    let dir = Scratch::new("guard-huge");
    dir.write("huge.pgm", "P5\n4000000000 4000000000\n255\n");
    for args in ["learn huge.pgm -o m", "tune huge.pgm"] {
        dir.refused(args, "huge.pgm: a picture that is too large");
    }
    ok(&dir.0, "examples ex --quiet");
    ok(&dir.0, "learn ex/clean.png --atoms 4 -o m --quiet");
    dir.refused("score m huge.pgm", "too large");
    dir.refused("infer m huge.pgm -o c.npz", "too large");
}

#[test]
fn a_jpeg_that_is_cut_off_or_damaged_is_refused() {
    let dir = Scratch::new("guard-jpeg");
    ok(&dir.0, "examples ex --quiet");
    ok(
        &dir.0,
        "denoise ex/clean.png --sigma 0 -o whole.jpg --quiet",
    );
    let whole = fs::read(dir.0.join("whole.jpg")).unwrap();
    dir.write("cut.jpg", &whole[..whole.len() * 2 / 3]);
    // Another beginning, in the middle of the pixels.
    let mut damaged = whole.clone();
    let middle = whole.len() / 2;
    damaged[middle..middle + 2].copy_from_slice(&[0xff, 0xd8]);
    dir.write("damaged.jpg", damaged);
    for (name, words) in [("cut", "without its end"), ("damaged", "a damaged JPEG")] {
        dir.refused(&format!("learn {name}.jpg -o m"), words);
        dir.refused(&format!("denoise {name}.jpg -o d.png"), words);
    }
    // What follows the end does no harm.
    dir.write("longer.jpg", [&whole[..], b"appended"].concat());
    for name in ["whole", "longer"] {
        ok(&dir.0, &format!("learn {name}.jpg --atoms 4 -o m --quiet"));
    }
}

#[test]
fn limits_of_the_system_are_told_and_leave_nothing_behind() {
    let dir = Scratch::new("guard-limits");
    ok(&dir.0, "examples ex --quiet");
    let size = "ulimit -f 8; dictmesh learn ex/samples.npy -o m --quiet";
    let threads = "ulimit -v 400000; RAYON_NUM_THREADS=2000 dictmesh learn ex/samples.npy -o m";
    for (line, words) in [(size, "ulimit -f"), (threads, "cannot be started")] {
        let out = shell(&dir.0, line);
        assert_eq!(out.status.code(), Some(1), "{line}: {}", said(&out));
        assert!(said(&out).contains(words), "{line}: {}", said(&out));
        assert_eq!(files(&dir.0), ["ex"], "{line}");
    }
}
