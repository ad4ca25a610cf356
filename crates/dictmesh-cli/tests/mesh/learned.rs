//! What agents in processes learn is what one process learns.

use crate::common::{json, ok};
use crate::run::{distance, table, Run};
use dictmesh::{Matrix, Model};
use std::fs;
use std::path::Path;

fn blocks(path: &Path) -> Vec<Matrix> {
    let model = Model::load(path).unwrap();
    model.blocks.into_iter().map(|block| block.atoms).collect()
}

#[test]
fn learn_over_processes_gives_the_model_of_one_process() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(150)).unwrap();
    for (name, how) in [
        // Two passes, each with a short batch at its end.
        (
            "relaxed-admm",
            "--agents 4 --atoms 10 --topology ring --batch 16 --passes 2 --norm l2",
        ),
        (
            "diffusion",
            "--agents 3 --atoms 3 --topology path --batch 32 --rounds 60 --informed 1",
        ),
        ("alone", "--agents 1 --atoms 5 --batch 50"),
    ] {
        let strategy = match name {
            "alone" => String::new(),
            name => format!("--strategy {name}"),
        };
        let one = format!("learn x.csv -o one.st {how} {strategy} --json");
        let many = format!("learn x.csv -o many.st {how} {strategy} --json --over processes");
        let (one, many) = (json(at, &one), json(at, &many));
        let off = distance(&blocks(&at.join("one.st")), &blocks(&at.join("many.st")));
        assert!(off <= 1e-9, "{name}: {off:e}");
        for number in ["cost_first", "cost_last", "sparsity"] {
            let (one, many) = (
                one[number].as_f64().unwrap(),
                many[number].as_f64().unwrap(),
            );
            assert!(
                (one - many).abs() <= 1e-6 * one.abs(),
                "{name}, {number}: {one} and {many}"
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
