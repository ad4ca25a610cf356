//! `dictmesh audit`, as a person runs it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{json, ok, refused, run, samples};
use std::fs;

/// All neighbours see everything: all atoms are found, whatever the strategy, and the verdict on the random start says so.
#[test]
fn a_complete_graph_hides_nothing_and_the_table_says_so() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    fs::write(dir.join("x.csv"), samples(80, 3)).unwrap();
    let line = "audit x.csv --header no --agents 4 --topology complete --gamma 0.02 --rounds 120 --samples 12";
    let found = json(dir, &format!("{line} --json"));
    assert_eq!(found["schema"], "dictmesh.audit/1");
    let strategies = found["strategies"].as_array().unwrap();
    let names: Vec<&str> = strategies
        .iter()
        .map(|s| s["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "diffusion",
            "consensus",
            "jacobi-admm",
            "exact-diffusion",
            "relaxed-admm",
            "relaxed-admm, random start 1",
            "tree",
            "tree, masked"
        ]
    );
    let (gossip, sums) = strategies.split_at(6);
    for strategy in gossip {
        for knows in ["x_known", "x_unknown"] {
            let mean = strategy[knows]["mean_cosine"].as_f64().unwrap();
            assert!(mean > 0.9999, "{} {knows}: {mean}", strategy["name"]);
            assert_eq!(strategy[knows]["agents"].as_array().unwrap().len(), 4);
        }
    }
    assert!(gossip.iter().all(|s| s["broken"] == true));
    // The root of the tree receives the part of each leaf. Masks leave it the sum of all.
    for (strategy, unseen) in sums.iter().zip([[2, 0, 0, 0], [2, 2, 2, 2]]) {
        let agents = strategy["x_unknown"]["agents"].as_array().unwrap();
        let found: Vec<u64> = agents
            .iter()
            .map(|a| a["unseen"].as_u64().unwrap())
            .collect();
        assert_eq!(found, unseen, "{strategy}");
        assert!(strategy["x_cosine"].as_f64().unwrap() > 0.999, "{strategy}");
    }
    assert!(sums[0]["attributed"].as_u64().unwrap() >= 1, "{}", sums[0]);
    assert_eq!(sums[1]["attributed"], 0);
    let tree = json(dir, &format!("{line} --strategy tree --json"));
    let names = tree["strategies"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|s| s["name"].as_str()).collect();
    assert_eq!(names, [Some("tree"), Some("tree, masked")]);
    let conclusions = found["conclusions"].to_string();
    assert!(
        conclusions.contains("is no protection: the strategy is broken"),
        "{conclusions}"
    );
    assert!(strategies[4]["rounds_to_60_db"].is_u64());

    let text = ok(dir, &format!("{line} --random-start 0.5,2 --report page"));
    for word in [
        "random start 0.5",
        "random start 2",
        "of each agent all of it",
        "4 of 4",
        "is no protection: the strategy is broken",
        "with the agent that holds them",
        "a guess",
    ] {
        assert!(text.contains(word), "{word} is not in:\n{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 120),
        "{text}"
    );
    let page = fs::read_to_string(dir.join("page/index.html")).unwrap();
    assert!(page.contains("What curious neighbours recover"));
    assert!(dir.join("page/atoms.png").exists());
}

#[test]
fn what_cannot_be_audited_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    fs::write(dir.join("x.csv"), samples(40, 3)).unwrap();
    let line = "audit x.csv --header no --gamma 0.02";
    refused(
        dir,
        &format!("{line} --agents 4 --strategy consensus --residual l1"),
        &["l1", "constant"],
    );
    let out = run(dir, &format!("{line} --agents 4 --colluding 0"));
    let words = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{words}");
    assert!(
        words.contains("--colluding") && words.contains("0 is not in 1.."),
        "{words}"
    );
    refused(dir, &format!("{line} --agents 1"), &["2 or more"]);
    refused(
        dir,
        &format!("{line} --agents 4 --rounds 1"),
        &["4 or more"],
    );
    refused(
        dir,
        &format!("{line} --agents 4 --random-start -1"),
        &["--random-start"],
    );
    // It was the penalty computed from it that was refused.
    refused(
        dir,
        &format!("{line} --agents 4 --delta 1e-320"),
        &["--delta 1e-320: must be at least"],
    );
    refused(
        dir,
        &format!("{line} --agents 4 --latency -1"),
        &["--latency: without --strategy"],
    );
    refused(
        dir,
        &format!("{line} --agents 4 --strategy auto --rho 2"),
        &["--rho: without --strategy"],
    );
    refused(dir, "audit nowhere.csv", &["nowhere.csv"]);
}

/// A start beyond all bounds says nothing of the other strategies; one that was asked for by name is refused.
#[test]
fn a_strategy_that_diverges_does_not_end_the_audit_of_the_others() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    fs::write(dir.join("x.csv"), samples(40, 3)).unwrap();
    let line =
        "audit x.csv --header no --agents 3 --topology complete --gamma 0.02 --rounds 60 --samples 6";
    let found = json(dir, &format!("{line} --random-start 1e61 --json"));
    assert_eq!(found["strategies"].as_array().unwrap().len(), 7, "{found}");
    let conclusions = found["conclusions"].to_string();
    let left_out = "Not audited: strategy = relaxed-admm: its messages diverge";
    assert!(conclusions.contains(left_out), "{conclusions}");
    refused(
        dir,
        &format!("{line} --strategy diffusion --mu 50"),
        &["strategy = diffusion", "diverge", "smaller"],
    );
}

#[test]
fn a_strategy_with_sums_is_audited_with_masks_and_without() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path();
    fs::write(dir.join("x.csv"), samples(40, 3)).unwrap();
    let found = json(
        dir,
        "audit x.csv --header no --agents 3 --topology ring --gamma 0.02 --rounds 30 --samples 6 \
         --strategy tree --json",
    );
    let audited = found["strategies"].to_string();
    assert!(audited.contains("tree, masked"), "{audited}");
    assert_eq!(
        found["strategies"].as_array().unwrap().len(),
        2,
        "{audited}"
    );
}
