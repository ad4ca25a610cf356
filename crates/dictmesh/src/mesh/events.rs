//! Events of learning, and warnings about steps that may be unstable.

use super::Mesh;
use crate::strategy::diffusion;
use crate::Stop;
use std::fmt;

/// The event that an observer of [`Mesh::learn`] receives after each batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Samples learned so far, this batch included.
    pub samples: u64,
    /// Samples in this batch.
    pub batch: usize,
    /// Rounds the inference took.
    pub rounds: usize,
    /// Bytes that crossed links.
    pub bytes: u64,
    /// How the inference ended.
    pub stop: Stop,
    /// The first sample of the block that no code can meet, if the batch ended so.
    pub infeasible: Option<usize>,
    /// Mean cost of a sample, before the update.
    pub cost: f64,
    /// Mean number of coefficients that are not zero.
    pub sparsity: f64,
    /// How far the atoms moved, |W_new - W_old|_F.
    pub movement: f64,
}

/// A choice that is allowed but may not converge.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// The step of a gradient strategy is above what guarantees convergence.
    StepAboveBound {
        /// The strategy.
        strategy: String,
        /// The step that was given.
        mu: f64,
        /// The bound of the paper's table, from N_max and delta.
        table: f64,
        /// The bound from the agents' own norms.
        exact: f64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::StepAboveBound {
                strategy,
                mu,
                table,
                exact,
            } => write!(
                f,
                "{strategy}: the step mu = {mu} is above {exact:.4e}, what the agents' atoms allow \
                 ({table:.4e} is allowed whatever they are, from the paper's table by N_max and delta); \
                 it may diverge"
            ),
        }
    }
}

impl Mesh {
    /// The bounds on diffusion's step: the paper's table, and the exact minimum over the agents.
    pub fn step_bounds(&self) -> (f64, f64) {
        (
            diffusion::step_bound(&self.common()),
            diffusion::exact_step_bound((0..self.agents.len()).map(|k| self.local(k, None, 0))),
        )
    }

    /// Choices that are allowed but may not converge.
    pub fn warnings(&self) -> Vec<Warning> {
        let shared = self.common();
        let Some(factor) = self.strategy.stability(&shared) else {
            return Vec::new();
        };
        let (table, exact) = self.step_bounds();
        let mu = self.strategy.step(&shared).map(|(mu, _)| mu);
        match mu {
            Some(mu) if mu > factor * exact => vec![Warning::StepAboveBound {
                strategy: self.strategy.spec().kind().to_string(),
                mu,
                table: factor * table,
                exact: factor * exact,
            }],
            _ => Vec::new(),
        }
    }
}
