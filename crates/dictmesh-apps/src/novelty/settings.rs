//! Settings of the detector, with the paper's and improved defaults.

use super::super::{default_strategy, in_one_process, AtomsFrom};
use super::{Growth, Join, NoveltyDetector};
use crate::coding::Method;
use dictmesh::graph::WeightRule;
use dictmesh::mesh::Update;
use dictmesh::mesh::{Mesh, Stopping};
use dictmesh::problem::samples::Samples;
use dictmesh::problem::TaskSpec;
use dictmesh::strategy::{Diffusion, Strategy};
use dictmesh::{Error, Result};
use std::sync::Arc;

/// How the agents agree on the cost of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Agreement {
    /// Averaging of the local costs, without bias.
    Average,
    /// The paper's scalar diffusion, with bias O(mu_g) on incomplete graphs.
    Diffusion {
        /// The step, above 0 and below 2.
        mu_g: f64,
        /// Number of rounds.
        rounds: usize,
    },
}

/// Minimum relative margin of the threshold: above rounding, below relevant differences in cost.
const LEAST_MARGIN: f64 = 1e-9;

/// The score above which a sample is novel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// A fixed score.
    Given(f64),
    /// A quantile, from 0 to 1, of the previous block's scores: at 0.95, about one familiar sample
    /// in twenty is flagged. The first block is scored after learning it, which biases its
    /// threshold downwards. Novel samples in a block raise the next threshold.
    Quantile(f64),
}

impl Default for Threshold {
    /// [`QUANTILE`](Threshold::QUANTILE) of the reference scores.
    fn default() -> Self {
        Threshold::Quantile(Threshold::QUANTILE)
    }
}

impl Threshold {
    /// The default quantile.
    pub const QUANTILE: f64 = 0.95;

    /// Errors: a NaN threshold, or a quantile outside 0 to 1.
    pub fn check(&self) -> Result<()> {
        match *self {
            Threshold::Given(chi) if chi.is_nan() => Err(Error::parameter(
                "threshold",
                chi,
                "must be a number to compare scores with",
            )),
            Threshold::Quantile(q) if !(0.0..=1.0).contains(&q) => Err(Error::parameter(
                "quantile",
                q,
                "must be a share of the reference scores, from 0 to 1",
            )),
            _ => Ok(()),
        }
    }

    /// The threshold chi; `None` for a quantile without reference scores.
    ///
    /// The quantile q is the smallest reference score with at least the fraction q of scores at or
    /// below it, plus a margin. The margin is needed because a sample's score depends on its batch
    /// within the tolerance. It is the relative `tolerance` of the scores (0 if exact), at least
    /// 1e-9.
    pub fn choose(&self, reference_scores: &[f64], tolerance: f64) -> Option<f64> {
        match *self {
            Threshold::Given(chi) => Some(chi),
            Threshold::Quantile(q) => {
                let mut known: Vec<f64> = reference_scores
                    .iter()
                    .copied()
                    .filter(|s| !s.is_nan())
                    .collect();
                known.sort_by(f64::total_cmp);
                // In floating point, .55 * 100 exceeds 55.
                let rank = (q * (1.0 - 1e-12) * known.len() as f64).ceil() as usize;
                let score = known.get(rank.saturating_sub(1))?;
                Some(score + score.abs() * tolerance.max(LEAST_MARGIN))
            }
        }
    }
}

/// Settings of the detector.
#[derive(Clone, Debug)]
pub struct Novelty {
    /// The cost of coding a sample. Samples should have norm 1.
    pub task: TaskSpec,
    /// Initial number of agents, at least 1.
    pub agents: usize,
    /// Atoms per initial agent, at least 1.
    pub atoms_each: usize,
    /// The neighbours of an agent, initially and when it joins later.
    pub join: Join,
    /// The combination weights.
    pub weights: WeightRule,
    /// The inference strategy.
    pub strategy: Arc<dyn Strategy>,
    /// Stopping rule of the inference.
    pub stopping: Stopping,
    /// The dictionary update.
    pub update: Update,
    /// Samples per update, at least 1.
    pub batch: usize,
    /// Passes over each block, at least 1. Each pass counts as a block for [`Update::Schedule`].
    pub passes: usize,
    /// Source of the initial and later atoms.
    pub start: AtomsFrom,
    /// How the dictionary grows after scoring a block.
    pub growth: Growth,
    /// Where samples are scored; the mesh learns in any case.
    pub method: Method,
    /// How the agents agree on a score, with [`Method::Mesh`].
    pub agreement: Agreement,
    /// Which scores are novel.
    pub threshold: Threshold,
    /// Samples scored per batch with [`Method::Mesh`], at least 1. Memory of a thread: about 6
    /// `score_batch` M N numbers. Samples of a batch stop together, so scores depend on it within
    /// the tolerance.
    pub score_batch: usize,
    /// Seed of all random draws.
    pub seed: u64,
}

impl Default for Novelty {
    /// Squared residual, gamma = .01, delta = .05, atoms initialised from documents, the step
    /// 1/sum(y^2) for each atom, three passes per block, coding to a tolerance, exact scores. At
    /// convergence, the paper's Huber constants score a document by its sparsity rather than its
    /// topic. As in the paper: ten agents with one atom, ten more after each block, p = .5,
    /// Metropolis weights.
    fn default() -> Self {
        Novelty {
            task: TaskSpec::nmf(Novelty::GAMMA, Novelty::DELTA),
            agents: Novelty::AGENTS,
            atoms_each: 1,
            join: Join::Random { p: 0.5 },
            weights: WeightRule::Metropolis,
            strategy: default_strategy(),
            stopping: Stopping::tolerance(1e-3),
            // Forgetting applies per batch: with ten samples per batch, even .97 would discard most
            // of a block.
            update: Update::Adaptive { forgetting: 1.0 },
            batch: Novelty::BATCH,
            passes: Novelty::PASSES,
            start: AtomsFrom::Samples,
            growth: Growth::Agents {
                count: Novelty::GROWTH,
                atoms_each: 1,
            },
            method: Method::Exact,
            agreement: Agreement::Average,
            threshold: Threshold::default(),
            score_batch: 4,
            seed: 0,
        }
    }
}

impl Novelty {
    /// The default weight of `|y|_1`.
    pub const GAMMA: f64 = 0.01;
    /// The default weight of `|y|^2 / 2`.
    pub const DELTA: f64 = 0.05;
    /// The default number of initial agents, the paper's.
    pub const AGENTS: usize = 10;
    /// The default number of agents that join after each block, the paper's.
    pub const GROWTH: usize = 10;
    /// The default number of samples per update.
    pub const BATCH: usize = 10;
    /// The default number of passes over a block.
    pub const PASSES: usize = 3;

    /// The paper's distributed case: Huber residual, gamma = .05, delta = .1, eta = .2; p = .5,
    /// Metropolis weights, diffusion with mu = .05 and 1000 rounds; mu_w = 1/s; random atoms. The
    /// paper does not print mu_g; here it is .01 for 1000 rounds. Its published scores come from
    /// duals that have not converged.
    pub fn paper() -> Self {
        Novelty {
            task: TaskSpec::paper_documents(),
            strategy: Arc::new(Diffusion { mu: Some(0.05) }),
            stopping: Stopping::rounds(1000),
            update: Update::Schedule { mu_w: 1.0 },
            batch: 1,
            passes: 1,
            start: AtomsFrom::Random,
            method: Method::Mesh,
            agreement: Agreement::Diffusion {
                mu_g: 0.01,
                rounds: 1000,
            },
            ..Novelty::default()
        }
    }

    /// The paper's fully connected case: a complete graph with a_lk = 1/N, mu = .5, 100 rounds. The
    /// step is five times the bound in the paper's table (see [`Mesh::warnings`]) and stable only
    /// while the atoms are incoherent.
    pub fn paper_fully_connected() -> Self {
        Novelty {
            join: Join::Everybody,
            weights: WeightRule::Uniform,
            strategy: Arc::new(Diffusion { mu: Some(0.5) }),
            stopping: Stopping::rounds(100),
            ..Novelty::paper()
        }
    }

    /// A detector whose atoms are initialised from `first`, the first block to learn.
    pub fn build(&self, first: &Samples) -> Result<NoveltyDetector> {
        let topology = self.join.topology(self.agents, self.seed)?;
        if self.atoms_each == 0 {
            return Err(Error::parameter("atoms_each", 0, "must be at least 1"));
        }
        let sizes = vec![self.atoms_each; self.agents];
        let mesh = Mesh::builder(self.task.build()?, topology)
            .weights(self.weights.clone())
            .strategy(in_one_process(&self.strategy))
            .stopping(self.stopping)
            .update(self.update)
            .batch(self.batch)
            .seed(self.seed)
            .build(first.rows(), &sizes, self.start.start(first))?;
        NoveltyDetector::around(mesh, self.clone())
    }

    pub(super) fn check(&self) -> Result<()> {
        self.threshold.check()?;
        self.join.check()?;
        for (name, given) in [("passes", self.passes), ("score_batch", self.score_batch)] {
            if given == 0 {
                return Err(Error::parameter(name, 0, "must be at least 1"));
            }
        }
        Ok(())
    }
}
