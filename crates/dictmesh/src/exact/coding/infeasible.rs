//! Proofs of infeasibility: a direction d with c'd > s f*(d) + sup over codes of d'W y.
//!
//! The exact solver and the agents of a mesh use the same inequality with the same constants, so
//! that they agree on which samples are infeasible.

use crate::problem::regularizer::Regularizer;
use dictmesh_kernels::atoms::Atoms;
use dictmesh_kernels::matrix::{dot, norm};

/// Bound on |w_q y_q| relative to the sample. Without one no direction could prove infeasibility:
/// w_q'd is zero only up to rounding.
pub(crate) const REACH: f64 = 1e4;

/// Relative margin of the inequality, above its rounding errors.
const LEAD: f64 = 1e-9;

/// Whether `excess` exceeds `support` by more than rounding, for terms of this `scale`.
pub(crate) fn separates(excess: f64, support: f64, scale: f64) -> bool {
    excess - support > LEAD * (scale + support.abs())
}

/// sup of d'W y over the codes in the domain of h with |w_q y_q| <= [`REACH`] times `size` for all
/// q.
pub(crate) fn support_within_reach<'w>(
    blocks: &[(usize, &dyn Regularizer)],
    atoms: impl Into<Atoms<'w>>,
    d: &[f64],
    size: f64,
) -> f64 {
    let atoms = atoms.into();
    let s: Vec<f64> = atoms.columns().map(|w| dot(w, d)).collect();
    let within = |w: &[f64]| match norm(w) {
        0.0 => 0.0, // a zero atom contributes nothing
        length => REACH * size / length,
    };
    let within: Vec<f64> = atoms.columns().map(within).collect();
    let (mut from, mut sum) = (0, 0.0);
    for (n, h) in blocks {
        let own = from..from + n;
        sum += h.domain_support(&s[own.clone()], &within[own]);
        from += n;
    }
    sum
}
