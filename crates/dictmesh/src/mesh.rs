//! N agents in lock-step in this process: the paper's main algorithm.

mod builder;
mod growth;
mod infeasible;
mod reduction;
mod restore;
mod run;
mod stopping;

pub(crate) use builder::informed_flags;
pub use builder::MeshBuilder;
pub use restore::Progress;
use run::{settled, Duals, State};
pub use run::{Inference, Run};
pub use stopping::Stopping;

use crate::agent::{AgentId, Block, Local};
use crate::error::{Error, Result};
use crate::inference::exact::{self, Exact, Part};
use crate::inference::{agreement, consensus, diffusion, Common, StrategySpec};
use crate::learning::{update_block, AtomUse, Update};
use crate::matrix::Matrix;
use crate::samples::Samples;
use crate::task::{LocalTask, Task};
use crate::topology::{Mixing, Spectrum, Topology, WeightRule, Weights};
use crate::Stop;
use rayon::prelude::*;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock};

/// One agent of a mesh: its share of the task, its private atoms, whether samples reach it.
#[derive(Clone, Debug)]
struct Agent {
    task: LocalTask,
    block: Block,
    informed: bool,
    used: AtomUse,
}

/// A mesh of agents that code samples together and learn each its own atoms.
///
/// ```
/// use dictmesh::{Mesh, Samples, Start, Stopping, Topology};
/// use dictmesh::task::Task;
///
/// let x = Samples::dense_from_columns(3, &[[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]])?;
/// let mut mesh = Mesh::builder(Task::sparse_svd(0.1, 0.1)?, Topology::ring(4)?)
///     .stopping(Stopping::tolerance(1e-6))
///     .build(3, &[2, 1, 0, 1], Start::Samples(&x))?; // agent 2 only relays
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
    /// (I + A)/2, for the strategies that want it.
    lazy: Weights,
    spectrum: Spectrum,
    mixing: Mixing,
    /// A^rounds of plain averaging, once somebody asked for it.
    averaging: Arc<OnceLock<Matrix>>,
    agents: Vec<Agent>,
    rows: usize,
    strategy: StrategySpec,
    stopping: Stopping,
    warm_start: bool,
    reduction: bool,
    update: Update,
    batch: usize,
    seed: u64,
    /// How many random draws were made: each gets a stream of its own.
    draws: u64,
    blocks_learned: usize,
    samples_learned: u64,
    pool: Option<Arc<rayon::ThreadPool>>,
    gram: Arc<Mutex<reduction::Gram>>,
}

/// What an observer of [`Mesh::learn`] hears after each batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// How many samples the mesh has learned from so far, this batch included.
    pub samples: u64,
    /// Samples in this batch.
    pub batch: usize,
    /// Rounds the inference took.
    pub rounds: usize,
    /// Bytes that crossed links.
    pub bytes: u64,
    /// How the inference ended.
    pub stop: Stop,
    /// The first sample of the block that no code can meet, if the batch ended so.
    pub infeasible: Option<usize>,
    /// Mean cost of a sample, before the update.
    pub cost: f64,
    /// Mean number of coefficients that are not zero.
    pub sparsity: f64,
    /// How far the atoms moved, |W_new - W_old|_F.
    pub movement: f64,
}

/// Something that works, but maybe not as meant.
#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// The step of a gradient strategy is above what guarantees convergence.
    StepAboveBound {
        /// The strategy.
        strategy: &'static str,
        /// The step that was given.
        mu: f64,
        /// The bound of the paper's table, from N_max and delta.
        table: f64,
        /// The bound from the agents' own norms.
        exact: f64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::StepAboveBound {
                strategy,
                mu,
                table,
                exact,
            } => write!(
                f,
                "{strategy}: the step mu = {mu} is above {exact:.4e}, what the agents' atoms allow \
                 ({table:.4e} is allowed whatever they are, from the paper's table by N_max and delta); \
                 it may diverge"
            ),
        }
    }
}

impl Mesh {
    /// A mesh to be built for a task on a graph.
    pub fn builder(task: Task, topology: Topology) -> MeshBuilder {
        MeshBuilder::new(task, topology)
    }

    /// Codes a batch: every agent finds its own nu_k and y_k. Starts from nu = 0.
    pub fn infer(&self, x: &Samples) -> Result<Inference> {
        let mut run = Run::start_reduced(self, x)?;
        Ok(self.in_pool(|| {
            let stop = run.until(&self.stopping);
            run.found(stop)
        }))
    }

    /// A run from nu = 0 that can be stepped round by round.
    pub fn run<'m>(&'m self, x: &'m Samples) -> Result<Run<'m>> {
        Run::start(self, x)
    }

    /// A run that starts where an earlier one of this mesh ended, instead of at nu = 0: for samples that
    /// resemble each other. The number of samples must be the same.
    pub fn continue_from<'m>(&'m self, run: Run<'_>, x: &'m Samples) -> Result<Run<'m>> {
        Run::start_warm(self, x, run.into_state()?)
    }

    /// What every agent believes the cost of each sample to be, N x B, as [`agree`](Mesh::agree) gives
    /// it, and how the inference ended: the cheapest way to score samples.
    pub fn score(&self, x: &Samples) -> Result<(Matrix, Stop)> {
        let mut run = Run::start_reduced(self, x)?;
        let (costs, stop) = self.in_pool(|| {
            let stop = run.until(&self.stopping);
            let costs = run.local_costs();
            let stop = settled(stop, &costs);
            (costs, stop)
        });
        Ok((self.average(&costs), stop))
    }

    /// Learns one block of samples, batch by batch: the paper's main algorithm. Returns the worst
    /// ending of any batch.
    ///
    /// The observer hears of every batch and may break off after any. A batch with a sample that no code
    /// can meet teaches nothing, and learning goes on with the next; one that diverged ends the block, as
    /// the next would diverge too.
    pub fn learn(
        &mut self,
        block: &Samples,
        mut observer: impl FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<Stop> {
        self.check_samples(block)?;
        self.update.check(self.task.residual())?;
        let s = self.blocks_learned + 1;
        let mut worst = Stop::Converged;
        let mut warm: Option<State> = None;
        for from in (0..block.len()).step_by(self.batch) {
            let x = block.range(from..(from + self.batch).min(block.len()));
            // Inference: nu_k by exchange with the neighbours, y_k from it.
            let mut run = match warm.take() {
                Some(state) if state.samples == x.len() => Run::start_warm(self, &x, state)?,
                _ if self.warm_start => Run::start(self, &x)?,
                _ => Run::start_reduced(self, &x)?,
            };
            let found = self.in_pool(|| {
                let stop = run.until(&self.stopping);
                run.found_with(stop, Duals::OfAgentsThatFired)
            });
            let mut stop = found.stop;
            if self.warm_start {
                warm = Some(run.into_state()?);
            }
            // Update: each agent alone.
            let movement = match stop {
                Stop::Converged | Stop::RoundLimit => {
                    self.samples_learned += x.len() as u64;
                    self.blocks_learned = s;
                    self.update(&found, s)
                }
                Stop::Diverged | Stop::Infeasible => 0.0,
            };
            if !movement.is_finite() {
                stop = Stop::Diverged; // the step of the update is beyond all numbers
            }
            worst = worst.worse(stop);
            let event = Event {
                samples: self.samples_learned,
                batch: x.len(),
                rounds: found.rounds,
                bytes: found.bytes,
                stop,
                infeasible: found.infeasible.first().map(|j| from + j),
                cost: found.mean_cost(),
                sparsity: found.mean_sparsity(),
                movement,
            };
            if observer(&event).is_break() || stop == Stop::Diverged {
                break;
            }
        }
        Ok(worst)
    }

    /// Every agent updates its atoms from its own nu_k and y_k; returns |W_new - W_old|_F.
    fn update(&mut self, inference: &Inference, s: usize) -> f64 {
        let (update, residual) = (&self.update, self.task.residual());
        let moved: Vec<f64> = self
            .agents
            .par_iter_mut()
            .zip(&inference.duals)
            .zip(&inference.codes)
            .map(|((agent, nu), y)| {
                let Agent {
                    task, block, used, ..
                } = agent;
                update_block(update, s, residual, task, nu, y, block, used)
            })
            .collect();
        moved.iter().map(|m| m * m).sum::<f64>().sqrt()
    }

    /// The whole problem solved in one place over all blocks, with a certificate.
    pub fn exact(&self, x: &Samples) -> Result<Exact> {
        self.check_samples(x)?;
        let parts = self.parts();
        self.in_pool(|| exact::solve(self.task.residual(), &parts, x, exact::TOLERANCE))
    }

    /// The dual vectors of [`exact`](Mesh::exact) without their certificates, and the worst ending.
    pub(crate) fn exact_duals(&self, x: &Samples) -> Result<(Matrix, Stop)> {
        self.check_samples(x)?;
        let parts = self.parts();
        self.in_pool(|| exact::duals(self.task.residual(), &parts, x))
    }

    fn parts(&self) -> Vec<Part<'_>> {
        (self.agents.iter())
            .map(|agent| Part {
                block: &agent.block,
                task: &agent.task,
            })
            .collect()
    }

    /// What every agent believes the cost of each sample to be after they agreed by plain averaging,
    /// N x B. It is N g_k, the sum of -J_k over all agents, so that thresholds survive growth.
    pub fn agree(&self, inference: &Inference) -> Result<Matrix> {
        self.check_inference(inference)?;
        Ok(self.average(&inference.local_costs))
    }

    fn check_inference(&self, inference: &Inference) -> Result<()> {
        Error::check_dimension(
            "agents of the inference (was it made before the mesh changed?)",
            inference.local_costs.len(),
            self.agents.len(),
        )
    }

    /// N g_k of each agent for each sample, N x B.
    fn average(&self, local_costs: &[Vec<f64>]) -> Matrix {
        let n = self.agents.len();
        let averaging = self
            .averaging
            .get_or_init(|| agreement::averaging(&self.weights, self.agreement_rounds()));
        let samples = local_costs.first().map_or(0, Vec::len);
        let scaled = Matrix::from_fn(n, samples, |k, j| -(n as f64) * local_costs[k][j]);
        averaging.transpose_times(&scaled)
    }

    /// The rounds of plain averaging after which the agents agree to 1e-12 of what they start from.
    /// They exchange one number a sample in each.
    pub fn agreement_rounds(&self) -> usize {
        agreement::rounds_to_agree(self.mixing.gap, 1e-12)
    }

    /// The same by the paper's scalar diffusion with step `mu_g`.
    pub fn agree_by_diffusion(
        &self,
        inference: &Inference,
        mu_g: f64,
        rounds: usize,
    ) -> Result<Matrix> {
        if !(mu_g > 0.0 && mu_g < 2.0) {
            return Err(Error::parameter(
                "mu_g",
                mu_g,
                "must be above 0 and below 2, or the scalar diffusion diverges",
            ));
        }
        self.check_inference(inference)?;
        let (n, local) = (self.agents.len(), &inference.local_costs);
        let samples = inference.costs.len();
        let mut out = Matrix::zeros(n, samples);
        for j in 0..samples {
            let costs: Vec<f64> = local.iter().map(|c| c[j]).collect();
            let agreed = agreement::scalar_diffusion(&self.weights, &costs, mu_g, rounds);
            for (out, g) in out.column_mut(j).iter_mut().zip(agreed) {
                *out = n as f64 * g;
            }
        }
        Ok(out)
    }

    /// What all agents know, from which default steps follow.
    pub fn common(&self) -> Common {
        let delta = self
            .agents
            .iter()
            .map(|agent| agent.task.regularizer().strong_convexity())
            .fold(f64::INFINITY, f64::min);
        Common {
            agents: self.agents.len(),
            rows: self.rows,
            atoms: self.atoms(),
            atoms_max: self.agents.iter().map(|a| a.block.len()).max().unwrap_or(0),
            delta,
            curvature: self.task.residual().conjugate_curvature(),
            weights_smallest: self.mixing.smallest,
            non_negative: self.agents.iter().all(|a| a.task.set().is_non_negative()),
            mean_degree: 2.0 * self.topology.edges().len() as f64 / self.agents.len() as f64,
            spectrum: self.spectrum,
        }
    }

    /// The bounds on diffusion's step: the paper's table, and the exact minimum over the agents.
    pub fn step_bounds(&self) -> (f64, f64) {
        (
            diffusion::step_bound(&self.common()),
            diffusion::exact_step_bound((0..self.agents.len()).map(|k| self.local(k, None, 0))),
        )
    }

    /// What works but may not be meant.
    pub fn warnings(&self) -> Vec<Warning> {
        let (table, exact) = self.step_bounds();
        // The region of stability relative to diffusion's, which is 1/sigma_k.
        let (mu, factor) = match self.strategy {
            StrategySpec::Diffusion { mu } => (mu, 1.0),
            StrategySpec::Consensus { mu } => (mu, consensus::stability(&self.common())),
            StrategySpec::ExactDiffusion { mu } => (mu, 2.0),
            StrategySpec::JacobiAdmm { .. } | StrategySpec::RelaxedAdmm { .. } => (None, 1.0),
        };
        match mu {
            Some(mu) if mu > factor * exact => vec![Warning::StepAboveBound {
                strategy: self.strategy.name(),
                mu,
                table: factor * table,
                exact: factor * exact,
            }],
            _ => Vec::new(),
        }
    }

    /// What agent `k` knows of a batch; `share` is b = x/|N_I|, for the informed.
    fn local<'a>(&'a self, k: AgentId, share: Option<&'a Matrix>, samples: usize) -> Local<'a> {
        let agent = &self.agents[k];
        Local {
            residual: self.task.residual(),
            task: &agent.task,
            block: &agent.block,
            agents: self.agents.len(),
            share: share.filter(|_| agent.informed),
            degree: self.topology.degree(k),
            samples,
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

    fn blocks(&self) -> Vec<&Block> {
        self.agents.iter().map(|agent| &agent.block).collect()
    }

    /// Runs in the mesh's own pool of threads, if it has one.
    fn in_pool<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
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
    pub fn strategy(&self) -> &StrategySpec {
        &self.strategy
    }

    /// Changes the strategy.
    pub fn set_strategy(&mut self, strategy: StrategySpec) -> Result<()> {
        strategy.check(self.task.residual(), self.weights.is_symmetric())?;
        strategy.resolve(&self.common())?;
        self.strategy = strategy;
        Ok(())
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

    /// How agent `k`'s atoms were used.
    pub fn atom_use(&self, k: AgentId) -> &AtomUse {
        &self.agents[k].used
    }

    /// How many blocks were learned.
    pub fn blocks_learned(&self) -> usize {
        self.blocks_learned
    }

    /// All atoms side by side, M x K: for whoever is allowed to see them.
    pub fn dictionary(&self) -> Matrix {
        let mut all = Vec::with_capacity(self.rows * self.atoms());
        for agent in &self.agents {
            all.extend_from_slice(agent.block.atoms().as_slice());
        }
        Matrix::from_fn(self.rows, self.atoms(), |i, j| all[j * self.rows + i])
    }
}
