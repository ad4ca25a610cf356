//! The proof that no code can meet a constraint, in the parts that agents add to it.
//!
//! The nu of such a sample drifts for ever in a direction d that separates x from all that codes can
//! reach: d'x > f*(d) + sup over codes of d'W y. The first informed agent proposes its own drift; every
//! agent adds its part of the inequality. Whatever d is, it then holds that no code meets the
//! constraint whose coefficients are within reach.

use super::Local;
use crate::exact::coding::{separates, support_within_reach};
use crate::problem::residual::Residual;
use dictmesh_kernels::matrix::{dot, norm};

/// What one agent adds for sample j of this size: b_k'd, and the sup of d'W_k y_k.
pub fn parts(local: &Local, d: &[f64], j: usize, size: f64) -> (f64, f64) {
    let blocks = [(local.block.len(), local.task.regularizer())];
    let support = support_within_reach(&blocks, local.block.atoms(), d, size);
    let seen = local.share.map_or(0.0, |share| dot(share.column(j), d));
    (seen, support)
}

/// Whether the sums of these parts over all agents prove it.
pub fn proven(residual: &dyn Residual, d: &[f64], size: f64, seen: f64, support: f64) -> bool {
    separates(seen - residual.conjugate(d), support, size * norm(d))
}
