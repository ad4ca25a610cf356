//! Novel documents in a stream: the AUC at the blocks that bring new topics.

use crate::l1_admm::{L1Admm, L1Model};
use crate::novelty::{Novelty, NoveltyDetector};
use crate::progress::{report, Observer, Progress};
use crate::roc::{roc, Roc};
use dictmesh::{Error, Norm, Result, Samples};
use dictmesh_data::text::{TfIdf, Weighting};
use serde::Serialize;
use std::collections::HashSet;

/// The blocks of the paper's table.
const STEPS: [usize; 5] = [1, 2, 5, 6, 8];
/// The paper's table.
const PAPER: [(&str, [f64; 5]); 3] = [
    ("ADMM (l1, centralized)", [0.69, 0.65, 0.70, 0.77, 0.76]),
    ("fully connected", [0.79, 0.94, 0.94, 0.96, 0.93]),
    ("p = .5", [0.79, 0.93, 0.95, 0.95, 0.94]),
];
/// Atoms of the l1 baseline at the start, and more after each block.
const BASELINE_ATOMS: usize = 10;

/// The method that scores the documents.
#[derive(Clone, Debug)]
pub enum DocumentsMethod {
    /// The novelty detector with these settings; the experiment sets the seed.
    Mesh(Box<Novelty>),
    /// The paper's baseline: l1 loss by ADMM with all atoms in one place.
    L1,
}

/// The experiment on counts of terms, one document per column in the order of time.
#[derive(Clone, Debug)]
pub struct DocumentsExperiment {
    /// The method.
    pub method: DocumentsMethod,
    /// Documents per block; the first block is only learned.
    pub block: usize,
    /// The last block to score, from 1 to 8.
    pub last_step: usize,
    /// Number of seeds, from 0; at least 1.
    pub seeds: u64,
}

impl Default for DocumentsExperiment {
    /// The improved detector on blocks of 1000 documents, five seeds.
    fn default() -> Self {
        DocumentsExperiment {
            method: DocumentsMethod::Mesh(Box::default()),
            block: 1000,
            last_step: 8,
            seeds: 5,
        }
    }
}

/// The AUC at one step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepAuc {
    /// The block, counted from 0.
    pub step: usize,
    /// The area under the ROC curve of its scores.
    pub auc: f64,
}

/// A row of AUCs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AucRow {
    /// The AUC at each step.
    pub auc: Vec<StepAuc>,
    /// Their mean.
    pub mean: f64,
}

/// A row of the paper's table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PaperRow {
    /// The paper's name of the method.
    pub method: &'static str,
    /// Its figures, at the steps of this run.
    #[serde(flatten)]
    pub row: AucRow,
}

/// The result.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DocumentsResult {
    /// The mean over the seeds.
    #[serde(flatten)]
    pub row: AucRow,
    /// Each seed, from 0.
    pub seeds: Vec<AucRow>,
    /// The paper's table.
    pub paper: Vec<PaperRow>,
    /// The ROC curves of seed 0.
    #[serde(skip)]
    pub curves: Vec<(usize, Roc)>,
}

impl AucRow {
    fn new(auc: Vec<StepAuc>) -> Self {
        let mean = auc.iter().map(|a| a.auc).sum::<f64>() / auc.len().max(1) as f64;
        AucRow { auc, mean }
    }
}

impl DocumentsExperiment {
    /// Weighs the counts by TF-IDF with the frequencies of past blocks, scores each block before
    /// learning it, and compares the scores with the topics. A document is novel if no earlier
    /// block has its topic.
    ///
    /// Errors: one topic per document is needed, more documents than a block, and at each of the
    /// paper's steps both novel and known topics.
    pub fn run(
        &self,
        counts: &Samples,
        topics: &[String],
        observer: &mut Observer<'_>,
    ) -> Result<DocumentsResult> {
        Error::check_dimension("topics", topics.len(), counts.len())?;
        for (name, given) in [("block", self.block), ("seeds", self.seeds as usize)] {
            if given == 0 {
                return Err(Error::parameter(name, 0, "must be at least 1"));
            }
        }
        if counts.len() <= self.block {
            let allowed = format!("must be more than {}, those of the first block", self.block);
            return Err(Error::parameter("documents", counts.len(), allowed));
        }
        let mut seeds = Vec::new();
        let mut curves = Vec::new();
        for seed in 0..self.seeds {
            let of_seed = self.one(counts, topics, seed, observer)?;
            let auc = of_seed.iter().map(|(step, roc)| StepAuc {
                step: *step,
                auc: roc.auc(),
            });
            seeds.push(AucRow::new(auc.collect()));
            if seed == 0 {
                curves = of_seed;
            }
        }
        let mean = |i: usize| {
            let sum: f64 = seeds.iter().map(|row: &AucRow| row.auc[i].auc).sum();
            sum / seeds.len() as f64
        };
        let steps: Vec<usize> = curves.iter().map(|curve| curve.0).collect();
        let at = |aucs: &dyn Fn(usize) -> f64| {
            let auc = steps.iter().enumerate();
            let auc = auc.map(|(i, &step)| StepAuc { step, auc: aucs(i) });
            AucRow::new(auc.collect())
        };
        let paper = PAPER.map(|(method, aucs)| PaperRow {
            method,
            row: at(&|i| aucs[i]),
        });
        Ok(DocumentsResult {
            row: at(&mean),
            paper: paper.to_vec(),
            seeds,
            curves,
        })
    }

    /// The ROC curve at each step of one seed.
    fn one(
        &self,
        counts: &Samples,
        topics: &[String],
        seed: u64,
        observer: &mut Observer<'_>,
    ) -> Result<Vec<(usize, Roc)>> {
        let mut tfidf = TfIdf::new(counts.rows(), Weighting::default());
        let total = counts.len().div_ceil(self.block);
        let total = total.min(self.last_step.saturating_add(1));
        let mut scorer = Scorer::new(&self.method, seed);
        let (mut known, mut curves) = (HashSet::new(), Vec::new());
        for step in 0..total {
            report(observer, Progress::steps("blocks", step, total))?;
            let range = step * self.block..counts.len().min((step + 1) * self.block);
            let x = tfidf.transform_block(&counts.range(range.clone()))?;
            let own = &topics[range];
            let novel: Vec<bool> = own.iter().map(|topic| !known.contains(topic)).collect();
            known.extend(own);
            // What the last block would teach is not used.
            let scores = scorer.step(&x, step > 0 && step + 1 == total)?;
            if !STEPS.contains(&step) {
                continue;
            }
            if !novel.contains(&true) || !novel.contains(&false) {
                return Err(Error::Unsupported {
                    what: format!("an AUC at step {step}"),
                    with: "these topics".into(),
                    why: "its documents need topics of earlier blocks and new ones; are the \
                          documents in the order of time, and the topics theirs?"
                        .into(),
                });
            }
            curves.push((step, roc(&scores, &novel)?));
        }
        report(observer, Progress::steps("blocks", total, total))?;
        Ok(curves)
    }
}

/// The dictionary on its way through the blocks.
enum Scorer {
    Mesh(Box<Novelty>, Option<Box<NoveltyDetector>>),
    L1(u64, Option<L1Model>),
}

impl Scorer {
    fn new(method: &DocumentsMethod, seed: u64) -> Self {
        match method {
            DocumentsMethod::Mesh(settings) => {
                let settings = Novelty {
                    seed,
                    ..(**settings).clone()
                };
                Scorer::Mesh(Box::new(settings), None)
            }
            DocumentsMethod::L1 => Scorer::L1(seed, None),
        }
    }

    /// The scores of a block, which is learned after it unless it is the last; none of the first.
    fn step(&mut self, x: &Samples, is_last: bool) -> Result<Vec<f64>> {
        let go = |_: &dictmesh::mesh::Event| std::ops::ControlFlow::Continue(());
        match self {
            Scorer::Mesh(settings, detector @ None) => {
                let detector = detector.insert(Box::new(settings.build(x)?));
                detector.learn(x, go)?;
                Ok(Vec::new())
            }
            Scorer::Mesh(settings, Some(detector)) => {
                let scores = detector.score(x)?;
                if !is_last {
                    detector.grow(settings.growth, settings.start.start(x))?;
                    detector.learn(x, go)?;
                }
                Ok(scores)
            }
            Scorer::L1(seed, model) => {
                let x = x.normalised(Norm::L1);
                let Some(model) = model else {
                    let first = L1Model::initialise(L1Admm::default(), &x, BASELINE_ATOMS, *seed);
                    *model = Some(first?);
                    return Ok(Vec::new());
                };
                let scores = model.cost(&x)?;
                if !is_last {
                    model.grow(&x, BASELINE_ATOMS, *seed)?;
                    model.learn(&x)?;
                }
                Ok(scores)
            }
        }
    }
}
