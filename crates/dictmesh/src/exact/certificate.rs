//! Certificates: bounds on the distance of a solution from the optimum.

use crate::exact::coding::Coding;
use crate::problem::regularizer::separable::scalar_conjugate;
use crate::problem::residual::Residual;
use crate::Stop;
use dictmesh_kernels::matrix::{axpy, dot, norm};

/// The certified duality gap of one sample's solution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    /// The dual cost, a lower bound of the optimum.
    pub dual: f64,
    /// The duality gap: the primal cost is at most dual + gap.
    pub gap: f64,
    /// The distance of x - W y from the domain of f (0 for the finite residuals).
    pub violation: f64,
    /// `Converged` if gap and violation are within the tolerance, up to rounding. The gap is
    /// relative to the cost, the violation to |x| + sum of |w_q y_q|.
    pub stop: Stop,
}

impl Certificate {
    /// No bound at all.
    pub(super) const NONE: Certificate = Certificate {
        dual: f64::NEG_INFINITY,
        gap: f64::INFINITY,
        violation: 0.0,
        stop: Stop::RoundLimit,
    };

    /// The worst [`Stop`] of all.
    pub(super) fn worst(all: &[Certificate]) -> Stop {
        (all.iter()).fold(Stop::Converged, |worst, c| worst.worse(c.stop))
    }

    /// The gap relative to the dual cost.
    pub fn relative_gap(&self) -> f64 {
        self.gap / self.dual.abs().max(f64::MIN_POSITIVE)
    }

    /// The largest relative gap of all.
    pub(super) fn widest(all: &[Certificate]) -> f64 {
        (all.iter())
            .map(Certificate::relative_gap)
            .fold(0.0, f64::max)
    }
}

/// f(u) + f*(nu) - u'nu at the nearest feasible u, plus |nu| times the distance to it; and that
/// distance.
fn data_gap(problem: &Coding, x: &[f64], y: &[f64], nu: &[f64], conjugate: f64) -> (f64, f64) {
    let residual = problem.residual;
    let threshold = (residual.envelope()).and_then(|envelope| envelope.huber_threshold(1.0, 0.0));
    if threshold.is_some_and(|a| a > 0.0) {
        // nu is u/a clamped to +-1 for u = x - W y: the gap of every row is 0, within the bound and
        // beyond.
        return (0.0, 0.0);
    }
    let mut u = x.to_vec();
    problem.subtract_atoms(y, &mut u);
    let violation = residual.violation(&u);
    if violation > 0.0 {
        // Moreau: u minus the prox of f* is the prox of f, which is feasible.
        let mut outside = u.clone();
        residual.conjugate_prox(1.0, &mut outside);
        axpy(-1.0, &outside, &mut u);
    }
    let gap = residual.value(&u) + conjugate - dot(&u, nu) + violation * norm(nu);
    (gap, violation)
}

/// Data that all certificates share.
pub(super) struct Proof {
    /// The norms of the atoms.
    lengths: Vec<f64>,
    /// The subdifferential of h at 0, on which h* and its gradient are 0; empty if it is unknown.
    subgradients_at_zero: Vec<(f64, f64)>,
    tolerance: f64,
}

impl Proof {
    pub fn new(problem: &Coding, tolerance: f64) -> Self {
        let nowhere = (f64::INFINITY, f64::NEG_INFINITY);
        let at_zero = |q: usize| {
            let scalar = problem.h.scalars.get(q);
            scalar
                .and_then(|h| h.subgradient_at_zero())
                .unwrap_or(nowhere)
        };
        Proof {
            lengths: problem.atoms.columns().map(norm).collect(),
            subgradients_at_zero: (0..problem.atoms.cols()).map(at_zero).collect(),
            tolerance,
        }
    }

    /// The certificate of (y, nu), with `s` = W'nu. `used` gets the coefficients that contribute,
    /// which include all non-zero ones.
    pub fn certify(
        &self,
        problem: &Coding,
        x: &[f64],
        (y, nu, s): (&[f64], &[f64], &[f64]),
        ended: Stop,
        used: &mut Vec<usize>,
    ) -> Certificate {
        let residual = problem.residual;
        let conjugate = residual.conjugate(nu);
        let closed = (residual.envelope()).and_then(|envelope| envelope.quadratic(1.0, 0.0));
        let (data_gap, violation) = match closed {
            // f* = |.|^2/2, and nu is x - W y.
            Some(1.0) => (residual.value(nu) + conjugate - dot(nu, nu), 0.0),
            _ => data_gap(problem, x, y, nu, conjugate),
        };
        // For most coefficients h, h* and s y are 0. The others are listed without an unpredictable
        // branch.
        used.resize(y.len(), 0);
        let mut count = 0;
        for (q, ((s, y), (lo, hi))) in s.iter().zip(y).zip(&self.subgradients_at_zero).enumerate() {
            used[count] = q;
            count += usize::from((*y != 0.0) | !((lo <= s) & (s <= hi)));
        }
        used.truncate(count);
        let (mut code_gap, mut code_value, mut code_conjugate) = (0.0, 0.0, 0.0);
        let mut terms = 0.0;
        for q in used.iter() {
            let (s, y) = (s[*q], y[*q]);
            terms += self.lengths[*q] * y.abs();
            let Some(h) = problem.h.scalars.get(*q) else {
                continue;
            };
            let (value, conjugate) = (h.value_at(y), scalar_conjugate(*h, s));
            code_gap += value + conjugate - s * y;
            code_value += value;
            code_conjugate += conjugate;
        }
        if problem.h.scalars.is_empty() {
            (code_value, code_conjugate) = (problem.h.value(y), problem.h.conjugate(s));
            code_gap = code_value + code_conjugate - dot(s, y);
        }
        let dual = dot(x, nu) - conjugate - code_conjugate;
        let gap = data_gap + code_gap;
        if !(gap.is_finite() && dual.is_finite()) {
            // Overflow: no bound.
            return Certificate {
                violation,
                stop: ended.worse(Stop::RoundLimit),
                ..Certificate::NONE
            };
        }
        let (gap, tolerance) = (gap.max(0.0), self.tolerance);
        let cost = dual.abs().max(code_value);
        let size = norm(x) + terms;
        let met = (gap <= tolerance * cost
            || gap <= tolerance * cost + rounding(residual, nu, size))
            && violation <= tolerance * size;
        let stop = match ended {
            Stop::Infeasible => Stop::Infeasible,
            _ if met => Stop::Converged,
            _ => Stop::RoundLimit,
        };
        Certificate {
            dual: dual + 0.0, // no -0
            gap,
            violation,
            stop,
        }
    }
}

/// The gap that rounding in u = x - W y explains, through nu and through f; `size` is that of the
/// summed terms.
fn rounding(residual: &dyn Residual, nu: &[f64], size: f64) -> f64 {
    let slip = 16.0 * f64::EPSILON * size;
    let through_f = residual.value(&vec![slip; nu.len()]);
    slip * norm(nu)
        + if through_f.is_finite() {
            through_f
        } else {
            0.0
        }
}
