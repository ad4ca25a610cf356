//! The strategy alone, for commands that settle the rest of the mesh themselves.

use super::names::{self, OneOf};
use super::{Options, Result};
use dictmesh::strategy::Strategy;
use dictmesh::Stopping;
use std::sync::Arc;

/// The strategy, the links that auto assumes, and when rounds end.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StrategyArgs {
    /// How agents find the dual vectors; auto is tree or relaxed-admm, by sizes, graph, --latency and
    /// --bandwidth [default: relaxed-admm; diffusion with --paper]
    #[arg(long, value_parser = OneOf::new(names::STRATEGIES), value_name = "NAME", help_heading = "Inference")]
    pub strategy: Option<String>,
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
    /// square [default: 1e-3; 1000 rounds with --paper]
    #[arg(
        long,
        value_name = "X",
        allow_negative_numbers = true,
        help_heading = "Inference"
    )]
    pub tolerance: Option<f64>,
}

impl StrategyArgs {
    /// The strategy that was asked for, or else `otherwise`.
    pub fn or(&self, otherwise: Arc<dyn Strategy>) -> Result<Arc<dyn Strategy>> {
        match (&self.strategy, self.latency, self.bandwidth) {
            (None, None, None) => Ok(otherwise),
            (strategy, latency, bandwidth) => Options {
                strategy: strategy.clone(),
                latency,
                bandwidth,
                ..Options::default()
            }
            .strategy(),
        }
    }

    /// When rounds end, or else `otherwise`.
    pub fn stopping(&self, otherwise: Stopping) -> Stopping {
        self.tolerance.map_or(otherwise, Stopping::tolerance)
    }
}
