//! `infer` with standard input: codes are written as samples arrive, in the memory of a batch.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::live::Live;
use common::{files, ok, said, samples, shell, Scratch};
use serde_json::Value;
use std::fs;

/// A model of six numbers a sample.
fn learned(name: &str) -> Scratch {
    let dir = Scratch::new(name);
    dir.write("x.csv", samples(40, 0));
    ok(&dir.0, "learn x.csv --header no --atoms 4 -o m --quiet");
    dir
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

#[test]
fn each_sample_is_coded_before_the_next_is_written() {
    let dir = learned("infer-lines");
    dir.write("new.csv", samples(3, 5));
    let whole = ok(&dir.0, "infer m new.csv --header no -o - --quiet");
    let expected: Vec<Value> = whole.lines().map(parsed).collect();
    assert_eq!(expected.len(), 3, "{whole}");
    let mut live = Live::start(&dir.0, "infer m - --header no -o -");
    for (line, expected) in samples(3, 5).lines().zip(&expected) {
        live.write(&format!("{line}\n"));
        let found = parsed(&live.line());
        assert_eq!(found["schema"], "dictmesh.infer-code/1");
        for key in ["sample", "atoms"] {
            assert_eq!(found[key], expected[key], "{key}");
        }
        let cost = |line: &Value| line["cost"].as_f64().unwrap();
        assert!((cost(&found) - cost(expected)).abs() < 1e-9, "{found}");
    }
    // The summary goes where it is in nobody's way.
    let (code, rest, said) = live.end();
    assert_eq!((code, rest.as_str()), (Some(0), ""));
    assert!(said.contains("3 samples coded"), "{said}");
    let mut live = Live::start(&dir.0, "infer m - --header no -o - --json");
    live.write(&samples(1, 0));
    assert_eq!(parsed(&live.line())["sample"], "0");
    let (code, rest, _) = live.end();
    let summary = parsed(&rest);
    assert_eq!(
        (code, &summary["schema"]),
        (Some(0), &"dictmesh.infer/1".into())
    );
    assert_eq!(
        (&summary["samples"], &summary["codes"]),
        (&1.into(), &"-".into())
    );
}

/// A bad line ends the run, after the codes of what was right.
#[test]
fn a_bad_line_comes_after_the_codes_before_it() {
    let dir = learned("infer-bad");
    let mut live = Live::start(&dir.0, "infer m - --header no -o - --quiet");
    live.write(&(samples(2, 0) + "1,2,three,4,5,6\n"));
    let (code, rest, said) = live.end();
    assert_eq!((code, rest.lines().count()), (Some(1), 2), "{rest}{said}");
    assert!(said.contains("line 3") && said.contains("three"), "{said}");
    // A file is complete or absent.
    let mut live = Live::start(&dir.0, "infer m - --header no -o c.npz --quiet");
    live.write(&(samples(2, 0) + "1,2,three,4,5,6\n"));
    assert_eq!(live.end().0, Some(1));
    assert_eq!(files(&dir.0), ["m", "x.csv"]);
    let (code, _, said) = Live::start(&dir.0, "infer m - --header no -o c.npz").end();
    assert_eq!(code, Some(1));
    assert!(
        said.contains("no samples") || said.contains("empty"),
        "{said}"
    );
}

#[test]
fn files_of_a_stream_are_those_of_a_file() {
    let dir = learned("infer-files");
    dir.write("new.csv", samples(700, 3));
    let args = "--header no --quiet --reconstruct";
    ok(&dir.0, &format!("infer m new.csv -o a.npz {args} a.npy"));
    let piped = format!("cat new.csv | dictmesh infer m - -o b.npz {args} b.npy");
    let out = shell(&dir.0, &piped);
    assert!(out.status.success(), "{}", said(&out));
    let read = |name: &str| fs::read(dir.0.join(name)).unwrap();
    assert_eq!(read("a.npy"), read("b.npy"));
    let codes = |name| {
        let path = dir.0.join(name);
        let table = dictmesh_data::read(&path, &dictmesh_data::ReadOptions::default());
        table.unwrap().samples
    };
    assert_eq!(codes("a.npz"), codes("b.npz"));
    assert_eq!(codes("a.npz").len(), 700);
    // By a dictionary from elsewhere, whose layout the first sample settles.
    dir.write("w.csv", samples(4, 1));
    let by = "--dictionary w.csv --gamma 0.1 --header no -o - --quiet";
    let whole = ok(&dir.0, &format!("infer {by} new.csv"));
    let out = shell(&dir.0, &format!("cat new.csv | dictmesh infer {by} -"));
    assert_eq!(
        String::from_utf8_lossy(&out.stdout),
        whole,
        "{}",
        said(&out)
    );
}

/// Ctrl-C ends the stream; the codes so far are kept.
#[test]
fn ctrl_c_keeps_the_codes_so_far() {
    let dir = learned("infer-interrupt");
    let mut live = Live::start(&dir.0, "infer m - --header no -o - --quiet");
    live.write(&samples(1, 0));
    assert_eq!(parsed(&live.line())["sample"], "0");
    assert_eq!(live.interrupted(), Some(130));
    // A reader that has seen enough ends the run, although the input continues.
    let line = "yes 1,2,3,1,2,3 | dictmesh infer m - --header no -o - --quiet | head -n 2";
    let out = shell(&dir.0, line);
    assert_eq!(
        String::from_utf8_lossy(&out.stdout).lines().count(),
        2,
        "{}",
        said(&out)
    );
    assert!(!said(&out).contains("panicked"), "{}", said(&out));
}

/// Memory holds a batch, not the stream.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_samples() {
    let dir = Scratch::new("infer-memory");
    let row = |i: usize| {
        let entry = |j: usize| ((i * 31 + j * 17) % 23) as f64 / 23.0;
        (0..400)
            .map(|j| format!("{:.6}", entry(j)))
            .collect::<Vec<_>>()
            .join(",")
            + "\n"
    };
    let rows = |count: usize| (0..count).map(row).collect::<String>();
    dir.write("x.csv", rows(60));
    ok(
        &dir.0,
        "learn x.csv --header no --atoms 4 --agents 1 -o m --quiet",
    );
    let batch = rows(256);
    let peak = |output: &str, batches: usize| {
        let args = format!("infer m - --header no --quiet --threads 1 -o {output}");
        let mut live = Live::start(&dir.0, &args);
        for _ in 0..batches {
            live.write(&batch);
            if output == "-" {
                (0..256).for_each(|_| drop(live.line()));
            }
        }
        let peak = live.peak_memory();
        assert_eq!(live.end().0, Some(0));
        peak
    };
    for output in ["-", "c.npz"] {
        let (few, many) = (peak(output, 4), peak(output, 60));
        println!("{output}: {few} kB after 4 batches, {many} kB after 60");
        // The other samples are 46 MB as doubles, 50 MB as text.
        assert!(many < few + 16_000, "{output}: {few} kB and {many} kB");
    }
}
