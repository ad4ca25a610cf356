//! Odd files, devices, signals and data that change: nothing is left behind, and nothing goes unsaid.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{files, Scratch};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_dictmesh");

/// Runs a line of shell in which `dictmesh` is the program.
fn shell(dir: &Path, line: &str) -> Output {
    let script = format!("dictmesh() {{ '{PROGRAM}' \"$@\"; }}; {line}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(dir);
    shell.stdin(Stdio::null()).output().unwrap()
}

fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// Samples of six numbers, a line each.
fn samples(count: usize, shift: usize) -> String {
    let entry = |i: usize, j: usize| ((i * 31 + j * 17 + shift + i * j % 13) % 23) as f64 / 23.0;
    let row = |i: usize| (0..6).map(move |j| format!("{:.3}", entry(i, j)));
    let line = |i: usize| row(i).collect::<Vec<_>>().join(",") + "\n";
    (0..count).map(line).collect()
}

/// What comes through a pipe is kept on the disk, and killed programs cannot tidy up.
#[test]
fn a_killed_program_leaves_nothing_of_what_came_through_a_pipe() {
    let dir = Scratch::new("robust-pipe");
    fs::create_dir(dir.0.join("tmp")).unwrap();
    let mut child = Command::new(PROGRAM)
        .args(["learn", "-", "-o", "m"])
        .current_dir(&dir.0)
        .env("TMPDIR", dir.0.join("tmp"))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // More than a pipe holds: when it is written, most of it has been read, and kept.
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(samples(10_000, 0).as_bytes()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(files(&dir.0.join("tmp")).is_empty());
    assert_eq!(files(&dir.0), ["tmp"]);
}

#[test]
fn devices_are_refused_and_an_endless_pipe_ends_with_the_room_for_it() {
    let dir = Scratch::new("robust-device");
    fs::create_dir(dir.0.join("tmp")).unwrap();
    for line in [
        "dictmesh learn /dev/zero -o m",
        "dictmesh learn - -o m < /dev/zero",
        "dictmesh novelty /dev/urandom",
        "dictmesh denoise /dev/zero -o m.png",
        "dictmesh bicluster - -o m < /dev/urandom",
    ] {
        let out = shell(&dir.0, line);
        assert_eq!(out.status.code(), Some(1), "{line}: {}", said(&out));
        assert!(said(&out).contains("a device"), "{line}: {}", said(&out));
    }
    let empty = shell(&dir.0, "dictmesh learn - -o m < /dev/null");
    assert!(said(&empty).contains("empty"), "{}", said(&empty));
    // A full disk, as a limit on the size of files has it.
    let line = "trap '' XFSZ; ulimit -f 2000; yes 1,2,3 | TMPDIR=tmp dictmesh learn - -o m";
    let out = shell(&dir.0, line);
    assert_eq!(out.status.code(), Some(1), "{}", said(&out));
    assert!(said(&out).contains("bytes came") && said(&out).contains("comes to an end"));
    assert!(files(&dir.0.join("tmp")).is_empty());
    assert_eq!(files(&dir.0), ["tmp"]);
}

/// The same through a pipe, from a file and in a named pipe: readers look twice and seek.
#[test]
fn what_comes_through_a_pipe_is_what_comes_from_a_file() {
    let dir = Scratch::new("robust-same");
    dir.write("x.csv", samples(50, 0));
    let mtx: String = (1..=40)
        .map(|i| format!("{} {} {i}\n", i * 7 % 20 + 1, i % 4 + 1))
        .collect();
    let head = "%%MatrixMarket matrix coordinate real general\n20 4 40\n";
    dir.write("y.mtx", format!("{head}{mtx}"));
    for (file, how) in [("x.csv", "--format csv --header no"), ("y.mtx", "")] {
        let learn = |from: &str, model: &str| {
            format!("dictmesh learn {from} {how} -o {model} --atoms 4 --quiet")
        };
        let whole = shell(&dir.0, &learn(file, "whole"));
        assert!(whole.status.success(), "{}", said(&whole));
        let piped = format!("cat {file} | {}", learn("-", "piped"));
        let fifo = format!("mkfifo p; cat {file} > p & {}; rm p", learn("p", "fifo"));
        for line in [piped, fifo] {
            let out = shell(&dir.0, &line);
            assert!(out.status.success(), "{line}: {}", said(&out));
        }
        let scores = |model: &str| {
            let out = shell(&dir.0, &format!("dictmesh score {model} {file} {how}"));
            assert!(!out.stdout.is_empty(), "{}", said(&out));
            out.stdout
        };
        assert_eq!(scores("piped"), scores("whole"));
        assert_eq!(scores("fifo"), scores("whole"));
    }
}

/// A checkpoint knew its data by name and number of samples alone, and went on in the middle of others.
#[test]
fn learning_does_not_go_on_in_data_that_changed() {
    let dir = Scratch::new("robust-changed");
    let learn = "learn x.csv --header no --atoms 4 --batch 5";
    dir.write("x.csv", samples(40, 0));
    common::ok(&dir.0, &format!("{learn} -o m --quiet"));
    let resume = "learn x.csv -o n --passes 2 --resume m";
    // As it was, under this name or another, it goes on behind the first pass.
    for name in ["x.csv", "moved.csv"] {
        fs::copy(dir.0.join("x.csv"), dir.0.join("moved.csv")).unwrap();
        let out = dir.json(&format!("{} --json", resume.replace("x.csv", name)));
        assert_eq!(out["samples"], 40, "{name}");
    }
    // One digit other, after a whole pass: from its start, and told.
    dir.write("x.csv", samples(40, 0).replacen("0.7", "0.8", 1));
    let out = dir.run(&format!("{resume} --json"));
    let told: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(told["samples"], 80);
    assert!(
        said(&out).contains("x.csv: it has changed since"),
        "{}",
        said(&out)
    );

    // In the middle of a pass there is no going on in other data.
    dir.write("x.csv", samples(40, 0));
    let mut model = dictmesh::Model::load(dir.0.join("m")).unwrap();
    model.description.extra["learning"]["learned"] = 20.into();
    model.save(dir.0.join("half")).unwrap();
    let resume = resume.replace("--resume m", "--resume half");
    assert_eq!(dir.json(&format!("{resume} --json"))["samples"], 60);
    fs::remove_file(dir.0.join("n")).unwrap();
    dir.write("x.csv", samples(40, 1));
    dir.refused(&resume, "it has changed since");
    dir.refused(&resume, "stopped at sample 20 of a pass");
    // Under another name they are other data, which nobody expects to go on in.
    fs::rename(dir.0.join("x.csv"), dir.0.join("other.csv")).unwrap();
    let other = dir.json(&format!("{} --json", resume.replace("x.csv", "other.csv")));
    assert_eq!(other["samples"], 80);
}

/// Each of these had ended in an abort, a panic or the killing of the process by the system.
#[test]
fn what_does_not_fit_into_memory_is_refused_in_numbers() {
    let dir = Scratch::new("robust-memory");
    dir.write("x.csv", samples(40, 0));
    let texts = "moon rocket orbit\nbread flour oven\n".repeat(20);
    dir.write("t.txt", texts);
    common::ok(&dir.0, "examples ex --quiet");
    let huge = usize::MAX;
    let before = files(&dir.0);
    for (args, word) in [
        (
            "learn x.csv --header no -o m --atoms 50000".into(),
            "of memory",
        ),
        (
            format!("learn x.csv --header no -o m --atoms {huge}"),
            "at most 50000",
        ),
        (
            format!("learn x.csv --header no -o m --agents {huge}"),
            "at most 5000",
        ),
        ("learn t.txt -o m --hash 26".into(), "of memory"),
        ("learn t.txt -o m --vocabulary 60000000".into(), "of memory"),
        (
            "tune x.csv --header no --atoms-grid 50000".into(),
            "of memory",
        ),
        (
            format!("tune x.csv --header no --atoms-grid 4,{huge}"),
            "at most 50000",
        ),
        (
            "denoise ex/noisy.png -o d.png --atoms 50000".into(),
            "of memory",
        ),
        (
            format!("denoise ex/noisy.png -o d.png --atoms {huge}"),
            "at most 50000",
        ),
        (
            format!("denoise ex/noisy.png -o d.png --agents {huge}"),
            "at most 5000",
        ),
        (
            format!("bicluster x.csv --header no -o b --layers {huge}"),
            "at most 5000",
        ),
        (
            format!("bicluster x.csv --header no -o b --method ssvd --layers {huge}"),
            "at most 6",
        ),
        (
            format!("novelty ex/news.csv --agents-start {huge}"),
            "at most 5000",
        ),
        (
            "novelty ex/news.csv --block 100 --atoms-per-block 4000".into(),
            "at most 5000",
        ),
        (
            "learn x.csv --header no -o m --agents 2 --rho 1e-320".into(),
            "too small",
        ),
        (
            "learn x.csv --header no -o m --strategy diffusion --mu 1e-320".into(),
            "too small",
        ),
    ] {
        let out = shell(&dir.0, &format!("ulimit -v 4000000; dictmesh {args}"));
        assert_eq!(out.status.code(), Some(1), "{args}: {}", said(&out));
        assert!(said(&out).contains(word), "{args}: {}", said(&out));
        assert_eq!(files(&dir.0), before, "{args}");
    }
    // Numbers beyond all data are as good as all of them.
    for args in [
        format!("learn x.csv --header no -o m --atoms 2 --batch {huge} --quiet"),
        format!("bicluster x.csv --header no -o b --layers 2 --passes {huge} --quiet"),
        format!("novelty ex/news.csv --block 400 --agents-start 2 --top {huge} --quiet"),
    ] {
        common::ok(&dir.0, &args);
    }
}
