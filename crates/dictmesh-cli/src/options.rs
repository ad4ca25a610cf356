//! The choices about the task, the mesh and the learning.

mod mesh;
mod method;
pub mod names;
mod strategy;

pub use mesh::{constant, dealt};
pub use method::MethodArgs;
pub use strategy::StrategyArgs;

use dictmesh::problem::atoms::AtomPenalty;
use dictmesh::problem::TaskSpec;
use dictmesh::strategy as strategies;
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
    /// Weight of |y|_1: more makes codes sparser
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        help_heading = "The problem"
    )]
    pub gamma: Option<f64>,
    /// Weight of |y|^2/2, above 0
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        help_heading = "The problem"
    )]
    pub delta: Option<f64>,
    /// Weight of |W|_1 on the atoms
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        help_heading = "The problem"
    )]
    pub beta: Option<f64>,
    /// Where the Huber residual turns from quadratic to linear
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        help_heading = "The problem"
    )]
    pub eta: Option<f64>,
    /// Radius of the ball residual
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
    /// Combination weights
    #[arg(long, value_parser = OneOf::new(names::WEIGHTS), value_name = "RULE", help_heading = "The mesh")]
    pub weights: Option<String>,
    /// Agents that see the samples: "all" or numbers such as 0,3 [default: all]
    #[arg(long, value_name = "LIST", help_heading = "The mesh")]
    pub informed: Option<String>,

    /// How agents find the dual vectors; auto is tree or relaxed-admm, by sizes, graph, --latency and
    /// --bandwidth
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
    /// Bits of a number in a message, 4 to 16
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        help_heading = "Inference"
    )]
    pub bits: Option<i64>,
    /// Seconds of one hop between agents, for --strategy auto
    #[arg(
        long,
        value_name = "SECONDS",
        allow_negative_numbers = true,
        help_heading = "Inference"
    )]
    pub latency: Option<f64>,
    /// Bytes per second of an agent's link, for --strategy auto
    #[arg(
        long,
        value_name = "BYTES",
        allow_negative_numbers = true,
        help_heading = "Inference"
    )]
    pub bandwidth: Option<f64>,
    /// Stop at this relative error of the dual, estimated; with tree at a certified relative gap of its
    /// square
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

    /// Samples per update
    #[arg(long, value_name = "B", help_heading = "Learning")]
    pub batch: Option<usize>,
    /// How often to go through the data
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub passes: Option<usize>,
    /// adaptive, adaptive:0.97, constant:0.01 or schedule:1 [default: adaptive, forgetting 3% in 256 samples]
    #[arg(long, value_parser = names::check_update, value_name = "RULE", help_heading = "Learning")]
    pub update: Option<String>,
    /// Fixes everything random
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

/// The defaults of flags, by their identifiers, as the library has them.
pub fn defaults() -> Vec<(&'static str, String)> {
    let preset = |name: &str| TaskSpec::preset(name).ok();
    // "0.1 in sparse-svd, 0.5 in biclustering": tasks with the same value together.
    let by_task = |value: &dyn Fn(&TaskSpec) -> Option<f64>| {
        let mut groups: Vec<(f64, Vec<&str>)> = Vec::new();
        for name in names::TASKS {
            let Some(value) = preset(name).and_then(|task| value(&task)) else {
                continue;
            };
            match groups.iter_mut().find(|group| group.0 == value) {
                Some(group) => group.1.push(name),
                None => groups.push((value, vec![name])),
            }
        }
        let words = groups
            .iter()
            .map(|(value, tasks)| format!("{value} in {}", tasks.join(" and ")));
        words.collect::<Vec<_>>().join(", ")
    };
    let constant = |name: &'static str| {
        by_task(&|task: &TaskSpec| task.common.regularizer.required(name).ok())
    };
    let penalty = |task: &TaskSpec| match task.common.penalty {
        AtomPenalty::L1 { beta } => Some(beta),
        _ => Some(0.0),
    };
    let residual = |name: &str, constant: &'static str| {
        let spec = names::residual(name)
            .ok()
            .and_then(|spec| spec.required(constant).ok());
        spec.map_or(String::new(), |value| value.to_string())
    };
    let tolerance = dictmesh::Stopping::default().tolerance;
    vec![
        ("gamma", constant("gamma")),
        ("delta", constant("delta")),
        ("beta", by_task(&penalty)),
        ("eta", residual("huber", "eta")),
        ("radius", residual("ball", "sigma")),
        ("strategy", strategies::DEFAULT.into()),
        ("weights", names::WEIGHTS[0].into()),
        (
            "bits",
            format!(
                "{} with --strategy tree, else doubles",
                strategies::tree::DEFAULT_BITS
            ),
        ),
        ("latency", strategies::auto::DEFAULT_LATENCY.to_string()),
        (
            "bandwidth",
            format!("{:e}", strategies::auto::DEFAULT_BANDWIDTH),
        ),
        (
            "tolerance",
            tolerance.map_or(String::new(), |value| format!("{value:e}")),
        ),
        ("batch", BATCH.to_string()),
        ("passes", PASSES.to_string()),
        ("seed", SEED.to_string()),
    ]
}

impl Options {
    /// How often to go through the data.
    pub fn passes(&self) -> Result<usize> {
        match self.passes.unwrap_or(PASSES) {
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
