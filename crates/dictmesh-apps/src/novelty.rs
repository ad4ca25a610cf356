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
//! The score is N g instead of the paper's g, because a threshold on g would depend on the number
//! of agents. Order: learn block 0; then for s = 1, 2, ...: score block s with the dictionary
//! learned through block s - 1, grow the mesh, learn block s. (As printed, Alg. 2 scores a block
//! after learning it.)

mod growth;
mod settings;

pub use growth::{Growth, Join};
pub use settings::{Agreement, Novelty, Threshold};

use dictmesh::mesh::AtomInit;
use dictmesh::mesh::{Event, Mesh};
use dictmesh::problem::samples::Samples;
use dictmesh::Result;
use dictmesh::Stop;
use dictmesh_kernels::matrix::Matrix;
use rayon::prelude::*;
use std::cmp::Ordering::{Equal, Less};
use std::ops::ControlFlow;

/// Scores of samples, and the stop reason of their inference.
#[derive(Clone, Debug, PartialEq)]
pub struct Scoring {
    /// The score of each sample; higher is more novel.
    pub scores: Vec<f64>,
    /// The worst stop reason of the inference.
    pub stop: Stop,
}

/// The result of processing one block.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Index of the block, counting those the mesh learned before.
    pub number: usize,
    /// The scores under the dictionary before this block; `None` for the first block.
    pub scoring: Option<Scoring>,
    /// The threshold for these scores.
    pub threshold: Option<f64>,
    /// Indices of the samples above the threshold, ascending.
    pub novel: Vec<usize>,
    /// The worst stop reason of the inference while learning.
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
/// assert_eq!(step.novel, [1]);
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
    /// Uses the settings `join`, `passes`, `start`, `growth`, `agreement`, `threshold`,
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
        Ok(self.scoring(x)?.scores)
    }

    /// The score of each sample under the current dictionary: agent 0's N g_k after agreement. With
    /// [`Agreement::Average`] all agents agree to 1e-12 of the spread of their local costs. With
    /// the paper's diffusion, agents differ by its bias.
    pub fn scoring(&self, x: &Samples) -> Result<Scoring> {
        let mut all = Scoring {
            scores: Vec::with_capacity(x.len()),
            stop: Stop::Converged,
        };
        let starts: Vec<usize> = (0..x.len()).step_by(self.settings.score_batch).collect();
        let scored: Vec<(Matrix, Stop)> = (starts.into_par_iter())
            .with_max_len(1)
            .map(|from| {
                self.score_batch(&x.range(from..(from + self.settings.score_batch).min(x.len())))
            })
            .collect::<Result<_>>()?;
        for (agreed, stop) in scored {
            all.scores.extend(agreed.columns().map(|g| g[0]));
            all.stop = all.stop.worse(stop);
        }
        Ok(all)
    }

    fn score_batch(&self, x: &Samples) -> Result<(Matrix, Stop)> {
        match self.settings.agreement {
            Agreement::Average => self.mesh.score(x),
            Agreement::Diffusion { mu_g, rounds } => {
                let found = self.mesh.infer_without_duals(x)?;
                let agreed = self.mesh.agree_by_diffusion(&found, mu_g, rounds)?;
                Ok((agreed, found.stop))
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

    /// Processes one block: scores it with the current dictionary, grows, learns it. The first
    /// block is only learned. The observer receives the learning events.
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
                // NaN counts as novel.
                let above =
                    |i: &usize| !matches!(scoring.scores[*i].partial_cmp(&chi), Some(Less | Equal));
                step.novel = (0..block.len()).filter(above).collect();
            }
            self.reference_scores = scoring.scores.clone();
            step.scoring = Some(scoring);
            self.grow(self.settings.growth, self.settings.start.start(block))?;
        }
        step.learning = self.learn(block, observer)?;
        if number == 0 && matches!(self.settings.threshold, Threshold::Quantile(_)) {
            self.reference_scores = self.score(block)?;
        }
        self.steps += 1;
        (step.agents, step.atoms) = (self.mesh.agents(), self.mesh.atoms());
        Ok(step)
    }

    /// The threshold for the scores of the next block; its relative margin is the tolerance of the
    /// mesh.
    pub fn threshold(&self) -> Option<f64> {
        let tolerance = self.mesh.stopping().tolerance.unwrap_or(0.0);
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
