//! Novel documents in a stream: Alg. 2 of the paper.
//!
//! Samples come in blocks. A sample that the dictionary learned so far expresses badly is novel; its
//! score is what coding it costs, which all agents come to know without showing each other anything
//! but dual vectors and one number:
//!
//! ```text
//! score(x) = min_y f(x - W y) + h_y(y) = -sum_k J_k(nu; x) = N g,    g = -(1/N) sum_k J_k
//! ```
//!
//! The score is N g and not the paper's g: a threshold on g would have to change whenever agents
//! join. The order is: learn block 0; then for s = 1, 2, ...: score block s with the dictionary
//! learned through block s - 1, let the mesh grow, learn block s. (As printed, Alg. 2 scores a block it
//! has just learned.)

mod growth;

pub use growth::{Growth, Join};

use super::AtomsFrom;
use crate::error::{Error, Result};
use crate::inference::StrategySpec;
use crate::learning::{Start, Update};
use crate::mesh::{Event, Mesh, Stopping};
use crate::samples::Samples;
use crate::task::TaskSpec;
use crate::topology::WeightRule;
use crate::Stop;
use std::ops::ControlFlow;

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
    fn check(&self) -> Result<()> {
        match *self {
            Threshold::Given(chi) if chi.is_nan() => Err(Error::parameter(
                "threshold",
                chi,
                "must be a number to compare scores with",
            )),
            Threshold::Quantile(q) if !(0.0..=1.0).contains(&q) => Err(Error::parameter(
                "quantile",
                q,
                "must be a share of the past scores, from 0 to 1",
            )),
            _ => Ok(()),
        }
    }

    /// The threshold chi, given the scores of the past; none if it depends on them and there are
    /// none. The quantile is the smallest score that at least that share does not exceed.
    pub fn choose(&self, past: &[f64]) -> Option<f64> {
        match *self {
            Threshold::Given(chi) => Some(chi),
            Threshold::Quantile(q) => {
                let mut known: Vec<f64> = past.iter().copied().filter(|s| !s.is_nan()).collect();
                known.sort_by(f64::total_cmp);
                let rank = (q * known.len() as f64).ceil() as usize;
                known.get(rank.saturating_sub(1)).copied()
            }
        }
    }
}

/// Settings of the detector.
#[derive(Clone, Debug, PartialEq)]
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
    pub strategy: StrategySpec,
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
    /// What finds novel documents best (mean AUC .93 on TDT2, where the paper has .91 and its own
    /// constants at convergence .80): squared residual, gamma = .01, delta = .05, atoms started from
    /// documents, the step 1/sum(y^2) for each atom; coding to a tolerance. Ten agents of one atom at
    /// the start and ten more after each block, p = .5 and Metropolis weights as in the paper.
    fn default() -> Self {
        Novelty {
            task: TaskSpec::nmf(0.01, 0.05),
            agents: 10,
            atoms_each: 1,
            join: Join::Random { p: 0.5 },
            weights: WeightRule::Metropolis,
            strategy: StrategySpec::default(),
            stopping: Stopping::tolerance(1e-3),
            // Forgetting is per batch, so at one sample a batch even .97 would forget a block.
            update: Update::Adaptive { forgetting: 1.0 },
            batch: 1,
            passes: 1,
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
            strategy: StrategySpec::Diffusion { mu: Some(0.05) },
            stopping: Stopping::rounds(1000),
            update: Update::Schedule { mu_w: 1.0 },
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
            strategy: StrategySpec::Diffusion { mu: Some(0.5) },
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

    fn check(&self) -> Result<()> {
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

/// Scores of a batch of samples, and how finding them ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Scoring {
    /// The score of each sample; higher is more novel.
    pub scores: Vec<f64>,
    /// The worst ending of the inference.
    pub stop: Stop,
}

/// What happened to one block of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The number of the block, from 0.
    pub number: usize,
    /// The scores by the dictionary learned before; none for the first block.
    pub scoring: Option<Scoring>,
    /// The threshold they were compared with.
    pub threshold: Option<f64>,
    /// The samples above it, rising.
    pub novel: Vec<usize>,
    /// The worst ending of the inference while learning.
    pub learning: Stop,
    /// Agents after the step.
    pub agents: usize,
    /// Atoms after the step.
    pub atoms: usize,
}

/// A mesh that scores, grows and learns, block by block.
///
/// ```
/// use dictmesh::{apps::novelty::{Growth, Novelty}, Samples};
/// use std::ops::ControlFlow;
/// let known = Samples::dense_from_columns(3, &[[0.8, 0.6, 0.0], [0.6, 0.8, 0.0]])?;
/// let settings = Novelty { agents: 2, growth: Growth::None, ..Novelty::default() };
/// let mut detector = settings.build(&known)?;
/// detector.process(&known, |_| ControlFlow::Continue(()))?;
/// let next = Samples::dense_from_columns(3, &[[0.7, 0.7, 0.0], [0.0, 0.0, 1.0]])?;
/// let step = detector.process(&next, |_| ControlFlow::Continue(()))?;
/// assert_eq!(step.novel, [1]);
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NoveltyDetector {
    mesh: Mesh,
    settings: Novelty,
    steps: usize,
    /// The scores thresholds are chosen from: those of the last block.
    past: Vec<f64>,
}

impl NoveltyDetector {
    /// A detector around a mesh that is there, learned or not. What the settings say of the mesh itself
    /// (task, agents, weights, strategy, stopping, update, batch) is the mesh's and not looked at. A
    /// mesh that has learned blocks scores the first block it is given.
    pub fn around(mesh: Mesh, settings: Novelty) -> Result<Self> {
        settings.check()?;
        Ok(NoveltyDetector {
            steps: mesh.blocks_learned(),
            mesh,
            settings,
            past: Vec::new(),
        })
    }

    /// The score of each sample, as [`scoring`](NoveltyDetector::scoring) finds it.
    pub fn score(&self, x: &Samples) -> Result<Vec<f64>> {
        Ok(self.scoring(x)?.scores)
    }

    /// The score of each sample by the dictionary as it is: N g_k of agent 0 after the agents agreed.
    /// With [`Agreement::Average`] every agent has the same to 1e-12 of the spread of their own costs;
    /// with the paper's diffusion, agents differ by its bias.
    pub fn scoring(&self, x: &Samples) -> Result<Scoring> {
        let mut all = Scoring {
            scores: Vec::with_capacity(x.len()),
            stop: Stop::Converged,
        };
        for from in (0..x.len()).step_by(self.settings.score_batch) {
            let part = x.range(from..(from + self.settings.score_batch).min(x.len()));
            let inference = self.mesh.infer(&part)?;
            let agreed = match self.settings.agreement {
                Agreement::Average => self.mesh.agree(&inference),
                Agreement::Diffusion { mu_g, rounds } => {
                    self.mesh.agree_by_diffusion(&inference, mu_g, rounds)?
                }
            };
            all.scores.extend(agreed.columns().map(|g| g[0]));
            all.stop = all.stop.worse(inference.stop);
        }
        Ok(all)
    }

    /// Learns a block, as often as there are passes. The observer may break off.
    pub fn learn(
        &mut self,
        block: &Samples,
        mut observer: impl FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<Stop> {
        let (mut worst, mut left) = (Stop::Converged, false);
        for _ in 0..self.settings.passes {
            let stop = self.mesh.learn(block, |event| {
                let flow = observer(event);
                left |= flow.is_break();
                flow
            })?;
            worst = worst.worse(stop);
            if left || matches!(stop, Stop::Diverged | Stop::Infeasible) {
                break;
            }
        }
        Ok(worst)
    }

    /// Lets the dictionary grow, see [`Growth`].
    pub fn grow(&mut self, growth: Growth, start: Start<'_>) -> Result<()> {
        growth.apply(
            &mut self.mesh,
            &self.settings.join,
            self.settings.seed,
            start,
        )
    }

    /// One step of the stream: scores the block by what was learned before, grows, learns the block.
    /// The first block is only learned. The observer hears the learning.
    pub fn process(
        &mut self,
        block: &Samples,
        observer: impl FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<Step> {
        let number = self.steps;
        let mut step = Step {
            number,
            scoring: None,
            threshold: None,
            novel: Vec::new(),
            learning: Stop::Converged,
            agents: 0,
            atoms: 0,
        };
        if number > 0 {
            let scoring = self.scoring(block)?;
            step.threshold = self.threshold();
            if let Some(chi) = step.threshold {
                let above = |i: &usize| scoring.scores[*i] > chi;
                step.novel = (0..block.len()).filter(above).collect();
            }
            self.past = scoring.scores.clone();
            step.scoring = Some(scoring);
            self.grow(self.settings.growth, self.settings.start.start(block))?;
        }
        step.learning = self.learn(block, observer)?;
        if number == 0 && matches!(self.settings.threshold, Threshold::Quantile(_)) {
            self.past = self.score(block)?;
        }
        self.steps += 1;
        (step.agents, step.atoms) = (self.mesh.agents(), self.mesh.atoms());
        Ok(step)
    }

    /// The threshold the next block's scores will be compared with.
    pub fn threshold(&self) -> Option<f64> {
        self.settings.threshold.choose(&self.past)
    }

    /// The mesh.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// The mesh, to be changed or saved.
    pub fn into_mesh(self) -> Mesh {
        self.mesh
    }

    /// The settings.
    pub fn settings(&self) -> &Novelty {
        &self.settings
    }
}

/// The samples scaled to |x|_2 = 1, as sparse as they were; zero samples stay zero.
pub fn normalise_l2(x: &Samples) -> Result<Samples> {
    let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
    for j in 0..x.len() {
        // By the largest entry first: the squares of huge or tiny ones would overflow or vanish.
        let largest = x.entries(j).fold(0.0, |m: f64, (_, v)| m.max(v.abs()));
        let squares: f64 = x.entries(j).map(|(_, v)| (v / largest).powi(2)).sum();
        for (i, v) in x.entries(j) {
            row.push(i);
            value.push(if v == 0.0 {
                0.0
            } else {
                v / largest / squares.sqrt()
            });
        }
        start.push(row.len());
    }
    if x.is_sparse() {
        Samples::sparse(x.rows(), start, row, value)
    } else {
        Samples::dense(crate::Matrix::from_vec(x.rows(), x.len(), value)?)
    }
}
