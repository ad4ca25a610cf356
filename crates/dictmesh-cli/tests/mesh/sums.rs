//! Integers between processes: the atoms of one process, bit-identical, with masks and without;
//! killed agents; and what is said of masks.

use crate::common::{json, ok, refused, run as program, said};
use crate::inbox::Inbox;
use crate::learned::blocks;
use crate::run::{distance, table, Run};
use std::fs;
use std::time::Duration;

#[test]
fn sums_over_processes_are_bit_identical_to_one_process() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(120)).unwrap();
    for how in [
        "--agents 5 --atoms 10 --topology ring --batch 32 --passes 2 --norm l2",
        "--agents 4 --atoms 6 --topology path --batch 50 --informed 1 --bits 5",
        "--agents 3 --atoms 6 --topology complete --batch 40 --residual huber --bits 12",
    ] {
        let one = format!("learn x.csv -o one.st {how} --strategy tree --json");
        let alone = json(at, &one);
        for masks in ["", "--masks on", "--masks off"] {
            let many = format!("{one} --over processes {masks}").replace("one.st", "many.st");
            let told = json(at, &many);
            let off = distance(&blocks(&at.join("one.st")), &blocks(&at.join("many.st")));
            assert_eq!(off, 0.0, "{how} {masks}");
            for number in ["cost_first", "cost_last"] {
                let [one, many] = [&alone, &told].map(|told| told[number].as_f64().unwrap());
                assert!((one - many).abs() <= 1e-8 * one.abs(), "{how}, {number}");
            }
        }
    }
    let words = ["--masks", "--over processes"];
    refused(at, "learn x.csv -o m.st --strategy tree --masks on", &words);
    let float32 = "learn x.csv -o m.st --agents 3 --strategy tree --over processes --float32";
    refused(at, float32, &["float32", "integers", "leave it out"]);
}

/// The exact order of sums is that of one process without speed-ups that change it.
#[test]
fn differences_over_processes_are_bit_identical_to_one_process() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(60)).unwrap();
    let sent = [
        "--strategy relaxed-admm --bits 6",
        "--strategy diffusion --bits 9",
    ];
    for how in sent {
        let one = format!(
            "learn x.csv -o one.st --agents 4 --atoms 8 --topology ring --batch 20 --tolerance 1e-3 \
             --accel lanes {how} --json"
        );
        json(at, &one);
        json(
            at,
            &format!("{one} --over processes").replace("one.st", "many.st"),
        );
        let off = distance(&blocks(&at.join("one.st")), &blocks(&at.join("many.st")));
        assert_eq!(off, 0.0, "{how}");
    }
    let float32 = "learn x.csv -o m.st --agents 3 --bits 8 --over processes --float32";
    refused(at, float32, &["float32", "integers", "leave it out"]);
}

/// kill -9 of the root of the tree, of an agent between it and a leaf, and of a leaf. The tree of a
/// path has its root in the middle.
#[test]
fn a_killed_root_inner_agent_or_leaf_changes_nothing() {
    const EACH: usize = 8;
    const FLAGS: &str =
        "--agents 5 --atoms 10 --topology path --batch 4 --tolerance 1e-3 --seed 3 --strategy tree";
    let order = [2, 1, 0, 3, 2, 4];
    let mut inbox = Inbox::new(FLAGS);
    inbox.run.start_all();
    for (i, k) in order.into_iter().enumerate() {
        inbox.put(EACH);
        let before = (inbox.samples - EACH) as u64;
        inbox.run.until_sample(k, before);
        std::thread::sleep(Duration::from_millis(7 * i as u64));
        assert!(inbox.run.kill(k), "agent {k} had ended by itself");
        inbox.run.start(k);
    }
    inbox.end();
    let learned = inbox.run.finish();
    let mut expected = Inbox::new(FLAGS);
    order.iter().for_each(|_| expected.put(EACH));
    expected.end();
    expected.run.start_all();
    assert_eq!(distance(&learned, &expected.run.finish()), 0.0);
}

#[test]
fn masks_are_stored_agreed_and_changed_by_launch() {
    let flags = "--agents 3 --atoms 6 --topology complete --batch 8 --strategy tree";
    let mut run = Run::new(16, &format!("{flags} --masks off"));
    let at = run.place.path().to_path_buf();
    let stored = |value: &str| {
        for file in [
            "m/mesh.toml",
            "m/agent-0/agent.toml",
            "m/agent-2/agent.toml",
        ] {
            let text = fs::read_to_string(at.join(file)).unwrap();
            assert!(
                text.contains(&format!("masks = {value}\n")),
                "{file}: {text}"
            );
        }
    };
    stored("false");
    let out = program(&at, "launch m/mesh.toml --collect off.st");
    assert!(
        said(&out).contains("warning: masks are off"),
        "{}",
        said(&out)
    );
    // An agent with another value is refused by name.
    let file = run.file(1, "agent.toml");
    let text = fs::read_to_string(&file).unwrap();
    for k in 0..3 {
        fs::remove_dir_all(run.file(k, "state")).unwrap();
        fs::remove_file(run.file(k, "atoms.safetensors")).unwrap();
    }
    fs::write(&file, text.replace("masks = false", "masks = true")).unwrap();
    run.start_all();
    run.until_said(0, &["masks is true at agent 1 and false at agent 0"]);
    (0..3).for_each(|k| assert!(run.kill(k)));
    fs::write(&file, text).unwrap();
    ok(&at, "launch m/mesh.toml --masks on --collect on.st --quiet");
    stored("true");
    assert_eq!(
        distance(&blocks(&at.join("off.st")), &blocks(&at.join("on.st"))),
        0.0
    );
}

#[test]
fn agents_that_masks_do_not_hide_are_named() {
    let flags = "--agents 4 --atoms 4 --batch 8 --strategy tree";
    let mut run = Run::new(8, &format!("{flags} --topology path"));
    let at = run.place.path().to_path_buf();
    let leaves = "agents 0 and 3 have one neighbour";
    let cuts = "agents 1 and 2 are cut vertices";
    let init = |name: &str, more: &str| {
        format!("mesh init {name} --data x.csv --agents 4 --atoms 4 --batch 8 {more}")
    };
    let text = ok(&at, &init("p", "--strategy tree --topology path"));
    for words in [leaves, cuts, "warning: "] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let told = json(&at, &init("j", "--strategy tree --topology path --json"));
    assert_eq!(told["warnings"].as_array().unwrap().len(), 2, "{told}");
    assert_eq!(told["masks"], true);
    for (i, more) in [
        "--strategy tree --topology ring",
        "--strategy tree --topology complete",
        "--strategy relaxed-admm --topology path",
        "--strategy relaxed-admm --topology star --masks off",
    ]
    .into_iter()
    .enumerate()
    {
        let text = ok(&at, &init(&format!("quiet-{i}"), more));
        assert!(!text.contains("warning"), "{more}: {text}");
    }
    let out = program(&at, "launch m/mesh.toml");
    for words in [leaves, cuts] {
        assert!(said(&out).contains(words), "{words}: {}", said(&out));
    }
    // And by the running agent, if it is one of them.
    run.agents.clear();
    assert!(
        run.log(0).contains("the only neighbour of this agent"),
        "{}",
        run.log(0)
    );
    assert!(!run.log(1).contains("the only neighbour"), "{}", run.log(1));
}

/// A sparse random graph has a leaf more often than not; `mesh init` draws until it has none.
#[test]
fn random_graphs_are_drawn_until_masks_hide_all_parts() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(8)).unwrap();
    for seed in 0..6 {
        for graph in ["", "--topology random:0.3"] {
            let name = format!("m{seed}{}", graph.len());
            let told = json(
                at,
                &format!(
                    "mesh init {name} --data x.csv --agents 10 --atoms 10 --strategy tree --seed {seed} {graph} --json"
                ),
            );
            assert_eq!(told["warnings"].as_array().unwrap().len(), 0, "{told}");
            let drawn = told["graph_seed"].as_u64().unwrap();
            assert!((seed..seed + 200).contains(&drawn), "{told}");
            let again = dictmesh::Topology::erdos_renyi(10, 0.3, drawn).unwrap();
            assert_eq!(told["edges"], again.edges().len());
        }
    }
    // A path of three cannot be 2-connected, and a graph that was asked for stays as it is.
    let told = json(
        at,
        "mesh init p --data x.csv --agents 3 --atoms 3 --strategy tree --topology path --json",
    );
    assert_eq!(
        (&told["edges"], &told["graph_seed"]),
        (&2.into(), &serde_json::Value::Null)
    );
}
