//! Regularizers h_y of the codes, separable and strongly convex, with their conjugates
//! h*(s) = sup_y [s'y - h(y)], where s = W_k' nu.
//!
//! | type | h(y) | y(s) = grad h*(s) |
//! |---|---|---|
//! | [`ElasticNet`] | gamma \|y\|_1 + delta/2 \|y\|^2 | T_gamma(s) / delta |
//! | [`NonNegativeElasticNet`] | the same on y >= 0 | T+_gamma(s) / delta |
//! | [`BoxedElasticNet`] | the same on lo <= y <= hi | T_gamma(s) / delta, clipped to the box |
//!
//! T_gamma is the paper's soft threshold, T+_gamma its one-sided form.

mod boxed;
mod elastic_net;
mod non_negative;

pub use boxed::BoxedElasticNet;
pub use elastic_net::ElasticNet;
pub use non_negative::NonNegativeElasticNet;

use crate::error::{Error, Result};
pub use dictmesh_kernels::penalty::soft_threshold;
pub use dictmesh_kernels::{Piece, ScalarPenalty};

/// A separable, strongly convex regularizer: one scalar function h applied to every coefficient.
pub trait Regularizer: ScalarPenalty {
    /// The name used in files and flags.
    fn name(&self) -> &'static str;

    /// The support function of the domain of h at s, sup over feasible y of s y (may be infinite).
    fn domain_support(&self, s: f64) -> f64;

    /// h(y), summed over the coefficients.
    fn value(&self, y: &[f64]) -> f64 {
        // Eight independent sums: the order is fixed, and the compiler can use vector registers.
        let mut sums = [0.0; 8];
        let parts = y.chunks_exact(8);
        let tail: f64 = parts.remainder().iter().map(|y| self.value_at(*y)).sum();
        for part in parts {
            for (sum, y) in sums.iter_mut().zip(part) {
                *sum += self.value_at(*y);
            }
        }
        sums.iter().sum::<f64>() + tail
    }

    /// h*(s), summed over the coefficients; finite everywhere.
    fn conjugate(&self, s: &[f64]) -> f64 {
        s.iter()
            .map(|s| {
                let y = self.coordinate_argmax(*s, 0.0);
                s * y - self.value_at(y)
            })
            .sum()
    }

    /// y = argmax_y s'y - h(y) = grad h*(s): one function, both meanings.
    fn recover(&self, s: &[f64], y: &mut [f64]) {
        for (y, s) in y.iter_mut().zip(s) {
            *y = self.coordinate_argmax(*s, 0.0);
        }
    }
}

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
    Error::check_positive("delta", delta)
}

/// The piece of gamma |y| + delta/2 y^2 on lo <= y <= hi around y.
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
