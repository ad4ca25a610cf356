//! What is being solved: residual, regularizer, and the penalty and set of the atoms.
//!
//! [`Task`] is the working object; it takes its pieces as values. [`TaskSpec`] is the plain description, for
//! files, flags and peers: [`Task::spec`] writes it, [`TaskSpec::build`] reads it by the names of a [`Registry`].

use super::{AtomSet, IntoPiece, Registry, Regularizer, Residual};
use crate::error::{Error, Result};
use crate::graph::AgentId;
use crate::problem::atoms::{AtomPenalty, UnitBall};
use crate::problem::regularizer::ElasticNet;
use crate::spec::Spec;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The part of a task that may differ from agent to agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalSpec {
    /// h_y.
    pub regularizer: Spec,
    /// h_W.
    #[serde(default)]
    pub penalty: AtomPenalty,
    /// The set W_k.
    #[serde(default = "unit_ball", serialize_with = "by_name")]
    pub set: Spec,
}

fn unit_ball() -> Spec {
    UnitBall.spec()
}

/// A set without parameters is its name alone, as in the first files.
fn by_name<S: Serializer>(set: &Spec, to: S) -> std::result::Result<S::Ok, S::Error> {
    match set.parameters().is_empty() {
        true => to.serialize_str(set.kind()),
        false => set.serialize(to),
    }
}

/// A task as plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSpec {
    /// f.
    pub residual: Spec,
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
            residual: Spec::new("squared-l2"),
            common: LocalSpec {
                regularizer: net("elastic-net", gamma, delta),
                penalty: AtomPenalty::None,
                set: unit_ball(),
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
            residual: Spec::new("squared-l2"),
            common: LocalSpec {
                regularizer: net("non-negative-elastic-net", gamma, delta),
                penalty: AtomPenalty::None,
                set: Spec::new("non-negative-unit-ball"),
            },
            own: BTreeMap::new(),
        }
    }

    /// Non-negative matrix factorisation with the Huber residual, the fourth row.
    pub fn nmf_huber(gamma: f64, delta: f64, eta: f64) -> Self {
        TaskSpec {
            residual: Spec::new("huber").with_number("eta", eta),
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

    /// The working task of built-in pieces; every parameter is checked.
    pub fn build(&self) -> Result<Task> {
        self.build_with(&Registry::default())
    }

    /// The working task of the pieces that `registry` has. A name that it does not have is an error.
    pub fn build_with(&self, registry: &Registry) -> Result<Task> {
        let own = self.own.iter();
        Ok(Task {
            residual: registry.residuals().build(&self.residual)?,
            common: LocalTask::build_with(&self.common, registry)?,
            own: own
                .map(|(k, local)| Ok((*k, LocalTask::build_with(local, registry)?)))
                .collect::<Result<_>>()?,
        })
    }
}

fn net(kind: &str, gamma: f64, delta: f64) -> Spec {
    Spec::new(kind)
        .with_number("gamma", gamma)
        .with_number("delta", delta)
}

/// One agent's share of a task: h_y, h_W and the set W_k.
#[derive(Clone, Debug)]
pub struct LocalTask {
    regularizer: Arc<dyn Regularizer>,
    penalty: AtomPenalty,
    set: Arc<dyn AtomSet>,
}

impl LocalTask {
    /// With this h_y, atoms in the unit ball and no h_W.
    pub fn new(regularizer: impl IntoPiece<dyn Regularizer>) -> Self {
        LocalTask {
            regularizer: regularizer.into_piece(),
            penalty: AtomPenalty::None,
            set: Arc::new(UnitBall),
        }
    }

    /// The same with this set W_k.
    pub fn with_atoms(mut self, set: impl IntoPiece<dyn AtomSet>) -> Self {
        self.set = set.into_piece();
        self
    }

    /// The same with this h_W; its weight is checked.
    pub fn with_penalty(mut self, penalty: AtomPenalty) -> Result<Self> {
        penalty.check()?;
        self.penalty = penalty;
        Ok(self)
    }

    /// Of built-in pieces, from its description.
    pub fn build(spec: &LocalSpec) -> Result<Self> {
        LocalTask::build_with(spec, &Registry::default())
    }

    /// Of the pieces that `registry` has, from its description.
    pub fn build_with(spec: &LocalSpec, registry: &Registry) -> Result<Self> {
        LocalTask {
            regularizer: registry.regularizers().build(&spec.regularizer)?,
            set: registry.sets().build(&spec.set)?,
            penalty: AtomPenalty::None,
        }
        .with_penalty(spec.penalty)
    }

    /// The description.
    pub fn spec(&self) -> LocalSpec {
        LocalSpec {
            regularizer: self.regularizer.spec(),
            penalty: self.penalty,
            set: self.set.spec(),
        }
    }

    /// h_y.
    pub fn regularizer(&self) -> &dyn Regularizer {
        &*self.regularizer
    }

    /// h_W.
    pub fn penalty(&self) -> AtomPenalty {
        self.penalty
    }

    /// W_k.
    pub fn set(&self) -> &dyn AtomSet {
        &*self.set
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
///
/// // Piece by piece; pieces of another crate come in the same way:
/// use dictmesh::problem::{atoms, regularizer, residual};
/// let same = Task::new(residual::Huber::new(0.2)?)
///     .regularizer(regularizer::NonNegativeElasticNet::new(0.05, 0.1)?)
///     .atoms(atoms::NonNegativeUnitBall);
/// assert_eq!(same.spec(), task.spec());
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Task {
    residual: Arc<dyn Residual>,
    common: LocalTask,
    own: BTreeMap<AgentId, LocalTask>,
}

impl Task {
    /// With this f. Until others are given, h_y is the elastic net of the preset `sparse-svd`, atoms are in the
    /// unit ball, and h_W is 0.
    pub fn new(residual: impl IntoPiece<dyn Residual>) -> Self {
        Task {
            residual: residual.into_piece(),
            common: LocalTask::new(ElasticNet::DEFAULT),
            own: BTreeMap::new(),
        }
    }

    /// The same with this h_y for every agent without a share of its own.
    pub fn regularizer(mut self, regularizer: impl IntoPiece<dyn Regularizer>) -> Self {
        self.common.regularizer = regularizer.into_piece();
        self
    }

    /// The same with this set W_k for every agent without a share of its own.
    pub fn atoms(mut self, set: impl IntoPiece<dyn AtomSet>) -> Self {
        self.common.set = set.into_piece();
        self
    }

    /// The same with this h_W for every agent without a share of its own; its weight is checked.
    pub fn penalty(mut self, penalty: AtomPenalty) -> Result<Self> {
        self.common = self.common.with_penalty(penalty)?;
        Ok(self)
    }

    /// The same with a share of its own for agent `k`.
    pub fn own(mut self, k: AgentId, local: LocalTask) -> Self {
        self.own.insert(k, local);
        self
    }

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
            residual: self.residual.spec(),
            common: self.common.spec(),
            own: (self.own.iter())
                .map(|(k, local)| (*k, local.spec()))
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
