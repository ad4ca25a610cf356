//! `dictmesh novelty` and `dictmesh reproduce documents`, as a person runs them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{files, run_words as dictmesh};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Output;

fn told(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Exit code 1, nothing on stdout, one sentence with these words, and no file that was not there.
fn refused(dir: &Path, args: &[&str], words: &[&str]) {
    let before = files(dir);
    let output = dictmesh(dir, args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
    assert!(output.stdout.is_empty(), "{args:?}");
    assert!(said.starts_with("dictmesh: "), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
    assert_eq!(files(dir), before, "{args:?} left something behind");
}

const TOPICS: [(&str, &str); 3] = [
    (
        "sport",
        "match goal team player coach league season referee stadium striker keeper penalty",
    ),
    (
        "money",
        "bank market shares interest inflation currency bond trader profit loan budget tax",
    ),
    (
        "space",
        "rocket orbit satellite astronaut launch telescope planet comet engine crew lunar probe",
    ),
];
const COMMON: &str = "people year city report week news country group day early late public";

/// 60 documents of the first two topics; then 30, six of which (60, 65, ...) are of the third.
fn stream() -> Vec<(&'static str, String)> {
    let mut state = 7_u64;
    let mut draw = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    (0..90)
        .map(|i| {
            let late = i >= 60 && i % 5 == 0;
            let (label, words) = TOPICS[if late { 2 } else { i % 2 }];
            let words: Vec<&str> = words.split(' ').collect();
            let common: Vec<&str> = COMMON.split(' ').collect();
            let mut text = String::new();
            for _ in 0..14 {
                write!(text, "{} ", words[draw(words.len())]).unwrap();
            }
            for _ in 0..4 {
                write!(text, "{} ", common[draw(common.len())]).unwrap();
            }
            (label, text)
        })
        .collect()
}

const SMALL: [&str; 6] = [
    "--block",
    "30",
    "--agents-start",
    "4",
    "--atoms-per-block",
    "2",
];

fn with<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["novelty"], args, &SMALL].concat()
}

fn lines(dir: &Path) {
    let texts: Vec<String> = stream().into_iter().map(|d| d.1).collect();
    fs::write(dir.join("stream.txt"), texts.join("\n")).unwrap();
}

fn table(dir: &Path) {
    let mut csv = String::from("id,label,text\n");
    for (i, (label, text)) in stream().iter().enumerate() {
        writeln!(csv, "{i},{label},\"{text}\"").unwrap();
    }
    fs::write(dir.join("stream.csv"), csv).unwrap();
}

fn json_lines(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_topic_that_appears_late_comes_out_on_top() {
    let dir = tempfile::tempdir().unwrap();
    lines(dir.path());
    let args = [
        "stream.txt",
        "-o",
        "scores.csv",
        "--save-model",
        "m.dictmesh",
    ];
    let text = told(&dictmesh(dir.path(), &with(&args)));
    let last = &text[text.find("block 2: 30 documents").unwrap()..];
    assert!(last.contains("called novel (score above"), "{last}");
    assert!(!text.contains("AUC"), "{text}");
    // The words of the new topic are what nobody explained.
    let why = last.lines().find(|l| l.contains("unexplained:")).unwrap();
    assert!(TOPICS[2].1.split(' ').any(|w| why.contains(w)), "{why}");

    let mut rows = Vec::new();
    let mut reader = csv::Reader::from_path(dir.path().join("scores.csv")).unwrap();
    for row in reader.records() {
        let row = row.unwrap();
        let score: f64 = row[3].parse().unwrap();
        rows.push((score, row[1].parse::<usize>().unwrap(), row[2].to_string()));
    }
    assert_eq!(rows.len(), 60);
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut top: Vec<usize> = rows[..6].iter().map(|r| r.1).collect();
    top.sort_unstable();
    assert_eq!(top, [60, 65, 70, 75, 80, 85]);
    assert!(rows.iter().all(|r| r.2 == format!("line {}", r.1 + 1)));
    assert_eq!(
        files(dir.path()),
        ["m.dictmesh", "scores.csv", "stream.txt"]
    );
    told(&dictmesh(dir.path(), &["inspect", "m.dictmesh"]));
}

#[test]
fn a_table_with_labels_gets_its_auc_and_a_report() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path());
    let args = ["stream.csv", "--label-column", "label", "--report", "page"];
    let text = told(&dictmesh(dir.path(), &with(&args)));
    let auc = text.split("AUC ").nth(1).unwrap();
    let auc: f64 = auc[..5].parse().unwrap();
    assert!(auc > 0.95, "{text}");
    let page = fs::read_to_string(dir.path().join("page/index.html")).unwrap();
    assert!(page.contains("mean AUC") && page.contains("<svg"));
    assert!(dir.path().join("page/roc.png").is_file());

    let lines = json_lines(&told(&dictmesh(
        dir.path(),
        &with(&["stream.csv", "--json"]),
    )));
    assert_eq!(lines.len(), 4, "three blocks and the result");
    for (number, block) in lines[..3].iter().enumerate() {
        assert_eq!(block["schema"], "dictmesh.novelty-block/1");
        assert_eq!(
            (&block["block"], &block["documents"]),
            (&number.into(), &30.into())
        );
    }
    assert!(lines[2]["auc"].as_f64().unwrap() > 0.95, "{}", lines[2]);
    let top = lines[2]["top"].as_array().unwrap();
    assert_eq!(top.len(), 5);
    assert!(top[0]["unexplained"][0]["name"].is_string(), "{}", top[0]);
    assert_eq!(lines[3]["schema"], "dictmesh.novelty/1");
    assert_eq!(
        (&lines[3]["documents"], &lines[3]["blocks"]),
        (&90.into(), &3.into())
    );
    assert!(
        lines[3]["mean_auc"].as_f64().unwrap() > 0.95,
        "{}",
        lines[3]
    );
    let quiet = told(&dictmesh(dir.path(), &with(&["stream.csv", "--quiet"])));
    assert!(quiet.is_empty());
}

#[test]
fn counts_and_labels_in_files_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let all = TOPICS.map(|t| t.1).join(" ") + " " + COMMON;
    let mut counts = String::new();
    let mut labels = String::from("topic\n");
    for (label, text) in stream() {
        let row: Vec<String> = all
            .split(' ')
            .map(|w| text.split(' ').filter(|t| *t == w).count().to_string())
            .collect();
        writeln!(counts, "{}", row.join(",")).unwrap();
        writeln!(labels, "{label}").unwrap();
    }
    fs::write(dir.path().join("counts.csv"), counts).unwrap();
    fs::write(dir.path().join("labels.csv"), labels).unwrap();
    for kind in ["--counts", "--tfidf"] {
        let args = ["counts.csv", kind, "--labels", "labels.csv", "--json"];
        let lines = json_lines(&told(&dictmesh(dir.path(), &with(&args))));
        let last = lines.last().unwrap();
        assert!(last["mean_auc"].as_f64().unwrap() > 0.95, "{last}");
    }
}

#[test]
fn bad_streams_and_labels_are_refused_in_a_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    lines(dir);
    table(dir);
    fs::write(dir.join("empty.txt"), "").unwrap();
    fs::write(dir.join("blank.txt"), "\n \n").unwrap();
    fs::write(dir.join("empty.csv"), "").unwrap();
    fs::write(dir.join("short.csv"), "label\na\nb\n").unwrap();
    fs::write(dir.join("one.csv"), "a\n".repeat(90)).unwrap();
    fs::write(dir.join("bad.npz"), "no archive").unwrap();
    let out = ["-o", "scores.csv", "--save-model", "m", "--report", "page"];
    let check = |args: &[&str], words: &[&str]| {
        refused(dir, &with(&[args, &out].concat()), words);
    };
    check(&["none.txt"], &["none.txt"]);
    check(&["empty.txt"], &["empty.txt"]);
    check(&["blank.txt"], &["blank.txt", "no text"]);
    check(&["empty.csv"], &["empty.csv"]);
    check(&["bad.npz"], &["bad.npz"]);
    check(
        &["stream.txt", "--labels", "short.csv"],
        &["short.csv", "90"],
    );
    check(&["stream.txt", "--labels", "none.csv"], &["none.csv"]);
    check(
        &["stream.txt", "--labels", "one.csv"],
        &["one.csv", "no ROC curve"],
    );
    check(
        &["stream.csv", "--label-column", "colour"],
        &["stream.csv", "colour"],
    );
    check(
        &["stream.txt", "--label-column", "label"],
        &["--label-column"],
    );
    check(&["stream.txt", "--quantile", "2"], &["--quantile 2"]);
    check(&["stream.txt", "--first", "90"], &["90", "--first"]);
    let place = ["stream.txt", "-o", "none/scores.csv"];
    refused(dir, &with(&place), &["none", "does not exist"]);
}

/// The flags that Python has: each reaches the mesh.
#[test]
fn the_problem_and_the_learning_can_be_chosen() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    lines(dir);
    let inspected = |args: &[&str]| -> Value {
        let save = ["stream.txt", "--save-model", "m", "--quiet"];
        told(&dictmesh(dir, &with(&[&save[..], args].concat())));
        let text = told(&dictmesh(dir, &["inspect", "m", "--json"]));
        serde_json::from_str(&text).unwrap()
    };
    let flags = [
        "--gamma", "0.02", "--delta", "0.25", "--batch", "7", "--passes", "2",
    ];
    let huber = ["--residual", "huber", "--eta", "0.3"];
    let plain = inspected(&[]).to_string();
    let chosen = inspected(&[&flags[..], &huber[..]].concat()).to_string();
    for (number, default) in [("0.02", "0.01"), ("0.25", "0.05"), ("0.3", "squared-l2")] {
        assert!(chosen.contains(number), "{number}: {chosen}");
        assert!(plain.contains(default), "{default}: {plain}");
    }
    assert!(chosen.contains("huber"), "{chosen}");
    let scores = |args: &[&str]| {
        let all = [&["stream.txt", "-o", "s.csv", "--quiet"], args].concat();
        told(&dictmesh(dir, &with(&all)));
        fs::read_to_string(dir.join("s.csv")).unwrap()
    };
    let usual = scores(&[]);
    assert_eq!(
        usual,
        scores(&["--batch", "10", "--passes", "3", "--method", "exact"])
    );
    for other in [["--batch", "5"], ["--passes", "1"], ["--method", "mesh"]] {
        assert_ne!(usual, scores(&other), "{other:?}");
    }
    refused(
        dir,
        &with(&["stream.txt", "--eta", "0.3"]),
        &["--eta", "huber"],
    );
    refused(
        dir,
        &with(&["stream.txt", "--gamma", "-1"]),
        &["--gamma -1"],
    );
    let both = dictmesh(dir, &with(&["stream.txt", "--paper", "--passes", "1"]));
    assert_eq!(both.status.code(), Some(2));
    let help = told(&dictmesh(dir, &["novelty", "--help"]));
    for default in ["[default: 0.01]", "[default: 0.05]", "[default: 0.95]"] {
        assert!(help.contains(default), "{default}: {help}");
    }
}

/// `--model` had replaced any file without a word.
#[test]
fn no_file_that_dictmesh_did_not_write_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    lines(dir);
    fs::write(dir.join("notes"), "mine").unwrap();
    for flag in ["--save-model", "-o"] {
        let args = with(&["stream.txt", flag, "notes"]);
        refused(dir, &args, &["notes", "--force"]);
        assert_eq!(fs::read(dir.join("notes")).unwrap(), b"mine");
    }
    // Its own files are, and any with --force.
    let args = with(&["stream.txt", "--save-model", "m", "-o", "s.csv", "--quiet"]);
    told(&dictmesh(dir, &args));
    told(&dictmesh(dir, &args));
    let args = with(&["stream.txt", "--save-model", "notes", "--force", "--quiet"]);
    told(&dictmesh(dir, &args));
    assert_ne!(fs::read(dir.join("notes")).unwrap(), b"mine");
}

#[test]
fn reproduce_without_its_data_says_where_to_get_it() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["reproduce", "documents", "--data", ".", "--report", "page"];
    let words = ["tdt2.npz", "tdt2_labels.csv", "TextData.html"];
    refused(dir.path(), &args, &words);
    fs::write(dir.path().join("tdt2.npz"), "no archive").unwrap();
    fs::write(dir.path().join("tdt2_labels.csv"), "topic\n1\n").unwrap();
    refused(dir.path(), &args, &["tdt2.npz"]);
}
