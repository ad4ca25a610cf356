//! What a model needs of a mesh, and a mesh from what a model kept.

use super::{Agent, Mesh, MeshBuilder};
use crate::error::Result;
use crate::graph::AgentId;
use crate::mesh::learning::AtomStats;
use crate::problem::block::Block;
use crate::problem::task::TaskSpec;
use dictmesh_kernels::matrix::Matrix;
use serde::{Deserialize, Serialize};

/// How far a mesh has come: what learning needs, beside the atoms and their use, to go on as if it
/// had never been interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Blocks of samples learned; the paper's s counts the next one.
    pub blocks_learned: usize,
    /// Samples learned.
    pub samples_learned: u64,
    /// Random draws made; each has a stream of its own.
    pub draws: u64,
}

impl Mesh {
    /// How far the mesh has come.
    pub fn progress(&self) -> Progress {
        Progress {
            blocks_learned: self.blocks_learned,
            samples_learned: self.samples_learned,
            draws: self.draws,
        }
    }

    /// Samples per update.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Says that the block learned last was broken off and its rest comes next: the rest is then learned
    /// under the same number s, as if there had been no break. Without a block it does nothing.
    pub fn reopen_block(&mut self) {
        self.blocks_learned = self.blocks_learned.saturating_sub(1);
    }

    pub(crate) fn warm_start(&self) -> bool {
        self.warm_start
    }

    /// The agents that samples reach, rising.
    pub(crate) fn informed(&self) -> Vec<AgentId> {
        let all = 0..self.agents.len();
        all.filter(|k| self.agents[*k].informed).collect()
    }

    /// The task as the agents really have it: one that joined later with the common share must get
    /// it again, whatever the task it was built for holds under its number.
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
    /// The mesh with these blocks, one per agent in their order, taken as they are.
    pub fn restore(
        self,
        rows: usize,
        blocks: Vec<(Matrix, AtomStats)>,
        progress: Progress,
    ) -> Result<Mesh> {
        let sizes: Vec<usize> = blocks.iter().map(|(atoms, _)| atoms.cols()).collect();
        let (mut mesh, informed) = self.without_agents(rows, &sizes)?;
        for (k, (atoms, used)) in blocks.into_iter().enumerate() {
            mesh.agents.push(Agent {
                task: mesh.task.local(k).clone(),
                block: Block::without_gram(atoms)?,
                informed: informed[k],
                used,
            });
        }
        mesh.blocks_learned = progress.blocks_learned;
        mesh.samples_learned = progress.samples_learned;
        mesh.draws = progress.draws;
        mesh.share_gram_budget()?;
        mesh.strategy.resolve(&mesh.common())?;
        Ok(mesh)
    }
}
