//! A batch as learning sees it: what the atoms learn from, and what is told of it.

use super::run::{Run, State};
use super::Mesh;
use crate::error::Result;
use crate::problem::samples::Samples;
use crate::Stop;
use dictmesh_kernels::matrix::Matrix;
use std::ops::Range;

/// What was found for a batch.
pub(super) struct BatchCodes {
    pub rounds: usize,
    pub bytes: u64,
    pub stop: Stop,
    /// The first sample that no code can meet, if it ended so.
    pub infeasible: Option<usize>,
    /// Mean cost of a sample.
    pub cost: f64,
    /// Mean number of coefficients that are not zero.
    pub sparsity: f64,
    /// y_k of each agent, N_k x B; without meaning where it was interrupted.
    pub codes: Vec<Matrix>,
    /// nu_k y_k' of each agent, with a column for each atom that fired or for each atom; the same.
    pub products: Vec<Matrix>,
}

/// What one batch leaves to the next.
#[derive(Default)]
pub(super) struct BatchCarry {
    /// Where it ended, if the next one may start there.
    pub warm: Option<State>,
    /// Memory for the codes of an agent that is alone.
    pub y: Matrix,
    /// And for its dual vectors.
    pub nu: Matrix,
}

impl Mesh {
    /// Codes a batch of a block.
    pub(super) fn code(
        &self,
        block: &Samples,
        batch: Range<usize>,
        kept: &mut BatchCarry,
    ) -> Result<BatchCodes> {
        if let Some(agent) = self.alone() {
            return Ok(self.code_alone(agent, block, batch, kept));
        }
        let x = &block.range(batch);
        let mut run = match kept.warm.take() {
            Some(state) if state.samples == x.len() => Run::start_warm(self, x, state)?,
            _ if self.warm_start => Run::start(self, x)?,
            _ => Run::start_reduced(self, x)?,
        };
        let stop = run.until(&self.stopping);
        let found = run.found_without_duals(stop);
        let coded = BatchCodes {
            rounds: found.rounds,
            bytes: found.bytes,
            stop: found.stop,
            infeasible: found.infeasible.first().copied(),
            cost: found.mean_cost(),
            sparsity: found.mean_sparsity(),
            products: match stop {
                Stop::Interrupted => Vec::new(),
                _ => run.products(&found.codes),
            },
            codes: found.codes,
        };
        if self.warm_start {
            kept.warm = Some(run.into_state()?);
        }
        Ok(coded)
    }
}
