//! What is printed, and where: for people, for machines, in a terminal.

#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{json, ok, run};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};

#[test]
fn what_is_printed_is_for_people_or_machines_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("x.csv"), "a,b,c\n1,2,3\n2,1,1\n0,1,2\n3,1,0\n").unwrap();
    let learned = run(dir, "learn x.csv -o m --atoms 2 --passes 3 --report page");
    assert!(learned.stderr.is_empty() && !learned.stdout.contains(&0x1b));
    assert!(dir.join("page/atoms.svg").is_file() && dir.join("page/cost.svg").is_file());
    assert!(run(dir, "learn x.csv -o m --atoms 2 --quiet")
        .stdout
        .is_empty());
    let coded = json(
        dir,
        "infer m x.csv -o c.npz --reconstruct r.npy --json --report codes",
    );
    assert!(coded["gap"].as_f64().unwrap() < 1e-9 && dir.join("r.npy").is_file());
    for name in ["costs.svg", "entries.png", "use.svg", "index.html"] {
        assert!(dir.join("codes").join(name).is_file(), "{name}");
    }
    assert!(run(dir, "infer m x.csv -o c.npz --quiet").stdout.is_empty());
    // "Converged" alone would be taken for the codes.
    for (how, method, is_biased) in [
        ("", "exact", false),
        ("--method mesh", "mesh", false),
        ("--strategy relaxed-admm", "mesh", false),
        ("--strategy diffusion", "mesh", true),
    ] {
        let told = ok(dir, &format!("infer m x.csv -o c.npz {how}"));
        assert_eq!(told.contains("a bias"), is_biased, "{told}");
        let told = json(dir, &format!("infer m x.csv -o c.npz --json {how}"));
        assert_eq!(told["biased"], is_biased);
        assert_eq!(told["method"], method);
        assert_eq!(told["strategy"].is_null(), method == "exact");
    }
    // What costs nothing costs 0, not -0.
    fs::write(dir.join("nothing.csv"), "a,b,c\n0,0,0\n").unwrap();
    for how in ["", "--strategy relaxed-admm", "--strategy exact-diffusion"] {
        let line = format!("infer m nothing.csv -o c.npz --json {how}");
        assert_eq!(json(dir, &line)["cost"].to_string(), "0.0", "{how}");
    }
    let learned = json(dir, "learn nothing.csv -o n --atoms 2 --agents 2 --json");
    assert_eq!(learned["cost_last"].to_string(), "0.0");
    for how in ["", "--method mesh"] {
        let scored = json(dir, &format!("score n nothing.csv --json --quiet {how}"));
        assert_eq!(scored["score"].to_string(), "0.0", "{how}");
    }
    let scored = ok(dir, "score m x.csv --json --quiet");
    let lines: Vec<Value> = scored
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!((lines.len(), &lines[3]["sample"]), (4, &"3".into()));
    assert_eq!(json(dir, "inspect m --json")["feature_names"][2], "c");
    assert!(ok(dir, "inspect m --quiet").is_empty());
}

/// In a terminal there is a bar with a rate and the time left; `script` makes one.
#[test]
fn progress_is_shown_in_a_terminal_only() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let rows: String = (0..3000)
        .map(|i| format!("{},{},{}\n", i % 7, i % 5, i % 3))
        .collect();
    fs::write(dir.join("x.csv"), rows).unwrap();
    let binary = env!("CARGO_BIN_EXE_dictmesh");
    let in_terminal = |args: &str| {
        let command = format!("stty cols 100; '{binary}' {args}");
        let out = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .current_dir(dir)
            .stdin(Stdio::null())
            .output();
        out.ok()
            .map(|out| String::from_utf8_lossy(&out.stdout).into_owned())
    };
    let learn = "learn x.csv -o m --atoms 2 --batch 8 --passes 4";
    let Some(shown) = in_terminal(learn) else {
        println!("skipped: no program script to make a terminal");
        return;
    };
    for word in ["learning [", "/12,000", "/s", "left", "cost"] {
        assert!(shown.contains(word), "{word:?}: {shown}");
    }
    let shown = in_terminal("score m x.csv").unwrap();
    assert!(shown.contains("scoring ["), "{shown}");
    let shown = in_terminal("infer m x.csv -o c.npz").unwrap();
    assert!(shown.contains("coding ["), "{shown}");
    let shown = in_terminal(&format!("{learn} --quiet")).unwrap();
    assert!(shown.trim().is_empty(), "{shown}");
    assert!(run(dir, learn).stderr.is_empty());
}

/// "1 atoms" and passes counted as samples were once printed.
#[test]
fn one_is_singular_and_passes_are_no_samples() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    fs::write(dir.join("x.csv"), "1,2,3\n2,1,1\n0,1,2\n3,1,0\n").unwrap();
    let said = ok(dir, "learn x.csv -o m --atoms 1 --passes 4 --batch 1");
    for words in [
        "1 atom at 1 agent from 4 samples in 4 passes",
        "over the first 3",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let said = ok(dir, "inspect m");
    assert!(
        said.contains("1 atom of 3 features at 1 agent with 0 links"),
        "{said}"
    );
    assert!(said.contains("16 samples learned in all passes"), "{said}");
    let said = ok(dir, "learn x.csv -o m --atoms 1 --dry-run");
    assert!(
        said.starts_with("4 samples of 3 features; 1 atom at 1 agent"),
        "{said}"
    );
}
