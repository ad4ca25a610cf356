//! Runs that cannot end well: what is said and with which exit code, over processes as in one.

use crate::common::{json, ok, refused, run as program, said};
use crate::run::{table, Run};
use std::fs;

/// Three atoms of twelve rows meet no sample.
#[test]
fn samples_that_no_code_can_meet_end_a_run_over_processes_as_in_one() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(16)).unwrap();
    let task =
        "--agents 3 --atoms 3 --topology ring --batch 8 --residual equality --update constant:0.01";
    for strategy in ["tree", "relaxed-admm"] {
        let learn = format!("learn x.csv -o m.st {task} --strategy {strategy} --quiet");
        let over = format!("{learn} --over processes");
        for line in [&learn, &over] {
            refused(
                at,
                line,
                &["learning stopped: infeasible: no code can meet", "--radius"],
            );
        }
        let [one, many] = [&learn, &over].map(|line| said(&program(at, line)));
        assert_eq!(one, many);
        let run = Run::new(16, &format!("{task} --strategy {strategy}"));
        let words = [
            "samples 0 to 7: infeasible",
            "No agent learned from this batch",
        ];
        for line in ["launch m", "launch m --json --collect all.st"] {
            refused(run.place.path(), line, &words);
            (0..3).for_each(|k| fs::remove_dir_all(run.file(k, "state")).unwrap());
        }
        // And by agents that are started one by one.
        let mut run = run;
        run.start_all();
        for k in 0..3 {
            assert_eq!(run.wait(k), Some(1), "{}", run.log(k));
            assert!(run.log(k).contains(words[0]), "{}", run.log(k));
        }
    }
}

/// As `infer` says how its rounds ended.
#[test]
fn learn_says_that_batches_ended_at_the_limit_of_rounds() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(24)).unwrap();
    for strategy in ["tree", "relaxed-admm"] {
        for over in ["", "--over processes"] {
            let learn = format!(
                "learn x.csv -o m.st --agents 3 --topology ring --batch 8 --strategy {strategy} {over}"
            );
            let text = ok(at, &format!("{learn} --rounds 1"));
            let words = "3 of these batches ended at the limit of 1 round";
            assert!(text.contains(words), "{strategy} {over}: {text}");
            let text = ok(at, &learn);
            assert!(!text.contains("limit of"), "{strategy} {over}: {text}");
        }
    }
}

/// The directory of the agents is removed; a log that the message names is not.
#[test]
fn a_log_that_a_message_names_is_there() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(
        at.join("x.csv"),
        table(4) + &"1e308,".repeat(11) + "1e308\n",
    )
    .unwrap();
    for strategy in ["tree", "relaxed-admm"] {
        let learn = format!(
            "learn x.csv -o m.st --agents 3 --topology ring --batch 8 --strategy {strategy}"
        );
        let out = program(at, &format!("{learn} --over processes --quiet"));
        let text = said(&out);
        assert_eq!(out.status.code(), Some(1), "{strategy}: {text}");
        let named = text
            .split("its log: ")
            .nth(1)
            .unwrap_or_else(|| panic!("{text}"));
        let log = at.join(named.trim_end().trim_end_matches(')'));
        assert!(
            fs::read_to_string(&log).is_ok_and(|log| !log.is_empty()),
            "{text}"
        );
        assert!(!at.join("m.st.mesh").exists() && !at.join("m.st").exists());
        assert!(
            text.contains("sample 4 has entries as large as 1e308"),
            "{text}"
        );
        fs::remove_file(log).unwrap();
    }
}

/// Only some strategies have a constant that can be at fault.
#[test]
fn the_advice_on_a_diverged_run_is_that_of_its_strategy() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(8)).unwrap();
    let learn = "learn x.csv -o m.st --agents 3 --topology ring --strategy diffusion --mu 1e3 --rounds 500 --quiet";
    for over in ["", "--over processes"] {
        let out = program(at, &format!("{learn} {over}"));
        let text = said(&out);
        assert_eq!(out.status.code(), Some(1), "{over}: {text}");
        assert!(
            text.contains("give a smaller --mu") && !text.contains("--rho"),
            "{text}"
        );
    }
}

/// The samples of the informed agent are beyond what can be squared, or no numbers.
#[test]
fn samples_that_are_not_finite_are_an_error_that_names_the_agent() {
    for strategy in ["tree", "relaxed-admm"] {
        for (bad, what) in [
            ("1e308", "sample 5 has entries as large as 1e308"),
            ("1e200", "sample 5 has entries as large as 1e200"),
            ("nan", "bad.csv"),
            ("inf", "bad.csv"),
        ] {
            let flags = format!(
                "--agents 4 --atoms 8 --topology ring --batch 4 --informed 2 --strategy {strategy}"
            );
            let run = Run::new(8, &flags);
            let place = run.place.path();
            let good: String = table(8).split_inclusive('\n').take(5).collect();
            let line = format!("{}{bad}\n", format!("{bad},").repeat(11));
            fs::write(place.join("bad.csv"), good + &line.repeat(3)).unwrap();
            let mesh = fs::read_to_string(place.join("m/mesh.toml")).unwrap();
            let entry = "name = \"agent-2\"\n";
            let own = format!(
                "{entry}source = {{ kind = \"file\", path = \"../bad.csv\", passes = 1 }}\n"
            );
            assert!(mesh.contains(entry), "{mesh}");
            fs::write(place.join("m/mesh.toml"), mesh.replace(entry, &own)).unwrap();
            let out = program(place, "launch m --quiet");
            let text = said(&out);
            assert_eq!(out.status.code(), Some(1), "{strategy} {bad}: {text}");
            assert!(!text.contains("panicked"), "{text}");
            assert!(
                text.starts_with("dictmesh: agent-2: "),
                "{strategy} {bad}: {text}"
            );
            assert!(text.contains(what), "{strategy} {bad}: {text}");
        }
    }
}

#[test]
fn constants_that_are_no_numbers_are_refused_by_name() {
    for (strategy, name, value) in [
        ("relaxed-admm", "rho", "nan"),
        ("relaxed-admm", "rho", "inf"),
        ("diffusion", "mu", "nan"),
        ("tree", "bits", "nan"),
    ] {
        let run = Run::new(
            8,
            &format!("--agents 3 --atoms 6 --topology ring --strategy {strategy}"),
        );
        let place = run.place.path();
        let mesh = fs::read_to_string(place.join("m/mesh.toml")).unwrap();
        let line = mesh
            .lines()
            .find(|line| line.starts_with(&format!("{name} = ")))
            .unwrap();
        let changed = mesh.replace(line, &format!("{name} = {value}"));
        fs::write(place.join("m/mesh.toml"), changed).unwrap();
        let named = format!("strategy.{name} = ");
        refused(
            place,
            "launch m",
            &["mesh.toml", &named, "give a finite number"],
        );
    }
}

#[test]
fn bits_are_a_whole_number_of_the_allowed_range() {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("x.csv"), table(8)).unwrap();
    let flags = "--data x.csv --agents 3 --atoms 6 --topology ring --strategy tree";
    let text = ok(at, &format!("mesh init m {flags}"));
    assert!(text.contains("strategy: tree (bits 8)\n"), "{text}");
    let stored = fs::read_to_string(at.join("m/mesh.toml")).unwrap();
    assert!(stored.contains("bits = 8\n"), "{stored}");
    json(at, "launch m --json");
    for bits in ["-1", "0", "3", "17"] {
        let words = format!("--bits {bits}: must be a whole number from 4 to 16");
        refused(
            at,
            &format!("learn x.csv -o l.st --strategy tree --bits {bits}"),
            &[&words],
        );
        refused(at, &format!("mesh init n {flags} --bits {bits}"), &[&words]);
    }
}
