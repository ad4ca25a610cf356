//! Distributed certificates of infeasibility.
//!
//! The nu of an infeasible sample diverges in a direction d that separates x from every reachable W
//! y: d'x > f*(d) + sup over codes of d'W y. The first informed agent proposes its last change of
//! nu as d, and every agent contributes its term of the inequality. For any d that satisfies it, no
//! code with coefficients up to the bound of `support_within_reach` meets the constraint.

use super::Local;
use crate::exact::coding::{separates, support_within_reach};
use crate::problem::residual::Residual;
use dictmesh_kernels::matrix::{dot, norm};

/// The terms of one agent for sample j of magnitude `size`: b_k'd and the sup of d'W_k y_k.
pub fn parts(local: &Local, d: &[f64], j: usize, size: f64) -> (f64, f64) {
    let blocks = [(local.block.len(), local.task.regularizer())];
    let support = support_within_reach(&blocks, local.block.atoms(), d, size);
    let seen = local.share.map_or(0.0, |share| dot(share.column(j), d));
    (seen, support)
}

/// Whether the sums of these terms over all agents certify infeasibility.
pub fn proven(residual: &dyn Residual, d: &[f64], size: f64, seen: f64, support: f64) -> bool {
    separates(seen - residual.conjugate(d), support, size * norm(d))
}
