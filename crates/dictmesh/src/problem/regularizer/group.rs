use super::Regularizer;
use crate::error::{Error, Result};
use crate::spec::Spec;
use dictmesh_kernels::matrix::{dot, norm};
use serde::{Deserialize, Serialize};

/// h(y) = gamma sum_g sqrt(n_g) |y_g|_2 + delta/2 |y|^2 over groups g of n_g adjacent coefficients:
/// a group is zero or nonzero as a whole.
///
/// h*(s) = sum_g (|s_g| - gamma sqrt(n_g))_+^2 / (2 delta); y_g = (1 - gamma sqrt(n_g) / |s_g|)_+
/// s_g / delta. The factor sqrt(n_g) is that of the group lasso (Yuan and Lin, 2006): under noise,
/// groups of different sizes exceed their threshold equally often. A group is not split over
/// agents.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupElasticNet {
    gamma: f64,
    delta: f64,
    groups: Groups,
}

/// The grouping of an agent's coefficients. In JSON, a number or a list of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "must be a size or a list of sizes, whole numbers of 1 or more"
)]
pub enum Groups {
    /// Groups of this size; an agent's number of atoms is a multiple of it.
    Equal(usize),
    /// Groups of these sizes, in this order; an agent's number of atoms is their sum.
    Sizes(Vec<usize>),
}

impl GroupElasticNet {
    /// Requires `gamma` >= 0, `delta` > 0 and non-empty groups.
    pub fn new(gamma: f64, delta: f64, groups: Groups) -> Result<Self> {
        super::check_gamma_delta(gamma, delta)?;
        let has_empty = match &groups {
            Groups::Equal(size) => *size == 0,
            Groups::Sizes(sizes) => sizes.contains(&0),
        };
        if has_empty {
            return Err(Error::parameter(
                "group",
                0,
                "a group has 1 coefficient or more",
            ));
        }
        Ok(GroupElasticNet {
            gamma,
            delta,
            groups,
        })
    }

    /// Constructs it from a [`Spec`]: `group` is a size or a list of sizes.
    pub fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&["gamma", "delta", "group"])?;
        let missing = || Error::parameter("group", "nothing", "must be a size or a list of sizes");
        GroupElasticNet::new(
            spec.required("gamma")?,
            spec.required("delta")?,
            spec.get("group")?.ok_or_else(missing)?,
        )
    }

    /// The sizes of the groups; an infinite iterator for [`Groups::Equal`].
    fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        let (equal, sizes): (_, &[usize]) = match &self.groups {
            Groups::Equal(size) => (Some(*size), &[]),
            Groups::Sizes(sizes) => (None, sizes),
        };
        equal.into_iter().cycle().chain(sizes.iter().copied())
    }

    /// The sum of `term` over the groups of y.
    fn sum(&self, y: &[f64], mut term: impl FnMut(&[f64]) -> f64) -> f64 {
        let (mut rest, mut sum) = (y, 0.0);
        for size in self.sizes().take(y.len()) {
            let (group, after) = rest.split_at(size.min(rest.len()));
            if group.is_empty() {
                break;
            }
            sum += term(group);
            rest = after;
        }
        sum
    }

    fn threshold(&self, size: usize) -> f64 {
        self.gamma * (size as f64).sqrt()
    }
}

impl Regularizer for GroupElasticNet {
    fn spec(&self) -> Spec {
        let spec = Spec::new("group-elastic-net")
            .with("gamma", self.gamma)
            .with("delta", self.delta);
        match &self.groups {
            Groups::Equal(size) => spec.with("group", *size),
            Groups::Sizes(sizes) => spec.with("group", sizes.clone()),
        }
    }

    fn value(&self, y: &[f64]) -> f64 {
        self.sum(y, |y| self.threshold(y.len()) * norm(y)) + 0.5 * self.delta * dot(y, y)
    }

    fn argmax(&self, kappa: f64, s: &mut [f64]) {
        let mut rest = s;
        for size in self.sizes() {
            let (group, after) = rest.split_at_mut(size.min(rest.len()));
            if group.is_empty() {
                return;
            }
            let (length, threshold) = (norm(group), self.threshold(group.len()));
            let shrink = match length > threshold {
                true => (1.0 - threshold / length) / (self.delta + kappa),
                false => 0.0,
            };
            group.iter_mut().for_each(|s| *s *= shrink);
            rest = after;
        }
    }

    fn strong_convexity(&self) -> f64 {
        self.delta
    }

    fn conjugate(&self, s: &[f64]) -> f64 {
        self.sum(s, |s| {
            let above = (norm(s) - self.threshold(s.len())).max(0.0);
            above * above / (2.0 * self.delta)
        })
    }

    fn check_atoms(&self, n: usize) -> Result<()> {
        let (tiles, allowed) = match &self.groups {
            Groups::Equal(size) => (n.is_multiple_of(*size), format!("a multiple of {size}")),
            Groups::Sizes(sizes) => {
                let total = sizes
                    .iter()
                    .try_fold(0_usize, |sum, size| sum.checked_add(*size));
                let allowed = total.map_or("more than there can be".to_string(), |n| n.to_string());
                (Some(n) == total, allowed)
            }
        };
        if tiles {
            return Ok(());
        }
        Err(Error::parameter(
            "atoms of one agent",
            n,
            format!("a group stays at one agent: the number must be {allowed}"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::ElasticNet;
    use super::*;

    #[test]
    fn groups_of_one_are_the_elastic_net() {
        let group = GroupElasticNet::new(0.5, 0.25, Groups::Equal(1)).unwrap();
        let net = ElasticNet::new(0.5, 0.25).unwrap();
        let s = [2.0, -0.3, -1.5, 0.0];
        let (mut a, mut b) = (s, s);
        group.argmax(0.5, &mut a);
        net.argmax(0.5, &mut b);
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-14));
        assert!((group.value(&b) - net.value(&b)).abs() < 1e-14);
        assert!((group.conjugate(&s) - net.conjugate(&s)).abs() < 1e-14);
    }

    /// s = (3, 4) has length 5; with threshold sqrt(2) it shrinks to 5 - sqrt(2), over delta.
    #[test]
    fn a_group_shrinks_as_a_whole() {
        let h = GroupElasticNet::new(1.0, 2.0, Groups::Sizes(vec![2, 1])).unwrap();
        let mut y = [3.0, 4.0, 0.9];
        h.argmax(0.0, &mut y);
        let expected = (5.0 - 2.0_f64.sqrt()) / 2.0;
        assert!((y[0] - 0.6 * expected).abs() < 1e-15 && (y[1] - 0.8 * expected).abs() < 1e-15);
        assert_eq!(y[2], 0.0);
    }

    #[test]
    fn blocks_that_groups_do_not_tile_are_refused() {
        let equal = GroupElasticNet::new(1.0, 1.0, Groups::Equal(3)).unwrap();
        let listed = GroupElasticNet::new(1.0, 1.0, Groups::Sizes(vec![2, 3])).unwrap();
        for (h, fits, fails) in [(&equal, [0, 6], [1, 5]), (&listed, [5, 5], [6, 10])] {
            assert!(fits.iter().all(|n| h.check_atoms(*n).is_ok()));
            assert!(fails.iter().all(|n| h.check_atoms(*n).is_err()));
            assert_eq!(&GroupElasticNet::from_spec(&h.spec()).unwrap(), h);
        }
        assert!(GroupElasticNet::new(1.0, 1.0, Groups::Equal(0)).is_err());
        assert!(GroupElasticNet::new(1.0, 1.0, Groups::Sizes(vec![1, 0])).is_err());
    }

    #[test]
    fn sizes_that_overflow_are_no_small_sum() {
        let groups = Groups::Sizes(vec![usize::MAX, 3]);
        let h = GroupElasticNet::new(0.1, 0.1, groups).unwrap();
        assert!(h.check_atoms(2).is_err());
        let spec = h.spec().with("group", "2");
        let error = GroupElasticNet::from_spec(&spec).unwrap_err().to_string();
        assert!(error.contains("list of sizes"), "{error}");
    }
}
