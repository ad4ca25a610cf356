use super::{separable, ElasticNet, NonNegativeElasticNet, Regularizer, ScalarPenalty};
use crate::error::{Error, Result};
use crate::spec::Spec;

/// h(y) = sum_q gamma_q |y_q| + delta/2 |y|^2, optionally on y >= 0, with one gamma_q per atom of
/// the agent.
///
/// y_q = T_{gamma_q}(s_q) / delta, one-sided on y >= 0. A small gamma_q favours atom q; gamma_q = 0
/// removes its l1 shrinkage.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedElasticNet {
    gamma: Vec<f64>,
    delta: f64,
    nets: Nets,
}

/// The scalar penalties, one per atom.
#[derive(Clone, Debug, PartialEq)]
enum Nets {
    Free(Vec<ElasticNet>),
    NonNegative(Vec<NonNegativeElasticNet>),
}

impl WeightedElasticNet {
    /// Requires every `gamma` >= 0 and `delta` > 0.
    pub fn new(gamma: Vec<f64>, delta: f64, non_negative: bool) -> Result<Self> {
        super::check_gamma_delta(0.0, delta)?;
        let each = gamma.iter();
        let nets = match non_negative {
            false => Nets::Free(
                each.map(|g| ElasticNet::new(*g, delta))
                    .collect::<Result<_>>()?,
            ),
            true => Nets::NonNegative(
                each.map(|g| NonNegativeElasticNet::new(*g, delta))
                    .collect::<Result<_>>()?,
            ),
        };
        Ok(WeightedElasticNet { gamma, delta, nets })
    }

    /// Constructs it from a [`Spec`]: `gamma` is a list.
    pub fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&["gamma", "delta", "non_negative"])?;
        let gamma: Option<Vec<f64>> = spec.get("gamma")?;
        let missing =
            || Error::parameter("gamma", "nothing", "must be a list, one number per atom");
        WeightedElasticNet::new(
            gamma.ok_or_else(missing)?,
            spec.required("delta")?,
            spec.get("non_negative")?.unwrap_or(false),
        )
    }

    fn penalties(&self) -> impl Iterator<Item = &dyn ScalarPenalty> {
        (0..self.gamma.len()).filter_map(|q| self.scalar(q))
    }
}

impl Regularizer for WeightedElasticNet {
    fn spec(&self) -> Spec {
        let non_negative = matches!(self.nets, Nets::NonNegative(_));
        Spec::new("weighted-elastic-net")
            .with("gamma", self.gamma.clone())
            .with("delta", self.delta)
            .with_some("non_negative", non_negative.then_some(true))
    }

    fn value(&self, y: &[f64]) -> f64 {
        (self.penalties().zip(y)).map(|(p, y)| p.value_at(*y)).sum()
    }

    fn argmax(&self, kappa: f64, s: &mut [f64]) {
        match &self.nets {
            Nets::Free(nets) => {
                (nets.iter().zip(s)).for_each(|(net, s)| *s = net.coordinate_argmax(*s, kappa))
            }
            Nets::NonNegative(nets) => {
                (nets.iter().zip(s)).for_each(|(net, s)| *s = net.coordinate_argmax(*s, kappa))
            }
        }
    }

    fn strong_convexity(&self) -> f64 {
        self.delta
    }

    fn conjugate(&self, s: &[f64]) -> f64 {
        (self.penalties().zip(s))
            .map(|(p, s)| separable::scalar_conjugate(p, *s))
            .sum()
    }

    fn domain_support(&self, s: &[f64], reach: &[f64]) -> f64 {
        let outward = |s: f64| match self.nets {
            Nets::Free(_) => s.abs(),
            Nets::NonNegative(_) => s.max(0.0),
        };
        s.iter()
            .zip(reach)
            .map(|(s, reach)| outward(*s) * reach)
            .sum()
    }

    fn check_atoms(&self, n: usize) -> Result<()> {
        if n == self.gamma.len() {
            return Ok(());
        }
        Err(Error::parameter(
            "gamma",
            format!("a list of {}", self.gamma.len()),
            format!("must have one entry per atom of the agent, which has {n}"),
        ))
    }

    fn scalar(&self, q: usize) -> Option<&dyn ScalarPenalty> {
        match &self.nets {
            Nets::Free(nets) => nets.get(q).map(|net| net as &dyn ScalarPenalty),
            Nets::NonNegative(nets) => nets.get(q).map(|net| net as &dyn ScalarPenalty),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_are_the_elastic_net() {
        let s = [2.0, -0.3, -1.5];
        for non_negative in [false, true] {
            let weighted = WeightedElasticNet::new(vec![0.5; 3], 0.25, non_negative).unwrap();
            let plain: Box<dyn Regularizer> = match non_negative {
                false => Box::new(ElasticNet::new(0.5, 0.25).unwrap()),
                true => Box::new(NonNegativeElasticNet::new(0.5, 0.25).unwrap()),
            };
            let (mut a, mut b) = (s, s);
            weighted.argmax(0.5, &mut a);
            plain.argmax(0.5, &mut b);
            assert_eq!(a, b);
            assert_eq!(weighted.value(&a), plain.value(&a));
            assert_eq!(weighted.conjugate(&s), plain.conjugate(&s));
            assert_eq!(
                WeightedElasticNet::from_spec(&weighted.spec()).unwrap(),
                weighted
            );
            assert!(weighted.check_atoms(3).is_ok() && weighted.check_atoms(2).is_err());
        }
    }

    #[test]
    fn bad_weights_are_refused() {
        for gamma in [vec![-1.0], vec![1.0, f64::NAN]] {
            assert!(WeightedElasticNet::new(gamma, 0.1, false).is_err());
        }
        assert!(WeightedElasticNet::new(vec![1.0], 0.0, false).is_err());
        let plain = Spec::new("weighted-elastic-net").with("delta", 0.1);
        assert!(WeightedElasticNet::from_spec(&plain).is_err());
        assert!(WeightedElasticNet::from_spec(&plain.with("gamma", 0.1)).is_err());
    }
}
