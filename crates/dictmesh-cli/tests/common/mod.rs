//! The program as a person runs it, for all end-to-end tests.

#![allow(dead_code)] // Each test program takes what it needs.

pub mod live;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_dictmesh");

/// Runs the program in a directory.
pub fn run_words(dir: &Path, args: &[&str]) -> Output {
    Command::new(PROGRAM)
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap()
}

/// What a run that works prints.
pub fn ok_words(dir: &Path, args: &[&str]) -> String {
    let out = run_words(dir, args);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{args:?}: {said}");
    String::from_utf8(out.stdout).unwrap()
}

/// As [`run_words`], for arguments without spaces in them.
pub fn run(dir: &Path, args: &str) -> Output {
    run_words(dir, &args.split_whitespace().collect::<Vec<_>>())
}

/// As [`ok_words`], likewise.
pub fn ok(dir: &Path, args: &str) -> String {
    ok_words(dir, &args.split_whitespace().collect::<Vec<_>>())
}

/// The JSON of a run that works.
pub fn json(dir: &Path, args: &str) -> Value {
    serde_json::from_str(&ok(dir, args)).unwrap()
}

/// Exit code 1, these words, nothing on standard output, and no file that was not there.
pub fn refused(dir: &Path, args: &str, words: &[&str]) {
    let before = files(dir);
    let out = run(dir, args);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{args}: {said}");
    for word in words {
        assert!(said.contains(word), "{args}: {word:?} is not in: {said}");
    }
    assert!(
        out.stdout.is_empty() && !said.contains("panicked"),
        "{args}: {said}"
    );
    assert_eq!(files(dir), before, "{args} left something behind");
}

/// Runs a line of shell in which `dictmesh` is the program.
pub fn shell(dir: &Path, line: &str) -> Output {
    let script = format!("dictmesh() {{ '{PROGRAM}' \"$@\"; }}; {line}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(dir);
    shell.stdin(Stdio::null()).output().unwrap()
}

pub fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// Samples of six numbers, a line each.
pub fn samples(count: usize, shift: usize) -> String {
    let entry = |i: usize, j: usize| ((i * 31 + j * 17 + shift + i * j % 13) % 23) as f64 / 23.0;
    let row = |i: usize| (0..6).map(move |j| format!("{:.3}", entry(i, j)));
    let line = |i: usize| row(i).collect::<Vec<_>>().join(",") + "\n";
    (0..count).map(line).collect()
}

/// Nearly normal numbers of deviation 1, always the same.
pub fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    let mut uniform = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    };
    move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0
}

/// The names in a directory, sorted.
pub fn files(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// An empty directory that goes away with the test.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let dir = format!("dictmesh-{name}-{}", std::process::id());
        let dir = std::env::temp_dir().join(dir);
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }

    pub fn run(&self, args: &str) -> Output {
        run(&self.0, args)
    }

    pub fn json(&self, args: &str) -> Value {
        json(&self.0, args)
    }

    pub fn refused(&self, args: &str, words: &str) {
        refused(&self.0, args, &["dictmesh: ", words]);
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), content).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
