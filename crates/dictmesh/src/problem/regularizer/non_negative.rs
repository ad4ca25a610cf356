use super::{check_gamma_delta, elastic_net_piece, separable, Piece, Regularizer, ScalarPenalty};
use crate::error::Result;
use crate::spec::Spec;

/// h(y) = gamma y + delta/2 y^2 on y >= 0, infinite elsewhere;
/// h*(s) = T+_gamma(s)^2 / (2 delta); y = T+_gamma(s) / delta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NonNegativeElasticNet {
    gamma: f64,
    delta: f64,
}

impl NonNegativeElasticNet {
    /// Constructs it from a [`Spec`].
    pub fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&["gamma", "delta"])?;
        NonNegativeElasticNet::new(spec.required("gamma")?, spec.required("delta")?)
    }

    /// Requires `gamma` >= 0 and `delta` > 0.
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
    fn spec(&self) -> Spec {
        Spec::new("non-negative-elastic-net")
            .with("gamma", self.gamma)
            .with("delta", self.delta)
    }

    fn value(&self, y: &[f64]) -> f64 {
        separable::value(self, y)
    }

    fn argmax(&self, kappa: f64, s: &mut [f64]) {
        separable::argmax(self, kappa, s);
    }

    fn strong_convexity(&self) -> f64 {
        self.delta
    }

    fn conjugate(&self, s: &[f64]) -> f64 {
        separable::conjugate(self, s)
    }

    fn domain_support(&self, s: &[f64], reach: &[f64]) -> f64 {
        s.iter()
            .zip(reach)
            .map(|(s, reach)| s.max(0.0) * reach)
            .sum()
    }

    fn scalar(&self, _q: usize) -> Option<&dyn ScalarPenalty> {
        Some(self)
    }
}
