use super::l1_norm;
use crate::error::{Error, Result};
use crate::problem::regularizer::soft_threshold;
use serde::{Deserialize, Serialize};

/// The entrywise penalty h_W on the atoms.
///
/// ```
/// use dictmesh::problem::atoms::AtomPenalty;
/// let mut w = [0.5, -0.1];
/// AtomPenalty::L1 { beta: 0.2 }.prox(1.0, &mut w);
/// assert_eq!(w, [0.3, 0.0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AtomPenalty {
    /// h_W = 0.
    #[default]
    None,
    /// h_W = beta |W|_1, the sum of all absolute entries.
    L1 {
        /// Its weight, 0 or above.
        beta: f64,
    },
}

impl AtomPenalty {
    /// An error if the weight is negative or not finite.
    pub fn check(&self) -> Result<()> {
        match *self {
            AtomPenalty::None => Ok(()),
            AtomPenalty::L1 { beta } => Error::check_not_negative("beta", beta),
        }
    }

    /// Whether h_W is 0 everywhere.
    pub fn is_zero(&self) -> bool {
        match *self {
            AtomPenalty::None => true,
            AtomPenalty::L1 { beta } => beta == 0.0,
        }
    }

    /// h_W of one atom.
    pub fn value(&self, w: &[f64]) -> f64 {
        match *self {
            AtomPenalty::None => 0.0,
            AtomPenalty::L1 { beta } => beta * l1_norm(w),
        }
    }

    /// The prox of `step` h_W: the soft threshold at `step` beta.
    pub fn prox(&self, step: f64, w: &mut [f64]) {
        if let AtomPenalty::L1 { beta } = *self {
            for v in w {
                *v = soft_threshold(*v, step * beta);
            }
        }
    }
}
