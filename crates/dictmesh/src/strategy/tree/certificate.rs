//! The certificate of a sample, from the sum that the root has.
//!
//! y_k is grad h* at W_k'nu, so that the duality gap is f(u) + f*(nu) - u'nu with u = x - W y. The
//! root has u up to an error of norm at most E.

use super::super::Certified;
use crate::problem::residual::Residual;
use crate::Stop;
use dictmesh_kernels::matrix::{axpy, dot, norm};

/// Relative gap and violation up to this are rounding.
const ROUNDING: f64 = 1e-13;

/// What the root has for one sample.
pub(super) struct Evidence<'a> {
    pub residual: &'a dyn Residual,
    pub nu: &'a [f64],
    /// x - W y, up to `error`.
    pub u: &'a [f64],
    /// E, a bound of the norm of the error of u.
    pub error: f64,
    /// The distance of u from the subdifferential of f* at nu, if the root has computed it.
    pub gradient: Option<f64>,
    /// The dual cost of the sample.
    pub cost: f64,
    /// The magnitude of the sample.
    pub size: f64,
}

impl Evidence<'_> {
    /// The certificate. `tolerance` t is met by a relative gap of at most t^2. Ball and equality
    /// are met by a violation of at most t, relative to the sample, with a relative gap of at most
    /// t, which contains the violation times |nu|.
    pub fn certify(&self, tolerance: Option<f64>) -> Certified {
        let (gap, violation) = self.bounds();
        let t = tolerance.unwrap_or(0.0);
        let allowed = match self.residual.can_be_infeasible() {
            true => t.max(ROUNDING),
            // The bound of the gap is the square of a norm.
            false if self.residual.conjugate_curvature() > 0.0 => (t * t).max(ROUNDING * ROUNDING),
            // It is proportional to the error of u.
            false => (t * t).max(ROUNDING),
        };
        let met = gap <= allowed * self.cost.abs() && violation <= t.max(ROUNDING) * self.size;
        Certified {
            cost: self.cost,
            gap,
            violation,
            stop: match met {
                true => Stop::Converged,
                false => Stop::RoundLimit,
            },
        }
    }

    /// Upper bounds of the gap and of the violation.
    fn bounds(&self) -> (f64, f64) {
        let (residual, nu) = (self.residual, self.nu);
        if residual.can_be_infeasible() {
            return self.bounds_of_constraint();
        }
        let c = residual.conjugate_curvature();
        if let Some(gradient) = self.gradient.filter(|_| c > 0.0) {
            // f has a gradient with Lipschitz constant 1/c, so that the gap is at most
            // |u - v|^2 / (2 c) for every v in the subdifferential of f* at nu.
            let distance = gradient + self.error;
            return (distance * distance / (2.0 * c), 0.0);
        }
        let gap = residual.value(self.u) + residual.conjugate(nu) - dot(self.u, nu);
        // A gap that is not a number bounds nothing.
        let gap = if gap.is_nan() {
            f64::INFINITY
        } else {
            gap.max(0.0)
        };
        let gap = match c > 0.0 {
            // The gradient of the gap in u has norm at most sqrt(2 gap / c).
            true => (gap.sqrt() + self.error / (2.0 * c).sqrt()).powi(2),
            false => gap + self.error * (residual.lipschitz(nu.len()) + norm(nu)),
        };
        (gap, 0.0)
    }

    /// For an indicator f: the gap at the nearest feasible u, plus |nu| times the distance to it.
    fn bounds_of_constraint(&self) -> (f64, f64) {
        let (residual, nu) = (self.residual, self.nu);
        let (mut u, violation) = (self.u.to_vec(), residual.violation(self.u));
        if violation > 0.0 {
            // Moreau: u minus the prox of f* is the prox of f, which is feasible.
            let mut outside = u.clone();
            residual.conjugate_prox(1.0, &mut outside);
            axpy(-1.0, &outside, &mut u);
        }
        let gap = residual.conjugate(nu) - dot(&u, nu) + (violation + 2.0 * self.error) * norm(nu);
        (gap, violation + self.error)
    }
}
