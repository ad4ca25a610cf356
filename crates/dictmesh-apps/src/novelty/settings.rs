//! The settings of a detector: the paper's, and better ones.

use super::super::AtomsFrom;
use super::{Growth, Join, NoveltyDetector};
use dictmesh::graph::WeightRule;
use dictmesh::mesh::learning::Update;
use dictmesh::mesh::{Mesh, Stopping};
use dictmesh::problem::samples::Samples;
use dictmesh::problem::TaskSpec;
use dictmesh::strategy;
use dictmesh::strategy::{Diffusion, Strategy};
use dictmesh::{Error, Result};
use std::sync::Arc;

/// How the agents come to agree on the cost of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Agreement {
    /// Plain averaging of their own costs: no bias.
    Average,
    /// The paper's scalar diffusion, whose bias is O(mu_g) on graphs that are not complete.
    Diffusion {
        /// The step, above 0 and below 2.
        mu_g: f64,
        /// How many rounds.
        rounds: usize,
    },
}

/// The least relative margin of a threshold over the score that sets it: far above rounding, far below
/// differences of costs that matter.
const LEAST_MARGIN: f64 = 1e-9;

/// Above which score a sample is called novel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// Above this score.
    Given(f64),
    /// Above the scores of this share of the block before, from 0 to 1: 0.95 calls about one familiar
    /// sample in twenty novel. The first block is scored for this after it was learned, which is a
    /// little too low, and novel samples in a block raise the threshold for the next one.
    Quantile(f64),
}

impl Threshold {
    /// Refuses NaN as a threshold, and a quantile outside 0 to 1.
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

    /// The threshold chi. `None` for a quantile without reference scores.
    ///
    /// The quantile is the smallest reference score that at least that share does not exceed, plus a
    /// margin: the sample with this score may score a little higher beside other samples. The margin is
    /// the `tolerance` of the scores (relative, 0 for exact ones), at least 1e-9.
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
                // .55 * 100 is a little more than 55.
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
    /// What coding a sample costs. Samples are meant to have norm 1.
    pub task: TaskSpec,
    /// Agents at the start, at least 1.
    pub agents: usize,
    /// Atoms of each of them, at least 1.
    pub atoms_each: usize,
    /// Whom an agent is joined to, at the start and later.
    pub join: Join,
    /// The combination weights.
    pub weights: WeightRule,
    /// The inference strategy.
    pub strategy: Arc<dyn Strategy>,
    /// When its rounds end.
    pub stopping: Stopping,
    /// The dictionary update.
    pub update: Update,
    /// Samples per update, at least 1.
    pub batch: usize,
    /// How often each block is learned, at least 1. Each pass counts as a block for
    /// [`Update::Schedule`].
    pub passes: usize,
    /// Where new atoms come from, the first ones included.
    pub start: AtomsFrom,
    /// How the dictionary grows after a block was scored.
    pub growth: Growth,
    /// How the agents agree on a score.
    pub agreement: Agreement,
    /// Which scores are called novel.
    pub threshold: Threshold,
    /// Samples scored at a time, at least 1. Memory grows with it: some six times this times M times N
    /// numbers. Samples of a batch stop together, so scores depend on it within the tolerance.
    pub score_batch: usize,
    /// Fixes everything random.
    pub seed: u64,
}

impl Default for Novelty {
    /// Squared residual, gamma = .01, delta = .05, atoms started from documents, the step 1/sum(y^2) for
    /// each atom, three passes over a block, coding to a tolerance: at convergence the paper's Huber constants score a document by
    /// its sparsity rather than its topic. Ten agents of one atom at the start and ten more after each
    /// block, p = .5 and Metropolis weights as in the paper.
    fn default() -> Self {
        Novelty {
            task: TaskSpec::nmf(0.01, 0.05),
            agents: 10,
            atoms_each: 1,
            join: Join::Random { p: 0.5 },
            weights: WeightRule::Metropolis,
            strategy: strategy::default(),
            stopping: Stopping::tolerance(1e-3),
            // Forgetting is per batch, so at ten samples a batch even .97 would forget a block.
            update: Update::Adaptive { forgetting: 1.0 },
            batch: 10,
            passes: 3,
            start: AtomsFrom::Samples,
            growth: Growth::Agents {
                count: 10,
                atoms_each: 1,
            },
            agreement: Agreement::Average,
            threshold: Threshold::Quantile(0.95),
            score_batch: 4,
            seed: 0,
        }
    }
}

impl Novelty {
    /// The paper's distributed case: Huber residual, gamma = .05, delta = .1, eta = .2; p = .5,
    /// Metropolis weights, diffusion with mu = .05 and 1000 rounds; mu_w = 1/s; random atoms. It does
    /// not print mu_g; this is .01 for 1000 rounds. Published AUC on TDT2: .79 to .95 (mean .912), from
    /// duals that have not converged.
    pub fn paper() -> Self {
        Novelty {
            task: TaskSpec::nmf_huber(0.05, 0.1, 0.2),
            strategy: Arc::new(Diffusion { mu: Some(0.05) }),
            stopping: Stopping::rounds(1000),
            update: Update::Schedule { mu_w: 1.0 },
            batch: 1,
            passes: 1,
            start: AtomsFrom::Random,
            agreement: Agreement::Diffusion {
                mu_g: 0.01,
                rounds: 1000,
            },
            ..Novelty::default()
        }
    }

    /// The paper's fully connected case: everybody hears everybody with a_lk = 1/N, mu = .5 and 100
    /// rounds. The step is five times what the paper's table allows ([`Mesh::warnings`] says so) and
    /// is stable only while atoms are unlike each other.
    pub fn paper_fully_connected() -> Self {
        Novelty {
            join: Join::Everybody,
            weights: WeightRule::Uniform,
            strategy: Arc::new(Diffusion { mu: Some(0.5) }),
            stopping: Stopping::rounds(100),
            ..Novelty::paper()
        }
    }

    /// A detector whose first atoms are started from `first`, the block to be learned first.
    pub fn build(&self, first: &Samples) -> Result<NoveltyDetector> {
        let topology = self.join.topology(self.agents, self.seed)?;
        if self.atoms_each == 0 {
            return Err(Error::parameter("atoms_each", 0, "must be at least 1"));
        }
        let sizes = vec![self.atoms_each; self.agents];
        let mesh = Mesh::builder(self.task.build()?, topology)
            .weights(self.weights.clone())
            .strategy(self.strategy.clone())
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
