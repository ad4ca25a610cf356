//! Distributed biclustering: Alg. 4 of the paper.
//!
//! X (M x T; in the paper patients x genes) is decomposed into sparse layers,
//!
//! ```text
//! X = sum_k w_k y_k',    |w_k|_2 <= 1,
//! min over W of (1/T) sum_t [ min_y 1/2 |x_t - W y|^2 + gamma |y|_1 + delta/2 |y|^2 ] + beta |W|_1
//! ```
//!
//! where agent k learns w_k from the columns of X as they arrive. A layer's rows are those with
//! `[w_k]_m != 0`, its columns those with `[y_k]_t != 0`. After coding x_t, agent k updates its own
//! atom:
//!
//! ```text
//! w_k <- Proj_{|w| <= 1} { T_{mu_w beta} ( w_k + mu_w nu_k y_k ) }
//! ```
//!
//! (The paper prints T_beta, which sets every atom to zero; T_{mu_w beta} is the prox of its text.)
//!
//! Unlike the baseline [`ssvd`](super::ssvd), Alg. 4 learns from batches of columns and needs no
//! agent that holds all of X.
//!
//! Sign and order of layers are conventions: the entry of w_k of largest absolute value is
//! positive, and layers are sorted by decreasing weight |y_k|_2.

mod layers;
mod method;
mod start;

pub use layers::{row_coordinates, Bicluster, Biclusters};
pub use method::{classify_rows, Layers, Method, RowClasses};
pub use start::Prepare;

use super::{default_strategy, in_one_process, AtomsFrom};
use dictmesh::graph::{Topology, WeightRule};
use dictmesh::mesh::{AtomInit, Update};
use dictmesh::mesh::{Event, Mesh, Stopping};
use dictmesh::problem::samples::Samples;
use dictmesh::problem::task::{Task, PAPER_BICLUSTERING};
use dictmesh::random::stream;
use dictmesh::strategy::{Diffusion, Strategy};
use dictmesh::Stop;
use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::{axpy, norm, Matrix};
use rand::seq::SliceRandom;
use rand::RngExt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Settings. gamma is a threshold on w'x, in the units of X. beta is a threshold on x y averaged
/// over all columns.
#[derive(Clone, Debug)]
pub struct Biclustering {
    /// N, the number of layers and of agents, each with one atom; at least 1.
    pub layers: usize,
    /// The weight of |y|_1, which makes layers sparse in columns.
    pub gamma: f64,
    /// The weight of |y|^2 / 2, above 0.
    pub delta: f64,
    /// The weight of |W|_1, which makes layers sparse in rows.
    pub beta: f64,
    /// Preprocessing of X.
    pub prepare: Prepare,
    /// The inference strategy, on a complete graph with a_lk = 1/N.
    pub strategy: Arc<dyn Strategy>,
    /// Stopping rule of the inference.
    pub stopping: Stopping,
    /// The dictionary update.
    pub update: Update,
    /// Columns per update, at least 1; clamped to T.
    pub batch: usize,
    /// Maximum number of passes over the columns, at least 1.
    pub passes: usize,
    /// Whether each pass visits the columns in a new random order, fixed by the seed. A pass then
    /// holds a second copy of X. Otherwise, columns sorted by group form batches in which most
    /// atoms rarely fire. The penalty sets those atoms to zero before their own columns arrive.
    pub shuffle: bool,
    /// Learning stops after a pass with |W_new - W_old|_F at most this.
    pub rest: f64,
    /// Initial atoms. From samples: columns drawn with probability proportional to their squared
    /// residual after projection onto the columns already drawn, because most columns may be noise.
    pub start: AtomsFrom,
    /// Number of restarts, at least 1. The one with the lowest objective is returned; labels are
    /// never used.
    pub restarts: usize,
    /// Seed of the restarts and of the column order.
    pub seed: u64,
}

impl Default for Biclustering {
    /// Standardised columns, five layers, coding to a tolerance, atoms initialised from columns,
    /// ten passes with the step of [`Update::Adaptive`], the best of three restarts. In a
    /// standardised noise column, w'x has standard deviation 1, so gamma = 2 excludes most of them
    /// from a layer.
    ///
    /// Sparse rows need large batches. With one column per update, gradient noise refills the zeros
    /// of w_k. An adaptive step then also sets atoms to zero, because its first steps, and with
    /// them the threshold, are very large.
    fn default() -> Self {
        Biclustering {
            layers: 5,
            gamma: 2.0,
            delta: 0.1,
            beta: 0.03,
            prepare: Prepare::Standardise,
            strategy: default_strategy(),
            stopping: Stopping::default(),
            update: Update::Adaptive { forgetting: 0.8 },
            batch: 512,
            passes: 10,
            shuffle: true,
            rest: 1e-2,
            start: AtomsFrom::Samples,
            restarts: 3,
            seed: 0,
        }
    }
}

impl Biclustering {
    /// The paper's constants: N = 3, gamma = .5, delta = .01, beta = .01, mu_w = 5e-3, diffusion
    /// with mu = .01 for 2000 rounds, random atoms, one pass, one column per update. The step
    /// slightly exceeds the paper's own bound of .0099; see [`Mesh::warnings`].
    pub fn paper() -> Self {
        let (gamma, delta, beta) = PAPER_BICLUSTERING;
        Biclustering {
            layers: 3,
            gamma,
            delta,
            beta,
            prepare: Prepare::Nothing,
            strategy: Arc::new(Diffusion { mu: Some(0.01) }),
            stopping: Stopping::rounds(2000),
            update: Update::Constant { mu_w: 5e-3 },
            batch: 1,
            passes: 1,
            shuffle: false,
            rest: 0.0,
            start: AtomsFrom::Random,
            restarts: 1,
            ..Biclustering::default()
        }
    }

    /// The layers of `x` (M x T, one sample per column). The observer receives an event for each
    /// update of each restart. If it breaks, the current atoms are used for the final coding and
    /// the result is returned.
    ///
    /// Errors: invalid settings, an empty matrix, entries that are not finite or whose squares
    /// overflow.
    pub fn run(
        &self,
        x: &Matrix,
        mut observer: impl FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<Biclusters> {
        self.check()?;
        if x.rows() == 0 || x.cols() == 0 {
            return Err(Error::Empty {
                what: "the matrix to bicluster",
                need: "at least one row and one column",
            });
        }
        Error::check_finite("the matrix to bicluster", x)?;
        let prepared = self.prepare.apply(x);
        check_squares(&prepared)?;
        let samples = Samples::dense(prepared)?;
        let (mut best, mut left): (Option<Biclusters>, bool) = (None, false);
        let mut objectives = Vec::new();
        for restart in 0..self.restarts {
            let mut mesh = self.mesh(&samples, restart)?;
            let stop = self.learn(&mut mesh, &samples, |event| {
                let flow = observer(event);
                left |= flow.is_break();
                flow
            })?;
            let found = self.layers_of(mesh, &samples, stop)?;
            objectives.push(found.objective);
            let better = |b: &Biclusters| b.objective.is_nan() || found.objective < b.objective;
            if best.as_ref().is_none_or(better) {
                best = Some(found);
            }
            if left {
                break;
            }
        }
        let mut best = best.ok_or_else(|| Error::parameter("restarts", 0, "must be at least 1"))?;
        best.objectives = objectives;
        Ok(best)
    }

    /// The mesh of one restart: N agents with one atom each on a complete graph.
    pub fn mesh(&self, x: &Samples, restart: usize) -> Result<Mesh> {
        let task = Task::biclustering(self.gamma, self.delta, self.beta)?;
        let graph = Topology::complete(self.layers)?;
        let numbers = x.rows().checked_mul(self.layers);
        Error::check_room("layers", self.layers, numbers)?;
        // Derived seeds, so that neighbouring values of `seed` share no restart.
        let seed = stream(self.seed, RESTART_STREAM + restart as u64).random();
        let drawn;
        let start = match self.start {
            AtomsFrom::Random => AtomInit::Random,
            AtomsFrom::Samples => {
                drawn = start::spread_columns(x, self.layers, seed);
                AtomInit::Given(&drawn)
            }
        };
        Mesh::builder(task, graph)
            .weights(WeightRule::Uniform)
            .strategy(in_one_process(&self.strategy))
            .stopping(self.stopping)
            .update(self.update)
            .batch(self.batch.min(x.len().max(1)))
            .seed(seed)
            .build(x.rows(), &vec![1; self.layers], start)
    }

    /// Passes over all columns until the atoms converge; returns the worst stop reason of the
    /// inference.
    fn learn(
        &self,
        mesh: &mut Mesh,
        x: &Samples,
        mut observer: impl FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<Stop> {
        let mut worst = Stop::Converged;
        let mut order: Vec<usize> = (0..x.len()).collect();
        let mut rng = stream(mesh.seed(), SHUFFLE_STREAM);
        for _ in 0..self.passes {
            let shuffled;
            let columns = if self.shuffle {
                order.shuffle(&mut rng);
                shuffled = x.select(&order);
                &shuffled
            } else {
                x
            };
            let (before, mut left) = (mesh.dictionary(), false);
            let stop = mesh.learn(columns, |event| {
                let flow = observer(event);
                left = flow.is_break();
                flow
            })?;
            worst = worst.worse(stop);
            let mut moved = mesh.dictionary();
            axpy(-1.0, before.as_slice(), moved.as_mut_slice());
            let over = matches!(stop, Stop::Diverged | Stop::Interrupted);
            if left || over || norm(moved.as_slice()) <= self.rest {
                break;
            }
        }
        Ok(worst)
    }

    /// Codes all columns with the final atoms.
    fn layers_of(&self, mesh: Mesh, x: &Samples, stop: Stop) -> Result<Biclusters> {
        let mut stop = stop;
        let mut cost = 0.0;
        let mut codes = vec![Vec::with_capacity(x.len()); self.layers];
        for from in (0..x.len()).step_by(CODED_AT_A_TIME) {
            let inference = mesh.infer(&x.range(from..(from + CODED_AT_A_TIME).min(x.len())))?;
            stop = stop.worse(inference.stop);
            cost += inference.costs.iter().sum::<f64>();
            for (y, own) in codes.iter_mut().zip(&inference.codes) {
                y.extend_from_slice(own.as_slice());
            }
        }
        let mut objective = cost / x.len() as f64;
        let mut layers = Vec::with_capacity(self.layers);
        for (agent, mut y) in codes.into_iter().enumerate() {
            let mut w = mesh.block(agent).atoms().column(0).to_vec();
            objective += mesh.task().local(agent).penalty().value(&w);
            let largest = w
                .iter()
                .fold(0.0, |a: f64, v| if v.abs() > a.abs() { *v } else { a });
            if largest < 0.0 {
                w.iter_mut().chain(&mut y).for_each(|v| *v = -*v);
            }
            let weight = norm(&y);
            layers.push(Bicluster {
                agent,
                w,
                y,
                weight,
            });
        }
        layers.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        Ok(Biclusters {
            layers,
            objective,
            objectives: Vec::new(),
            stop,
            mesh,
        })
    }

    fn check(&self) -> Result<()> {
        Error::check_not_negative("rest", self.rest)?;
        if self.restarts > MOST_RESTARTS {
            let allowed = format!("must be 1 to {MOST_RESTARTS}; each restart learns anew");
            return Err(Error::parameter("restarts", self.restarts, allowed));
        }
        for (name, given) in [
            ("layers", self.layers),
            ("batch", self.batch),
            ("passes", self.passes),
            ("restarts", self.restarts),
        ] {
            if given == 0 {
                return Err(Error::parameter(name, 0, "must be at least 1"));
            }
        }
        Ok(())
    }
}

/// Checks that the sum of squared entries is finite, as the cost requires.
pub fn check_squares(x: &Matrix) -> Result<()> {
    let squares: f64 = x.as_slice().iter().map(|v| v * v).sum();
    if squares.is_finite() {
        return Ok(());
    }
    let largest = x.as_slice().iter().fold(0.0, |a: f64, v| a.max(v.abs()));
    Err(Error::parameter(
        "the largest entry of the matrix",
        largest,
        "its square overflows: scale the matrix, or standardise its columns",
    ))
}

/// Maximum number of restarts. Three suffice on the paper's data.
const MOST_RESTARTS: usize = 1000;

/// First random stream of the restart seeds ("rest" in ASCII).
const RESTART_STREAM: u64 = 0x72_65_73_74 << 16;

/// Random stream of a restart that shuffles the columns ("order" in ASCII).
const SHUFFLE_STREAM: u64 = 0x6f_72_64_65_72;

/// Columns per batch of the final coding; limits its memory.
const CODED_AT_A_TIME: usize = 256;
