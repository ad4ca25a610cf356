//! Accelerated proximal gradient (FISTA with adaptive restart) for min_y e(c - W y) + h(y), where h
//! is not separable or e has no closed Hessian. It needs only e' and the prox of h:
//!
//! ```text
//! s     = W'e'(c - W z)
//! y_new = argmax_y (L z + s)'y - h(y) - L/2 |y|^2
//! z     = y_new + (t - 1)/t_new (y_new - y),    t_new = (1 + sqrt(1 + 4 t^2)) / 2
//! L     = |W|^2 / (s kappa + q), the Lipschitz constant of s, with kappa the curvature of f*
//! ```
//!
//! Momentum restarts (t = 1) where it points uphill, (z - y_new)'(y_new - y) > 0 (O'Donoghue and
//! Candes, 2015). As h is strongly convex, convergence is linear, and its constant need not be
//! known.

use super::{Coding, CODE_TOLERANCE};
use crate::Stop;
use dictmesh_kernels::atoms::Atoms;

/// Limit of steps, a safeguard: their number grows with the square root of the condition number.
const STEPS: usize = 50_000;
/// Covers the rounding of |W|^2: steps must not be too long.
const NORM_MARGIN: f64 = 1.0 + 1e-9;
/// A step smaller than this, relative to the code, is rounding.
const STEP_ROUNDING: f64 = 4.0 * f64::EPSILON;

/// Scratch memory of the steps.
#[derive(Default)]
pub(super) struct Steps {
    /// Cached |W|^2.
    norm_squared: Option<f64>,
    u: Vec<f64>,
    z: Vec<f64>,
    /// W'v, and L z + W'v, which becomes the next code.
    s: Vec<f64>,
    next: Vec<f64>,
}

impl Steps {
    /// Drops the cached |W|^2. Must be called before other atoms are used.
    pub fn invalidate(&mut self) {
        self.norm_squared = None;
    }

    fn norm_squared(&mut self, atoms: Atoms<'_>) -> f64 {
        *(self.norm_squared).get_or_insert_with(|| atoms.spectral_norm_squared())
    }
}

/// Solves for one c; see [`Coding::solve`](super::Coding). Needs s kappa + q > 0.
pub(super) fn solve(
    problem: &Coding,
    c: &[f64],
    y: &mut [f64],
    v: &mut [f64],
    steps: &mut Steps,
) -> Stop {
    let norm_squared = steps.norm_squared(problem.atoms) * NORM_MARGIN;
    let curvature = problem.s * problem.residual.conjugate_curvature() + problem.q;
    let lipschitz = norm_squared / curvature;
    let Steps { u, z, s, next, .. } = steps;
    u.resize(c.len(), 0.0);
    [&mut *z, &mut *s, &mut *next]
        .into_iter()
        .for_each(|own| own.resize(y.len(), 0.0));
    z.copy_from_slice(y);
    let (mut t, mut steps_left) = (1.0_f64, STEPS);
    loop {
        dual(problem, c, z, u, v);
        problem.correlate(v, s);
        for (i, next) in next.iter_mut().enumerate() {
            *next = lipschitz * z[i] + s[i];
        }
        problem.h.argmax(lipschitz, next);
        let (mut moved, mut size, mut uphill) = (0.0_f64, 0.0_f64, 0.0);
        for i in 0..y.len() {
            moved = moved.max((next[i] - z[i]).abs());
            size = size.max(next[i].abs());
            uphill += (z[i] - next[i]) * (next[i] - y[i]);
        }
        if !uphill.is_finite() {
            return Stop::Diverged;
        }
        let t_next = match uphill > 0.0 {
            true => 1.0,
            false => 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt()),
        };
        let momentum = if uphill > 0.0 {
            0.0
        } else {
            (t - 1.0) / t_next
        };
        for i in 0..y.len() {
            z[i] = next[i] + momentum * (next[i] - y[i]);
            y[i] = next[i];
        }
        t = t_next;
        steps_left -= 1;
        if moved <= STEP_ROUNDING * size || steps_left == 0 {
            break;
        }
    }
    dual(problem, c, y, u, v);
    problem.correlate(v, s);
    match problem.h.is_code(s, y, CODE_TOLERANCE) {
        true => Stop::Converged,
        false => Stop::RoundLimit,
    }
}

/// v = e'(u) at u = c - W y.
fn dual(problem: &Coding, c: &[f64], y: &[f64], u: &mut [f64], v: &mut [f64]) {
    u.copy_from_slice(c);
    problem.subtract_atoms(y, u);
    problem.envelope_gradient(u, v);
}
