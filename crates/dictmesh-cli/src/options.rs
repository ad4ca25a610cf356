//! The choices about the task, the mesh and the learning.

mod defaults;
mod mesh;
mod method;
pub mod names;
mod problem;
mod strategy;

pub use defaults::defaults;
pub use mesh::dealt;
pub use method::{MethodArgs, MethodName};
pub use problem::ProblemArgs;
pub use strategy::{constant, StoppingArgs, StrategyArgs};

use names::OneOf;
use serde::{Deserialize, Serialize};

/// Choices about the task, the mesh and the learning; what is left out gets a default.
#[derive(Clone, Debug, Default, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    #[command(flatten)]
    #[serde(flatten)]
    pub problem: ProblemArgs,

    /// The total number of atoms [default: as many as agents, or 64]
    #[arg(long, value_name = "K", help_heading = "The mesh")]
    pub atoms: Option<usize>,
    /// The number of agents that share them [default: 1 without a topology, those of a grid or of
    /// edges, else 16]
    #[arg(long, value_name = "N", help_heading = "The mesh")]
    pub agents: Option<usize>,
    /// complete, ring, path, star, grid:4x5, random:0.3, geometric:0.4, edges:0-1,1-2 or edges:FILE with a
    /// pair of agents a line [default: random:0.3]
    #[arg(long, value_parser = names::check_topology, value_name = "GRAPH", help_heading = "The mesh")]
    pub topology: Option<String>,
    /// Combination weights
    #[arg(long, value_parser = OneOf::new(names::WEIGHTS), value_name = "RULE", help_heading = "The mesh")]
    pub weights: Option<String>,
    /// Agents that receive the samples: "all" or numbers such as 0,3 [default: all]
    #[arg(long, value_name = "LIST", help_heading = "The mesh")]
    pub informed: Option<String>,

    #[command(flatten)]
    #[serde(flatten)]
    pub strategy: StrategyArgs,
    #[command(flatten)]
    #[serde(flatten)]
    pub stopping: StoppingArgs,
    /// Speed-ups: all, none, or names separated by commas (single-agent, reduction, chunks, neighbour-sums,
    /// lanes); results are bit-identical, or with reduction up to rounding (tree: within the certified gaps)
    /// [default: all]
    #[arg(long, value_name = "LIST", value_parser = speed_ups, help_heading = "Inference")]
    pub accel: Option<String>,

    /// Samples per update
    #[arg(long, value_name = "B", help_heading = "Learning")]
    pub batch: Option<usize>,
    /// The number of passes over the data
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub passes: Option<usize>,
    /// adaptive, adaptive:0.97, constant:0.01 or schedule:1 [default: adaptive, forgetting 3% in 256 samples]
    #[arg(long, value_parser = names::check_update, value_name = "RULE", help_heading = "Learning")]
    pub update: Option<String>,
    /// Seed of all random draws
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub seed: Option<u64>,
}

use crate::commands::Result;

/// The samples per update.
pub const BATCH: usize = 256;
/// The seed of all random numbers.
pub const SEED: u64 = 0;
/// How often learning goes through the data.
const PASSES: usize = 1;

impl Options {
    /// The number of passes over the data.
    pub fn passes(&self) -> Result<usize> {
        match self.passes.unwrap_or(PASSES) {
            0 => Err("--passes 0: at least 1 is needed".into()),
            passes => Ok(passes),
        }
    }
}

/// A flag, whether it is given, and the values of another flag that it belongs to.
pub struct Owned<'a>(pub &'a str, pub bool, pub &'a [&'a str]);

/// Refuses flags that `chosen`, the value of the flag `of`, would ignore.
pub fn check_owned(of: &str, chosen: &str, flags: &[Owned<'_>]) -> Result<()> {
    let ignored = |flag: &&Owned| flag.1 && !flag.2.contains(&chosen);
    match flags.iter().find(ignored) {
        None => Ok(()),
        Some(Owned(flag, _, owners)) => Err(format!(
            "--{flag} belongs to --{of} {}, but this {of} is {chosen}; name {}, or leave --{flag} out",
            owners.join(" or "),
            match owners.len() {
                1 => "that",
                _ => "one of them",
            }
        )
        .into()),
    }
}

/// A list of speed-ups that `Accels` can parse.
fn speed_ups(list: &str) -> std::result::Result<String, String> {
    dictmesh::accel::Accels::parse(list).map_err(|e| e.to_string())?;
    Ok(list.to_string())
}
