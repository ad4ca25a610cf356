//! Regularizers h_y of the codes, strongly convex, with their conjugates
//! h*(s) = sup_y [s'y - h(y)], where s = W_k' nu.
//!
//! | type | h(y) | y(s) = grad h*(s) |
//! |---|---|---|
//! | [`ElasticNet`] | gamma \|y\|_1 + delta/2 \|y\|^2 | T_gamma(s) / delta |
//! | [`NonNegativeElasticNet`] | the same on y >= 0 | T+_gamma(s) / delta |
//! | [`BoxedElasticNet`] | the same on lo <= y <= hi | T_gamma(s) / delta, clipped to the box |
//! | [`WeightedElasticNet`] | sum_q gamma_q \|y_q\| + delta/2 \|y\|^2 | entry by entry as above |
//! | [`GroupElasticNet`] | gamma sum_g sqrt(n_g) \|y_g\|_2 + delta/2 \|y\|^2 | group by group |
//!
//! T_gamma is the paper's soft threshold, T+_gamma its one-sided form.

mod boxed;
mod elastic_net;
mod group;
mod non_negative;
pub mod separable;
mod weighted;

pub use boxed::BoxedElasticNet;
pub use elastic_net::ElasticNet;
pub use group::{GroupElasticNet, Groups};
pub use non_negative::NonNegativeElasticNet;
pub use weighted::WeightedElasticNet;

use crate::error::{Error, Result};
use crate::spec::Spec;
pub use dictmesh_kernels::penalty::soft_threshold;
pub use dictmesh_kernels::{Piece, ScalarPenalty};
use std::fmt::Debug;

/// A strongly convex regularizer h of one agent's codes.
///
/// Slices have one entry per atom of the agent, in the order of its block. A regularizer of another
/// crate implements the methods without a default. A task takes it as a value:
/// `Task::new(residual).regularizer(MyRegularizer)`.
/// [`laws::regularizer`](crate::laws::regularizer) tests it.
pub trait Regularizer: Debug + Send + Sync {
    /// Name and parameters.
    fn spec(&self) -> Spec;

    /// h(y), infinite outside its domain.
    fn value(&self, y: &[f64]) -> f64;

    /// Replaces s by argmax_y s'y - h(y) - kappa/2 |y|^2: the code grad h*(s) for `kappa` = 0, a
    /// proximal step for `kappa` > 0.
    fn argmax(&self, kappa: f64, s: &mut [f64]);

    /// delta > 0, the strong convexity of h: h - delta/2 |.|^2 is convex.
    fn strong_convexity(&self) -> f64;

    /// h*(s); finite everywhere.
    fn conjugate(&self, s: &[f64]) -> f64 {
        let mut y = s.to_vec();
        self.argmax(0.0, &mut y);
        dictmesh_kernels::matrix::dot(s, &y) - self.value(&y)
    }

    /// An upper bound of s'y over the y in the domain of h with |y_q| <= reach_q. Certificates of
    /// infeasibility use it. The default assumes that the domain is the whole space.
    fn domain_support(&self, s: &[f64], reach: &[f64]) -> f64 {
        s.iter().zip(reach).map(|(s, reach)| s.abs() * reach).sum()
    }

    /// `Ok` if an agent may have `n` atoms; the error states the allowed numbers.
    fn check_atoms(&self, _n: usize) -> Result<()> {
        Ok(())
    }

    /// The scalar penalty of coefficient `q` if h is separable: either all coefficients have one or
    /// none. It enables coordinate descent and active sets.
    fn scalar(&self, _q: usize) -> Option<&dyn ScalarPenalty> {
        None
    }

    /// The name in files and flags.
    fn name(&self) -> String {
        self.spec().kind().to_string()
    }
}

/// Multiples of the inverse of a smaller delta overflow.
const LEAST_DELTA: f64 = 1e-300;

fn check_gamma_delta(gamma: f64, delta: f64) -> Result<()> {
    Error::check_not_negative("gamma", gamma)?;
    if delta == 0.0 {
        return Err(Error::parameter(
            "delta",
            delta,
            "must be above 0: the regularizer has to be strongly convex, or the code cannot be \
             recovered from the dual (the paper's Assumption 1); a small delta such as 1e-3 comes \
             close to pure l1",
        ));
    }
    Error::check_positive("delta", delta)?;
    if delta < LEAST_DELTA {
        let allowed = "must be at least 1e-300; constants of strategies are multiples of 1/delta";
        return Err(Error::parameter("delta", format!("{delta:e}"), allowed));
    }
    Ok(())
}

/// The quadratic piece around y of gamma |y| + delta/2 y^2 on lo <= y <= hi; `None` at a kink or a
/// bound.
fn elastic_net_piece(gamma: f64, delta: f64, y: f64, lo: f64, hi: f64) -> Option<Piece> {
    if y == 0.0 || y <= lo || y >= hi {
        return None;
    }
    let (lo, hi) = if y > 0.0 {
        (lo.max(0.0), hi)
    } else {
        (lo, hi.min(0.0))
    };
    Some(Piece {
        slope: gamma * y.signum() + delta * y,
        lo,
        hi,
    })
}
