//! Residual functions f, the first column of the paper's tables, with their conjugates
//! f*(nu) = sup_u [nu'u - f(u)].
//!
//! | type | f(u) | f*(nu) | domain of f* |
//! |---|---|---|---|
//! | [`SquaredL2`] | 1/2 \|u\|^2 | 1/2 \|nu\|^2 | everywhere |
//! | [`Huber`] | sum L(u_m) | eta/2 \|nu\|^2 | \|nu\|_inf <= 1 |
//! | [`L1`] | \|u\|_1 | 0 | \|nu\|_inf <= 1 |
//! | [`Ball`] | 0 if \|u\| <= sigma, else infinite | sigma \|nu\| | everywhere |
//! | [`Equality`] | 0 if u = 0, else infinite | 0 | everywhere |
//!
//! Every method works on one sample (one column).

mod ball;
mod equality;
mod huber;
mod l1;
mod squared_l2;

pub use ball::Ball;
pub use equality::Equality;
pub use huber::Huber;
pub use l1::L1;
pub use squared_l2::SquaredL2;

use crate::spec::Spec;
use std::fmt::Debug;

/// A convex residual function f with its conjugate.
///
/// A residual of another crate implements the methods without a default. A task takes it as a
/// value: `Task::new(MyResidual)`. [`laws::residual`](crate::laws::residual) tests it. The defaults
/// of the optional methods are correct for every residual; overriding them enables faster code
/// paths or more strategies.
pub trait Residual: Debug + Send + Sync {
    /// Name and parameters.
    fn spec(&self) -> Spec;

    /// f(u), infinite outside its domain.
    fn value(&self, u: &[f64]) -> f64;

    /// f*(nu), infinite outside its domain V_f.
    fn conjugate(&self, nu: &[f64]) -> f64;

    /// The projection onto V_f, the paper's Pi_{V_f}.
    fn project_dual(&self, nu: &mut [f64]);

    /// The prox of tau f*, its domain included: argmin_v f*(v) + 1/(2 tau) |v - nu|^2.
    fn conjugate_prox(&self, tau: f64, nu: &mut [f64]);

    /// u = argmax_u nu'u - f(u), with NaN in each entry that nu does not determine. The paper's z
    /// is x - u.
    fn recover(&self, nu: &[f64], u: &mut [f64]);

    /// The constant c if f* = c/2 |nu|^2 throughout V_f; the gradient of f* is then c nu. Gradient
    /// strategies need it.
    fn conjugate_quadratic(&self) -> Option<f64> {
        None
    }

    /// A strong convexity constant c of f* on V_f, or 0: f* - c/2 |.|^2 is convex. For c > 0, f has
    /// a gradient with Lipschitz constant 1/c.
    fn conjugate_curvature(&self) -> f64 {
        self.conjugate_quadratic().unwrap_or(0.0)
    }

    /// A Lipschitz constant of f on vectors of `rows` entries, in the Euclidean norm; infinite (the
    /// default) if there is none. Certificates of residuals without
    /// [`conjugate_curvature`](Residual::conjugate_curvature) need it.
    fn lipschitz(&self, _rows: usize) -> f64 {
        f64::INFINITY
    }

    /// The distance of u from the domain of f; 0 if f is finite everywhere.
    fn violation(&self, _u: &[f64]) -> f64 {
        0.0
    }

    /// Whether a sample may have no feasible code (f is an indicator). f* is then positively
    /// homogeneous, so a direction d with d'x > f*(d) + sup_y d'W y is a certificate of
    /// infeasibility.
    fn can_be_infeasible(&self) -> bool {
        false
    }

    /// Closed forms of the envelope, if they exist. They enable Newton steps and Gram-matrix
    /// solvers in the exact solver; without them it takes accelerated gradient steps.
    fn envelope(&self) -> Option<&dyn Envelope> {
        None
    }

    /// Whether f, and so f*, depends only on the norm of its argument. The iterates of
    /// rotation-equivariant strategies then rotate with the data, so the problem can be solved in
    /// rotated coordinates.
    fn is_rotation_invariant(&self) -> bool {
        false
    }

    /// For a residual that is rotation invariant except for the box |nu|_inf <= 1: the same with
    /// the box on the first `rows` rows alone. Rows that never reach the box can then be rotated.
    /// Not for l1, whose nu is at the bound in almost every row.
    fn with_box_on_first_rows(&self, _rows: usize) -> Option<Box<dyn Residual>> {
        None
    }

    /// The name in files and flags.
    fn name(&self) -> String {
        self.spec().kind().to_string()
    }
}

/// Closed forms of e(u) = sup_v [u'v - s f*(v) - q/2 |v|^2] for s > 0 and q >= 0. q > 0 is required
/// unless f* is strongly convex.
pub trait Envelope {
    /// e'(u) = argmax_v u'v - s f*(v) - q/2 |v|^2, into v.
    fn gradient(&self, s: f64, q: f64, u: &[f64], v: &mut [f64]);

    /// A generalised Hessian of e at u: diag(`diagonal`) + c u u', returning c.
    fn hessian(&self, s: f64, q: f64, u: &[f64], diagonal: &mut [f64]) -> f64;

    /// The constant a if e(u) = |u|^2 / (2 a).
    fn quadratic(&self, _s: f64, _q: f64) -> Option<f64> {
        None
    }

    /// The constant a if e is the sum over the entries of u_m^2 / (2 a) for |u_m| <= a, with slope
    /// +-1 beyond.
    fn huber_threshold(&self, _s: f64, _q: f64) -> Option<f64> {
        None
    }
}

/// Clips every entry to [-1, 1], the paper's projection onto |nu|_inf <= 1.
fn clip_to_unit_box(nu: &mut [f64]) {
    for v in nu {
        *v = v.clamp(-1.0, 1.0);
    }
}

/// Whether all entries are in [-1, 1].
fn in_unit_box(nu: &[f64]) -> bool {
    nu.iter().all(|v| v.abs() <= 1.0)
}
