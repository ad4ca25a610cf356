use super::{
    check_gamma_delta, elastic_net_piece, separable, soft_threshold, Piece, Regularizer,
    ScalarPenalty,
};
use crate::error::{Error, Result};
use crate::spec::Spec;

/// h(y) = gamma |y| + delta/2 y^2 on lo <= y <= hi, infinite elsewhere: the paper's indicator of a
/// box, eq. (IndicatorFun).
///
/// The box need not contain 0, and its ends may be infinite. y = clip(T_gamma(s) / delta), since in
/// one dimension the constrained maximiser of a concave function is the clipped unconstrained one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxedElasticNet {
    gamma: f64,
    delta: f64,
    lo: f64,
    hi: f64,
}

impl BoxedElasticNet {
    /// Constructs it from a [`Spec`].
    pub fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&["gamma", "delta", "lo", "hi"])?;
        let (lo, hi) = (spec.number("lo")?, spec.number("hi")?);
        BoxedElasticNet::new(
            spec.required("gamma")?,
            spec.required("delta")?,
            lo.unwrap_or(f64::NEG_INFINITY),
            hi.unwrap_or(f64::INFINITY),
        )
    }

    /// Requires `gamma` >= 0, `delta` > 0 and `lo` <= `hi`.
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
    fn spec(&self) -> Spec {
        let finite = |end: f64| Some(end).filter(|end| end.is_finite());
        Spec::new("boxed-elastic-net")
            .with("gamma", self.gamma)
            .with("delta", self.delta)
            .with_some("lo", finite(self.lo))
            .with_some("hi", finite(self.hi))
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
        let each = s.iter().zip(reach).map(|(s, reach)| {
            // Defines 0 * infinity as 0.
            let within_box = match s {
                s if *s > 0.0 => s * self.hi,
                s if *s < 0.0 => s * self.lo,
                _ => 0.0,
            };
            within_box.min(s.abs() * reach)
        });
        each.sum()
    }

    fn scalar(&self, _q: usize) -> Option<&dyn ScalarPenalty> {
        Some(self)
    }
}
