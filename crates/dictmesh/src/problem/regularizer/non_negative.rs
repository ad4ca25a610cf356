use super::{check_gamma_delta, elastic_net_piece, Piece, Regularizer, ScalarPenalty};
use crate::error::Result;

/// h(y) = gamma y + delta/2 y^2 on y >= 0, infinite elsewhere;
/// h*(s) = T+_gamma(s)^2 / (2 delta); y = T+_gamma(s) / delta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NonNegativeElasticNet {
    gamma: f64,
    delta: f64,
}

impl NonNegativeElasticNet {
    /// With `gamma` >= 0 and `delta` > 0.
    pub fn new(gamma: f64, delta: f64) -> Result<Self> {
        check_gamma_delta(gamma, delta)?;
        Ok(NonNegativeElasticNet { gamma, delta })
    }
}

impl ScalarPenalty for NonNegativeElasticNet {
    fn value_at(&self, y: f64) -> f64 {
        if y >= 0.0 {
            self.gamma * y + 0.5 * self.delta * y * y
        } else {
            f64::INFINITY
        }
    }

    fn coordinate_argmax(&self, s: f64, kappa: f64) -> f64 {
        (s - self.gamma).max(0.0) / (self.delta + kappa)
    }

    fn quadratic_piece(&self, y: f64) -> Option<Piece> {
        elastic_net_piece(self.gamma, self.delta, y, 0.0, f64::INFINITY)
    }

    fn subgradient_at_zero(&self) -> Option<(f64, f64)> {
        Some((f64::NEG_INFINITY, self.gamma))
    }

    fn strong_convexity(&self) -> f64 {
        self.delta
    }
}

impl Regularizer for NonNegativeElasticNet {
    fn name(&self) -> &'static str {
        "non-negative-elastic-net"
    }

    fn domain_support(&self, s: f64) -> f64 {
        if s <= 0.0 {
            0.0
        } else {
            f64::INFINITY
        }
    }
}
