//! What is being solved: residual, regularizer, and the penalty and set of the atoms.
//!
//! [`TaskSpec`] is the plain description, for files, flags and people; [`Task`] is the working object.
//! [`TaskSpec::build`] is the only place that maps one to the other.

use crate::error::{Error, Result};
use crate::graph::AgentId;
use crate::problem::atoms::{AtomPenalty, AtomSet};
use crate::problem::regularizer::{
    BoxedElasticNet, ElasticNet, NonNegativeElasticNet, Regularizer,
};
use crate::problem::residual::{Ball, Equality, Huber, Residual, SquaredL2, L1};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A residual by name and parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ResidualSpec {
    /// [`SquaredL2`].
    SquaredL2,
    /// [`Huber`].
    Huber {
        /// Where the loss turns from quadratic to linear.
        eta: f64,
    },
    /// [`L1`].
    L1,
    /// [`Ball`].
    Ball {
        /// The radius.
        sigma: f64,
    },
    /// [`Equality`].
    Equality,
}

/// A regularizer by name and parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RegularizerSpec {
    /// [`ElasticNet`].
    ElasticNet {
        /// Weight of |y|_1.
        gamma: f64,
        /// Weight of |y|^2 / 2.
        delta: f64,
    },
    /// [`NonNegativeElasticNet`].
    NonNegativeElasticNet {
        /// Weight of |y|_1.
        gamma: f64,
        /// Weight of |y|^2 / 2.
        delta: f64,
    },
    /// [`BoxedElasticNet`].
    BoxedElasticNet {
        /// Weight of |y|_1.
        gamma: f64,
        /// Weight of |y|^2 / 2.
        delta: f64,
        /// Lower end of the box; none means unbounded.
        lo: Option<f64>,
        /// Upper end of the box; none means unbounded.
        hi: Option<f64>,
    },
}

/// The part of a task that may differ from agent to agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalSpec {
    /// h_y.
    pub regularizer: RegularizerSpec,
    /// h_W.
    #[serde(default)]
    pub penalty: AtomPenalty,
    /// The set W_k.
    #[serde(default)]
    pub set: AtomSet,
}

/// A task as plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSpec {
    /// f.
    pub residual: ResidualSpec,
    /// h_y, h_W and the set of every agent without an entry of its own below.
    pub common: LocalSpec,
    /// Agents that have their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<AgentId, LocalSpec>,
}

impl TaskSpec {
    /// Sparse SVD, the first row of the paper's table of tasks.
    pub fn sparse_svd(gamma: f64, delta: f64) -> Self {
        TaskSpec {
            residual: ResidualSpec::SquaredL2,
            common: LocalSpec {
                regularizer: RegularizerSpec::ElasticNet { gamma, delta },
                penalty: AtomPenalty::None,
                set: AtomSet::UnitBall,
            },
            own: BTreeMap::new(),
        }
    }

    /// Bi-clustering, the second row: sparse SVD with sparse atoms, h_W = beta |W|_1.
    pub fn biclustering(gamma: f64, delta: f64, beta: f64) -> Self {
        let mut spec = TaskSpec::sparse_svd(gamma, delta);
        spec.common.penalty = AtomPenalty::L1 { beta };
        spec
    }

    /// Non-negative matrix factorisation with the squared residual, the third row.
    pub fn nmf(gamma: f64, delta: f64) -> Self {
        TaskSpec {
            residual: ResidualSpec::SquaredL2,
            common: LocalSpec {
                regularizer: RegularizerSpec::NonNegativeElasticNet { gamma, delta },
                penalty: AtomPenalty::None,
                set: AtomSet::NonNegativeUnitBall,
            },
            own: BTreeMap::new(),
        }
    }

    /// Non-negative matrix factorisation with the Huber residual, the fourth row.
    pub fn nmf_huber(gamma: f64, delta: f64, eta: f64) -> Self {
        TaskSpec {
            residual: ResidualSpec::Huber { eta },
            ..TaskSpec::nmf(gamma, delta)
        }
    }

    /// The names of the presets, as flags and files write them.
    pub const PRESETS: [&'static str; 4] = ["sparse-svd", "biclustering", "nmf", "nmf-huber"];

    /// A preset by name, with the paper's constants where it prints them (bi-clustering: gamma .5,
    /// delta .01, beta .01; documents: gamma .05, delta .1, eta .2) and gamma = delta = .1 for the
    /// sparse SVD, of which it prints none.
    pub fn preset(name: &str) -> Result<Self> {
        match name {
            "sparse-svd" => Ok(TaskSpec::sparse_svd(0.1, 0.1)),
            "biclustering" => Ok(TaskSpec::biclustering(0.5, 0.01, 0.01)),
            "nmf" => Ok(TaskSpec::nmf(0.05, 0.1)),
            "nmf-huber" => Ok(TaskSpec::nmf_huber(0.05, 0.1, 0.2)),
            _ => Err(Error::UnknownName {
                kind: "task",
                given: name.to_string(),
                known: TaskSpec::PRESETS.join(", "),
            }),
        }
    }

    /// The working task; every parameter is checked.
    pub fn build(&self) -> Result<Task> {
        Ok(Task {
            residual: build_residual(&self.residual)?,
            common: LocalTask::build(&self.common)?,
            own: self
                .own
                .iter()
                .map(|(k, local)| Ok((*k, LocalTask::build(local)?)))
                .collect::<Result<_>>()?,
            residual_spec: self.residual.clone(),
        })
    }
}

fn build_residual(spec: &ResidualSpec) -> Result<Arc<dyn Residual>> {
    Ok(match *spec {
        ResidualSpec::SquaredL2 => Arc::new(SquaredL2),
        ResidualSpec::Huber { eta } => Arc::new(Huber::new(eta)?),
        ResidualSpec::L1 => Arc::new(L1),
        ResidualSpec::Ball { sigma } => Arc::new(Ball::new(sigma)?),
        ResidualSpec::Equality => Arc::new(Equality),
    })
}

fn build_regularizer(spec: &RegularizerSpec) -> Result<Arc<dyn Regularizer>> {
    Ok(match *spec {
        RegularizerSpec::ElasticNet { gamma, delta } => Arc::new(ElasticNet::new(gamma, delta)?),
        RegularizerSpec::NonNegativeElasticNet { gamma, delta } => {
            Arc::new(NonNegativeElasticNet::new(gamma, delta)?)
        }
        RegularizerSpec::BoxedElasticNet {
            gamma,
            delta,
            lo,
            hi,
        } => Arc::new(BoxedElasticNet::new(
            gamma,
            delta,
            lo.unwrap_or(f64::NEG_INFINITY),
            hi.unwrap_or(f64::INFINITY),
        )?),
    })
}

/// One agent's share of a task: h_y, h_W and the set W_k.
#[derive(Clone, Debug)]
pub struct LocalTask {
    spec: LocalSpec,
    regularizer: Arc<dyn Regularizer>,
}

impl LocalTask {
    /// From its description.
    pub fn build(spec: &LocalSpec) -> Result<Self> {
        spec.penalty.check()?;
        Ok(LocalTask {
            regularizer: build_regularizer(&spec.regularizer)?,
            spec: spec.clone(),
        })
    }

    /// The description.
    pub fn spec(&self) -> &LocalSpec {
        &self.spec
    }

    /// h_y.
    pub fn regularizer(&self) -> &dyn Regularizer {
        &*self.regularizer
    }

    /// h_W.
    pub fn penalty(&self) -> AtomPenalty {
        self.spec.penalty
    }

    /// W_k.
    pub fn set(&self) -> AtomSet {
        self.spec.set
    }
}

/// A task at work.
///
/// ```
/// use dictmesh::problem::{Task, TaskSpec};
/// let task = Task::nmf_huber(0.05, 0.1, 0.2)?;
/// assert_eq!(task.residual().name(), "huber");
/// // The same, as it may stand in a file:
/// assert_eq!(TaskSpec::preset("nmf-huber")?, task.spec());
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Task {
    residual_spec: ResidualSpec,
    residual: Arc<dyn Residual>,
    common: LocalTask,
    own: BTreeMap<AgentId, LocalTask>,
}

impl Task {
    /// See [`TaskSpec::sparse_svd`].
    pub fn sparse_svd(gamma: f64, delta: f64) -> Result<Self> {
        TaskSpec::sparse_svd(gamma, delta).build()
    }

    /// See [`TaskSpec::biclustering`].
    pub fn biclustering(gamma: f64, delta: f64, beta: f64) -> Result<Self> {
        TaskSpec::biclustering(gamma, delta, beta).build()
    }

    /// See [`TaskSpec::nmf`].
    pub fn nmf(gamma: f64, delta: f64) -> Result<Self> {
        TaskSpec::nmf(gamma, delta).build()
    }

    /// See [`TaskSpec::nmf_huber`].
    pub fn nmf_huber(gamma: f64, delta: f64, eta: f64) -> Result<Self> {
        TaskSpec::nmf_huber(gamma, delta, eta).build()
    }

    /// f.
    pub fn residual(&self) -> &dyn Residual {
        &*self.residual
    }

    /// What agent `k` has of the task.
    pub fn local(&self, k: AgentId) -> &LocalTask {
        self.own.get(&k).unwrap_or(&self.common)
    }

    /// What every agent without an entry of its own has.
    pub fn common(&self) -> &LocalTask {
        &self.common
    }

    /// The description.
    pub fn spec(&self) -> TaskSpec {
        TaskSpec {
            residual: self.residual_spec.clone(),
            common: self.common.spec.clone(),
            own: self
                .own
                .iter()
                .map(|(k, local)| (*k, local.spec.clone()))
                .collect(),
        }
    }

    /// Gives the next agent to join, number `k`, a share of its own.
    pub(crate) fn set_local(&mut self, k: AgentId, local: LocalTask) {
        self.own.insert(k, local);
    }

    /// Forgets agent `k`; later agents move down by one.
    pub(crate) fn remove_local(&mut self, k: AgentId) {
        self.own.remove(&k);
        let later = self.own.split_off(&k);
        self.own.extend(later.into_iter().map(|(j, l)| (j - 1, l)));
    }
}
