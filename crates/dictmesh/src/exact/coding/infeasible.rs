//! Proofs that no code meets a constraint: a direction d with c'd > s f*(d) + sup over codes of d'W y.
//!
//! The exact solver and the agents of a mesh use the same inequality with the same constants, so that a sample which
//! one of them calls infeasible is infeasible for the other.

use crate::problem::regularizer::Regularizer;
use dictmesh_kernels::atoms::Atoms;
use dictmesh_kernels::matrix::{dot, norm};

/// A coefficient y_q with |w_q y_q| above this many times the sample counts as out of reach. Without a bound no
/// direction could prove anything: w_q'd is zero only to rounding.
pub(crate) const REACH: f64 = 1e4;

/// Relative lead of one side of the inequality that rounding cannot make.
const LEAD: f64 = 1e-9;

/// Whether `excess` is above `support` by more than rounding, for numbers of this `scale`.
pub(crate) fn separates(excess: f64, support: f64, scale: f64) -> bool {
    excess - support > LEAD * (scale + support.abs())
}

/// sup of d'W y over the codes in the domain of h with |w_q y_q| <= [`REACH`] times `size` for every atom.
pub(crate) fn support_within_reach<'w>(
    blocks: &[(usize, &dyn Regularizer)],
    atoms: impl Into<Atoms<'w>>,
    d: &[f64],
    size: f64,
) -> f64 {
    let atoms = atoms.into();
    let s: Vec<f64> = atoms.columns().map(|w| dot(w, d)).collect();
    let within = |w: &[f64]| match norm(w) {
        0.0 => 0.0, // a zero atom reaches nothing, whatever its code
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
