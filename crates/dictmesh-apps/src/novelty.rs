//! Novelty detection in a stream of documents: Alg. 2 of the paper.
//!
//! Samples arrive in blocks. A sample is novel if the current dictionary represents it poorly. Its
//! score is the cost of coding it. The agents compute the score from dual vectors and one exchanged
//! number each:
//!
//! ```text
//! score(x) = min_y f(x - W y) + h_y(y) = -sum_k J_k(nu; x) = N g,    g = -(1/N) sum_k J_k
//! ```
//!
//! By default the scores are computed in one place, exactly; with [`Method::Mesh`], by the agents.
//! The score is N g instead of the paper's g, because a threshold on g would depend on the number
//! of agents. Order: learn block 0; then for s = 1, 2, ...: score block s with the dictionary
//! learned through block s - 1, grow the mesh, learn block s. (As printed, Alg. 2 scores a block
//! after learning it.)

mod explain;
mod growth;
mod labels;
mod settings;

pub use explain::{explain, AtomUse, ExplainOptions, Explanation, Term};
pub use growth::{Growth, Join};
pub use labels::{block_roc, have_curve, KnownLabels};
pub use settings::{Agreement, Novelty, Threshold};

use crate::coding::{self, stop_name, Method, Scores};
use dictmesh::mesh::AtomInit;
use dictmesh::mesh::{Event, Mesh};
use dictmesh::problem::samples::Samples;
use dictmesh::Result;
use dictmesh::Stop;
use rayon::prelude::*;
use serde::Serialize;
use std::cmp::Ordering::{Equal, Less};
use std::ops::ControlFlow;

/// The largest number of entries of samples that are scored together in one place.
const ENTRIES: usize = 1 << 22;
/// The largest number of samples that are scored together in one place.
const TOGETHER: usize = 256;
/// The default number of samples in a block, as in the paper.
const BLOCK: usize = 1000;
/// The default number of blocks of a short stream.
const BLOCKS: usize = 5;

/// The default number of samples in a block: 1000, or a fifth of a stream of fewer than 5000
/// samples, if its length is known.
pub fn default_block(total: Option<usize>) -> usize {
    total.map_or(BLOCK, |total| total.div_ceil(BLOCKS).clamp(1, BLOCK))
}

/// Progress within a step.
#[derive(Clone, Copy, Debug)]
pub enum StepEvent<'a> {
    /// Samples of the block were scored.
    Scored {
        /// Their number so far.
        done: usize,
        /// The number of samples in the block.
        total: usize,
    },
    /// A batch was learned.
    Learned {
        /// The event of the mesh.
        event: &'a Event,
        /// The number of samples learned so far, over all passes.
        done: usize,
        /// The number to learn: the samples of the block times the passes.
        total: usize,
    },
}

/// A block judged by the dictionary before it is learned.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judged {
    /// The scores; fewer than samples if the observer broke.
    #[serde(flatten)]
    pub scoring: Scores,
    /// The threshold for these scores; `None` for a quantile without reference scores.
    pub threshold: Option<f64>,
    /// Indices of the samples above the threshold, ascending.
    pub novel: Vec<usize>,
}

impl Judged {
    /// Indices of the `count` samples with the highest scores, the highest first.
    pub fn most_novel(&self, count: usize) -> Vec<usize> {
        let scores = &self.scoring.scores;
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        order.truncate(count);
        order
    }
}

/// The result of processing one block.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// Index of the block, counting those the mesh learned before.
    pub number: usize,
    /// The judgement by the dictionary before this block; `None` for the first block.
    pub judged: Option<Judged>,
    /// The worst stop reason of the inference while learning.
    #[serde(serialize_with = "stop_name")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub learning: Stop,
    /// Agents after the step.
    pub agents: usize,
    /// Atoms after the step.
    pub atoms: usize,
}

/// A mesh that scores, grows and learns block by block.
///
/// ```
/// use dictmesh::Samples;
/// use dictmesh_apps::novelty::{Growth, Novelty};
/// use std::ops::ControlFlow;
/// let known = Samples::dense_from_columns(3, &[[0.8, 0.6, 0.0], [0.6, 0.8, 0.0]])?;
/// let settings = Novelty { agents: 2, growth: Growth::None, ..Novelty::default() };
/// let mut detector = settings.build(&known)?;
/// detector.process(&known, |_| ControlFlow::Continue(()))?;
/// let next = Samples::dense_from_columns(3, &[[0.7, 0.7, 0.0], [0.0, 0.0, 1.0]])?;
/// let step = detector.process(&next, |_| ControlFlow::Continue(()))?;
/// assert_eq!(step.judged.map(|judged| judged.novel), Some(vec![1]));
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NoveltyDetector {
    mesh: Mesh,
    settings: Novelty,
    steps: usize,
    /// The scores of the last block, from which a quantile threshold is computed.
    reference_scores: Vec<f64>,
}

impl NoveltyDetector {
    /// A detector for an existing mesh. If the mesh has learned blocks, the first block is scored
    /// too.
    ///
    /// Uses the settings `join`, `passes`, `start`, `growth`, `method`, `agreement`, `threshold`,
    /// `score_batch` and `seed`. The others (`task`, `agents`, `atoms_each`, `weights`, `strategy`,
    /// `stopping`, `update`, `batch`) are ignored in favour of those of `mesh`.
    pub fn around(mesh: Mesh, settings: Novelty) -> Result<Self> {
        settings.check()?;
        Ok(NoveltyDetector {
            steps: mesh.blocks_learned(),
            mesh,
            settings,
            reference_scores: Vec::new(),
        })
    }

    /// The score of each sample, see [`scoring`](NoveltyDetector::scoring).
    pub fn score(&self, x: &Samples) -> Result<Vec<f64>> {
        Ok(self.scoring(x, |_| ControlFlow::Continue(()))?.scores)
    }

    /// The score of each sample under the current dictionary, by the setting `method`: exact, or
    /// agent 0's N g_k after agreement. With [`Agreement::Average`] all agents agree to 1e-12 of
    /// the spread of their local costs. With the paper's diffusion, agents differ by its bias.
    ///
    /// If the observer breaks, the scores so far are returned with [`Stop::Interrupted`].
    pub fn scoring(
        &self,
        x: &Samples,
        mut observer: impl FnMut(StepEvent<'_>) -> ControlFlow<()>,
    ) -> Result<Scores> {
        let mut all = Scores::none();
        let part = self.scored_together();
        for from in (0..x.len()).step_by(part) {
            let part = x.range(from..(from + part).min(x.len()));
            all.extend(match self.settings.method {
                Method::Exact => coding::scores(&self.mesh, &part, Method::Exact)?,
                Method::Mesh => self.score_by_mesh(&part)?,
            });
            let event = StepEvent::Scored {
                done: all.scores.len(),
                total: x.len(),
            };
            if observer(event).is_break() {
                all.stop = all.stop.worse(Stop::Interrupted);
                break;
            }
        }
        Ok(all)
    }

    /// Samples between two events: a batch for each thread, or what fits in one place.
    fn scored_together(&self) -> usize {
        match self.settings.method {
            Method::Exact => (ENTRIES / self.mesh.rows().max(1)).clamp(1, TOGETHER),
            Method::Mesh => self.settings.score_batch * rayon::current_num_threads(),
        }
    }

    /// Batches at the same time, on all threads.
    fn score_by_mesh(&self, x: &Samples) -> Result<Scores> {
        let batch = self.settings.score_batch;
        let starts: Vec<usize> = (0..x.len()).step_by(batch).collect();
        let scored: Vec<Scores> = (starts.into_par_iter())
            .with_max_len(1)
            .map(|from| self.score_batch(&x.range(from..(from + batch).min(x.len()))))
            .collect::<Result<_>>()?;
        let mut all = Scores::none();
        scored.into_iter().for_each(|part| all.extend(part));
        Ok(all)
    }

    fn score_batch(&self, x: &Samples) -> Result<Scores> {
        match self.settings.agreement {
            Agreement::Average => coding::scores(&self.mesh, x, Method::Mesh),
            Agreement::Diffusion { mu_g, rounds } => {
                let found = self.mesh.infer_without_duals(x)?;
                let agreed = self.mesh.agree_by_diffusion(&found, mu_g, rounds)?;
                Ok(Scores {
                    scores: agreed.columns().map(|g| g[0]).collect(),
                    gaps: Vec::new(),
                    stop: found.stop,
                })
            }
        }
    }

    /// Learns a block, `passes` times. Stops early if the observer breaks.
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
            if left || !matches!(stop, Stop::Converged | Stop::RoundLimit) {
                break;
            }
        }
        Ok(worst)
    }

    /// Grows the dictionary, see [`Growth`].
    pub fn grow(&mut self, growth: Growth, start: AtomInit<'_>) -> Result<()> {
        growth.apply(
            &mut self.mesh,
            &self.settings.join,
            self.settings.seed,
            start,
        )
    }

    /// Processes one block: [`judge`](NoveltyDetector::judge), then
    /// [`absorb`](NoveltyDetector::absorb). The first block is only learned. If the observer
    /// breaks while scoring, the block is not learned.
    pub fn process(
        &mut self,
        block: &Samples,
        mut observer: impl FnMut(StepEvent<'_>) -> ControlFlow<()>,
    ) -> Result<Step> {
        let judged = self.judge(block, &mut observer)?;
        self.absorb(block, judged, observer)
    }

    /// Scores a block by the current dictionary and names the samples above the threshold; `None`
    /// for the first block. The detector is unchanged: [`explain`] its mesh now, before
    /// [`absorb`](NoveltyDetector::absorb).
    pub fn judge(
        &self,
        block: &Samples,
        observer: impl FnMut(StepEvent<'_>) -> ControlFlow<()>,
    ) -> Result<Option<Judged>> {
        if self.steps == 0 {
            return Ok(None);
        }
        let scoring = self.scoring(block, observer)?;
        let threshold = self.threshold();
        let novel = match threshold {
            Some(chi) => {
                // NaN counts as novel.
                let above =
                    |i: &usize| !matches!(scoring.scores[*i].partial_cmp(&chi), Some(Less | Equal));
                (0..scoring.scores.len()).filter(above).collect()
            }
            None => Vec::new(),
        };
        Ok(Some(Judged {
            scoring,
            threshold,
            novel,
        }))
    }

    /// Grows the mesh and learns a block that was judged, whose scores become the reference of the
    /// next threshold. The first block is not judged; its scores are those after learning it. A
    /// judgement that was interrupted changes nothing.
    pub fn absorb(
        &mut self,
        block: &Samples,
        judged: Option<Judged>,
        mut observer: impl FnMut(StepEvent<'_>) -> ControlFlow<()>,
    ) -> Result<Step> {
        let interrupted =
            (judged.as_ref()).is_some_and(|judged| judged.scoring.stop == Stop::Interrupted);
        let mut step = Step {
            number: self.steps,
            judged,
            learning: Stop::Interrupted,
            agents: self.mesh.agents(),
            atoms: self.mesh.atoms(),
        };
        if interrupted {
            return Ok(step);
        }
        if let Some(judged) = &step.judged {
            self.reference_scores = judged.scoring.scores.clone();
            self.grow(self.settings.growth, self.settings.start.start(block))?;
        }
        let (batch, total) = (self.mesh.batch(), block.len() * self.settings.passes);
        let mut done = 0;
        step.learning = self.learn(block, |event| {
            done = (done + batch).min(total);
            observer(StepEvent::Learned { event, done, total })
        })?;
        if step.number == 0 && matches!(self.settings.threshold, Threshold::Quantile(_)) {
            self.reference_scores = self.scoring(block, observer)?.scores;
        }
        self.steps += 1;
        (step.agents, step.atoms) = (self.mesh.agents(), self.mesh.atoms());
        Ok(step)
    }

    /// The threshold for the scores of the next block; its relative margin is the tolerance of the
    /// scores: that of the mesh, or 0 where they are exact.
    pub fn threshold(&self) -> Option<f64> {
        let tolerance = self.settings.method.tolerance(&self.mesh);
        self.settings
            .threshold
            .choose(&self.reference_scores, tolerance)
    }

    /// The scores from which a quantile threshold is computed.
    pub fn reference_scores(&self) -> &[f64] {
        &self.reference_scores
    }

    /// Sets the reference scores, for a mesh loaded from a file.
    pub fn set_reference_scores(&mut self, scores: Vec<f64>) {
        self.reference_scores = scores;
    }

    /// The mesh.
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// Consumes the detector and returns its mesh.
    pub fn into_mesh(self) -> Mesh {
        self.mesh
    }

    /// The settings.
    pub fn settings(&self) -> &Novelty {
        &self.settings
    }
}
