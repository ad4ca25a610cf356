//! Accessors of a mesh, and setters for use between batches.

use super::{Mesh, Stopping};
use crate::accel::{Accels, Batch};
use crate::error::{Error, Result};
use crate::exact::{self, Codes, Exact, Part};
use crate::graph::AgentId;
use crate::graph::{Topology, WeightRule, Weights};
use crate::mesh::{AtomStats, Update};
use crate::problem::block::{stores_grams, Block};
use crate::problem::samples::Samples;
use crate::problem::task::Task;
use crate::strategy::{tree::bounds_gap, PenaltyRule, SharedConstants, Strategy};
use crate::Stop;
use dictmesh_kernels::matrix::Matrix;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

impl Mesh {
    /// Installs an interrupt flag. Once another thread sets it, every inference by rounds ends
    /// within one round and one sample, with [`Stop::Interrupted`] and no
    /// result. The mesh does not clear the flag.
    pub fn interrupt_by(&mut self, flag: Arc<AtomicBool>) {
        self.interrupt = Some(flag);
    }

    /// Whether the interrupt flag is set.
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

    /// The rule that recomputes the weights when the mesh changes.
    pub fn weight_rule(&self) -> &WeightRule {
        &self.rule
    }

    /// The combination matrix A.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The strategy as given, before constants are resolved; the chosen one if it
    /// [chooses](Strategy::choose) another.
    pub fn strategy(&self) -> &Arc<dyn Strategy> {
        &self.strategy
    }

    /// Sets the strategy.
    pub fn set_strategy(&mut self, strategy: Arc<dyn Strategy>) -> Result<()> {
        strategy.check(self.task.residual(), self.weights.is_symmetric())?;
        let strategy = self.chosen(strategy)?;
        if *strategy != *self.strategy {
            self.progress.penalty = PenaltyRule::default();
        }
        self.strategy = strategy;
        Ok(())
    }

    /// The strategy that this one chooses for the mesh, or itself; `Ok` if its constants are valid.
    pub(super) fn chosen(&self, strategy: Arc<dyn Strategy>) -> Result<Arc<dyn Strategy>> {
        let shared = self.shared_constants();
        let chosen = strategy.choose(&shared)?.unwrap_or(strategy);
        chosen.resolve(&shared)?;
        Ok(chosen)
    }

    /// The speed-ups.
    pub fn accels(&self) -> &Accels {
        &self.accels
    }

    /// Sets the speed-ups.
    pub fn set_accels(&mut self, accels: Accels) {
        self.accels = accels;
    }

    /// The stopping rule of one batch.
    pub fn stopping(&self) -> Stopping {
        self.stopping
    }

    /// Sets the stopping rule of one batch.
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

    /// Agent `k`'s private block. Like all methods that take an agent's number, it panics if there
    /// is no such agent.
    pub fn block(&self, k: AgentId) -> &Block {
        &self.agents[k].block
    }

    /// Whether agent `k` is informed (receives samples).
    pub fn is_informed(&self, k: AgentId) -> bool {
        self.agents[k].informed
    }

    /// The statistics of agent `k`'s atoms.
    pub fn atom_stats(&self, k: AgentId) -> &AtomStats {
        &self.agents[k].stats
    }

    /// The number of blocks learned.
    pub fn blocks_learned(&self) -> usize {
        self.progress.blocks_learned
    }

    /// The dictionary: all atoms as columns, M x K.
    pub fn dictionary(&self) -> Matrix {
        let mut all = Matrix::zeros(self.rows, self.atoms());
        let columns = self.agents.iter().flat_map(|a| a.block.atoms().columns());
        for (to, column) in columns.enumerate() {
            all.column_mut(to).copy_from_slice(column);
        }
        all
    }

    /// The centralised solution over all blocks, with certificates of its duality gap.
    pub fn exact(&self, x: &Samples) -> Result<Exact> {
        self.check_samples(x)?;
        let parts = self.parts();
        self.in_pool(|| exact::solve(self.task.residual(), &parts, x, self.exact_options()))
    }

    /// The codes of [`exact`](Mesh::exact) in sparse form, with their certificates. They are
    /// bit-identical to those of `exact`; for sparse codes this is faster and uses a fraction of
    /// the memory.
    pub fn exact_codes(&self, x: &Samples) -> Result<Codes> {
        self.check_samples(x)?;
        let parts = self.parts();
        self.in_pool(|| exact::codes(self.task.residual(), &parts, x, self.exact_options()))
    }

    /// The dual vectors of [`exact`](Mesh::exact) without their certificates, and the worst
    /// outcome.
    pub fn exact_duals(&self, x: &Samples) -> Result<(Matrix, Stop)> {
        self.check_samples(x)?;
        let parts = self.parts();
        let batching = self.accels.batching();
        self.in_pool(|| exact::duals(self.task.residual(), &parts, x, batching))
    }

    /// `Ok` if the dense codes of these samples fit into memory.
    pub(super) fn check_codes(&self, x: &Samples) -> Result<()> {
        exact::check_batch(self.atoms(), x, 0)
    }

    fn exact_options(&self) -> exact::Options {
        exact::Options {
            batching: self.accels.batching(),
            ..exact::Options::default()
        }
    }

    pub(super) fn parts(&self) -> Vec<Part<'_>> {
        (self.agents.iter())
            .map(|agent| Part {
                block: &agent.block,
                task: &agent.task,
            })
            .collect()
    }

    /// The constants shared by all agents, from which default steps follow.
    pub fn shared_constants(&self) -> SharedConstants {
        let delta = self
            .agents
            .iter()
            .map(|agent| agent.task.regularizer().strong_convexity())
            .fold(f64::INFINITY, f64::min);
        SharedConstants {
            agents: self.agents.len(),
            rows: self.rows,
            atoms: self.atoms(),
            atoms_max: self.agents.iter().map(|a| a.block.len()).max().unwrap_or(0),
            delta,
            curvature: self.task.residual().conjugate_curvature(),
            weights_smallest: self.mixing.smallest,
            non_negative: self.agents.iter().all(|a| a.task.set().is_non_negative()),
            bounds_gap: bounds_gap(self.task.residual()),
            batch: self.batch,
            mean_degree: self.topology.mean_degree(),
            shape: self.topology.shape(),
            spectrum: self.spectrum,
        }
    }

    /// Stores the Gram matrices of all blocks or of none; required after every change of a block
    /// size.
    pub(super) fn share_gram_budget(&mut self) -> Result<()> {
        let stored = stores_grams(self.agents.iter().map(|a| a.block.len()), self.rows);
        (self.agents.iter_mut()).try_for_each(|agent| agent.block.store_gram(stored))
    }

    /// `Ok` if the Gram matrices fit into memory once agent k has n atoms (`resized`) and a new
    /// agent has `added`.
    pub(super) fn check_grams(
        &self,
        resized: Option<(AgentId, usize)>,
        added: usize,
    ) -> Result<()> {
        let old = self.agents.iter().map(|agent| agent.block.len());
        let mut sizes: Vec<usize> = old.chain([added]).collect();
        if let Some((k, n)) = resized {
            sizes[k] = n;
        }
        if !stores_grams(sizes.iter().copied(), self.rows) {
            return Ok(());
        }
        let numbers =
            (sizes.iter()).try_fold(0_usize, |sum, n| sum.checked_add(n.checked_mul(*n)?));
        Error::check_room("atoms", sizes.iter().sum::<usize>(), numbers)
    }

    pub(super) fn blocks(&self) -> Vec<&Block> {
        self.agents.iter().map(|agent| &agent.block).collect()
    }

    /// The batch as speed-ups receive it.
    pub(super) fn batch_of<'a>(&'a self, x: &'a Samples) -> Batch<'a> {
        Batch {
            residual: self.task.residual(),
            agents: self.parts(),
            x,
            strategy: &*self.strategy,
            tolerance: self.stopping.tolerance,
            rounds: self.stopping.rounds,
            scratch: &self.scratch,
            interrupt: self.interrupt.as_deref(),
            batching: self.accels.batching(),
        }
    }
}
