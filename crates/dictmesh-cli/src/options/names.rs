//! The names that flags and settings files use, and what they stand for.

use super::Result;
use crate::commands::refusal;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command};
use dictmesh::problem::residual::{Ball, Huber};
use dictmesh::problem::TaskSpec;
use dictmesh::{strategy, Spec};
use dictmesh::{TopologySpec, Update};
use std::ffi::OsStr;

pub const TASKS: [&str; 4] = TaskSpec::PRESETS;
pub const STRATEGIES: [&str; strategy::ALL.len()] = strategy::ALL;
pub const WEIGHTS: [&str; 2] = ["metropolis", "uniform"];
const UPDATES: [&str; 3] = ["adaptive", "constant", "schedule"];
pub const REGULARIZERS: [&str; 3] = [
    "elastic-net",
    "non-negative-elastic-net",
    "boxed-elastic-net",
];
pub const RESIDUALS: [&str; 5] = ["squared-l2", "huber", "l1", "ball", "equality"];
pub const SETS: [&str; 4] = [
    "unit-ball",
    "non-negative-unit-ball",
    "unit-l1-ball",
    "non-negative-unit-l1-ball",
];
const GRAPHS: [&str; 8] = [
    "complete",
    "ring",
    "path",
    "star",
    "grid",
    "random",
    "geometric",
    "edges",
];

pub fn residual(name: &str) -> Result<Spec> {
    known("residual", name, &RESIDUALS)?;
    Ok(match name {
        "huber" => Spec::new("huber").with("eta", Huber::ETA),
        "ball" => Spec::new("ball").with("sigma", Ball::SIGMA),
        name => Spec::new(name),
    })
}

pub fn topology(text: &str, seed: u64) -> Result<TopologySpec> {
    let (name, argument) = split(text);
    known("topology", name, &GRAPHS)?;
    let number = |what: &str| {
        let given = argument.ok_or_else(|| {
            format!("--topology {name} needs {what} behind a colon, as in {name}:0.3")
        })?;
        number_in("--topology", given)
    };
    if let (Some(argument), "complete" | "ring" | "path" | "star") = (argument, name) {
        return Err(format!(
            "--topology {text}: {name} takes nothing behind a colon; leave \":{argument}\" out (--agents says how \
             many agents there are)"
        ).into());
    }
    Ok(match name {
        "complete" => TopologySpec::Complete,
        "ring" => TopologySpec::Ring,
        "path" => TopologySpec::Path,
        "star" => TopologySpec::Star,
        "grid" => {
            let wrong =
                || format!("--topology {text}: write a grid as grid:ROWSxCOLUMNS, as in grid:4x5");
            let (rows, cols) = argument.and_then(|a| a.split_once('x')).ok_or_else(wrong)?;
            TopologySpec::Grid {
                rows: rows.parse().map_err(|_| wrong())?,
                cols: cols.parse().map_err(|_| wrong())?,
            }
        }
        "edges" => TopologySpec::Edges {
            edges: edges(text, argument.unwrap_or_default())?,
        },
        "geometric" => TopologySpec::RandomGeometric {
            radius: number("its radius")?,
            seed,
        },
        _ => TopologySpec::Random {
            p: number("its probability of an edge")?,
            seed,
        },
    })
}

/// Pairs of agents, as 0-1,1-2 or in a file with a pair a line.
fn edges(text: &str, argument: &str) -> Result<Vec<(usize, usize)>> {
    let wrong = |why: &str| {
        format!(
            "--topology {text}: {why}; write pairs of agents as edges:0-1,1-2, or name a file with a pair a line"
        )
    };
    let typed = |c: char| c.is_ascii_digit() || c == '-' || c == ',';
    let lines = match argument.chars().all(typed) {
        true => argument.replace(',', "\n"),
        false => std::fs::read_to_string(argument).map_err(|e| wrong(&refusal(&e)))?,
    };
    let lines = lines.lines().map(str::trim);
    let pairs = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pair = |line: &str| {
        let ends = line.split([',', ';', '-', ' ', '\t']);
        let ends = ends.map(str::trim).filter(|end| !end.is_empty());
        let ends: Option<Vec<usize>> = ends.map(|end| end.parse().ok()).collect();
        match ends.as_deref() {
            Some([a, b]) => Ok((*a, *b)),
            _ => Err(wrong(&format!("\"{line}\" is no pair of agents' numbers")).into()),
        }
    };
    let pairs: Vec<(usize, usize)> = pairs.map(pair).collect::<Result<_>>()?;
    match pairs.is_empty() {
        true => Err(wrong("there are no pairs").into()),
        false => Ok(pairs),
    }
}

pub fn update(text: &str) -> Result<Update> {
    let (name, number) = split(text);
    known("update", name, &UPDATES)?;
    let number = number.map(|n| number_in("--update", n)).transpose()?;
    Ok(match (name, number) {
        ("adaptive", forgetting) => Update::Adaptive {
            forgetting: forgetting.unwrap_or(1.0),
        },
        ("schedule", mu_w) => Update::Schedule {
            mu_w: mu_w.unwrap_or(1.0),
        },
        (_, Some(mu_w)) => Update::Constant { mu_w },
        _ => return Err("--update constant needs its step, as in constant:0.01".into()),
    })
}

/// A flag's value out of a list. clap's own list parser is silent about `nfm` for `nmf`: it asks for more
/// likeness than short names can have.
#[derive(Clone)]
pub struct OneOf(Vec<&'static str>);

impl OneOf {
    pub fn new(names: impl IntoIterator<Item = &'static str>) -> Self {
        OneOf(names.into_iter().collect())
    }
}

impl TypedValueParser for OneOf {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        flag: Option<&Arg>,
        value: &OsStr,
    ) -> std::result::Result<String, clap::Error> {
        let kind = flag.and_then(Arg::get_long).unwrap_or("value");
        let given = value.to_string_lossy().into_owned();
        match known(kind, &given, &self.0) {
            Ok(()) => Ok(given),
            Err(said) => Err(
                clap::Error::raw(ErrorKind::InvalidValue, said.message + "\n").with_cmd(command),
            ),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}

/// As a flag: what cannot be read is a wrong use of the program.
pub fn check_topology(text: &str) -> Result<String> {
    topology(text, 0).map(|_| text.into())
}

/// As [`check_topology`].
pub fn check_update(text: &str) -> Result<String> {
    update(text).map(|_| text.into())
}

/// "name:argument" in two.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((name, argument)) => (name, Some(argument)),
        None => (text, None),
    }
}

fn number_in(flag: &str, text: &str) -> Result<f64> {
    text.parse()
        .map_err(|_| format!("{flag}: \"{text}\" is not a number; write one such as 0.3").into())
}

pub fn known(kind: &str, given: &str, names: &[&str]) -> Result<()> {
    if names.contains(&given) {
        return Ok(());
    }
    Err(unknown(&format!("--{kind}"), given, names).into())
}

/// An unknown name, with the nearest one that is known.
pub fn unknown(kind: &str, given: &str, names: &[&str]) -> String {
    let nearest = names
        .iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(name, given), name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, _)| *likeness > 0.5);
    let hint = nearest.map_or(String::new(), |(_, name)| {
        format!(" (did you mean {name}?)")
    });
    format!(
        "{kind} {given}: not known{hint}; choose one of {}",
        names.join(", ")
    )
}
