//! The state of a mesh that a model stores, and its restoration.

use super::{Agent, Mesh, MeshBuilder};
use crate::error::{Error, Result};
use crate::graph::AgentId;
use crate::mesh::AtomStats;
use crate::problem::block::Block;
use crate::problem::task::TaskSpec;
use crate::strategy::PenaltyRule;
use dictmesh_kernels::matrix::Matrix;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The counters and the state that learning needs, besides the atoms and their statistics, to
/// resume exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Blocks of samples learned; the paper's s is the next one.
    pub blocks_learned: usize,
    /// Samples learned.
    pub samples_learned: u64,
    /// Number of random draws; each has its own stream.
    pub draws: u64,
    /// The state of the rule that adapts the penalty of the strategy, if it [adapts].
    ///
    /// [adapts]: crate::strategy::Strategy::adapts
    #[serde(default, skip_serializing_if = "is_default")]
    pub penalty: PenaltyRule,
}

fn is_default(rule: &PenaltyRule) -> bool {
    *rule == PenaltyRule::default()
}

impl Mesh {
    /// The progress counters.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// Samples per update.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Marks the last block as incomplete, so that its remaining samples are learned under the same
    /// number s. No effect if no block was learned.
    pub fn reopen_block(&mut self) {
        let s = &mut self.progress.blocks_learned;
        *s = s.saturating_sub(1);
    }

    pub(crate) fn warm_start(&self) -> bool {
        self.warm_start
    }

    /// The informed agents in ascending order.
    pub(crate) fn informed(&self) -> Vec<AgentId> {
        let all = 0..self.agents.len();
        all.filter(|k| self.agents[*k].informed).collect()
    }

    /// The task with the agents' own parts, without entries for agents that do not exist.
    pub(crate) fn agents_task(&self) -> TaskSpec {
        let mut spec = self.task.spec();
        spec.own.retain(|k, _| *k < self.agents.len());
        for (k, agent) in self.agents.iter().enumerate() {
            let own = agent.task.spec();
            if spec.own.contains_key(&k) || own != spec.common {
                spec.own.insert(k, own);
            }
        }
        spec
    }
}

impl MeshBuilder {
    /// Restores a mesh from one block per agent, in order; the atoms are not projected.
    pub fn restore(
        self,
        rows: usize,
        blocks: Vec<(impl Into<Arc<Matrix>>, AtomStats)>,
        progress: Progress,
    ) -> Result<Mesh> {
        let shared = blocks
            .into_iter()
            .map(|(atoms, stats)| (atoms.into(), stats));
        let blocks: Vec<(Arc<Matrix>, AtomStats)> = shared.collect();
        let sizes: Vec<usize> = blocks.iter().map(|(atoms, _)| atoms.cols()).collect();
        let (mut mesh, informed) = self.without_agents(rows, &sizes)?;
        for (k, (atoms, stats)) in blocks.into_iter().enumerate() {
            let of = |what: &str| format!("{what} of agent {k}");
            Error::check_dimension(of("rows of the atoms"), atoms.rows(), rows)?;
            let n = atoms.cols();
            Error::check_dimension(of("energies"), stats.energy.len(), n)?;
            Error::check_dimension(of("sample counts"), stats.samples.len(), n)?;
            mesh.agents.push(Agent {
                task: mesh.task.local(k).clone(),
                block: Block::without_gram(atoms)?,
                informed: informed[k],
                stats,
            });
        }
        mesh.progress = progress;
        mesh.share_gram_budget()?;
        mesh.strategy = mesh.chosen(mesh.strategy.clone())?;
        Ok(mesh)
    }
}
