//! Accessors of a mesh, and what can be changed between batches.

use super::{Mesh, Stopping};
use crate::accel::Accels;
use crate::error::Result;
use crate::graph::AgentId;
use crate::graph::{Topology, WeightRule, Weights};
use crate::mesh::learning::{AtomStats, Update};
use crate::problem::block::Block;
use crate::problem::task::Task;
use crate::strategy::Strategy;
use dictmesh_kernels::matrix::Matrix;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

impl Mesh {
    /// Installs an interrupt flag. Once another thread sets it, every inference by rounds ends within one
    /// round and one sample, with [`Stop::Interrupted`](crate::Stop::Interrupted) and no result. The flag
    /// stays set until the caller clears it.
    pub fn interrupt_by(&mut self, flag: Arc<AtomicBool>) {
        self.interrupt = Some(flag);
    }

    /// Whether that flag is set.
    pub fn is_interrupted(&self) -> bool {
        let set = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        self.interrupt.as_ref().is_some_and(set)
    }

    /// The task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The graph.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The rule by which weights are renewed when the mesh changes.
    pub fn weight_rule(&self) -> &WeightRule {
        &self.rule
    }

    /// The combination matrix A.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The strategy, as it was given.
    pub fn strategy(&self) -> &Arc<dyn Strategy> {
        &self.strategy
    }

    /// Changes the strategy.
    pub fn set_strategy(&mut self, strategy: Arc<dyn Strategy>) -> Result<()> {
        strategy.check(self.task.residual(), self.weights.is_symmetric())?;
        strategy.resolve(&self.common())?;
        self.strategy = strategy;
        Ok(())
    }

    /// The speed-ups.
    pub fn accels(&self) -> &Accels {
        &self.accels
    }

    /// Changes the speed-ups.
    pub fn set_accels(&mut self, accels: Accels) {
        self.accels = accels;
    }

    /// When the rounds of one batch end.
    pub fn stopping(&self) -> Stopping {
        self.stopping
    }

    /// Changes when the rounds of one batch end.
    pub fn set_stopping(&mut self, stopping: Stopping) -> Result<()> {
        stopping.check()?;
        self.stopping = stopping;
        Ok(())
    }

    /// The dictionary update.
    pub fn update_rule(&self) -> Update {
        self.update
    }

    /// M.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// N.
    pub fn agents(&self) -> usize {
        self.agents.len()
    }

    /// K, the number of atoms over all agents.
    pub fn atoms(&self) -> usize {
        self.agents.iter().map(|agent| agent.block.len()).sum()
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Agent `k`'s private block. Like the other methods that take an agent's number, it panics as
    /// an index does if there is no such agent.
    pub fn block(&self, k: AgentId) -> &Block {
        &self.agents[k].block
    }

    /// Whether samples reach agent `k`.
    pub fn is_informed(&self, k: AgentId) -> bool {
        self.agents[k].informed
    }

    /// The statistics of agent `k`'s atoms.
    pub fn atom_use(&self, k: AgentId) -> &AtomStats {
        &self.agents[k].used
    }

    /// How many blocks were learned.
    pub fn blocks_learned(&self) -> usize {
        self.blocks_learned
    }

    /// All atoms side by side, M x K.
    pub fn dictionary(&self) -> Matrix {
        let mut all = Vec::with_capacity(self.rows * self.atoms());
        for agent in &self.agents {
            all.extend_from_slice(agent.block.atoms().as_slice());
        }
        Matrix::from_fn(self.rows, self.atoms(), |i, j| all[j * self.rows + i])
    }
}
