//! Above which score a sample is novel: by what the model learned from, however few samples are scored.
#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{ok, run, said, Scratch};
use serde_json::Value;
use std::path::Path;

/// Multiples of two patterns, each with a little of its own.
fn known(count: usize) -> String {
    let patterns = [
        [3.0, 2.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 1.0, 2.0, 3.0],
    ];
    let line = |i: usize| {
        let (pattern, scale) = (patterns[i % 2], 1.0 + (i * 7 % 11) as f64 / 11.0);
        let entry = |j: usize| scale * pattern[j] + 0.02 * ((i * 5 + j * 3) % 7) as f64;
        let entries: Vec<String> = (0..6).map(|j| format!("{:.4}", entry(j))).collect();
        entries.join(",") + "\n"
    };
    (0..count).map(line).collect()
}

/// Neither pattern.
const STRANGE: &str = "3,-2,0,2,0,-3\n";

/// Which samples of a file are called novel, and where the threshold came from.
fn novel(dir: &Path, args: &str) -> (Vec<bool>, String) {
    let lines = ok(dir, &format!("score {args} --header no --json"));
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let from = lines[0]["threshold_from"].as_str().unwrap().to_string();
    for line in &lines {
        let above = line["score"].as_f64() > line["threshold"].as_f64();
        assert_eq!(line["novel"].as_bool(), Some(above));
    }
    let novel = lines.iter().map(|line| line["novel"] == true).collect();
    (novel, from)
}

/// The threshold had been a quantile of the scored samples: one alone was never above it.
#[test]
fn a_sample_alone_and_one_among_twelve_are_called_what_they_are() {
    let dir = Scratch::new("threshold");
    let at = dir.0.as_path();
    dir.write("x.csv", known(2300));
    let learn = "learn x.csv --header no -o m --atoms 4 --agents 2 --passes 3";
    ok(at, &format!("{learn} --quiet"));
    dir.write("strange.csv", STRANGE);
    dir.write("known.csv", known(1));
    dir.write("twelve.csv", known(6) + STRANGE + &known(5));
    let learned = "model".to_string();
    assert_eq!(novel(at, "m strange.csv"), (vec![true], learned.clone()));
    assert_eq!(novel(at, "m known.csv --quantile 1").0, [false]);
    let mut expected = vec![false; 12];
    expected[6] = true;
    assert_eq!(novel(at, "m twelve.csv --quantile 1"), (expected, learned));
    // The share that was asked for, of what it learned from.
    for (quantile, share) in [("0.95", 0.05), ("0.5", 0.5)] {
        let called = novel(at, &format!("m x.csv --quantile {quantile}")).0;
        let found = called.iter().filter(|n| **n).count() as f64 / 2300.0;
        assert!((found - share).abs() < 0.02, "{quantile}: {found}");
    }
    let out = run(at, "score m strange.csv --header no --report page");
    let line = "= the 0.95 quantile of what the model learned from (767 samples)";
    assert!(said(&out).contains(line), "{}", said(&out));
    let page = std::fs::read_to_string(at.join("page/index.html")).unwrap();
    assert!(page.contains("is the 0.95 quantile of what the model learned from"));
    assert_eq!(
        novel(at, "m strange.csv --threshold 1e9"),
        (vec![false], "given".into())
    );
}

#[test]
fn a_stream_leaves_its_scores_and_a_model_without_any_says_so() {
    let dir = Scratch::new("threshold-none");
    let at = dir.0.as_path();
    let texts = ["moon rocket orbit crater\n", "bread flour oven yeast\n"].concat();
    dir.write("t.txt", texts.repeat(40));
    let novelty =
        "novelty t.txt --block 20 --agents-start 2 --atoms-per-block 1 --save-model n --quiet";
    ok(at, novelty);
    dir.write("new.txt", "court verdict judge appeal\n");
    let out = run(at, "score n new.txt");
    assert!(String::from_utf8_lossy(&out.stdout).ends_with(",1\n"));
    assert!(said(&out).contains("(60 samples)"), "{}", said(&out));

    ok(at, "examples ex --quiet");
    ok(
        at,
        "denoise ex/noisy.png -o d.png --stride 4 --atoms 16 --save-model p --quiet",
    );
    let out = run(at, "score p ex/clean.png");
    let words = "0.95 quantile of these samples themselves";
    assert!(said(&out).contains(words), "{}", said(&out));
}

/// The sample that sets the threshold was called novel where a mesh scored it to its tolerance, and not where it was
/// scored exactly.
#[test]
fn the_sample_that_sets_the_threshold_is_not_novel() {
    let dir = Scratch::new("setter");
    let at = dir.0.as_path();
    let x = common::samples(200, 0);
    dir.write("x.csv", &x);
    ok(
        at,
        "learn x.csv --header no -o m --atoms 12 --agents 6 --topology ring --passes 3 --quiet",
    );
    let scored = ok(at, "score m x.csv --header no --json");
    let scores: Vec<f64> = (scored.lines())
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["score"].as_f64())
        .map(Option::unwrap)
        .collect();
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let setter = scores.iter().position(|score| *score == largest).unwrap();
    dir.write("alone.csv", x.lines().nth(setter).unwrap());
    for how in ["", "--method mesh"] {
        let all = novel(at, &format!("m x.csv --quantile 1 {how}")).0;
        assert!(all.iter().all(|novel| !novel), "{how}: {all:?}");
        let alone = novel(at, &format!("m alone.csv --quantile 1 {how}")).0;
        assert_eq!(alone, [false], "{how}");
    }
}
