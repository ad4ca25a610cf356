//! The proximal point method on the dual, for residuals whose conjugate is flat (l1, ball,
//! equality): v <- argmin_v s f*(v) - c'v + h*(W'v) + q/2 |v - v_old|^2. Each step is a coding
//! problem with proximal weight q and c + q v_old in place of c; in the primal it is the method of
//! multipliers.

use super::{BlockScratch, Coding};
use crate::problem::regularizer::Regularizer;
use crate::Stop;
use dictmesh_kernels::atoms::Atoms;
use dictmesh_kernels::matrix::{dot, norm};

const STEPS: usize = 300;
/// Relative size of the primal residual's miss at which we stop for good, ...
const EPSILON: f64 = 1e-16;
/// ... and at which we stop if this many steps ...
const ROUNDING: f64 = 1e-12;
/// ... did not halve it.
const IDLE: usize = 4;
/// A coefficient y_q with |w_q y_q| above this many times the sample counts as out of reach.
const REACH: f64 = 1e8;

pub(super) fn solve(
    problem: &Coding,
    c: &[f64],
    y: &mut [f64],
    v: &mut [f64],
    scratch_of: &BlockScratch,
) -> Stop {
    let size = norm(c) + problem.least();
    let delta = problem
        .regularizers
        .iter()
        .map(|h| h.strong_convexity())
        .fold(f64::INFINITY, f64::min);
    let longest = problem.longest_atom();
    // Where the proximal term weighs as much as the curvature |w|^2 / delta of h*(W'v).
    let mut q = if longest > 0.0 {
        longest * longest / delta
    } else {
        1.0
    };
    let floor = 1e-7 * q;
    v.fill(0.0);
    let (mut old, mut shifted) = (vec![0.0; v.len()], vec![0.0; v.len()]);
    let mut s = vec![0.0; y.len()];
    let (mut smallest, mut idle) = (f64::INFINITY, 0);
    for _ in 0..STEPS {
        old.copy_from_slice(v);
        for i in 0..c.len() {
            shifted[i] = c[i] + q * v[i];
        }
        Coding { q, ..*problem }.solve(&shifted, y, v, scratch_of);
        let direction: Vec<f64> = v.iter().zip(&old).map(|(new, old)| new - old).collect();
        // q (v - v_old) is by how much the primal residual misses, in the units of c.
        let miss = q * norm(&direction);
        idle = if miss < 0.5 * smallest { 0 } else { idle + 1 };
        smallest = smallest.min(miss);
        if miss <= EPSILON * size || (miss <= ROUNDING * size && idle >= IDLE) {
            problem.correlate(v, &mut s);
            return if problem.is_fixed_point(&s, y, 1e-7) {
                Stop::Converged
            } else {
                Stop::RoundLimit
            };
        }
        if problem.residual.can_be_infeasible() && proves_infeasible(problem, c, &direction) {
            return Stop::Infeasible;
        }
        q = (0.2 * q).max(floor);
    }
    Stop::RoundLimit
}

/// Whether the direction d separates c from all that codes can reach:
/// c'd > s f*(d) + sup over codes of d'W y.
fn proves_infeasible(problem: &Coding, c: &[f64], d: &[f64]) -> bool {
    let size = norm(c) + problem.least();
    let excess = dot(c, d) - problem.s * problem.residual.conjugate(d);
    let support = support_within_reach(problem.regularizers, problem.atoms, d, REACH * size);
    separates(excess, support, size * norm(d))
}

/// Whether `excess` is above `support` by more than rounding, for numbers of this `scale`.
pub(crate) fn separates(excess: f64, support: f64, scale: f64) -> bool {
    excess - support > 1e-9 * (scale + support.abs())
}

/// sup of d'W y over the codes in the domain of h with |w_q y_q| <= `reach` for every atom. Without that
/// bound it would be infinite wherever w_q'd is zero only to rounding.
pub(crate) fn support_within_reach<'w>(
    regularizers: &[&dyn Regularizer],
    atoms: impl Into<Atoms<'w>>,
    d: &[f64],
    reach: f64,
) -> f64 {
    regularizers
        .iter()
        .zip(atoms.into().columns())
        .map(|(h, w)| {
            let (s, length) = (dot(w, d), norm(w));
            if length == 0.0 {
                return 0.0; // a zero atom reaches nothing, whatever its code
            }
            h.domain_support(s).min(reach * s.abs() / length)
        })
        .sum()
}
