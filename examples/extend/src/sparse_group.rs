use dictmesh::problem::Regularizer;
use dictmesh::{Error, Result, Spec};

/// h(y) = gamma |y|_1 + lambda sum_g |y_g|_2 + delta/2 |y|^2 over groups of equal size: the sparse
/// group lasso with a ridge.
///
/// argmax_y s'y - h(y) - kappa/2 |y|^2 is the soft threshold of s at gamma, then each group
/// shortened by lambda, over delta + kappa.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparseGroup {
    gamma: f64,
    lambda: f64,
    delta: f64,
    group: usize,
}

impl SparseGroup {
    /// With `gamma`, `lambda` >= 0, `delta` > 0 and groups of `group` >= 1 atoms.
    pub fn new(gamma: f64, lambda: f64, delta: f64, group: usize) -> Result<Self> {
        Error::check_not_negative("gamma", gamma)?;
        Error::check_not_negative("lambda", lambda)?;
        Error::check_positive("delta", delta)?;
        if group == 0 {
            return Err(Error::parameter("group", 0, "must be 1 or more"));
        }
        Ok(SparseGroup {
            gamma,
            lambda,
            delta,
            group,
        })
    }

    pub(crate) fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&["gamma", "lambda", "delta", "group"])?;
        let group = spec.get::<usize>("group")?.unwrap_or(1);
        let [gamma, lambda, delta] = ["gamma", "lambda", "delta"].map(|name| spec.required(name));
        SparseGroup::new(gamma?, lambda?, delta?, group)
    }
}

fn norm(y: &[f64]) -> f64 {
    y.iter().map(|y| y * y).sum::<f64>().sqrt()
}

impl Regularizer for SparseGroup {
    fn spec(&self) -> Spec {
        Spec::new("sparse-group")
            .with("gamma", self.gamma)
            .with("lambda", self.lambda)
            .with("delta", self.delta)
            .with("group", self.group)
    }

    fn value(&self, y: &[f64]) -> f64 {
        let groups: f64 = y.chunks(self.group).map(norm).sum();
        let entries: f64 = y
            .iter()
            .map(|y| self.gamma * y.abs() + 0.5 * self.delta * y * y)
            .sum();
        entries + self.lambda * groups
    }

    fn argmax(&self, kappa: f64, s: &mut [f64]) {
        let scale = 1.0 / (self.delta + kappa);
        for group in s.chunks_mut(self.group) {
            for s in group.iter_mut() {
                *s = (s.abs() - self.gamma).max(0.0).copysign(*s);
            }
            let size = norm(group);
            let keep = if size > self.lambda {
                1.0 - self.lambda / size
            } else {
                0.0
            };
            group.iter_mut().for_each(|s| *s *= keep * scale);
        }
    }

    fn strong_convexity(&self) -> f64 {
        self.delta
    }

    /// A group stays at one agent.
    fn check_atoms(&self, n: usize) -> Result<()> {
        match n % self.group {
            0 => Ok(()),
            _ => Err(Error::parameter(
                "group",
                self.group,
                format!("must divide the {n} atoms of every agent; change the blocks or the group"),
            )),
        }
    }
}
