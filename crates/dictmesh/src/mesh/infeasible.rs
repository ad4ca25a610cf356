//! The proof that no code can meet a constraint.
//!
//! The nu of such a sample drifts for ever in a direction d that separates x from all that codes can
//! reach: d'x > f*(d) + sup over codes of d'W y. The first informed agent proposes its own drift; every
//! agent adds its part of the inequality. Whatever d is, it then holds that no code meets the
//! constraint whose coefficients are within reach.

use super::part::Part;
use crate::coding::{separates, support_within_reach};
use crate::matrix::{axpy, dot, norm, Matrix};
use crate::Stop;

/// A coefficient y_q with |w_q y_q| above this many times the sample counts as out of reach.
const REACH: f64 = 1e4;

impl Part<'_> {
    /// Whether the way nu moved in the last round proves that some samples cannot be met.
    pub(super) fn find_infeasible(&mut self, before: &[Matrix]) -> bool {
        if !self.mesh.task().residual().can_be_infeasible() {
            return false;
        }
        let samples = 0..self.share.cols();
        self.infeasible = if self.is_alone() {
            // No drift from round to round; but its argmin looks for such a d on its own way.
            samples
                .filter(|j| self.argmin_stop_of(*j) == Stop::Infeasible)
                .collect()
        } else {
            let n = self.strategies.len();
            let proposer = (0..n).find(|k| self.mesh.is_informed(*k)).unwrap_or(0);
            let mut drift = self.strategies[proposer].dual().clone();
            axpy(-1.0, before[proposer].as_slice(), drift.as_mut_slice());
            samples
                .filter(|j| self.proves_infeasible(drift.column(*j), *j))
                .collect()
        };
        !self.infeasible.is_empty()
    }

    fn proves_infeasible(&self, d: &[f64], j: usize) -> bool {
        let size = self.sizes[j];
        let mut excess = -self.mesh.task().residual().conjugate(d);
        let mut support = 0.0;
        for k in 0..self.strategies.len() {
            let local = self.local(k);
            if let Some(share) = local.share {
                excess += dot(share.column(j), d);
            }
            let regularizers = vec![local.task.regularizer(); local.block.len()];
            support += support_within_reach(&regularizers, local.block.atoms(), d, REACH * size);
        }
        separates(excess, support, size * norm(d))
    }
}
