//! N agents in lock-step in one process: the paper's main algorithm.

mod access;
mod agreement;
mod atom_init;
mod averaging;
mod builder;
mod chunk;
mod events;
mod exchange;
mod found;
mod growth;
mod inference_result;
pub(crate) mod learning;
mod restore;
pub(crate) mod rounds;
mod run;
pub(crate) mod stopping;
mod warm;

pub use atom_init::AtomInit;
pub(crate) use builder::informed_flags;
pub use builder::MeshBuilder;
pub use events::{Event, Warning};
pub use inference_result::Inference;
pub use restore::Progress;
pub use run::Run;
pub use stopping::Stopping;

use crate::accel::{Accels, BatchCodes, Memory};
use crate::error::{Error, Result};
use crate::graph::AgentId;
use crate::graph::{Mixing, Spectrum, Topology, WeightRule, Weights};
use crate::problem::block::Block;
use crate::problem::samples::Samples;
use crate::problem::task::{LocalTask, Task};
use crate::strategy::{Certified, Local, ScratchPool, Strategy};
use crate::Stop;
use dictmesh_kernels::matrix::Matrix;
use dictmesh_kernels::products::Firing;
use learning::{plan_update, PlannedUpdate};
pub use learning::{AtomStats, Update};

use rayon::prelude::*;
use run::demote_if_nonfinite;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use warm::State;

/// The most agents of a mesh in one process: the spectra of larger graphs take minutes and
/// gigabytes. Also the stride of the agents' random streams.
pub const MOST_AGENTS: usize = 5_000;
/// The most atoms that front ends accept before the dimension of the samples is known. Below it,
/// memory decides.
pub const MOST_ATOMS: usize = 10_000_000;

/// One agent of a mesh: its part of the task, its private atoms, and whether it is informed.
#[derive(Clone, Debug)]
struct Agent {
    task: LocalTask,
    block: Block,
    informed: bool,
    stats: AtomStats,
}

/// State carried from one batch to the next.
#[derive(Default)]
struct BatchCarry {
    /// The final iterates, if the next batch may be warm-started from them.
    warm: Option<State>,
    memory: Memory,
}

/// A mesh of agents that jointly code samples and learn their own atoms.
///
/// ```
/// use dictmesh::{Mesh, Samples, AtomInit, Stopping, Topology};
/// use dictmesh::problem::Task;
///
/// let x = Samples::dense_from_columns(3, &[[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]])?;
/// let mut mesh = Mesh::builder(Task::sparse_svd(0.1, 0.1)?, Topology::ring(4)?)
///     .stopping(Stopping::tolerance(1e-6))
///     .build(3, &[2, 1, 0, 1], AtomInit::Samples(&x))?; // agent 2 only relays
/// let before = mesh.infer(&x)?.mean_cost();
/// mesh.learn(&x, |_event| std::ops::ControlFlow::Continue(()))?;
/// assert!(mesh.infer(&x)?.mean_cost() <= before);
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mesh {
    task: Task,
    topology: Topology,
    rule: WeightRule,
    weights: Weights,
    spectrum: Spectrum,
    mixing: Mixing,
    /// A^rounds of plain averaging, cached after first use.
    averaging: Arc<OnceLock<Matrix>>,
    agents: Vec<Agent>,
    rows: usize,
    strategy: Arc<dyn Strategy>,
    stopping: Stopping,
    warm_start: bool,
    accels: Accels,
    update: Update,
    batch: usize,
    seed: u64,
    progress: Progress,
    pool: Option<Arc<rayon::ThreadPool>>,
    scratch: Arc<ScratchPool>,
    interrupt: Option<Arc<AtomicBool>>,
}

impl Mesh {
    /// A builder of a mesh for a task on a graph.
    pub fn builder(task: Task, topology: Topology) -> MeshBuilder {
        MeshBuilder::new(task, topology)
    }

    /// Codes a batch from nu = 0. Returns nu_k and y_k of every agent.
    ///
    /// # Errors
    ///
    /// Samples of another dimension than the atoms, no samples, or more than memory can hold.
    pub fn infer(&self, x: &Samples) -> Result<Inference> {
        self.check_codes(x)?;
        self.in_pool(|| {
            let mut run = Run::start_accelerated(self, x)?;
            let stop = run.until(&self.stopping);
            Ok(run.into_found(stop))
        })
    }

    /// As [`infer`](Mesh::infer), but without computing the duals in all rows.
    pub fn infer_without_duals(&self, x: &Samples) -> Result<Inference> {
        self.check_codes(x)?;
        self.in_pool(|| {
            let mut run = Run::start_accelerated(self, x)?;
            let stop = run.until(&self.stopping);
            Ok(run.into_found_without_duals(stop))
        })
    }

    /// A run from nu = 0 that can be stepped round by round.
    pub fn run<'m>(&'m self, x: &'m Samples) -> Result<Run<'m>> {
        Run::start(self, x)
    }

    /// A run warm-started from the final iterates of an earlier run of this mesh, for similar
    /// samples. The number of samples must be the same.
    pub fn continue_from<'m>(&'m self, run: Run<'_>, x: &'m Samples) -> Result<Run<'m>> {
        Run::start_warm(self, x, run.into_state()?)
    }

    /// Every agent's estimate of the cost of each sample, N x B, as [`agree`](Mesh::agree) returns
    /// it, and the outcome of the inference. The cheapest way to score samples.
    pub fn score(&self, x: &Samples) -> Result<(Matrix, Stop)> {
        let (costs, stop, _) = self.score_certified(x)?;
        Ok((costs, stop))
    }

    /// As [`score`](Mesh::score), with the certificate of each sample if the strategy computes
    /// them; otherwise without.
    pub fn score_certified(&self, x: &Samples) -> Result<(Matrix, Stop, Vec<Certified>)> {
        self.in_pool(|| {
            let mut run = Run::start_accelerated(self, x)?;
            let stop = run.until(&self.stopping);
            let certified = run.certified();
            if !certified.is_empty() {
                let (n, samples) = (self.agents.len(), certified.len());
                let costs = Matrix::from_fn(n, samples, |_, j| certified[j].cost);
                return Ok((costs, stop, certified));
            }
            let costs = run.local_costs();
            let stop = demote_if_nonfinite(stop, &costs);
            Ok((self.average(&costs), stop, certified))
        })
    }

    /// Learns one block of samples, batch by batch: the paper's main algorithm. Returns the worst
    /// outcome of any batch.
    ///
    /// The observer receives an event after each batch and may stop the learning. A batch updates
    /// all agents or none:
    ///
    /// - If a sample is infeasible, no agent changes, and learning continues with the next batch.
    /// - If inference diverges or an update overflows, no agent changes, and learning ends with
    ///   [`Stop::Diverged`], since the next batch would diverge too.
    /// - If interrupted ([`interrupt_by`](Mesh::interrupt_by)), no agent changes, and no event.
    pub fn learn(
        &mut self,
        block: &Samples,
        mut observer: impl FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<Stop> {
        self.check_samples(block)?;
        self.update.check(self.task.residual())?;
        let s = self.progress.blocks_learned + 1;
        let mut worst = Stop::Converged;
        let (mut carry, pool) = (BatchCarry::default(), self.pool.clone());
        for from in (0..block.len()).step_by(self.batch) {
            let batch = from..(from + self.batch).min(block.len());
            let samples = batch.len();
            let work = || self.learn_batch(block, batch, s, &mut carry);
            let (found, movement) = in_pool(&pool, work)?;
            let mut stop = found.stop.unwrap_or(Stop::RoundLimit);
            if stop == Stop::Interrupted {
                return Ok(stop);
            }
            if !movement.is_finite() {
                stop = Stop::Diverged; // the update overflows; no agent has changed
            }
            worst = worst.worse(stop);
            let event = Event {
                samples: self.progress.samples_learned,
                batch: samples,
                rounds: found.rounds,
                bytes: found.bytes,
                stop,
                infeasible: found.infeasible.map(|j| from + j),
                cost: found.cost,
                sparsity: found.sparsity,
                movement,
            };
            if observer(&event).is_break() || stop == Stop::Diverged {
                break;
            }
        }
        Ok(worst)
    }

    /// Codes one batch of block s and updates the atoms. Returns the codes and |W_new - W_old|_F.
    fn learn_batch(
        &mut self,
        block: &Samples,
        batch: Range<usize>,
        s: usize,
        carry: &mut BatchCarry,
    ) -> Result<(BatchCodes, f64)> {
        let samples = batch.len() as u64;
        // Inference: nu_k by exchanges with the neighbours, then y_k.
        let mut found = self.code(block, batch, carry)?;
        // Dictionary update: local to each agent.
        let movement = match found.stop {
            Some(Stop::Converged | Stop::RoundLimit) => {
                let products = std::mem::take(&mut found.products);
                Some(self.update(products, &found.firing, s))
            }
            _ => None,
        };
        if movement.is_some_and(f64::is_finite) {
            self.progress.samples_learned += samples;
            self.progress.blocks_learned = s;
            if self.adapts() {
                let converged = found.stop == Some(Stop::Converged);
                (self.progress.penalty).after_batch(converged.then_some(found.rounds));
            }
        }
        Ok((found, movement.unwrap_or(0.0)))
    }

    /// Codes a batch of a block.
    fn code(
        &self,
        block: &Samples,
        batch: Range<usize>,
        carry: &mut BatchCarry,
    ) -> Result<BatchCodes> {
        let view = self.batch_of(block);
        if let Some(codes) = self.accels.code(&view, batch.clone(), &mut carry.memory) {
            return Ok(codes);
        }
        let x = &block.range(batch);
        let mut run = match carry.warm.take() {
            Some(state) if state.samples == x.len() => Run::start_warm(self, x, state)?,
            _ if self.warm_start => Run::start(self, x)?,
            _ => Run::start_accelerated(self, x)?,
        };
        if self.adapts() {
            run.scale_penalty(self.progress.penalty.scale());
        }
        let stop = run.until(&self.stopping);
        let codes = run.batch_codes(stop);
        // Duals of a diverged or infeasible batch are no valid warm start.
        if self.warm_start && matches!(codes.stop, Some(Stop::Converged | Stop::RoundLimit)) {
            carry.warm = Some(run.into_state()?);
        }
        Ok(codes)
    }

    /// Whether learning adapts the penalty of the strategy to the rounds of its batches. Without a
    /// tolerance all batches have the same rounds, and a single agent has no penalty.
    fn adapts(&self) -> bool {
        self.strategy.adapts() && self.stopping.tolerance.is_some() && self.agents.len() > 1
    }

    /// Updates every agent's atoms from its own nu_k y_k'; returns |W_new - W_old|_F. All
    /// updates are computed, in the memory of the products, before the first is written. If the
    /// result is not finite, no agent changes.
    fn update(&mut self, products: Vec<Matrix>, firing: &[Firing], s: usize) -> f64 {
        let (update, residual) = (self.update, self.task.residual());
        let agents = self.agents.par_iter().zip(products).zip(firing);
        let planned: Vec<PlannedUpdate> = agents
            .map(|((agent, product), firing)| {
                let Agent {
                    task, block, stats, ..
                } = agent;
                plan_update(&update, s, residual, task, product, firing, block, stats)
            })
            .collect();
        let squares = planned.iter().map(|p| p.movement() * p.movement());
        let movement = squares.sum::<f64>().sqrt();
        if movement.is_finite() {
            let agents = self.agents.par_iter_mut().zip(planned);
            agents.for_each(|(agent, planned)| {
                planned.commit(&agent.task, &mut agent.block, &mut agent.stats);
            });
        }
        movement
    }

    /// The data of agent `k` for a batch; `share` is b = x/|N_I|, used by informed agents.
    fn local<'a>(&'a self, k: AgentId, share: Option<&'a Matrix>, samples: usize) -> Local<'a> {
        let agent = &self.agents[k];
        Local {
            residual: self.task.residual(),
            task: &agent.task,
            block: &agent.block,
            agents: self.agents.len(),
            share: share.filter(|_| agent.informed),
            informed: self.agents.iter().filter(|agent| agent.informed).count(),
            is_first_informed: self.agents.iter().position(|agent| agent.informed) == Some(k),
            is_root: self.topology.spanning_tree().root() == k,
            degree: self.topology.degree(k),
            samples,
            scratch: &self.scratch,
            interrupt: self.interrupt.as_deref(),
            batching: self.accels.batching(),
            tolerance: self.stopping.tolerance,
            rounds: self.stopping.rounds,
        }
    }

    fn check_samples(&self, x: &Samples) -> Result<()> {
        Error::check_dimension("rows of the samples (the atoms' M)", x.rows(), self.rows)?;
        if x.is_empty() {
            return Err(Error::Empty {
                what: "the batch of samples",
                need: "give at least one sample",
            });
        }
        Ok(())
    }

    /// Runs `work` in the mesh's own thread pool, or in the global one.
    fn in_pool<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        in_pool(&self.pool, work)
    }
}

fn in_pool<T: Send>(pool: &Option<Arc<rayon::ThreadPool>>, work: impl FnOnce() -> T + Send) -> T {
    match pool {
        Some(pool) => pool.install(work),
        None if rayon::current_thread_index().is_some() => work(),
        // From outside, every parallel step of a round would wake the pool and wait for it.
        None => rayon::scope(|_| work()),
    }
}
