//! A stream of documents, block by block: judged, explained, learned.

use crate::calibration::KEPT_SCORES;
use crate::novelty::{
    block_roc, explain, ExplainOptions, Explanation, Judged, KnownLabels, Novelty, NoveltyDetector,
    StepEvent,
};
use crate::progress::{Observer, Progress};
use crate::roc::Roc;
use dictmesh::mesh::Mesh;
use dictmesh::Stop;
use dictmesh_data::Block;
use serde::Serialize;

/// The result of a block.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The number of the block, from 0.
    pub number: usize,
    /// Documents of the blocks before.
    pub from: usize,
    /// The number of documents.
    pub documents: usize,
    /// The judgement before the block was learned; `None` for the first block.
    pub judged: Option<Judged>,
    /// Whether each document is truly novel, with labels.
    pub truth: Option<Vec<bool>>,
    /// The ROC curve, with labels of both kinds.
    pub roc: Option<Roc>,
    /// The most novel documents, the most novel first.
    pub top: Vec<TopDocument>,
    /// Agents after the block.
    pub agents: usize,
    /// Atoms after the block.
    pub atoms: usize,
}

/// A document with a high score.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TopDocument {
    /// Its number in the stream, from 0.
    pub document: usize,
    /// Its name.
    pub name: String,
    /// Why it has its score.
    #[serde(flatten)]
    pub why: Explanation,
}

impl Outcome {
    /// The area under the ROC curve, where there is one.
    pub fn auc(&self) -> Option<f64> {
        self.roc.as_ref().map(Roc::auc)
    }

    /// The threshold; none in the first block.
    pub fn threshold(&self) -> Option<f64> {
        self.judged.as_ref().and_then(|judged| judged.threshold)
    }

    /// The scores; none in the first block.
    pub fn scores(&self) -> &[f64] {
        let judged = self.judged.as_ref();
        judged.map_or(&[], |judged| &judged.scoring.scores)
    }

    /// The documents called novel, by their places in the block.
    pub fn novel(&self) -> &[usize] {
        self.judged.as_ref().map_or(&[], |judged| &judged.novel)
    }
}

/// Why a stream ends before its blocks do.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The library refuses a parameter or the numbers.
    #[error(transparent)]
    Library(#[from] dictmesh::Error),
    /// Inference gave up.
    #[error("{phase} stopped at block {block}: {stop}")]
    GaveUp {
        /// "scoring" or "learning".
        phase: &'static str,
        /// The number of the block, from 0.
        block: usize,
        /// [`Stop::Diverged`] or [`Stop::Infeasible`].
        stop: Stop,
    },
    /// A score is not a finite number.
    #[error("sample {sample}: coding it costs {cost}")]
    NotFinite {
        /// The number of the sample in the stream.
        sample: usize,
        /// Its score.
        cost: f64,
    },
}

/// What a stream knows of a block beside its samples.
#[derive(Clone, Copy)]
pub struct BlockContext<'a> {
    /// The number of documents before the block.
    pub from: usize,
    /// The labels of its documents.
    pub labels: Option<&'a [String]>,
    /// The number of its most novel documents that are explained.
    pub top: usize,
    /// The name of a term.
    pub term: &'a dyn Fn(usize) -> String,
}

/// The blocks of a stream so far.
pub struct NoveltyStream {
    settings: Novelty,
    detector: Option<NoveltyDetector>,
    known: KnownLabels,
    blocks: usize,
    last_scores: Vec<f64>,
    aucs: Vec<f64>,
}

impl NoveltyStream {
    /// Before the first block.
    pub fn new(settings: Novelty) -> Self {
        NoveltyStream {
            settings,
            detector: None,
            known: KnownLabels::default(),
            blocks: 0,
            last_scores: Vec::new(),
            aucs: Vec::new(),
        }
    }

    /// The settings.
    pub fn settings(&self) -> &Novelty {
        &self.settings
    }

    /// The number of blocks.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The mesh, after the first block.
    pub fn mesh(&self) -> Option<&Mesh> {
        self.detector.as_ref().map(NoveltyDetector::mesh)
    }

    /// The last scores, of each document before it was learned, for [`Calibration`](crate::calibration::Calibration).
    pub fn last_scores(&self) -> &[f64] {
        &self.last_scores
    }

    /// The areas under the ROC curves of the blocks that have one.
    pub fn aucs(&self) -> &[f64] {
        &self.aucs
    }

    /// Scores a block, explains its most novel documents, and learns it.
    ///
    /// # Errors
    /// [`StreamError`]; the stream cannot go on then.
    pub fn next(
        &mut self,
        block: &Block,
        context: BlockContext<'_>,
        observer: &mut Observer<'_>,
    ) -> Result<Outcome, StreamError> {
        let detector = match &mut self.detector {
            Some(detector) => detector,
            none => none.insert(self.settings.build(&block.x)?),
        };
        let (x, from) = (&block.x, context.from);
        let judged = detector.judge(x, |event| observer(progress(event)))?;
        let mut top = Vec::new();
        if let Some(judged) = &judged {
            check_stop(judged.scoring.stop, "scoring", self.blocks)?;
            check_finite(&judged.scoring.scores, from)?;
            let order = judged.most_novel(context.top);
            let options = ExplainOptions::default();
            let why = explain(detector.mesh(), &x.select(&order), &options, context.term)?;
            top.extend(order.into_iter().zip(why).map(|(j, why)| TopDocument {
                document: from + j,
                name: block.names[j].clone(),
                why,
            }));
        }
        let step = detector.absorb(x, judged, |event| observer(progress(event)))?;
        check_stop(step.learning, "learning", self.blocks)?;
        let mut outcome = Outcome {
            number: self.blocks,
            from,
            documents: x.len(),
            judged: step.judged,
            truth: context.labels.map(|labels| self.known.next_block(labels)),
            roc: None,
            top,
            agents: step.agents,
            atoms: step.atoms,
        };
        if let Some(truth) = &outcome.truth {
            outcome.roc = block_roc(outcome.scores(), truth)?;
        }
        self.last_scores.extend(outcome.scores());
        let old = self.last_scores.len().saturating_sub(KEPT_SCORES);
        self.last_scores.drain(..old);
        self.aucs.extend(outcome.auc());
        self.blocks += 1;
        Ok(outcome)
    }
}

fn progress(event: StepEvent<'_>) -> Progress {
    let (phase, done, total, cost) = match event {
        StepEvent::Scored { done, total } => ("scoring the block", done, total, None),
        StepEvent::Learned { event, done, total } => {
            ("learning the block", done, total, Some(event.cost))
        }
    };
    Progress {
        phase,
        done,
        total,
        cost,
    }
}

fn check_stop(stop: Stop, phase: &'static str, block: usize) -> Result<(), StreamError> {
    match stop {
        Stop::Diverged | Stop::Infeasible => Err(StreamError::GaveUp { phase, block, stop }),
        _ => Ok(()),
    }
}

fn check_finite(scores: &[f64], from: usize) -> Result<(), StreamError> {
    match scores.iter().position(|score| !score.is_finite()) {
        None => Ok(()),
        Some(j) => Err(StreamError::NotFinite {
            sample: from + j,
            cost: scores[j],
        }),
    }
}
