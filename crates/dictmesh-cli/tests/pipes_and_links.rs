//! Pipes, devices, links and data that change: nothing is left behind, and nothing goes unsaid.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{files, said, samples, shell, Scratch, PROGRAM};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

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

#[test]
fn links_stay_links_and_what_they_point_to_is_written() {
    use std::os::unix::fs::symlink;
    let dir = Scratch::new("robust-links");
    dir.write("x.csv", samples(40, 0));
    common::ok(&dir.0, "examples ex --quiet");
    fs::create_dir(dir.0.join("far")).unwrap();
    for (args, link, to) in [
        ("learn x.csv --header no -o LINK --atoms 3", "m", "far/m"),
        (
            "denoise ex/noisy.png -o LINK --stride 8 --atoms 8",
            "d.png",
            "far/d.png",
        ),
        (
            "novelty ex/news.csv --block 400 --agents-start 3 -o LINK",
            "s.csv",
            "far/s.csv",
        ),
    ] {
        symlink(to, dir.0.join("first")).unwrap();
        fs::rename(dir.0.join("first"), dir.0.join(link)).unwrap();
        // Once to where nothing is yet, once over what is there.
        for _ in 0..2 {
            common::ok(&dir.0, &format!("{} --quiet", args.replace("LINK", link)));
            assert_eq!(
                fs::read_link(dir.0.join(link)).unwrap(),
                Path::new(to),
                "{args}"
            );
            assert!(!fs::symlink_metadata(dir.0.join(to)).unwrap().is_symlink());
            assert!(fs::metadata(dir.0.join(to)).unwrap().len() > 0);
        }
    }
    assert_eq!(files(&dir.0.join("far")), ["d.png", "m", "s.csv"]);
    symlink("nowhere/m", dir.0.join("lost")).unwrap();
    dir.refused("learn x.csv --header no -o lost", "nowhere does not exist");
    symlink("x.csv", dir.0.join("same.csv")).unwrap();
    dir.refused(
        "learn x.csv --header no -o same.csv",
        "would be written over",
    );
}

#[test]
fn examples_are_all_there_or_none() {
    let dir = Scratch::new("robust-examples");
    let full = shell(&dir.0, "trap '' XFSZ; ulimit -f 100; dictmesh examples a/b");
    assert_eq!(full.status.code(), Some(1));
    assert!(
        said(&full).contains("cannot write an example"),
        "{}",
        said(&full)
    );
    assert!(files(&dir.0).is_empty());
    fs::create_dir_all(dir.0.join("c/noisy.png")).unwrap();
    dir.refused("examples c", "noisy.png");
    assert_eq!(files(&dir.0.join("c")), ["noisy.png"]);
}
