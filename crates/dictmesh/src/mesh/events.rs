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
    /// Bytes sent over links.
    pub bytes: u64,
    /// The outcome of the inference.
    pub stop: Stop,
    /// The index in the block of the first infeasible sample, if the batch has one.
    pub infeasible: Option<usize>,
    /// Mean cost of a sample, before the update.
    pub cost: f64,
    /// Mean number of nonzero coefficients per sample.
    pub sparsity: f64,
    /// The movement of the atoms, |W_new - W_old|_F.
    pub movement: f64,
}

/// A valid setting that may not converge.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// The step of a gradient strategy exceeds the bound that guarantees convergence.
    StepAboveBound {
        /// The strategy.
        strategy: String,
        /// The step that was given.
        mu: f64,
        /// The bound of the paper's table, from N_max and delta.
        table: f64,
        /// The bound from the spectral norms of the agents' atoms, or `table` for strategies
        /// without such a bound.
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
            } => {
                write!(
                    f,
                    "{strategy}: the step mu = {mu} exceeds {exact:.4e}, the bound "
                )?;
                match table == exact {
                    true => write!(f, "of this strategy")?,
                    false => write!(
                        f,
                        "for these atoms ({table:.4e}, from N_max and delta, holds for all atoms \
                         in the unit ball)"
                    )?,
                }
                write!(f, "; it may diverge")
            }
        }
    }
}

impl Mesh {
    /// The bounds on diffusion's step: the paper's table, and the minimum over the agents' norms.
    pub fn step_bounds(&self) -> (f64, f64) {
        (
            diffusion::step_bound(&self.shared_constants()),
            diffusion::exact_step_bound((0..self.agents.len()).map(|k| self.local(k, None, 0))),
        )
    }

    /// The valid settings that may not converge.
    pub fn warnings(&self) -> Vec<Warning> {
        let shared = self.shared_constants();
        let Some((mu, bound)) = self.strategy.step(&shared) else {
            return Vec::new();
        };
        let (table, exact) = match self.strategy.stability(&shared) {
            Some(factor) => {
                let (table, exact) = self.step_bounds();
                (factor * table, factor * exact)
            }
            None => (bound, bound),
        };
        let warning = || Warning::StepAboveBound {
            strategy: self.strategy.name(),
            mu,
            table,
            exact,
        };
        Vec::from_iter((mu > exact).then(warning))
    }
}
