//! A flag's name has one meaning in all commands.
#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

mod common;

use common::{samples, Scratch};
use std::collections::BTreeMap;
use std::process::Command;

const COMMANDS: [&str; 22] = [
    "demo",
    "examples",
    "learn",
    "infer",
    "score",
    "bicluster",
    "denoise",
    "novelty",
    "tune",
    "audit",
    "agent",
    "launch",
    "join",
    "mesh init",
    "mesh add",
    "mesh leave",
    "inspect",
    "man",
    "reproduce documents",
    "reproduce learning-curve",
    "reproduce biclustering",
    "reproduce denoising",
];

/// Flags that do the same to different things: their help names the thing.
const OTHER_HELP: [&str; 24] = [
    "accel",
    "agents",
    "atoms",
    "beta",
    "collect",
    "config",
    "data",
    "dictionary",
    "float32",
    "gamma",
    "informed",
    "masks",
    "model",
    "output",
    "overwrite",
    "paper",
    "passes",
    "save-model",
    "seeds",
    "samples",
    "sigma",
    "steps",
    "stride",
    "transpose",
];
/// Flags whose values are named after the file or directory, and `--informed` of an agent that joins, a switch.
const OTHER_VALUE: [&str; 3] = ["data", "informed", "output"];

/// The flags of a command with their values and helps, without defaults.
fn flags(command: &str) -> Vec<(String, String, String)> {
    let out = Command::new(env!("CARGO_BIN_EXE_dictmesh"))
        .args(command.split(' '))
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(out.stdout).unwrap();
    let mut found: Vec<(String, String, String)> = Vec::new();
    let mut open = false;
    for line in help.lines() {
        let indent = line.len() - line.trim_start().len();
        let flag = line
            .trim_start()
            .split("--")
            .nth(1)
            .filter(|_| indent < 10 && line.contains("--"));
        match flag {
            Some(flag) if line.trim_start().starts_with('-') => {
                let (name, value) = flag.split_once(' ').unwrap_or((flag, ""));
                found.push((
                    name.trim_end_matches("...").into(),
                    value.trim().into(),
                    String::new(),
                ));
                open = true;
            }
            _ if line.trim().starts_with('[') => open = false,
            _ if indent >= 10 && open => {
                let text = &mut found.last_mut().unwrap().2;
                *text += line.split(" [default").next().unwrap().trim();
                *text += " ";
                open = !line.contains("[default");
            }
            _ => {}
        }
    }
    found
}

#[test]
fn a_flag_has_one_value_and_one_help() {
    let mut all: BTreeMap<String, Vec<(&str, String, String)>> = BTreeMap::new();
    for command in COMMANDS {
        let flags = flags(command);
        assert!(flags.len() > 3, "{command}");
        for (name, value, help) in flags {
            all.entry(name).or_default().push((command, value, help));
        }
    }
    assert!(all.contains_key("latency") && all["gamma"].len() > 5);
    let mut wrong = Vec::new();
    for (name, uses) in &all {
        let (first, value, help) = &uses[0];
        for (command, other, its_help) in &uses[1..] {
            if other != value && !OTHER_VALUE.contains(&name.as_str()) {
                wrong.push(format!(
                    "--{name}: {value} in {first}, {other} in {command}"
                ));
            }
            if its_help.trim() != help.trim() && !OTHER_HELP.contains(&name.as_str()) {
                wrong.push(format!(
                    "--{name}\n  {first}: {help}\n  {command}: {its_help}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each piece that a flag names is the one in the model.
#[test]
fn every_piece_of_the_problem_learns() {
    let dir = Scratch::new("flags-pieces");
    dir.write("x.csv", samples(40, 0));
    for (flags, at, kind) in [
        ("--atoms-set unit-l1-ball", "set", "unit-l1-ball"),
        (
            "--atoms-set non-negative-unit-l1-ball",
            "set",
            "non-negative-unit-l1-ball",
        ),
        ("--lo -0.5 --hi 2", "regularizer", "boxed-elastic-net"),
        (
            "--regularizer non-negative-elastic-net",
            "regularizer",
            "non-negative-elastic-net",
        ),
    ] {
        let learn = format!("learn x.csv --header no --atoms 3 -o m --gamma 0.05 --quiet {flags}");
        common::ok(&dir.0, &learn);
        let model = dictmesh::Model::load(dir.0.join("m")).unwrap();
        let common = &model.description.task.common;
        let piece = match at {
            "set" => &common.set,
            _ => &common.regularizer,
        };
        assert_eq!(piece.kind(), kind, "{flags}");
        let atoms = &model.blocks[0].atoms;
        let longest = atoms
            .columns()
            .map(|w| w.iter().map(|v| v.abs()).sum::<f64>());
        let longest = longest.fold(0.0, f64::max);
        assert_eq!(longest <= 1.0 + 1e-9, at == "set", "{flags}: {longest}");
    }
}
