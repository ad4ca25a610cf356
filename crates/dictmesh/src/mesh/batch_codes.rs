//! Coding of a batch for learning.

use super::run::{Run, State};
use super::Mesh;
use crate::accel::{Batch, BatchCodes, Memory};
use crate::error::Result;
use crate::problem::samples::weights::weigh;
use crate::problem::samples::Samples;
use crate::Stop;
use dictmesh_kernels::Matrix;
use std::ops::Range;

/// State carried from one batch to the next.
#[derive(Default)]
pub(super) struct BatchCarry {
    /// The final iterates, if the next batch may be warm-started from them.
    pub warm: Option<State>,
    pub memory: Memory,
}

impl Mesh {
    /// The batch as speed-ups receive it.
    pub(super) fn batch_of<'a>(&'a self, x: &'a Samples) -> Batch<'a> {
        Batch {
            residual: self.task.residual(),
            agents: self.views(),
            x,
            strategy: &*self.strategy,
            tolerance: self.stopping.tolerance,
            rounds: self.stopping.rounds,
            scratch: &self.scratch,
            interrupt: self.interrupt.as_deref(),
            batching: self.accels.batching(),
        }
    }

    /// Codes a batch of a block.
    pub(super) fn code(
        &self,
        block: &Samples,
        batch: Range<usize>,
        carry: &mut BatchCarry,
    ) -> Result<BatchCodes> {
        let view = self.batch_of(block);
        if let Some(codes) = self.accels.code(&view, batch.clone(), &mut carry.memory) {
            return Ok(codes);
        }
        let x = &block.range(batch);
        let mut run = match carry.warm.take() {
            Some(state) if state.samples == x.len() => Run::start_warm(self, x, state)?,
            _ if self.warm_start => Run::start(self, x)?,
            _ => Run::start_accelerated(self, x)?,
        };
        let stop = run.until(&self.stopping);
        let found = run.found_without_duals(stop);
        let codes = BatchCodes {
            rounds: found.rounds,
            bytes: found.bytes,
            stop: Some(found.stop),
            infeasible: found.infeasible.first().copied(),
            cost: found.mean_cost(),
            sparsity: found.mean_sparsity(),
            products: match (stop, x.weights()) {
                (Stop::Interrupted, _) => Vec::new(),
                (_, None) => run.products(&found.codes),
                (_, Some(weights)) => {
                    let weighed: Vec<Matrix> =
                        found.codes.iter().map(|y| weigh(y, weights)).collect();
                    run.products(&weighed)
                }
            },
            codes: found.codes,
        };
        // Duals of a diverged or infeasible batch are no valid warm start.
        if self.warm_start && matches!(found.stop, Stop::Converged | Stop::RoundLimit) {
            carry.warm = Some(run.into_state()?);
        }
        Ok(codes)
    }
}
