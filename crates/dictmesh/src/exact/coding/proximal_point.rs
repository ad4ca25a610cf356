//! The proximal point method on the dual, for residuals whose conjugate is flat (l1, ball,
//! equality): v <- argmin_v s f*(v) - c'v + h*(W'v) + q/2 |v - v_old|^2. Each step is a coding
//! problem with proximal weight q and c + q v_old in place of c. In the primal it is the method of
//! multipliers.

use super::infeasible::{separates, support_within_reach};
use super::{BlockScratch, Coding};
use crate::Stop;
use dictmesh_kernels::matrix::{dot, norm};

/// Proximal steps, at most.
const STEPS: usize = 300;
/// The factor of q from one step to the next, and its least value relative to the first.
const SHRINK: f64 = 0.2;
const LEAST: f64 = 1e-7;
/// The relative error up to which y counts as the code of W'v: the inner problems are solved to
/// rounding over q, which ends near `LEAST`.
const CODE_TOLERANCE: f64 = 1e-7;
/// Relative primal infeasibility at which the method stops ...
const EPSILON: f64 = 1e-16;
/// ... and at which it stops if this many steps ...
const MISS_ROUNDING: f64 = 1e-12;
/// ... did not halve it.
const IDLE: usize = 4;

pub(super) fn solve(
    problem: &Coding,
    c: &[f64],
    y: &mut [f64],
    v: &mut [f64],
    scratch_of: &BlockScratch,
) -> Stop {
    let size = norm(c) + problem.least();
    let delta = problem.h.strong_convexity();
    let longest = problem.longest_atom();
    // The proximal term starts at the curvature |w|^2 / delta of h*(W'v).
    let mut q = if longest > 0.0 {
        longest * longest / delta
    } else {
        1.0
    };
    let floor = LEAST * q;
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
        // q (v - v_old) is the primal infeasibility, in the units of c.
        let miss = q * norm(&direction);
        idle = if miss < 0.5 * smallest { 0 } else { idle + 1 };
        smallest = smallest.min(miss);
        if miss <= EPSILON * size || (miss <= MISS_ROUNDING * size && idle >= IDLE) {
            problem.correlate(v, &mut s);
            return if problem.h.is_code(&s, y, CODE_TOLERANCE) {
                Stop::Converged
            } else {
                Stop::RoundLimit
            };
        }
        if problem.residual.can_be_infeasible() && proves_infeasible(problem, c, &direction) {
            return Stop::Infeasible;
        }
        q = (SHRINK * q).max(floor);
    }
    Stop::RoundLimit
}

/// Whether the direction d separates c from all W y: c'd > s f*(d) + sup over codes of d'W y.
fn proves_infeasible(problem: &Coding, c: &[f64], d: &[f64]) -> bool {
    let size = norm(c) + problem.least();
    let excess = dot(c, d) - problem.s * problem.residual.conjugate(d);
    let support = support_within_reach(problem.h.blocks, problem.atoms, d, size);
    separates(excess, support, size * norm(d))
}
