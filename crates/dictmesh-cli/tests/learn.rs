//! learn, inspect, infer and score, end to end, on files made here.
#![allow(clippy::unwrap_used)]

mod common;

use common::{ok_words as ok, run_words as run};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

fn refused(dir: &Path, args: &[&str]) -> String {
    let out = run(dir, args);
    assert_eq!(out.status.code(), Some(1), "{args:?}");
    String::from_utf8(out.stderr).unwrap()
}

/// Samples that are one of four patterns each, with a little on top; the last one is none of them.
fn table(samples: usize) -> String {
    let mut text = (0..8)
        .map(|i| format!("f{i}"))
        .collect::<Vec<_>>()
        .join(",")
        + "\n";
    for j in 0..samples {
        let size = 1.0 + (j % 7) as f64 / 7.0;
        let row: Vec<String> = (0..8)
            .map(|i| {
                let pattern = if j + 1 == samples {
                    i % 2 == 0
                } else {
                    i / 2 == j % 4
                };
                let little = 0.01 * ((i * 31 + j * 17) % 11) as f64;
                format!("{:.4}", if pattern { size } else { 0.0 } + little)
            })
            .collect();
        writeln!(text, "{}", row.join(",")).unwrap();
    }
    text
}

#[test]
fn a_model_is_learned_inspected_and_used() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    std::fs::write(at.join("x.csv"), table(201)).unwrap();
    std::fs::write(
        at.join("mesh.toml"),
        "agents = 4\natoms = 4\ntopology = \"ring\"\nbatch = 8\npasses = 3\ntask = \"nmf\"\n",
    )
    .unwrap();
    let learned = ok(
        at,
        &[
            "learn",
            "x.csv",
            "-o",
            "m.st",
            "--config",
            "mesh.toml",
            "--informed",
            "0",
            "--json",
        ],
    );
    let learned: Value = serde_json::from_str(&learned).unwrap();
    assert_eq!(learned["samples"], 603);
    assert!(learned["cost_last"].as_f64().unwrap() < learned["cost_first"].as_f64().unwrap());
    let held: Value = serde_json::from_str(&ok(at, &["inspect", "m.st", "--json"])).unwrap();
    assert_eq!((&held["agents"], &held["atoms"]), (&4.into(), &4.into()));
    // Exact and over the mesh agree on the cost.
    let exact: Value = serde_json::from_str(&ok(
        at,
        &["infer", "m.st", "x.csv", "-o", "c.npz", "--json"],
    ))
    .unwrap();
    assert!(exact["gap"].as_f64().unwrap() < 1e-9);
    let mesh = [
        "infer",
        "m.st",
        "x.csv",
        "-o",
        "d.npz",
        "--strategy",
        "relaxed-admm",
        "--json",
    ];
    let mesh: Value = serde_json::from_str(&ok(at, &mesh)).unwrap();
    let (a, b) = (
        exact["cost"].as_f64().unwrap(),
        mesh["cost"].as_f64().unwrap(),
    );
    assert!((a - b).abs() < 1e-3 * a, "{a} {b}");
    assert!(at.join("c.npz").exists());
    // The sample that is no pattern scores highest.
    let scores = ok(at, &["score", "m.st", "x.csv"]);
    let mut lines: Vec<Vec<&str>> = scores
        .lines()
        .skip(1)
        .map(|l| l.split(',').collect())
        .collect();
    assert_eq!(lines.len(), 201);
    lines.sort_by(|a, b| {
        b[1].parse::<f64>()
            .unwrap()
            .total_cmp(&a[1].parse().unwrap())
    });
    assert_eq!((lines[0][0], lines[0][2]), ("200", "1"));
}

#[test]
fn learning_in_two_goes_is_learning_in_one() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    std::fs::write(at.join("x.csv"), table(64)).unwrap();
    let how = ["--atoms", "6", "--agents", "3", "--batch", "8", "--quiet"];
    let learn = |out: &str, more: &[&str]| {
        let args = [&["learn", "x.csv", "-o", out], &how[..], more].concat();
        ok(at, &args);
    };
    learn("one.st", &["--passes", "2"]);
    learn("half.st", &["--passes", "1"]);
    learn("two.st", &["--passes", "2", "--resume", "half.st"]);
    let codes = |model: &str| ok(at, &["score", model, "x.csv"]);
    assert_eq!(codes("one.st"), codes("two.st"));
}

#[test]
fn what_cannot_be_done_is_said_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    std::fs::write(at.join("x.csv"), table(20)).unwrap();
    std::fs::write(at.join("bad.csv"), "a,b\n1,2\n3,\n").unwrap();
    std::fs::write(at.join("bad.toml"), "atoms = 4\nagnets = 2\n").unwrap();
    std::fs::write(at.join("name.toml"), "task = \"nfm\"\n").unwrap();
    let cases: [(&[&str], &str); 21] = [
        (&["learn", "none.csv"], "none.csv"),
        (&["learn", "bad.csv"], "--nan"),
        (&["learn", "x.csv", "--delta", "0"], "above 0"),
        (
            &["learn", "x.csv", "--agents", "4", "--rho", "nan"],
            "--rho",
        ),
        (
            &["learn", "x.csv", "--agents", "4", "--rho", "inf"],
            "--rho",
        ),
        (
            &["learn", "x.csv", "--strategy", "diffusion", "--mu", "nan"],
            "--mu",
        ),
        (
            &["learn", "x.csv", "--strategy", "jacobi-admm", "--mu", "inf"],
            "--mu",
        ),
        (
            &["learn", "x.csv", "--strategy", "tree", "--bits", "3"],
            "--bits 3: must be a whole number from 4 to 16",
        ),
        (
            &["learn", "x.csv", "--strategy", "tree", "--bits", "17"],
            "--bits 17: must be a whole number from 4 to 16",
        ),
        (
            &["learn", "x.csv", "--strategy", "diffusion", "--bits", "3"],
            "--bits 3: must be a whole number from 4 to 16; leave it out for doubles",
        ),
        (
            &["learn", "x.csv", "--mu", "1"],
            "--mu belongs to --strategy diffusion or consensus",
        ),
        (
            &["learn", "x.csv", "--strategy", "auto", "--bits", "8"],
            "--strategy tree",
        ),
        (
            &["learn", "x.csv", "--strategy", "tree", "--latency", "1"],
            "--latency belongs to --strategy auto, but this strategy is tree",
        ),
        (
            &["learn", "x.csv", "--latency", "-1"],
            "--latency -1: must be 0 or above",
        ),
        (
            &["learn", "x.csv", "--bandwidth", "0"],
            "--bandwidth 0: must be above 0",
        ),
        (
            &["learn", "x.csv", "--strategy", "tree", "--mu", "1"],
            "but this strategy is tree",
        ),
        (
            &["learn", "x.csv", "--strategy", "tree", "--rho", "1"],
            "--rho belongs to --strategy relaxed-admm, but this strategy is tree",
        ),
        (
            &["learn", "x.csv", "--agents", "9", "--topology", "grid:2x2"],
            "grid",
        ),
        (
            &["learn", "x.csv", "--informed", "7", "--agents", "2"],
            "informed",
        ),
        (&["learn", "x.csv", "--config", "bad.toml"], "agnets"),
        (
            &["learn", "x.csv", "--config", "name.toml"],
            "did you mean nmf?",
        ),
    ];
    for (args, word) in cases {
        let said = refused(at, &[args, &["-o", "m.st"]].concat());
        assert!(said.contains(word), "{args:?}: {said}");
        assert!(!at.join("m.st").exists());
    }
    assert!(refused(at, &["learn", "x.csv", "-o", "no/m.st"]).contains("does not exist"));
    assert!(refused(at, &["inspect", "x.csv"]).contains("x.csv"));
    ok(
        at,
        &["learn", "x.csv", "-o", "m.st", "--atoms", "2", "--quiet"],
    );
    std::fs::write(at.join("wide.csv"), "1,2\n3,4\n").unwrap();
    let said = refused(at, &["score", "m.st", "wide.csv"]);
    assert!(said.contains('8') && said.contains('2'), "{said}");
}

/// Codes and scores by sums have a certificate, which is printed; those of gossip have none.
#[test]
fn the_certified_gap_of_tree_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    std::fs::write(at.join("x.csv"), table(80)).unwrap();
    let learn = "learn x.csv --atoms 6 --agents 3 --topology ring --batch 20 --quiet";
    let words = |line: &str| -> Vec<String> { line.split(' ').map(String::from).collect() };
    let ok = |line: &str| {
        let line = words(line);
        ok(at, &line.iter().map(String::as_str).collect::<Vec<_>>())
    };
    ok(&format!(
        "{learn} -o tree.st --strategy tree --bits 6 --tolerance 1e-5"
    ));
    ok(&format!("{learn} -o gossip.st"));
    assert!(ok("inspect tree.st").contains("tree"));
    let told = |line: &str| -> serde_json::Value { serde_json::from_str(&ok(line)).unwrap() };
    let infer = "infer gossip.st x.csv -o c.npz";
    let exact = told(&format!("{infer} --json"))["cost"].as_f64().unwrap();
    for bits in ["", "--bits 4", "--bits 16"] {
        let line = format!("{infer} --strategy tree {bits}");
        let line = line.trim();
        assert!(
            ok(line).contains("certified relative gap: "),
            "{}",
            ok(line)
        );
        let found = told(&format!("{line} --json"));
        let gap = found["gap"].as_f64().unwrap();
        assert!(gap > 0.0 && gap <= 1e-8, "{found}");
        let cost = found["cost"].as_f64().unwrap();
        assert!((cost - exact).abs() <= 1e-7 * exact, "{found}, {exact}");
    }
    assert!(told(&format!("{infer} --strategy relaxed-admm --json"))["gap"].is_null());
    for flag in ["--bits 8", "--strategy tree"] {
        let line = format!("infer tree.st x.csv -o c.npz --method exact {flag}");
        let words = words(&line);
        let said = refused(at, &words.iter().map(String::as_str).collect::<Vec<_>>());
        let why = format!("{flag}: --method exact has no messages");
        assert!(said.contains(&why), "{said}");
    }
    let scored = |line: &str| {
        let lines = ok(line);
        let lines = lines.lines().map(|l| serde_json::from_str(l).unwrap());
        lines.collect::<Vec<serde_json::Value>>()
    };
    for (line, most) in [
        ("score tree.st x.csv --json --method mesh", 1e-10),
        ("score gossip.st x.csv --json --strategy tree", 1e-8),
        ("score gossip.st x.csv --json", 1e-10),
    ] {
        for line in scored(line) {
            assert!(line["gap"].as_f64().unwrap() <= most, "{line}");
        }
    }
    for line in scored("score gossip.st x.csv --json --method mesh") {
        assert!(line["gap"].is_null(), "{line}");
    }
    let program = env!("CARGO_BIN_EXE_dictmesh");
    let mut score = std::process::Command::new(program);
    let out = score
        .args(["score", "tree.st", "x.csv"])
        .current_dir(at)
        .output();
    let out = String::from_utf8(out.unwrap().stderr).unwrap();
    assert!(out.contains("certified relative gap: "), "{out}");
}

/// `--accel none` and each speed-up but `reduction`: codes of the learned model are the same bytes.
#[test]
fn speed_ups_are_switched_by_name_and_change_no_digit() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    std::fs::write(at.join("x.csv"), table(80)).unwrap();
    let coded = |mesh: &[&str], accel: &str| {
        let learn = [
            "learn", "x.csv", "-o", "m", "--force", "--quiet", "--atoms", "12",
        ];
        ok(
            at,
            &[&learn[..], mesh, &["--batch", "20", "--accel", accel]].concat(),
        );
        ok(at, &["infer", "m", "x.csv", "-o", "y.npz", "--quiet"]);
        std::fs::read(at.join("y.npz")).unwrap()
    };
    let gossip = ["--agents", "6", "--strategy", "relaxed-admm"];
    for mesh in [&["--agents", "1"][..], &gossip] {
        let plain = coded(mesh, "none");
        for accel in ["single-agent", "chunks", "neighbour-sums", "lanes"] {
            assert!(coded(mesh, accel) == plain, "{accel}, {mesh:?}");
        }
    }
    let out = run(at, &["learn", "x.csv", "-o", "n", "--accel", "lane"]);
    let said = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(
        said.contains("lane") && said.contains("neighbour-sums"),
        "{said}"
    );
}
