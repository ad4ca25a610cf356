use super::{
    check_gamma_delta, elastic_net_piece, soft_threshold, Piece, Regularizer, ScalarPenalty,
};
use crate::error::{Error, Result};

/// h(y) = gamma |y| + delta/2 y^2 on lo <= y <= hi, infinite elsewhere; the paper's indicator of a
/// box, eq. (IndicatorFun). The box need not hold 0; its ends may be infinite.
///
/// In one dimension the constrained maximiser of a concave function is the clipped free one, so
/// y = clip(T_gamma(s) / delta).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxedElasticNet {
    gamma: f64,
    delta: f64,
    lo: f64,
    hi: f64,
}

impl BoxedElasticNet {
    /// With `gamma` >= 0, `delta` > 0 and `lo` <= `hi`.
    pub fn new(gamma: f64, delta: f64, lo: f64, hi: f64) -> Result<Self> {
        check_gamma_delta(gamma, delta)?;
        let ordered = lo <= hi && lo < f64::INFINITY && hi > f64::NEG_INFINITY;
        if !ordered {
            return Err(Error::parameter(
                "lo, hi",
                format!("{lo}, {hi}"),
                "lo <= hi is required and the box must hold a finite number",
            ));
        }
        Ok(BoxedElasticNet {
            gamma,
            delta,
            lo,
            hi,
        })
    }
}

impl ScalarPenalty for BoxedElasticNet {
    fn value_at(&self, y: f64) -> f64 {
        if self.lo <= y && y <= self.hi {
            self.gamma * y.abs() + 0.5 * self.delta * y * y
        } else {
            f64::INFINITY
        }
    }

    fn coordinate_argmax(&self, s: f64, kappa: f64) -> f64 {
        (soft_threshold(s, self.gamma) / (self.delta + kappa)).clamp(self.lo, self.hi)
    }

    fn quadratic_piece(&self, y: f64) -> Option<Piece> {
        elastic_net_piece(self.gamma, self.delta, y, self.lo, self.hi)
    }

    fn strong_convexity(&self) -> f64 {
        self.delta
    }
}

impl Regularizer for BoxedElasticNet {
    fn name(&self) -> &'static str {
        "boxed-elastic-net"
    }

    fn domain_support(&self, s: f64) -> f64 {
        // 0 * infinity is 0 here.
        if s == 0.0 {
            0.0
        } else if s > 0.0 {
            s * self.hi
        } else {
            s * self.lo
        }
    }
}
