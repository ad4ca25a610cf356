//! A planted dictionary, learned by a mesh, and a comparison of strategies.

mod matching;
mod planted;

pub use matching::{Match, RECOVERED};
pub use planted::{Planted, ATOMS, COHERENCE, NOISE, PIXELS, SIDE};

use crate::progress::{report, Observer, Progress};
use dictmesh::mesh::Run;
use dictmesh::problem::Task;
use dictmesh::strategy;
use dictmesh::{AtomInit, Error, Matrix, Mesh, Samples, Stop, Stopping, Topology, Update};
use std::ops::ControlFlow;

/// What the mesh learned, and what each strategy needed.
#[derive(Clone, Debug)]
pub struct DemoResult {
    /// The planted atoms, one a column.
    pub planted: Matrix,
    /// The learned atoms, one a column.
    pub recovered: Matrix,
    /// The agent of each learned atom.
    pub owner: Vec<usize>,
    /// The links of the mesh.
    pub edges: Vec<(usize, usize)>,
    /// For each agent whether it is informed; its length is the number of agents.
    pub informed: Vec<bool>,
    /// Samples in a mini-batch.
    pub batch: usize,
    /// Mean cost of a sample in each mini-batch.
    pub costs: Vec<f64>,
    /// Mean cost of held-out samples with the first atoms.
    pub cost_before: f64,
    /// The same samples with the learned atoms.
    pub cost_after: f64,
    /// The accuracy at which each strategy stops.
    pub target: f64,
    /// What the accuracy measures.
    pub measure: String,
    /// The limit of rounds of a strategy.
    pub round_limit: usize,
    /// One row for each strategy.
    pub strategies: Vec<StrategyRow>,
}

/// The rounds and bytes of one inference strategy.
#[derive(Clone, Debug)]
pub struct StrategyRow {
    /// The strategy's name.
    pub name: String,
    /// Rounds until the target; `None` at the round limit.
    pub rounds: Option<usize>,
    /// Bytes sent in these rounds by all agents.
    pub bytes: u64,
    /// The accuracy at the end.
    pub accuracy: f64,
}

const AGENTS: usize = 16;
const BATCH: usize = 32;
const SAMPLES: usize = 12_800;
const HELD_OUT: usize = 200;
const TARGET: f64 = 1e-3;
const ROUND_LIMIT: usize = 3_000;

impl DemoResult {
    /// Pairs of planted and learned atoms, best pair first; each atom is in at most one.
    pub fn matches(&self) -> Vec<Match> {
        matching::greedy(&self.planted, &self.recovered)
    }
}

/// Learns the planted dictionary of a seed and compares the strategies.
///
/// # Errors
/// [`Error::Interrupted`] if the observer breaks.
pub fn run(seed: u64, observer: &mut Observer<'_>) -> Result<DemoResult, Error> {
    let mut planted = Planted::new(seed);
    let held_out = Samples::dense(planted.next_batch(HELD_OUT))?;
    let first = Samples::dense(planted.next_batch(200))?;
    let topology = connected_graph(seed)?;
    let informed: Vec<usize> = (0..AGENTS).filter(|k| k % 4 == 0).collect();
    let mut mesh = Mesh::builder(Task::sparse_svd(0.2, 0.1)?, topology)
        .informed(&informed)
        .stopping(Stopping::tolerance(1e-2))
        .batch(BATCH)
        .update(Update::Adaptive { forgetting: 0.97 })
        .seed(seed)
        .build(PIXELS, &[ATOMS / AGENTS; AGENTS], AtomInit::Samples(&first))?;
    let mean = |mesh: &Mesh| -> Result<f64, Error> {
        let costs = mesh.exact(&held_out)?.certificates;
        Ok(costs.iter().map(|c| c.dual).sum::<f64>() / costs.len() as f64)
    };
    let cost_before = mean(&mesh)?;
    let total = SAMPLES / BATCH;
    let mut costs = Vec::with_capacity(total);
    for done in 0..total {
        let batch = Samples::dense(planted.next_batch(BATCH))?;
        mesh.learn(&batch, |event| {
            costs.push(event.cost);
            ControlFlow::Continue(())
        })?;
        let progress = Progress {
            phase: "learning",
            done: done + 1,
            total,
            cost: costs.last().copied(),
        };
        report(observer, progress)?;
        // Unused atoms restart from the current batch.
        if done % 50 == 49 && done + 100 < total {
            mesh.restart_atoms(&mesh.unused_atoms(), AtomInit::Samples(&batch))?;
        }
    }
    let cost_after = mean(&mesh)?;
    Ok(DemoResult {
        planted: planted.dictionary().clone(),
        recovered: mesh.dictionary(),
        owner: (0..ATOMS).map(|q| q / (ATOMS / AGENTS)).collect(),
        edges: mesh.topology().edges(),
        informed: (0..AGENTS).map(|k| mesh.is_informed(k)).collect(),
        batch: BATCH,
        costs,
        cost_before,
        cost_after,
        target: TARGET,
        measure: "relative error of the worst agent's dual vector".into(),
        round_limit: ROUND_LIMIT,
        strategies: compare(&mut mesh, &held_out.range(0..1), observer)?,
    })
}

/// The first connected random graph of a seed's series.
fn connected_graph(seed: u64) -> Result<Topology, Error> {
    let mut tries = 0;
    loop {
        match Topology::erdos_renyi(AGENTS, 0.25, seed.wrapping_add(tries)) {
            Err(Error::Disconnected { .. }) if tries < 1000 => tries += 1,
            other => return other,
        }
    }
}

/// Rounds and bytes of each strategy until all agents' nu are within the target of the exact one.
fn compare(
    mesh: &mut Mesh,
    x: &Samples,
    observer: &mut Observer<'_>,
) -> Result<Vec<StrategyRow>, Error> {
    let exact = mesh.exact(x)?.duals;
    let mut rows = Vec::new();
    for (done, name) in strategy::NAMES.into_iter().enumerate() {
        mesh.set_strategy(strategy::named(name)?)?;
        rows.push(match mesh.strategy().decides() {
            true => by_tolerance(mesh, x, &exact)?,
            false => by_rounds(mesh, x, &exact)?,
        });
        let total = strategy::NAMES.len();
        report(
            observer,
            Progress::steps("comparing strategies", done + 1, total),
        )?;
    }
    Ok(rows)
}

/// Gossip: the first round in which every agent's nu is within the target.
fn by_rounds(mesh: &Mesh, x: &Samples, exact: &Matrix) -> Result<StrategyRow, Error> {
    let mut run = mesh.run(x)?;
    let mut accuracy = f64::INFINITY;
    while run.rounds() < ROUND_LIMIT && accuracy > TARGET {
        run.round();
        accuracy = worst(&run, exact);
    }
    Ok(row(mesh, &run, accuracy))
}

/// A strategy that decides itself: the largest of a few tolerances that leads to the target.
fn by_tolerance(mesh: &Mesh, x: &Samples, exact: &Matrix) -> Result<StrategyRow, Error> {
    let mut tolerance = 10.0 * TARGET;
    loop {
        let mut run = mesh.run(x)?;
        let stop = run.until(&Stopping::tolerance(tolerance));
        let accuracy = worst(&run, exact);
        if accuracy <= TARGET || stop != Stop::Converged || tolerance < 1e-3 * TARGET {
            return Ok(row(mesh, &run, accuracy));
        }
        tolerance /= 2.0;
    }
}

fn row(mesh: &Mesh, run: &Run<'_>, accuracy: f64) -> StrategyRow {
    StrategyRow {
        name: mesh.strategy().name(),
        rounds: (accuracy <= TARGET).then_some(run.rounds()),
        bytes: run.bytes(),
        accuracy,
    }
}

fn worst(run: &Run<'_>, exact: &Matrix) -> f64 {
    run.duals()
        .map(|nu| relative_error(nu, exact))
        .fold(0.0, f64::max)
}

fn relative_error(nu: &Matrix, exact: &Matrix) -> f64 {
    let square = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
    let (a, b) = (nu.as_slice(), exact.as_slice());
    let error = square(&mut a.iter().zip(b).map(|(a, b)| a - b));
    (error / square(&mut b.iter().copied())).sqrt()
}
