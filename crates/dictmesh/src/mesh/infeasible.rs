//! Samples that no code can meet, found by all agents of a mesh: see [`inference::infeasible`](crate::strategy::infeasible).

use super::part::Part;
use crate::strategy::infeasible::{parts, proven};
use crate::Stop;
use dictmesh_kernels::matrix::{axpy, Matrix};

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
        let each = (0..self.strategies.len()).map(|k| parts(&self.local(k), d, j, size));
        let (seen, support) = each.fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        proven(self.mesh.task().residual(), d, size, seen, support)
    }
}
