use super::{
    check_gamma_delta, elastic_net_piece, separable, soft_threshold, Piece, Regularizer,
    ScalarPenalty,
};
use crate::error::Result;
use crate::spec::Spec;

/// h(y) = gamma |y| + delta/2 y^2; h*(s) = T_gamma(s)^2 / (2 delta); y = T_gamma(s) / delta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ElasticNet {
    gamma: f64,
    delta: f64,
}

impl ElasticNet {
    /// gamma = delta = .1: the default of a task, and the preset `sparse-svd`.
    pub(crate) const DEFAULT: ElasticNet = ElasticNet {
        gamma: 0.1,
        delta: 0.1,
    };

    /// Constructs it from a [`Spec`].
    pub fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&["gamma", "delta"])?;
        ElasticNet::new(spec.required("gamma")?, spec.required("delta")?)
    }

    /// Requires `gamma` >= 0 and `delta` > 0.
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
    fn spec(&self) -> Spec {
        Spec::new("elastic-net")
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

    fn scalar(&self, _q: usize) -> Option<&dyn ScalarPenalty> {
        Some(self)
    }
}
