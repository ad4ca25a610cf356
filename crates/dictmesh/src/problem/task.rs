//! The task: residual, regularizer, atom penalty and atom set.
//!
//! [`Task`] holds its pieces as values. [`TaskSpec`] is the same as plain data, for files, flags
//! and peers: [`Task::spec`] returns it, and [`TaskSpec::build`] constructs the task from the names
//! of a [`Registry`].

use super::{AtomSet, IntoPiece, Registry, Regularizer, Residual};
use crate::error::{Error, Result};
use crate::graph::AgentId;
use crate::problem::atoms::{AtomPenalty, UnitBall};
use crate::problem::regularizer::ElasticNet;
use crate::problem::residual::{Huber, SquaredL2};
use crate::spec::Spec;
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The paper's gamma, delta and beta for bi-clustering.
pub const PAPER_BICLUSTERING: (f64, f64, f64) = (0.5, 0.01, 0.01);

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

/// Serialises a set without parameters as its name alone, for compatibility with existing files.
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
    /// h_y, h_W and the set of every agent without an entry in `own`.
    pub common: LocalSpec,
    /// Agents with their own h_y, h_W and set.
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

    /// The paper's task for bi-clustering: gamma .5, delta .01, beta .01.
    pub fn paper_biclustering() -> Self {
        let (gamma, delta, beta) = PAPER_BICLUSTERING;
        TaskSpec::biclustering(gamma, delta, beta)
    }

    /// The paper's task for documents: NMF with the Huber residual, gamma .05, delta .1, eta .2.
    pub fn paper_documents() -> Self {
        TaskSpec::nmf_huber(0.05, 0.1, Huber::ETA)
    }

    /// The names of the presets, as flags and files write them.
    pub const PRESETS: [&'static str; 4] = ["sparse-svd", "biclustering", "nmf", "nmf-huber"];

    /// A preset by name, with the paper's constants where it prints them: gamma .5, delta .01, beta
    /// .01 for bi-clustering, and gamma .05, delta .1, eta .2 for documents. The sparse SVD has
    /// gamma = delta = .1.
    pub fn preset(name: &str) -> Result<Self> {
        match name {
            "sparse-svd" => Ok(Task::new(SquaredL2).spec()),
            "biclustering" => Ok(TaskSpec::paper_biclustering()),
            "nmf" => Ok(TaskSpec {
                residual: Spec::new("squared-l2"),
                ..TaskSpec::paper_documents()
            }),
            "nmf-huber" => Ok(TaskSpec::paper_documents()),
            _ => Err(Error::UnknownName {
                kind: "task",
                given: name.to_string(),
                known: TaskSpec::PRESETS.join(", "),
            }),
        }
    }

    /// Builds the task from the built-in pieces and checks every parameter.
    pub fn build(&self) -> Result<Task> {
        self.build_with(&Registry::default())
    }

    /// Builds the task from the pieces of `registry`. An unregistered name is an error.
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

/// One agent's part of a task: h_y, h_W and the set W_k.
#[derive(Clone, Debug)]
pub struct LocalTask {
    regularizer: Arc<dyn Regularizer>,
    penalty: AtomPenalty,
    set: Arc<dyn AtomSet>,
}

impl LocalTask {
    /// A part with this h_y, the unit ball and no h_W.
    pub fn new(regularizer: impl IntoPiece<dyn Regularizer>) -> Self {
        LocalTask {
            regularizer: regularizer.into_piece(),
            penalty: AtomPenalty::None,
            set: Arc::new(UnitBall),
        }
    }

    /// Sets the atom set W_k.
    pub fn with_atoms(mut self, set: impl IntoPiece<dyn AtomSet>) -> Self {
        self.set = set.into_piece();
        self
    }

    /// Sets h_W after checking its weight.
    pub fn with_penalty(mut self, penalty: AtomPenalty) -> Result<Self> {
        penalty.check()?;
        self.penalty = penalty;
        Ok(self)
    }

    /// Builds it from its spec with the built-in pieces.
    pub fn build(spec: &LocalSpec) -> Result<Self> {
        LocalTask::build_with(spec, &Registry::default())
    }

    /// Builds it from its spec with the pieces of `registry`.
    pub fn build_with(spec: &LocalSpec, registry: &Registry) -> Result<Self> {
        LocalTask {
            regularizer: registry.regularizers().build(&spec.regularizer)?,
            set: registry.sets().build(&spec.set)?,
            penalty: AtomPenalty::None,
        }
        .with_penalty(spec.penalty)
    }

    /// The part as plain data.
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

/// The problem that a mesh solves.
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
    /// A task with this f. By default h_y is the elastic net of the preset `sparse-svd`, atoms are
    /// in the unit ball, and h_W is 0.
    pub fn new(residual: impl IntoPiece<dyn Residual>) -> Self {
        Task {
            residual: residual.into_piece(),
            common: LocalTask::new(ElasticNet::DEFAULT),
            own: BTreeMap::new(),
        }
    }

    /// Sets h_y for every agent without a part of its own.
    pub fn regularizer(mut self, regularizer: impl IntoPiece<dyn Regularizer>) -> Self {
        self.common.regularizer = regularizer.into_piece();
        self
    }

    /// Sets the atom set W_k for every agent without a part of its own.
    pub fn atoms(mut self, set: impl IntoPiece<dyn AtomSet>) -> Self {
        self.common.set = set.into_piece();
        self
    }

    /// Sets h_W, after checking its weight, for every agent without a part of its own.
    pub fn penalty(mut self, penalty: AtomPenalty) -> Result<Self> {
        self.common = self.common.with_penalty(penalty)?;
        Ok(self)
    }

    /// Sets the part of agent `k`.
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

    /// The part of agent `k`: its own or the common one.
    pub fn local(&self, k: AgentId) -> &LocalTask {
        self.own.get(&k).unwrap_or(&self.common)
    }

    /// The part of every agent without its own.
    pub fn common(&self) -> &LocalTask {
        &self.common
    }

    /// The task as plain data.
    pub fn spec(&self) -> TaskSpec {
        TaskSpec {
            residual: self.residual.spec(),
            common: self.common.spec(),
            own: (self.own.iter())
                .map(|(k, local)| (*k, local.spec()))
                .collect(),
        }
    }

    /// Sets the part of a new agent `k`.
    pub(crate) fn set_local(&mut self, k: AgentId, local: LocalTask) {
        self.own.insert(k, local);
    }

    /// Removes the part of agent `k`; later agents move down by one.
    pub(crate) fn remove_local(&mut self, k: AgentId) {
        self.own.remove(&k);
        let later = self.own.split_off(&k);
        self.own.extend(later.into_iter().map(|(j, l)| (j - 1, l)));
    }
}
