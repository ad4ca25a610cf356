use super::{
    check_gamma_delta, elastic_net_piece, soft_threshold, Piece, Regularizer, ScalarPenalty,
};
use crate::error::Result;

/// h(y) = gamma |y| + delta/2 y^2; h*(s) = T_gamma(s)^2 / (2 delta); y = T_gamma(s) / delta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElasticNet {
    gamma: f64,
    delta: f64,
}

impl ElasticNet {
    /// With `gamma` >= 0 and `delta` > 0.
    pub fn new(gamma: f64, delta: f64) -> Result<Self> {
        check_gamma_delta(gamma, delta)?;
        Ok(ElasticNet { gamma, delta })
    }
}

impl ScalarPenalty for ElasticNet {
    fn value_at(&self, y: f64) -> f64 {
        self.gamma * y.abs() + 0.5 * self.delta * y * y
    }

    fn coordinate_argmax(&self, s: f64, kappa: f64) -> f64 {
        soft_threshold(s, self.gamma) / (self.delta + kappa)
    }

    fn quadratic_piece(&self, y: f64) -> Option<Piece> {
        elastic_net_piece(self.gamma, self.delta, y, f64::NEG_INFINITY, f64::INFINITY)
    }

    fn subgradient_at_zero(&self) -> Option<(f64, f64)> {
        Some((-self.gamma, self.gamma))
    }

    fn strong_convexity(&self) -> f64 {
        self.delta
    }
}

impl Regularizer for ElasticNet {
    fn name(&self) -> &'static str {
        "elastic-net"
    }

    fn domain_support(&self, s: f64) -> f64 {
        if s == 0.0 {
            0.0
        } else {
            f64::INFINITY
        }
    }
}
