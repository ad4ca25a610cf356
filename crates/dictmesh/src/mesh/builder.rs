use super::{Agent, Mesh, Progress, Stopping, MOST_AGENTS};
use crate::accel::{Accel, Accels};
use crate::error::{Error, Result};
use crate::graph::AgentId;
use crate::graph::{Topology, WeightRule, Weights};
use crate::mesh::{AtomInit, AtomStats, Update};
use crate::problem::block::{stores_grams, Block};
use crate::problem::task::Task;
use crate::random;
use crate::strategy::{self, Strategy};
use std::sync::Arc;

const MAX_THREADS: usize = 1024;

/// Options of a [`Mesh`]; each has a default.
#[derive(Clone, Debug)]
pub struct MeshBuilder {
    task: Task,
    topology: Topology,
    rule: WeightRule,
    strategy: Arc<dyn Strategy>,
    stopping: Stopping,
    warm_start: bool,
    accels: Accels,
    update: Update,
    batch: usize,
    seed: u64,
    informed: Option<Vec<AgentId>>,
    threads: Option<usize>,
}

impl MeshBuilder {
    pub(super) fn new(task: Task, topology: Topology) -> Self {
        MeshBuilder {
            task,
            topology,
            rule: WeightRule::Metropolis,
            strategy: strategy::default(),
            stopping: Stopping::default(),
            warm_start: false,
            accels: Accels::all(),
            update: Update::default(),
            batch: 1,
            seed: 0,
            informed: None,
            threads: None,
        }
    }

    /// The combination weights; Metropolis by default.
    pub fn weights(mut self, rule: WeightRule) -> Self {
        self.rule = rule;
        self
    }

    /// The inference strategy; [`Auto`](strategy::Auto) by default.
    pub fn strategy(mut self, strategy: Arc<dyn Strategy>) -> Self {
        self.strategy = strategy;
        self
    }

    /// The stopping rule of one batch.
    pub fn stopping(mut self, stopping: Stopping) -> Self {
        self.stopping = stopping;
        self
    }

    /// Whether learning warm-starts each batch from the final iterates of the previous one instead
    /// of nu = 0.
    pub fn warm_start(mut self, warm: bool) -> Self {
        self.warm_start = warm;
        self
    }

    /// The speed-ups; all built-in ones by default. Results agree up to rounding, within the bounds
    /// of [`accel`](crate::accel).
    pub fn accels(mut self, accels: Accels) -> Self {
        self.accels = accels;
        self
    }

    /// Adds a speed-up, which takes precedence over the others.
    pub fn accel(mut self, accel: Arc<dyn Accel>) -> Self {
        self.accels = self.accels.with(accel);
        self
    }

    /// The dictionary update; `adaptive` by default.
    pub fn update(mut self, update: Update) -> Self {
        self.update = update;
        self
    }

    /// Samples per update; 1 by default, as in the paper.
    pub fn batch(mut self, batch: usize) -> Self {
        self.batch = batch;
        self
    }

    /// The seed of all random numbers; 0 by default.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The informed agents N_I, which receive the samples; all by default.
    pub fn informed(mut self, agents: &[AgentId]) -> Self {
        self.informed = Some(agents.to_vec());
        self
    }

    /// The number of threads; all cores by default. Results do not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Builds a mesh for samples of dimension `rows`, with `sizes[k]` atoms at agent k. An agent
    /// with 0 atoms only relays or observes.
    pub fn build(self, rows: usize, sizes: &[usize], start: AtomInit<'_>) -> Result<Mesh> {
        let (mut mesh, informed) = self.without_agents(rows, sizes)?;
        let mut rng = random::stream(mesh.seed, mesh.next_draw());
        for (k, atoms) in deal(rows, sizes, start, &mesh.task, &mut rng)?
            .into_iter()
            .enumerate()
        {
            mesh.agents.push(Agent {
                task: mesh.task.local(k).clone(),
                stats: AtomStats::fresh(atoms.cols()),
                block: Block::without_gram(atoms)?,
                informed: informed[k],
            });
        }
        mesh.share_gram_budget()?;
        mesh.strategy = mesh.chosen(mesh.strategy.clone())?;
        Ok(mesh)
    }

    /// A mesh without agents, after checking every option, and one flag per agent, true if it is
    /// informed.
    pub(super) fn without_agents(self, rows: usize, sizes: &[usize]) -> Result<(Mesh, Vec<bool>)> {
        let n = self.topology.agents();
        check_sizes(n, rows, sizes)?;
        if self.batch == 0 {
            return Err(Error::parameter("batch", 0, "must be 1 or more"));
        }
        let informed = informed_flags(n, self.informed.as_deref())?;
        for (k, size) in sizes.iter().enumerate() {
            self.task.local(k).regularizer().check_atoms(*size)?;
        }
        self.stopping.check()?;
        self.update.check_constants()?;
        let weights = Weights::new(&self.topology, &self.rule)?;
        self.strategy
            .check(self.task.residual(), weights.is_symmetric())?;
        let mesh = Mesh {
            spectrum: self.topology.spectrum(),
            mixing: weights.mixing(),
            averaging: Default::default(),
            weights,
            task: self.task,
            topology: self.topology,
            rule: self.rule,
            agents: Vec::with_capacity(n),
            rows,
            strategy: self.strategy,
            stopping: self.stopping,
            warm_start: self.warm_start,
            accels: self.accels,
            update: self.update,
            batch: self.batch,
            seed: self.seed,
            progress: Progress::default(),
            pool: self.threads.map(pool).transpose()?,
            scratch: Default::default(),
            interrupt: None,
        };
        Ok((mesh, informed))
    }
}

/// `Ok` if a mesh can have these sizes.
fn check_sizes(n: usize, rows: usize, sizes: &[usize]) -> Result<()> {
    Error::check_dimension("number of block sizes (one per agent)", sizes.len(), n)?;
    if rows == 0 {
        return Err(Error::Empty {
            what: "the sample",
            need: "a sample has at least one row",
        });
    }
    check_agents(n)?;
    let total = sizes.iter().try_fold(0_usize, |sum, n| sum.checked_add(*n));
    // Counts the atoms, and each agent's W'W if it is stored.
    let stored = stores_grams(sizes.iter().copied(), rows);
    let numbers = total.and_then(|total| {
        let atoms = total.checked_mul(rows)?;
        let of_gram = |n: usize| if stored { n.checked_mul(n) } else { Some(0) };
        (sizes.iter()).try_fold(atoms, |sum, n| sum.checked_add(of_gram(*n)?))
    });
    let given = total.map_or_else(|| format!("{sizes:?}"), |total| total.to_string());
    Error::check_room("atoms", format!("{given}, of dimension {rows}"), numbers)?;
    if total == Some(0) {
        return Err(Error::parameter(
            "K",
            0,
            "the mesh needs at least one atom: give some agent a block size of 1 or more",
        ));
    }
    Ok(())
}

/// `Ok` if a mesh in one process can have `n` agents.
pub(super) fn check_agents(n: usize) -> Result<()> {
    if n <= MOST_AGENTS {
        return Ok(());
    }
    Err(Error::parameter(
        "agents",
        n,
        format!(
            "a mesh in one process has at most {MOST_AGENTS}: it computes the spectrum of the \
             whole graph; give each agent more atoms instead"
        ),
    ))
}

fn pool(threads: usize) -> Result<Arc<rayon::ThreadPool>> {
    let refused = |why| Error::parameter("threads", threads, why);
    if !(1..=MAX_THREADS).contains(&threads) {
        let allowed = format!("must be 1 to {MAX_THREADS}; leave it out for all cores");
        return Err(refused(allowed));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build()
        .map(Arc::new)
        .map_err(|e| refused(e.to_string()))
}

/// Separates the agents' own random numbers from all others of a seed ("own" in ASCII).
const OWN: u64 = 0x6f_77_6e;

impl Mesh {
    /// Agent `k`'s own random numbers for the inference of the next batch. Streams differ between
    /// batches and agents, since k < [`MOST_AGENTS`].
    pub(super) fn own(&self, k: AgentId) -> random::Rng {
        let batch = self
            .progress
            .samples_learned
            .wrapping_mul(MOST_AGENTS as u64);
        random::stream(self.seed ^ OWN, batch.wrapping_add(k as u64))
    }

    /// The stream for the next random draw.
    pub(super) fn next_draw(&mut self) -> u64 {
        self.progress.draws += 1;
        self.progress.draws
    }
}

/// The initial atoms of each agent, projected onto its own set. No sample initialises two atoms.
fn deal(
    rows: usize,
    sizes: &[usize],
    start: AtomInit<'_>,
    task: &Task,
    rng: &mut random::Rng,
) -> Result<Vec<crate::Matrix>> {
    let mut blocks = start.draw_blocks(rows, sizes, task.common().set(), rng)?;
    for (k, atoms) in blocks.iter_mut().enumerate() {
        let set = task.local(k).set();
        (0..atoms.cols()).for_each(|q| start.fit(set, atoms.column_mut(q)));
    }
    Ok(blocks)
}

/// One flag per agent: whether it is informed.
pub(crate) fn informed_flags(n: usize, informed: Option<&[AgentId]>) -> Result<Vec<bool>> {
    let Some(list) = informed else {
        return Ok(vec![true; n]);
    };
    if list.is_empty() {
        return Err(Error::Empty {
            what: "the set of informed agents",
            need: "at least one agent must receive the samples",
        });
    }
    let mut flags = vec![false; n];
    for &k in list {
        match flags.get_mut(k) {
            Some(flag) => *flag = true,
            None => {
                return Err(Error::parameter(
                    "informed",
                    k,
                    format!("agents are numbered from 0 to {}", n - 1),
                ))
            }
        }
    }
    Ok(flags)
}
