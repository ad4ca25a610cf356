//! What an agent must know, as plain data.

use super::checkpoint::{self, Owner};
use crate::error::Error;
use crate::words::{leaves, listed, plain, value, words};
use dictmesh::accel::Accels;
use dictmesh::problem::{Task, TaskSpec};
use dictmesh::strategy::Strategy;
use dictmesh::{AgentId, Mesh, WeightRule};
use dictmesh::{Registry, Spec};
use dictmesh::{Stopping, Update};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Duration;
use toml::Value;

/// A neighbour, as the agent loop knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its number.
    pub id: AgentId,
    /// It is not there from the beginning: nobody waits for it before it was heard.
    pub joins: bool,
}

/// What happens when a neighbour is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// All wait until it is back: the result is that of an undisturbed run.
    Wait,
    /// Whoever says nothing for so long is left out, and taken back when it returns.
    GoOn {
        /// How long; more than the longest round of computing.
        deadline: Duration,
    },
}

/// How an agent weights what arrives.
#[derive(Clone, Debug, PartialEq)]
pub enum Weighting {
    /// 1 / (1 + max(d_l, d_k)), from the degrees that neighbours tell.
    Metropolis,
    /// 1 / (1 + the largest degree of any agent).
    Uniform,
    /// (l, a_lk) for every neighbour and the agent itself, rising. Agents can neither come nor go.
    Given(Vec<(AgentId, f64)>),
}

/// Everything that an agent must know beside its atoms and its samples.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// Its number.
    pub id: AgentId,
    /// The name of the run: checkpoints of another are refused.
    pub run: String,
    /// The pieces that `task` and `strategy` may name.
    pub registry: Registry,
    /// Its neighbours.
    pub neighbours: Vec<Neighbour>,
    /// What is solved.
    pub task: TaskSpec,
    /// How, with every constant given (`Strategy::resolve`).
    pub strategy: Spec,
    /// When the rounds of a batch end.
    pub stopping: Stopping,
    /// The dictionary update; `None` only codes.
    pub update: Option<Update>,
    /// M.
    pub rows: usize,
    /// Samples of a batch; only the last may have fewer.
    pub batch: usize,
    /// Samples of a block, the paper's s, for the update that counts them; `None`: all are one block.
    pub block: Option<u64>,
    /// The weights of its edges.
    pub weighting: Weighting,
    /// What happens when a neighbour is lost.
    pub policy: Policy,
    /// Whether the agents agree on the cost of every sample.
    pub score: bool,
    /// Whether dual vectors travel in single precision.
    pub float32: bool,
    /// Whether masks hide each agent's part of a sum from the others. Ranks of MPI have none.
    pub masks: bool,
    /// Its speed-ups. Only those that batch argmins apply to an agent of a network.
    pub accels: Accels,
    /// Whether this agent may come into a running mesh with atoms that have not seen the samples so far.
    pub joins: bool,
    /// A checkpoint is written after so many batches.
    pub checkpoint_every: u64,
    /// How long an agent at its end stays for neighbours that may still need its last words.
    pub linger: Duration,
}

impl AgentSettings {
    /// With defaults for all that need not be chosen.
    pub fn new(id: AgentId, task: TaskSpec, strategy: Spec, rows: usize) -> Self {
        AgentSettings {
            id,
            run: String::new(),
            registry: Registry::default(),
            neighbours: Vec::new(),
            task,
            strategy,
            stopping: Stopping::default(),
            update: Some(Update::default()),
            rows,
            batch: 1,
            block: None,
            weighting: Weighting::Metropolis,
            policy: Policy::Wait,
            score: true,
            float32: false,
            masks: true,
            accels: Accels::all(),
            joins: false,
            checkpoint_every: 1,
            linger: Duration::from_secs(10),
        }
    }

    /// Those of agent `id` of a mesh.
    ///
    /// # Errors
    /// If the strategy has no constants for this mesh.
    pub fn of_mesh(mesh: &Mesh, id: AgentId) -> dictmesh::Result<Self> {
        let strategy = mesh.strategy().resolve(&mesh.shared_constants())?;
        let neighbours = mesh.topology().neighbours(id).iter();
        let settings = AgentSettings::new(id, mesh.task().spec(), strategy.spec(), mesh.rows());
        Ok(AgentSettings {
            neighbours: neighbours
                .map(|id| Neighbour {
                    id: *id,
                    joins: false,
                })
                .collect(),
            stopping: mesh.stopping(),
            update: Some(mesh.update_rule()),
            batch: mesh.batch(),
            weighting: match mesh.weight_rule() {
                WeightRule::Metropolis => Weighting::Metropolis,
                WeightRule::Uniform => Weighting::Uniform,
                _ => Weighting::Given(mesh.weights().column(id).to_vec()),
            },
            accels: mesh.accels().clone(),
            ..settings
        })
    }

    /// What all agents of a run must have in common, as (name, value), for the hand-shake: each constant by itself, so
    /// that a difference can be named.
    pub fn agreed(&self) -> Vec<(String, String)> {
        let choices = self.choices().into_iter();
        choices.flat_map(|(n, v)| leaves(n, &v)).collect()
    }

    fn choices(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("residual", value(&self.task.residual)),
            ("task", value(&self.task.common)),
            ("strategy", value(&self.strategy)),
            ("stopping", value(&self.stopping)),
            ("update", value(&self.update)),
            ("rows", value(&self.rows)),
            ("batch", value(&self.batch)),
            ("block", value(&self.block)),
            ("score", value(&self.score)),
            ("float32", value(&self.float32)),
            ("masks", value(&self.masks)),
            ("policy", value(&policy_name(&self.policy))),
            ("weighting", value(&weighting_name(&self.weighting))),
        ]
    }

    /// Whose checkpoints are this agent's: what is learned depends on all that agents agree on but who is waited for,
    /// whether costs are told and whether sums are masked, and on what the agent has of its own.
    pub(super) fn owner(&self) -> Owner {
        let free = |name: &str| matches!(name, "policy" | "score" | "weighting" | "masks");
        let choices = self.choices().into_iter();
        let mut settings: Vec<(String, String)> = choices
            .filter(|(name, _)| !free(name))
            .map(|(name, value)| (name.to_string(), words(&value)))
            .collect();
        let own = self.task.own.get(&self.id);
        let weights = match &self.weighting {
            Weighting::Given(column) => {
                let each = column.iter().map(|(l, a)| format!("{a} of agent {l}"));
                listed(&each.collect::<Vec<_>>())
            }
            rule => weighting_name(rule).to_string(),
        };
        settings.push(("own task".to_string(), plain(&own)));
        settings.push(("weights".to_string(), weights));
        Owner {
            run: self.run.clone(),
            id: self.id,
            rows: self.rows,
            settings,
        }
    }

    /// Those who have left the mesh for good, as far as the checkpoints of this agent in the directory `state` tell.
    pub fn gone(&self, state: &Path) -> Vec<AgentId> {
        checkpoint::gone(state, &self.owner())
    }

    /// The task and the strategy at work, if all choices are possible.
    pub(super) fn check(&self) -> Result<(Task, Arc<dyn Strategy>), Error> {
        let refuse = |name, given: String, allowed: &str| {
            let allowed = allowed.to_string();
            Err(Error::Setting {
                name,
                given,
                allowed,
            })
        };
        let task = self.registry.task(&self.task)?;
        let symmetric = !matches!(self.weighting, Weighting::Given(_));
        let strategy = self.registry.strategy(&self.strategy)?;
        strategy.check(task.residual(), symmetric)?;
        strategy.agent(dictmesh::random::stream(0, 0))?; // every constant has a value
        self.stopping.check()?;
        if let Some(update) = &self.update {
            update.check(task.residual())?;
        }
        for (name, value) in [("batch", self.batch), ("rows", self.rows)] {
            if value == 0 {
                return refuse(name, "0".to_string(), "must be 1 or more");
            }
        }
        if self.checkpoint_every == 0 {
            return refuse("checkpoint-every", "0".to_string(), "must be 1 or more");
        }
        let mut ids: Vec<AgentId> = self.neighbours.iter().map(|n| n.id).collect();
        ids.sort_unstable();
        if ids.contains(&self.id) || ids.windows(2).any(|pair| pair[0] == pair[1]) {
            let allowed = "an agent is not its own neighbour, and each neighbour is named once";
            return refuse("neighbours", listed(&ids), allowed);
        }
        Ok((task, strategy))
    }
}

fn policy_name(policy: &Policy) -> &'static str {
    match policy {
        Policy::Wait => "wait",
        Policy::GoOn { .. } => "go-on",
    }
}

fn weighting_name(weighting: &Weighting) -> &'static str {
    match weighting {
        Weighting::Metropolis => "metropolis",
        Weighting::Uniform => "uniform",
        Weighting::Given(_) => "given",
    }
}

/// What can be asked of a running agent from elsewhere. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Control {
    /// To end after the batch that is under way; a restart takes up the checkpoint then written.
    pub interrupt: Arc<AtomicBool>,
    /// To leave the mesh for good after the batch that is under way.
    pub leave: Arc<AtomicBool>,
}
