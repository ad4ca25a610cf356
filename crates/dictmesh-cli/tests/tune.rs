//! `dictmesh tune` and `dictmesh reproduce learning-curve`, as a person runs them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{ok_words as ok, run_words as run};
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

fn json(dir: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&ok(dir, &[args, &["--json"]].concat())).unwrap()
}

/// Refused with this exit code, these words, and nothing left behind.
fn refused(dir: &Path, args: &[&str], code: i32, word: &str) {
    let out = run(dir, args);
    let said = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(code), "{args:?}: {said}");
    assert!(said.contains(word), "{args:?}: {said}");
    assert!(out.stdout.is_empty(), "{args:?}");
    assert!(!dir.join("page").exists(), "{args:?}");
}

/// What is found of a strategy.
fn strategy<'a>(found: &'a Value, name: &str) -> &'a Value {
    let all = found["comparison"]["strategies"].as_array().unwrap();
    all.iter().find(|s| s["strategy"] == name).unwrap()
}

/// Rounds until nu and y both stay above 40 dB.
fn to_40(curve: &Value) -> u64 {
    let [nu, y] = ["rounds_nu", "rounds_y"].map(|key| curve[key][1].as_u64().unwrap());
    nu.max(y)
}

const ATOMS: usize = 8;
const NOISE: f64 = 0.15;

/// A table of samples, each of two planted atoms out of eight with a little noise.
fn planted(samples: usize, features: usize) -> String {
    let mut state = 11_u64;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    // The sum of twelve is nearly normal.
    let mut normal = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let mut atoms: Vec<Vec<f64>> = Vec::new();
    for _ in 0..ATOMS {
        let atom: Vec<f64> = (0..features).map(|_| normal()).collect();
        let size = atom.iter().map(|w| w * w).sum::<f64>().sqrt();
        atoms.push(atom.iter().map(|w| w / size).collect());
    }
    let mut text = String::new();
    for j in 0..samples {
        let (a, b) = (j % ATOMS, (j + 1 + (j / ATOMS) % (ATOMS - 1)) % ATOMS);
        let (ya, yb) = (2.0 + 0.3 * normal(), -1.5 + 0.3 * normal());
        let row: Vec<String> = (0..features)
            .map(|i| {
                format!(
                    "{:.5}",
                    ya * atoms[a][i] + yb * atoms[b][i] + NOISE * normal()
                )
            })
            .collect();
        writeln!(text, "{}", row.join(",")).unwrap();
    }
    text
}

#[test]
fn planted_atoms_are_counted_and_the_flags_learn() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    std::fs::write(at.join("x.csv"), planted(500, 20)).unwrap();
    let found = json(
        at,
        &[
            "tune",
            "x.csv",
            "--atoms-grid",
            "4,6,8,16",
            "--gammas",
            "0.05,0.4,1.6",
            "--agents",
            "8",
            "--strategies",
            "relaxed-admm,diffusion",
            "--rounds",
            "600",
            "--report",
            "page",
        ],
    );
    let choice = &found["choice"];
    assert_eq!(choice["atoms"], ATOMS, "{choice:#}");
    // About the noise in one coefficient or some times that, far from both ends.
    assert_eq!(choice["gamma"], 0.4, "{choice:#}");
    assert_eq!(choice["cells"].as_array().unwrap().len(), 12);
    assert_eq!(found["schema"], "dictmesh.tune/1");
    let suggested = &found["comparison"]["suggested"];
    assert_eq!(suggested["strategy"], "relaxed-admm");
    let admm = &strategy(&found, "relaxed-admm")["tuned"];
    assert!(to_40(&admm["best"]) <= to_40(&admm["default"]));
    assert_eq!(to_40(&admm["best"]), suggested["rounds"]);
    assert_eq!(admm["best"]["ending"], "reached");
    for file in ["index.html", "snr.svg", "choice.png"] {
        assert!(at.join("page").join(file).is_file(), "{file}");
    }
    let page = std::fs::read_to_string(at.join("page/index.html")).unwrap();
    assert!(page.contains("SNR of nu") && page.contains("dictmesh learn x.csv"));
    // What it suggests can be typed as it is.
    let flags = found["flags"].as_array().unwrap();
    let flags: Vec<&str> = flags.iter().map(|f| f.as_str().unwrap()).collect();
    assert!(flags.contains(&"--rho") && flags.contains(&"--agents"));
    let learn = ["learn", "x.csv", "-o", "m.st", "--batch", "50", "--quiet"];
    ok(at, &[&learn[..], &flags].concat());
}

/// From a model: nothing is chosen but the strategy, and the mesh is the model's.
#[test]
fn a_model_brings_its_own_mesh() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    std::fs::write(at.join("x.csv"), planted(200, 20)).unwrap();
    let learn = ["learn", "x.csv", "-o", "m.st", "--batch", "50", "--quiet"];
    let mesh = ["--agents", "8", "--atoms", "8", "--gamma", "0.4"];
    ok(at, &[&learn[..], &mesh].concat());
    let found = json(
        at,
        &[
            "tune",
            "x.csv",
            "--model",
            "m.st",
            "--strategies",
            "exact-diffusion",
            "--goal",
            "20",
        ],
    );
    assert!(found["choice"].is_null());
    assert_eq!(found["comparison"]["agents"], 8);
    assert_eq!(found["comparison"]["atoms"], ATOMS);
    assert_eq!(found["flags"][1], "exact-diffusion");
    let text = ok(at, &["tune", "x.csv", "--model", "m.st", "--rounds", "50"]);
    assert!(text.contains("Suggested: relaxed-admm"), "{text}");
    assert!(!text.contains('\x1b'));
}

/// diffusion follows a gradient that the ball's conjugate does not have: it is named, and the others run.
#[test]
fn a_strategy_that_cannot_is_named_and_the_others_run() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    std::fs::write(at.join("x.csv"), planted(40, 4)).unwrap();
    let common = [
        "tune",
        "x.csv",
        "--residual",
        "ball",
        "--update",
        "constant:0.01",
        "--passes",
        "1",
        "--agents",
        "3",
        "--topology",
        "complete",
        "--rounds",
        "200",
        "--strategies",
        "diffusion,relaxed-admm",
    ];
    let flat = [
        &common[..],
        &["--only", "curve", "--atoms", "6", "--gamma", "0.1"],
    ]
    .concat();
    let found = json(at, &flat);
    let why = &strategy(&found, "diffusion")["unsupported"];
    assert!(why.as_str().unwrap().contains("ball"), "{found:#}");
    assert!(strategy(&found, "diffusion")["tuned"].is_null());
    assert_eq!(found["comparison"]["suggested"]["strategy"], "relaxed-admm");
    // No scale for gamma follows from such a residual.
    refused(at, &common, 1, "--gammas");
}

#[test]
fn what_cannot_be_tuned_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    std::fs::write(at.join("x.csv"), planted(6, 5)).unwrap();
    std::fs::write(at.join("one.csv"), "1,2,3\n").unwrap();
    std::fs::write(at.join("zero.csv"), "0,0,0\n".repeat(20)).unwrap();
    let page = ["--report", "page"];
    let case = |args: &[&str], code, word| refused(at, &[args, &page].concat(), code, word);
    case(&["tune", "x.csv"], 1, "at least 10");
    case(&["tune", "one.csv"], 1, "one.csv");
    case(&["tune", "zero.csv"], 1, "every sample is zero");
    case(&["tune", "none.csv"], 1, "none.csv");
    case(
        &["tune", "x.csv", "--only", "curve", "--gamma", "90"],
        1,
        "smaller gamma",
    );
    case(
        &["tune", "x.csv", "--strategies", "difusion"],
        2,
        "did you mean diffusion?",
    );
    case(
        &["tune", "x.csv", "--model", "m", "--gammas", "1"],
        2,
        "--gammas",
    );
    case(&["tune", "x.csv", "--goal", "30"], 2, "20, 40, 60");
    std::fs::write(at.join("more.csv"), planted(30, 5)).unwrap();
    case(
        &["tune", "more.csv", "--samples", "100000000000"],
        1,
        "--samples 100000000000: 6 samples of the data are held out",
    );
    case(
        &["tune", "more.csv", "--passes", "0"],
        1,
        "--passes 0: must be at least 1",
    );
    case(
        &["tune", "more.csv", "--gammas", "0.1", "--atoms-grid", "0,4"],
        1,
        "--atoms 0",
    );
    case(
        &["reproduce", "learning-curve", "--data", "none"],
        1,
        "tdt2.npz",
    );
}

/// The paper: about 500 rounds for 40 to 50 dB of both, y before nu. Outside span(W) the error falls by
/// 1 - mu eta/N = .99 a round: 40 dB in 458.
#[test]
fn the_learning_curve_is_the_papers() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    let args = [
        "reproduce",
        "learning-curve",
        "--documents",
        "60",
        "--samples",
        "2",
        "--report",
        "page",
    ];
    let found = json(at, &args);
    assert_eq!(found["generated"], true);
    let paper = &found["cases"][0];
    let to_40 = paper["curve"]["rounds_nu"][1].as_u64().unwrap();
    assert!((440..480).contains(&to_40), "{to_40}");
    let nu = paper["at_paper_rounds"]["nu_db"].as_f64().unwrap();
    let y = paper["at_paper_rounds"]["y_db"].as_f64().unwrap();
    assert!((40.0..50.0).contains(&nu) && y > nu, "{nu} {y}");
    let admm = self::to_40(&found["cases"][2]["curve"]);
    assert!(4 * admm < to_40, "{admm}");
    assert!(at.join("page/learning-curve.svg").is_file());
    let text = ok(at, &args[..6]);
    assert!(
        text.contains("stand-in") && text.contains("the paper says"),
        "{text}"
    );
}

/// A choice at the end of what was tried is no choice; it was once not told.
#[test]
fn a_choice_at_the_edge_is_told_with_the_command_that_looks_beyond() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    std::fs::write(dir.join("x.csv"), planted(120, 12)).unwrap();
    let words = |gammas: &str, atoms: &str| {
        let args = [
            "tune", "x.csv", "--only", "choice", "--passes", "8", "--gammas", gammas,
        ];
        ok(dir, &[&args[..], &["--atoms-grid", atoms]].concat())
    };
    // Fewer atoms than there are: more are better, and the grid has no more.
    let said = words("0.1", "1,2");
    for word in [
        "the largest number of atoms of the grid",
        "Try wider",
        "--atoms-grid 2,3,4,8",
    ] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(!said.contains("gamma of the grid"), "{said}");
    // One number of atoms and one gamma that loses everything beside a good one.
    let said = words("0.2,50", "8");
    assert!(said.contains("the smallest gamma of the grid"), "{said}");
    let command = said.lines().find(|l| l.contains("dictmesh tune")).unwrap();
    assert!(
        command.contains("x.csv") && command.matches("--gammas").count() == 1,
        "{command}"
    );
}

/// A round of sums is several hops; bytes are those that were sent until the goal.
#[test]
fn sums_are_tuned_where_they_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    std::fs::write(at.join("x.csv"), planted(200, 20)).unwrap();
    let line =
        "tune x.csv --only curve --gamma 0.4 --atoms 8 --agents 4 --topology ring --rounds 300";
    let args = |more: &[&'static str]| [&line.split(' ').collect::<Vec<_>>()[..], more].concat();
    let found = json(at, &args(&["--strategies", "tree,relaxed-admm"]));
    let tree = &strategy(&found, "tree")["tuned"]["best"];
    assert_eq!(tree["constant"]["name"], "bits");
    assert_eq!(tree["constant"]["value"], 8.0);
    assert_eq!(tree["ending"], "reached", "{tree}");
    assert!(tree["bytes_per_round"].as_u64() > Some(0));
    let alone = json(at, &args(&["--strategies", "tree"]));
    let flags: Vec<&str> = alone["flags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f.as_str().unwrap())
        .collect();
    let at_bits = flags.iter().position(|f| *f == "--bits").unwrap();
    assert_eq!(flags[at_bits + 1], "8", "{flags:?}");
    ok(
        at,
        &[&["learn", "x.csv", "-o", "m.st", "--quiet"][..], &flags].concat(),
    );
    let text = ok(at, &args(&["--strategy", "tree", "--bits", "5"]));
    for words in [
        "bits 5",
        "relaxed-admm",
        "a broadcast from the root and a sum to it, 4 hops",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let without = ok(at, &args(&[]));
    assert!(!without.contains("tree"), "{without}");
    // Gossip with few bits, too: a quarter of the bytes.
    let gossip = ["--strategies", "relaxed-admm"];
    let [doubles, few] = [vec![], vec!["--bits", "15"]].map(|bits| {
        let found = json(at, &args(&[&gossip[..], &bits].concat()));
        let best = strategy(&found, "relaxed-admm")["tuned"]["best"].clone();
        (best["bytes_per_round"].as_f64().unwrap(), found)
    });
    assert!(few.0 > 0.24 * doubles.0 && few.0 < 0.27 * doubles.0);
    let flags = few.1["flags"].to_string();
    assert!(flags.contains("\"--bits\",\"15\""), "{flags}");
}
