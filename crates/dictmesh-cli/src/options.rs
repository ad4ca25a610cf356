//! The choices about the task, the mesh and the learning.

mod mesh;
mod method;
pub mod names;
mod strategy;

pub use mesh::{constant, dealt};
pub use method::MethodArgs;
pub use strategy::StrategyArgs;

use names::OneOf;
use serde::{Deserialize, Serialize};

/// Choices about the task, the mesh and the learning; what is left out gets a default.
#[derive(Clone, Debug, Default, Serialize, Deserialize, clap::Args)]
#[serde(rename_all = "kebab-case", default)]
pub struct Options {
    /// What to solve (a row of the paper's table) [default: sparse-svd; nmf for text and counts]
    #[arg(long, value_parser = OneOf::new(names::TASKS), value_name = "NAME", help_heading = "The problem")]
    pub task: Option<String>,
    /// The residual f [default: the task's: squared-l2, or huber in nmf-huber]
    #[arg(long, value_parser = OneOf::new(names::RESIDUALS), value_name = "NAME", help_heading = "The problem")]
    pub residual: Option<String>,
    /// The regularizer of the codes [default: the task's: elastic-net; non-negative-elastic-net in nmf and
    /// nmf-huber]
    #[arg(long, value_parser = OneOf::new(names::REGULARIZERS), value_name = "NAME", help_heading = "The problem")]
    pub regularizer: Option<String>,
    /// Where atoms may lie [default: the task's: unit-ball; non-negative-unit-ball in nmf and nmf-huber]
    #[arg(long, value_parser = OneOf::new(names::SETS), value_name = "NAME", help_heading = "The problem")]
    pub atoms_set: Option<String>,
    /// Weight of |y|_1: more makes codes sparser [default: 0.1 in sparse-svd, 0.05 in nmf and nmf-huber, 0.5 in
    /// biclustering]
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        help_heading = "The problem"
    )]
    pub gamma: Option<f64>,
    /// Weight of |y|^2/2, above 0 [default: 0.1; 0.01 in biclustering]
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        help_heading = "The problem"
    )]
    pub delta: Option<f64>,
    /// Weight of |W|_1 on the atoms [default: 0; 0.01 in biclustering]
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        help_heading = "The problem"
    )]
    pub beta: Option<f64>,
    /// Where the Huber residual turns from quadratic to linear [default: 0.2]
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        help_heading = "The problem"
    )]
    pub eta: Option<f64>,
    /// Radius of the ball residual [default: 0.1]
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        help_heading = "The problem"
    )]
    pub radius: Option<f64>,
    /// Lower end of boxed codes [default: none]
    #[arg(
        long,
        value_name = "X",
        allow_hyphen_values = true,
        help_heading = "The problem"
    )]
    pub lo: Option<f64>,
    /// Upper end of boxed codes [default: none]
    #[arg(
        long,
        value_name = "X",
        allow_hyphen_values = true,
        help_heading = "The problem"
    )]
    pub hi: Option<f64>,

    /// How many atoms in all [default: as many as agents, or 64]
    #[arg(long, value_name = "K", help_heading = "The mesh")]
    pub atoms: Option<usize>,
    /// How many agents share them [default: 1 without a topology, a grid's number, else 16]
    #[arg(long, value_name = "N", help_heading = "The mesh")]
    pub agents: Option<usize>,
    /// complete, ring, path, star, grid:4x5, random:0.3 or geometric:0.4 [default: random:0.3]
    #[arg(long, value_parser = names::check_topology, value_name = "GRAPH", help_heading = "The mesh")]
    pub topology: Option<String>,
    /// Combination weights [default: metropolis]
    #[arg(long, value_parser = OneOf::new(names::WEIGHTS), value_name = "RULE", help_heading = "The mesh")]
    pub weights: Option<String>,
    /// Agents that see the samples: "all" or numbers such as 0,3 [default: all]
    #[arg(long, value_name = "LIST", help_heading = "The mesh")]
    pub informed: Option<String>,

    /// How agents find the dual vectors; auto is tree or relaxed-admm, by sizes, graph, --latency and
    /// --bandwidth [default: auto]
    #[arg(long, value_parser = OneOf::new(names::STRATEGIES), value_name = "NAME", help_heading = "Inference")]
    pub strategy: Option<String>,
    /// Step of the strategy, where it has one
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        help_heading = "Inference"
    )]
    pub mu: Option<f64>,
    /// Penalty of relaxed-admm
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        help_heading = "Inference"
    )]
    pub rho: Option<f64>,
    /// Bits of a number in a message, 4 to 16 [default: 8 with --strategy tree, else doubles]
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        help_heading = "Inference"
    )]
    pub bits: Option<i64>,
    /// Seconds of one hop between agents, for --strategy auto [default: 0.0005]
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        help_heading = "Inference"
    )]
    pub latency: Option<f64>,
    /// Bytes per second of an agent's link, for --strategy auto [default: 12.5e6, 100 Mbit/s]
    #[arg(
        long,
        value_name = "BYTES",
        allow_negative_numbers = true,
        help_heading = "Inference"
    )]
    pub bandwidth: Option<f64>,
    /// Stop at this relative error of the dual, estimated; with tree at a certified relative gap of its
    /// square [default: 1e-4]
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        help_heading = "Inference"
    )]
    pub tolerance: Option<f64>,
    /// Stop after this many rounds
    #[arg(long, value_name = "N", help_heading = "Inference")]
    pub rounds: Option<usize>,

    /// Speed-ups: all, none, or names separated by commas (single-agent, reduction, chunks, neighbour-sums,
    /// lanes); results are bit-identical, or with reduction up to rounding (tree: within the certified gaps)
    /// [default: all]
    #[arg(long, value_name = "LIST", value_parser = speed_ups, help_heading = "Inference")]
    pub accel: Option<String>,

    /// Samples per update [default: 256]
    #[arg(long, value_name = "B", help_heading = "Learning")]
    pub batch: Option<usize>,
    /// How often to go through the data [default: 1]
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub passes: Option<usize>,
    /// adaptive, adaptive:0.97, constant:0.01 or schedule:1 [default: adaptive, forgetting 3% in 256 samples]
    #[arg(long, value_parser = names::check_update, value_name = "RULE", help_heading = "Learning")]
    pub update: Option<String>,
    /// Fixes everything random [default: 0]
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub seed: Option<u64>,
}

use crate::commands::Result;

impl Options {
    /// How often to go through the data.
    pub fn passes(&self) -> Result<usize> {
        match self.passes.unwrap_or(1) {
            0 => Err("--passes 0: at least 1 is needed".into()),
            passes => Ok(passes),
        }
    }
}

/// A list of speed-ups that `Accels` can parse.
fn speed_ups(list: &str) -> std::result::Result<String, String> {
    dictmesh::accel::Accels::parse(list).map_err(|e| e.to_string())?;
    Ok(list.to_string())
}
