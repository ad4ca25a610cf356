//! What agents in processes learn is what one process learns.

use crate::common::{json, ok};
use crate::run::{distance, table, Run};
use dictmesh::{Matrix, Model};
use std::fs;
use std::path::Path;

pub fn blocks(path: &Path) -> Vec<Matrix> {
    let model = Model::load(path).unwrap();
    model
        .blocks
        .into_iter()
        .map(|block| Matrix::clone(&block.atoms))
        .collect()
}

/// Every strategy, with the numbers of agents that the mesh in one process is held to.
#[test]
fn learn_over_processes_gives_the_model_of_one_process() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(300)).unwrap();
    for (strategy, how) in [
        // Two passes, each with a short batch at its end.
        (
            "relaxed-admm",
            "--agents 5 --atoms 10 --topology ring --batch 32 --passes 2 --norm l2",
        ),
        (
            "relaxed-admm",
            "--agents 16 --atoms 32 --topology grid:4x4 --batch 100 --rounds 25",
        ),
        (
            "diffusion",
            "--agents 3 --atoms 3 --topology path --batch 50 --rounds 60 --informed 1",
        ),
        (
            "consensus",
            "--agents 5 --atoms 10 --topology ring --batch 50 --rounds 60",
        ),
        (
            "exact-diffusion",
            "--agents 2 --atoms 8 --topology path --batch 50 --rounds 60",
        ),
        (
            "jacobi-admm",
            "--agents 5 --atoms 10 --topology complete --batch 50 --rounds 40 --informed 0,3",
        ),
        ("relaxed-admm", "--agents 1 --atoms 5 --batch 50"),
        // The same choice on both sides: sums where bytes are dear, gossip where hops are.
        (
            "auto",
            "--agents 5 --atoms 10 --topology ring --batch 50 --bandwidth 1e3",
        ),
        (
            "auto",
            "--agents 5 --atoms 10 --topology ring --batch 50 --latency 1",
        ),
    ] {
        let what = format!("{strategy} {how}");
        let one = format!("learn x.csv -o one.st {how} --strategy {strategy} --json");
        let many = format!("{one} --over processes").replace("one.st", "many.st");
        let (one, many) = (json(at, &one), json(at, &many));
        let off = distance(&blocks(&at.join("one.st")), &blocks(&at.join("many.st")));
        assert!(off <= 1e-9, "{what}: {off:e}");
        for number in ["cost_first", "cost_last", "nonzeros"] {
            let [one, many] = [&one, &many].map(|told| told[number].as_f64().unwrap());
            let off = (one - many).abs();
            assert!(
                off <= 1e-6 * one.abs(),
                "{what}, {number}: {one} and {many}"
            );
        }
        assert!(!at.join("many.st.mesh").exists());
        // The model is as good as any.
        ok(at, "score many.st x.csv --quiet");
    }
}

#[test]
fn under_tls_and_in_plain_text_agents_learn_the_same_and_launch_collects_it() {
    let flags = "--agents 3 --atoms 6 --topology complete --batch 8 --seed 2";
    let mut atoms = Vec::new();
    for tls in ["", "--tls"] {
        let run = Run::new(64, &format!("{flags} {tls}"));
        let told = json(
            run.place.path(),
            "launch m/mesh.toml --collect all.st --json",
        );
        assert_eq!(
            (told["samples"].as_u64(), told["agents"].as_u64()),
            (Some(64), Some(3))
        );
        let collected = blocks(&run.place.path().join("all.st"));
        assert_eq!(distance(&collected, &run.atoms()), 0.0);
        ok(run.place.path(), "inspect all.st");
        atoms.push(collected);
    }
    assert_eq!(distance(&atoms[0], &atoms[1]), 0.0);
}

/// Costs of too few rounds are not those of the problem: whoever reads them is told.
#[test]
fn a_tolerance_that_was_not_met_is_told_of_by_learn_too() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(40)).unwrap();
    let how = "--agents 3 --topology ring --batch 8 --tolerance 1e-6";
    for over in ["", "--over processes"] {
        let learn = |rounds: usize, more: &str| {
            format!("learn x.csv -o m.st {how} {over} --rounds {rounds} {more}")
        };
        let said = ok(at, &learn(2, ""));
        let words = "the tolerance 1e-6 was not met within 2 rounds in 5 of these batches";
        assert!(said.contains(words), "{said}");
        let told = json(at, &learn(2, "--json"));
        assert_eq!(told["batches_at_limit"].as_u64(), Some(5));
        let said = ok(at, &learn(100_000, ""));
        assert!(!said.contains("not met"), "{said}");
    }
}
