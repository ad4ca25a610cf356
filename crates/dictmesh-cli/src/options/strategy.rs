//! The strategy and its stopping rule, for all commands that run a mesh.

use super::names::{known, OneOf, STRATEGIES};
use super::{check_owned, Owned, Result};
use crate::commands::say;
use dictmesh::strategy::{self, Strategy};
use dictmesh::{Error, Spec, Stopping};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The strategy and its constants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Inference")]
#[serde(rename_all = "kebab-case", default)]
pub struct StrategyArgs {
    /// How agents find the dual vectors; auto is tree or relaxed-admm, by sizes, graph, --latency and
    /// --bandwidth
    #[arg(id = "strategy", long, value_parser = OneOf::new(STRATEGIES), value_name = "NAME")]
    #[serde(rename = "strategy")]
    pub name: Option<String>,
    /// Step of the strategy, where it has one
    #[arg(long, value_name = "X")]
    pub mu: Option<f64>,
    /// Penalty of relaxed-admm
    #[arg(long, value_name = "X")]
    pub rho: Option<f64>,
    /// Bits of a number in a message, 4 to 16
    #[arg(long, value_name = "N")]
    pub bits: Option<i64>,
    /// Seconds of one hop between agents, for --strategy auto
    #[arg(long, value_name = "SECONDS")]
    pub latency: Option<f64>,
    /// Bytes per second of an agent's link, for --strategy auto
    #[arg(long, value_name = "BYTES")]
    pub bandwidth: Option<f64>,
}

/// When the rounds of a batch end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[command(next_help_heading = "Inference")]
#[serde(rename_all = "kebab-case", default)]
pub struct StoppingArgs {
    /// Stop at this relative error of the dual, estimated; with tree at a certified relative gap of its
    /// square
    #[arg(long, value_name = "X")]
    pub tolerance: Option<f64>,
    /// Stop after this many rounds
    #[arg(long, value_name = "N")]
    pub rounds: Option<usize>,
}

/// The constant of a strategy, by its flag.
pub fn constant(strategy: &str) -> &'static str {
    match strategy {
        "relaxed-admm" => "rho",
        "tree" => "bits",
        _ => "mu",
    }
}

impl StrategyArgs {
    /// A flag that was given, with its value.
    pub fn given(&self) -> Option<(&'static str, String)> {
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        let given = [
            ("strategy", self.name.clone()),
            ("mu", number(self.mu)),
            ("rho", number(self.rho)),
            ("bits", self.bits.map(|bits| bits.to_string())),
            ("latency", number(self.latency)),
            ("bandwidth", number(self.bandwidth)),
        ];
        let mut given = given.into_iter();
        given.find_map(|(flag, value)| Some((flag, value?)))
    }

    /// The strategy that was asked for, or else `otherwise`.
    pub fn or(&self, otherwise: Arc<dyn Strategy>) -> Result<Arc<dyn Strategy>> {
        match self.given() {
            None => Ok(otherwise),
            Some(_) => self.build(),
        }
    }

    /// The strategy with its constants.
    pub fn build(&self) -> Result<Arc<dyn Strategy>> {
        // A constant of one strategy alone names it.
        let implied = match (self.rho, self.bits) {
            (Some(_), _) => "relaxed-admm",
            (None, Some(_)) => "tree",
            (None, None) => strategy::DEFAULT,
        };
        let name = self.name.as_deref().unwrap_or(implied);
        known("strategy", name, &STRATEGIES)?;
        let with_step = ["diffusion", "consensus", "jacobi-admm", "exact-diffusion"];
        let is_auto = name == strategy::DEFAULT;
        let auto = [strategy::DEFAULT];
        let owned = [
            Owned("mu", self.mu.is_some(), &with_step),
            Owned("rho", self.rho.is_some(), &["relaxed-admm"]),
            Owned("latency", self.latency.is_some(), &auto),
            Owned("bandwidth", self.bandwidth.is_some(), &auto),
            // Any other strategy rounds its messages, or says what it does instead.
            Owned(
                "bits",
                is_auto && self.bits.is_some(),
                &["tree", "relaxed-admm"],
            ),
        ];
        check_owned("strategy", name, &owned)?;
        let numbers = [
            ("mu", self.mu),
            ("rho", self.rho),
            ("latency", self.latency),
            ("bandwidth", self.bandwidth),
        ];
        let spec = numbers
            .into_iter()
            .fold(Spec::new(name), |spec, (flag, value)| {
                spec.with_some_number(flag, value)
            });
        strategy::build(&spec.with_some("bits", self.bits)).map_err(|e| match e {
            Error::Parameter {
                name,
                given,
                allowed,
            } => format!("--{name} {given}: {allowed}").into(),
            e => say(e),
        })
    }
}

impl StoppingArgs {
    /// A flag that was given, with its value.
    pub fn given(&self) -> Option<(&'static str, String)> {
        let tolerance = self.tolerance.map(|value| ("tolerance", value.to_string()));
        tolerance.or(self.rounds.map(|rounds| ("rounds", rounds.to_string())))
    }

    /// When rounds end: as given, or else `otherwise`.
    pub fn or(&self, otherwise: Stopping) -> Stopping {
        match (self.tolerance, self.rounds) {
            (None, None) => otherwise,
            (None, Some(rounds)) => Stopping::rounds(rounds),
            (Some(tolerance), None) => Stopping::tolerance(tolerance),
            (tolerance, Some(rounds)) => Stopping { tolerance, rounds },
        }
    }
}
