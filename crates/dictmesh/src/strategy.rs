//! Distributed inference: the strategies by which agents find the dual vector nu of each sample by
//! talking to their neighbours only, and the exact solution to hold them against.
//!
//! | strategy | sends | needs | lands |
//! |---|---|---|---|
//! | [`diffusion`] | psi_k | smooth f* | within O(mu) of nu |
//! | [`consensus`] | nu_k | smooth f* | within O(mu) of nu, less stable |
//! | [`jacobi_admm`] | nu_k | a graph that is not bipartite | at nu |
//! | [`exact_diffusion`] | phi_k | symmetric weights | at nu |
//! | [`relaxed_admm`] | nu_k | | at nu, in the fewest rounds; the default |
//!
//! A [`Strategy`] is one agent's part: no input or output, no threads, no clock. The mesh in this
//! process and agents on a network run the very same objects.

pub mod consensus;
pub mod diffusion;
pub mod exact_diffusion;
pub mod infeasible;
pub mod jacobi_admm;
pub mod local;
pub mod relaxed_admm;

use crate::error::{Error, Result};
use crate::graph::Spectrum;
use crate::problem::residual::Residual;
use crate::Stop;
pub use dictmesh_kernels::combine::combine;
use dictmesh_kernels::matrix::Matrix;
pub use local::{Local, ScratchPool, Workspace};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One agent's part of a strategy. A round is: every agent [`adapt`](Strategy::adapt)s, its
/// [`outgoing`](Strategy::outgoing) array goes to its neighbours, and every agent
/// [`absorb`](Strategy::absorb)s the combination of what arrived.
///
/// All arrays are M x B.
pub trait Strategy: Send + Sync + fmt::Debug {
    /// Forgets everything: nu = 0.
    fn start(&mut self, local: &Local);

    /// The agent's own computation of this round.
    fn adapt(&mut self, local: &Local);

    /// What the neighbours get after [`adapt`](Strategy::adapt). It stays until the next one, as not all come for it at the same time.
    fn outgoing(&self) -> &Matrix;

    /// Takes in what arrived, combined as [`StrategySpec::combine`] says: M x B by columns.
    fn absorb(&mut self, local: &Local, combined: &[f64]);

    /// The agent's own estimate nu_k.
    fn dual(&self) -> &Matrix;

    /// How the argmin of the last [`adapt`](Strategy::adapt) ended, where the strategy solves one.
    fn argmin_stop(&self) -> Stop {
        Stop::Converged
    }
}

/// How what arrives is combined before [`Strategy::absorb`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// sum over l in N_k of a_lk (what l sent), k itself included.
    Weights,
    /// The same with (I + A)/2 in place of A.
    LazyWeights,
    /// The plain sum over the neighbours, k itself not included.
    NeighbourSum,
}

/// What all agents know: sizes and constants, no atoms. Default steps come from this alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedConstants {
    /// N, the number of agents.
    pub agents: usize,
    /// M, the dimension of a sample.
    pub rows: usize,
    /// K, the number of atoms over all agents.
    pub atoms: usize,
    /// N_max, the largest number of atoms at one agent.
    pub atoms_max: usize,
    /// The smallest delta of any agent's regularizer.
    pub delta: f64,
    /// The curvature of f*: 1 for the squared residual, eta for Huber, otherwise 0.
    pub curvature: f64,
    /// Whether all atoms are non-negative, and so are likely to be alike.
    pub non_negative: bool,
    /// The mean degree of the graph.
    pub mean_degree: f64,
    /// The smallest eigenvalue of the combination matrix A, or a bound of it.
    pub weights_smallest: f64,
    /// The graph's extreme eigenvalues.
    pub spectrum: Spectrum,
}

/// A strategy by name and constants; a constant left out gets a default from [`SharedConstants`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum StrategySpec {
    /// [`diffusion`].
    Diffusion {
        /// The step mu.
        #[serde(default)]
        mu: Option<f64>,
    },
    /// [`consensus`].
    Consensus {
        /// The step mu.
        #[serde(default)]
        mu: Option<f64>,
    },
    /// [`jacobi_admm`].
    JacobiAdmm {
        /// The step mu of the multipliers.
        #[serde(default)]
        mu: Option<f64>,
        /// The weight of |nu_l - nu_k|^2 (1 in the paper).
        #[serde(default)]
        penalty: Option<f64>,
    },
    /// [`exact_diffusion`].
    ExactDiffusion {
        /// The step mu.
        #[serde(default)]
        mu: Option<f64>,
    },
    /// [`relaxed_admm`].
    RelaxedAdmm {
        /// The penalty rho.
        #[serde(default)]
        rho: Option<f64>,
        /// The relaxation alpha, between 0 and 1.
        #[serde(default)]
        alpha: Option<f64>,
        /// The size |r_k| of a random start of its memory, in place of 0: hides the first messages. None by
        /// default; what it protects from is measured by [`apps::audit`](crate::apps::audit).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        random_start: Option<f64>,
    },
}

impl Default for StrategySpec {
    fn default() -> Self {
        StrategySpec::RelaxedAdmm {
            rho: None,
            alpha: None,
            random_start: None,
        }
    }
}

impl StrategySpec {
    /// The names, as flags and files write them.
    pub const NAMES: [&'static str; 5] = [
        "diffusion",
        "consensus",
        "jacobi-admm",
        "exact-diffusion",
        "relaxed-admm",
    ];

    /// A strategy by name, with default constants.
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "diffusion" => StrategySpec::Diffusion { mu: None },
            "consensus" => StrategySpec::Consensus { mu: None },
            "jacobi-admm" => StrategySpec::JacobiAdmm {
                mu: None,
                penalty: None,
            },
            "exact-diffusion" => StrategySpec::ExactDiffusion { mu: None },
            "relaxed-admm" => StrategySpec::default(),
            _ => {
                return Err(Error::UnknownName {
                    kind: "strategy",
                    given: name.to_string(),
                    known: StrategySpec::NAMES.join(", "),
                })
            }
        })
    }

    /// The strategy's name.
    pub fn name(&self) -> &'static str {
        match self {
            StrategySpec::Diffusion { .. } => "diffusion",
            StrategySpec::Consensus { .. } => "consensus",
            StrategySpec::JacobiAdmm { .. } => "jacobi-admm",
            StrategySpec::ExactDiffusion { .. } => "exact-diffusion",
            StrategySpec::RelaxedAdmm { .. } => "relaxed-admm",
        }
    }

    /// Whether its limit is off the solution by a bias in proportion to its step, but where all agents hear all others alike.
    pub fn is_biased(&self) -> bool {
        matches!(
            self,
            StrategySpec::Diffusion { .. } | StrategySpec::Consensus { .. }
        )
    }

    /// How the strategy wants what arrives to be combined.
    pub fn combine(&self) -> Combine {
        match self {
            StrategySpec::Diffusion { .. } | StrategySpec::Consensus { .. } => Combine::Weights,
            StrategySpec::ExactDiffusion { .. } => Combine::LazyWeights,
            StrategySpec::JacobiAdmm { .. } | StrategySpec::RelaxedAdmm { .. } => {
                Combine::NeighbourSum
            }
        }
    }

    /// The same with every constant filled in.
    pub fn resolve(&self, common: &SharedConstants) -> Result<StrategySpec> {
        // First those given: a default that follows from a bad one would get the blame.
        self.check_constants()?;
        let filled = match *self {
            StrategySpec::Diffusion { mu } => StrategySpec::Diffusion {
                mu: Some(mu.unwrap_or_else(|| diffusion::default_step(common))),
            },
            StrategySpec::Consensus { mu } => StrategySpec::Consensus {
                mu: Some(mu.unwrap_or_else(|| consensus::default_step(common))),
            },
            StrategySpec::JacobiAdmm { mu, penalty } => {
                let penalty = penalty.unwrap_or_else(|| jacobi_admm::default_penalty(common));
                StrategySpec::JacobiAdmm {
                    mu: Some(mu.unwrap_or_else(|| jacobi_admm::default_step(common, penalty))),
                    penalty: Some(penalty),
                }
            }
            StrategySpec::ExactDiffusion { mu } => StrategySpec::ExactDiffusion {
                mu: Some(mu.unwrap_or_else(|| exact_diffusion::default_step(common))),
            },
            StrategySpec::RelaxedAdmm {
                rho,
                alpha,
                random_start,
            } => StrategySpec::RelaxedAdmm {
                rho: Some(rho.unwrap_or_else(|| relaxed_admm::default_rho(common))),
                alpha: Some(alpha.unwrap_or(relaxed_admm::DEFAULT_ALPHA)),
                random_start,
            },
        };
        filled.check_constants()?;
        Ok(filled)
    }

    /// The step mu, where it is filled in, and the largest that is known to be stable on such a mesh; `None` where every
    /// one is.
    pub fn step(&self, common: &SharedConstants) -> Option<(f64, f64)> {
        let (mu, largest) = match *self {
            StrategySpec::Diffusion { mu } => (mu, diffusion::step_bound(common)),
            StrategySpec::Consensus { mu } => (mu, consensus::step_bound(common)),
            StrategySpec::JacobiAdmm { mu, penalty } => {
                (mu, jacobi_admm::step_bound(common, penalty?))
            }
            StrategySpec::ExactDiffusion { mu } => (mu, exact_diffusion::step_bound(common)),
            StrategySpec::RelaxedAdmm { .. } => return None,
        };
        Some((mu?, largest))
    }

    pub(crate) fn check_constants(&self) -> Result<()> {
        let positive = |name, value: Option<f64>| match value {
            // With fewer digits than a number has, it moves nothing, and rounds go on for ever.
            Some(v) if v.is_subnormal() => Err(Error::parameter(
                name,
                format!("{v:e}"),
                "is too small to move anything; leave it out for a good one",
            )),
            Some(v) => Error::check_positive(name, v),
            None => Ok(()),
        };
        match *self {
            StrategySpec::Diffusion { mu }
            | StrategySpec::Consensus { mu }
            | StrategySpec::ExactDiffusion { mu } => positive("mu", mu),
            StrategySpec::JacobiAdmm { mu, penalty } => {
                positive("mu", mu)?;
                positive("penalty", penalty)
            }
            StrategySpec::RelaxedAdmm {
                rho,
                alpha,
                random_start,
            } => {
                positive("rho", rho)?;
                positive("random-start", random_start)?;
                match alpha {
                    Some(alpha) if !(alpha > 0.0 && alpha < 1.0) => Err(Error::parameter(
                        "alpha",
                        alpha,
                        "must be above 0 and below 1 (0.5 is plain ADMM, 0.9 the default)",
                    )),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Whether the strategy can solve for this residual with these weights.
    pub fn check(&self, residual: &dyn Residual, symmetric_weights: bool) -> Result<()> {
        let gradient = matches!(
            self,
            StrategySpec::Diffusion { .. } | StrategySpec::Consensus { .. }
        );
        if gradient && residual.conjugate_quadratic().is_none() {
            return Err(Error::Unsupported {
                what: format!("the strategy \"{}\"", self.name()),
                with: format!("the residual \"{}\"", residual.name()),
                why:
                    "it follows the gradient of f*, which this residual's conjugate does not have \
                      at 0; use relaxed-admm, exact-diffusion or jacobi-admm"
                        .to_string(),
            });
        }
        if matches!(self, StrategySpec::ExactDiffusion { .. }) && !symmetric_weights {
            return Err(Error::Unsupported {
                what: "the strategy \"exact-diffusion\"".to_string(),
                with: "a combination matrix that is not symmetric".to_string(),
                why: "its correction converges only for symmetric weights; use Metropolis or \
                      uniform weights, or relaxed-admm, which needs none"
                    .to_string(),
            });
        }
        Ok(())
    }

    /// The size of the random start, where there is one.
    pub fn random_start(&self) -> Option<f64> {
        match self {
            StrategySpec::RelaxedAdmm { random_start, .. } => *random_start,
            _ => None,
        }
    }

    /// One agent's strategy object. Constants must be [`resolve`](StrategySpec::resolve)d first. Refuses a random
    /// start, whose numbers must be the agent's own secret: see [`build_private`](StrategySpec::build_private).
    pub fn build(&self) -> Result<Box<dyn Strategy>> {
        match self.random_start() {
            None => self.build_private(crate::random::stream(0, 0)),
            Some(size) => Err(Error::parameter(
                "random-start",
                size,
                "needs numbers that only the agent knows: build the strategy with a generator of its own",
            )),
        }
    }

    /// The same for any strategy. `own` makes the numbers of a random start, and nobody else may know what it will
    /// give: whoever can draw the same numbers sees through the start at once.
    pub fn build_private(&self, own: crate::random::Rng) -> Result<Box<dyn Strategy>> {
        let need = |name: &'static str, value: Option<f64>| {
            value.ok_or_else(|| Error::parameter(name, "none", "resolve the strategy first"))
        };
        self.check_constants()?;
        Ok(match *self {
            StrategySpec::Diffusion { mu } => Box::new(diffusion::Diffusion::new(need("mu", mu)?)),
            StrategySpec::Consensus { mu } => Box::new(consensus::Consensus::new(need("mu", mu)?)),
            StrategySpec::JacobiAdmm { mu, penalty } => Box::new(jacobi_admm::JacobiAdmm::new(
                need("mu", mu)?,
                need("penalty", penalty)?,
            )),
            StrategySpec::ExactDiffusion { mu } => {
                Box::new(exact_diffusion::ExactDiffusion::new(need("mu", mu)?))
            }
            StrategySpec::RelaxedAdmm {
                rho,
                alpha,
                random_start,
            } => {
                let plain =
                    relaxed_admm::RelaxedAdmm::new(need("rho", rho)?, need("alpha", alpha)?);
                Box::new(match random_start {
                    Some(size) => plain.with_random_start(size, own),
                    None => plain,
                })
            }
        })
    }
}

/// The state of every strategy has this shape at the start.
fn zeros(local: &Local) -> Matrix {
    Matrix::zeros(local.rows(), local.samples)
}
