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

use std::fmt::Debug;

/// A convex residual function f with what the dual needs of it.
pub trait Residual: Debug + Send + Sync {
    /// The name used in files and flags.
    fn name(&self) -> &'static str;

    /// f(u), infinite outside its domain.
    fn value(&self, u: &[f64]) -> f64;

    /// f*(nu), infinite outside its domain V_f.
    fn conjugate(&self, nu: &[f64]) -> f64;

    /// The projection onto V_f, the paper's Pi_{V_f}.
    fn project_dual(&self, nu: &mut [f64]);

    /// The prox of tau f*, its domain included: argmin_v f*(v) + 1/(2 tau) |v - nu|^2.
    fn conjugate_prox(&self, tau: f64, nu: &mut [f64]);

    /// The gradient of f* in V_f: c nu with c its [curvature](Residual::conjugate_curvature) where f* is smooth, as it is
    /// quadratic or flat there. Meaningful only where [`is_conjugate_smooth`] says so.
    ///
    /// [`is_conjugate_smooth`]: Residual::is_conjugate_smooth
    fn conjugate_gradient(&self, nu: &[f64], out: &mut [f64]) {
        let c = self.conjugate_curvature();
        out.iter_mut().zip(nu).for_each(|(out, nu)| *out = c * nu);
    }

    /// Whether f* has a gradient everywhere in V_f. Strategies that follow gradients need it, and take it for c nu.
    fn is_conjugate_smooth(&self) -> bool {
        true
    }

    /// The curvature of f* in V_f: its strong convexity and, where smooth, its Lipschitz constant
    /// (1 for the squared norm, eta for Huber, 0 where f* is flat or only homogeneous).
    fn conjugate_curvature(&self) -> f64;

    /// v = argmax_v u'v - s f*(v) - q/2 |v|^2, the gradient at u of the envelope
    /// e(u) = sup_v [u'v - s f*(v) - q/2 |v|^2]. Needs q > 0 unless the curvature of f* is above 0.
    fn envelope_gradient(&self, s: f64, q: f64, u: &[f64], v: &mut [f64]);

    /// A generalised Hessian of the same envelope at u: diag(`diagonal`) + c u u', returning c.
    fn envelope_hessian(&self, s: f64, q: f64, u: &[f64], diagonal: &mut [f64]) -> f64;

    /// The number a for which the envelope is simply |u|^2 / (2 a), where there is one.
    fn envelope_quadratic(&self, _s: f64, _q: f64) -> Option<f64> {
        None
    }

    /// The number a for which the envelope is |u_m|^2 / (2 a) up to |u_m| = a and has slope 1 beyond, summed
    /// over the entries, where there is one.
    fn huber_threshold(&self, _s: f64, _q: f64) -> Option<f64> {
        None
    }

    /// u = argmax_u nu'u - f(u), with NaN in each entry that nu does not determine. The paper's
    /// z is x - u.
    fn recover(&self, nu: &[f64], u: &mut [f64]);

    /// Whether f, and so f*, sees only the length of its argument. Every strategy's iterates then turn
    /// with the data, and a problem can be solved in rotated coordinates.
    fn is_rotation_invariant(&self) -> bool {
        false
    }

    /// For a residual that sees only lengths but for the box |nu|_inf <= 1, the same with the box on the first
    /// `rows` rows alone: rows that never reach it can then be rotated. (Not for l1, whose nu is at the bound
    /// in almost every row.)
    fn with_box_on_first_rows(&self, _rows: usize) -> Option<Box<dyn Residual>> {
        None
    }

    /// The distance of u from the domain of f: 0 for the finite residuals.
    fn violation(&self, _u: &[f64]) -> f64 {
        0.0
    }

    /// Whether there are samples that no code can meet (f is an indicator). f* is then positively
    /// homogeneous, so that a direction d with d'x > f*(d) + (the support function of all W y at d)
    /// proves it.
    fn can_be_infeasible(&self) -> bool {
        false
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
