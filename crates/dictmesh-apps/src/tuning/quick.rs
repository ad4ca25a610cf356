//! A dictionary learned quickly, to judge settings by.

use crate::progress::{report, Observer, Progress};
use dictmesh::accel::Accels;
use dictmesh::problem::TaskSpec;
use dictmesh::{AtomInit, Error, Mesh, Result, Samples, Stop, Stopping, Topology, Update};
use std::ops::ControlFlow;

/// Number of samples that a quick dictionary learns from, repeats included, and the same in numbers
/// for long samples. With fewer, the true number of atoms is judged before the atoms are found.
const SEEN: usize = 40_000;
const NUMBERS: usize = 40_000_000;
/// Maximum number of passes.
const MOST_PASSES: usize = 30;
/// Default batch: a twentieth of the samples, at most this many.
const MOST_BATCH: usize = 256;

/// Settings of a dictionary that one agent learns. The distribution of atoms over agents changes
/// the cost of learning, not the result.
#[derive(Clone, Debug)]
pub struct QuickLearning {
    /// The problem.
    pub task: TaskSpec,
    /// Samples per update; `None`: a twentieth of the samples, at most 256.
    pub batch: Option<usize>,
    /// Passes over the samples, at least 1; `None`: about 40,000 samples in all, at most 30 passes.
    pub passes: Option<usize>,
    /// The dictionary update; `None`: adaptive, forgetting a factor e in each pass.
    pub update: Option<Update>,
    /// Stopping rule of the inference.
    pub stopping: Stopping,
    /// The speed-ups.
    pub accels: Accels,
    /// Seed of all random draws.
    pub seed: u64,
    /// Number of threads; `None`: all of the current pool.
    pub threads: Option<usize>,
}

impl Default for QuickLearning {
    /// The sparse SVD with gamma = delta = .1.
    fn default() -> Self {
        QuickLearning {
            task: TaskSpec::sparse_svd(0.1, 0.1),
            batch: None,
            passes: None,
            update: None,
            stopping: Stopping::default(),
            accels: Accels::all(),
            seed: 0,
            threads: None,
        }
    }
}

impl QuickLearning {
    /// The same with another gamma.
    pub fn with_gamma(&self, gamma: f64) -> Self {
        let mut new = self.clone();
        let regularizer = &mut new.task.common.regularizer;
        *regularizer = regularizer.clone().with_number("gamma", gamma);
        new
    }

    /// A mesh of one agent with `atoms` atoms that has learned from `x`.
    ///
    /// Errors: invalid settings, no samples, and learning that diverges or has no feasible code.
    pub fn learn(&self, atoms: usize, x: &Samples, observer: &mut Observer<'_>) -> Result<Mesh> {
        if x.is_empty() || x.rows() == 0 {
            return Err(Error::Empty {
                what: "the data to learn from",
                need: "at least one sample with one feature",
            });
        }
        let numbers = x.rows().checked_mul(atoms);
        Error::check_room("atoms", atoms, numbers)?;
        let batch = self.batch.unwrap_or((x.len() / 20).clamp(1, MOST_BATCH));
        // What the atoms of the last pass coded is forgotten in this one.
        let forgetting = (-(batch as f64) / x.len() as f64).exp();
        let mut builder = Mesh::builder(self.task.build()?, Topology::complete(1)?)
            .stopping(self.stopping)
            .accels(self.accels.clone())
            .update(self.update.unwrap_or(Update::Adaptive { forgetting }))
            .batch(batch)
            .seed(self.seed);
        if let Some(threads) = self.threads {
            builder = builder.threads(threads);
        }
        let mut mesh = builder.build(x.rows(), &[atoms], AtomInit::Samples(x))?;
        let seen = SEEN.min(NUMBERS / x.rows());
        let usual = (seen / x.len()).clamp(1, MOST_PASSES);
        let passes = self.passes.unwrap_or(usual);
        if passes == 0 {
            return Err(Error::parameter("passes", 0, "must be at least 1"));
        }
        let total = passes.saturating_mul(x.len());
        for pass in 0..passes {
            let mut flow = Ok(());
            let stop = mesh.learn(x, |event| {
                let progress = Progress {
                    phase: "learning",
                    done: event.samples as usize,
                    total,
                    cost: Some(event.cost),
                };
                flow = report(observer, progress);
                match flow {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            })?;
            flow?;
            check(stop, x, &mesh)?;
            // An atom without a use starts anew from the samples.
            if pass == 0 && passes > 1 {
                mesh.restart_atoms(&mesh.unused_atoms(), AtomInit::Samples(x))?;
            }
        }
        Ok(mesh)
    }
}

/// The sum of squares of larger entries may overflow.
const LARGE: f64 = 1e150;

fn check(stop: Stop, x: &Samples, mesh: &Mesh) -> Result<()> {
    let entries = (0..x.len()).flat_map(|j| x.entries(j));
    match stop {
        Stop::Diverged => {
            let largest = entries.fold(0.0, |most: f64, (_, v)| most.max(v.abs()));
            Err(match largest > LARGE {
                true => Error::parameter(
                    "the largest entry of the samples",
                    format!("{largest:.0e}"),
                    "its square overflows: scale the samples to norm 1",
                ),
                false => Error::Diverged {
                    strategy: mesh.strategy().name(),
                },
            })
        }
        Stop::Infeasible => Err(Error::Unsupported {
            what: "learning".into(),
            with: "these samples".into(),
            why: stop.to_string(),
        }),
        _ => Ok(()),
    }
}
