//! One block after the other: score, explain, grow, learn.

use super::super::pages::{heaviest, top_terms, Terms};
use super::super::{check_finite, say, Result};
use crate::progress::Progress;
use dictmesh::{AtomInit, Mesh, Samples, Stop};
use dictmesh_apps::novelty::{Novelty, NoveltyDetector, Threshold};
use dictmesh_apps::roc::{roc, Roc};
use dictmesh_apps::AtomsFrom;
use std::collections::HashSet;
use std::ops::{ControlFlow, Range};

/// What happened to one block.
pub struct Outcome {
    /// The block's number, from 0.
    pub number: usize,
    /// Its documents in the stream.
    pub range: Range<usize>,
    /// Their scores before the block was learned; none in the first block.
    pub scores: Vec<f64>,
    /// Above it a document is called novel.
    pub threshold: Option<f64>,
    /// The documents of the block called novel, rising.
    pub novel: Vec<usize>,
    /// The curve, with labels of both kinds.
    pub roc: Option<Roc>,
    /// The most novel documents, the most novel first.
    pub top: Vec<Explained>,
    /// Agents after the block.
    pub agents: usize,
    /// Atoms after the block.
    pub atoms: usize,
}

impl Outcome {
    /// The area under its curve, where there is one.
    pub fn auc(&self) -> Option<f64> {
        self.roc.as_ref().map(|roc| roc.auc())
    }
}

/// Why a document is novel.
pub struct Explained {
    /// Its place in the block.
    pub at: usize,
    /// Its score.
    pub score: f64,
    /// The terms that weigh most in what no atom explains.
    pub unexplained: Terms,
    /// The atoms it lit up most: number, weight in its code, top terms.
    pub atoms: Vec<(usize, f64, Terms)>,
}

/// The blocks of a stream of `total` documents.
pub fn blocks(total: usize, first: usize, block: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut from = 0;
    while from < total {
        let size = if from == 0 { first } else { block };
        let to = from.saturating_add(size).min(total);
        ranges.push(from..to);
        from = to;
    }
    ranges
}

/// For each document of each block whether its label was unseen in all blocks before.
pub fn truth(labels: &[String], blocks: &[Range<usize>]) -> Vec<Vec<bool>> {
    let mut known: HashSet<&str> = HashSet::new();
    let each = blocks.iter().map(|range| {
        let block = &labels[range.clone()];
        let novel = block.iter().map(|l| !known.contains(l.as_str())).collect();
        known.extend(block.iter().map(String::as_str));
        novel
    });
    each.collect()
}

/// The curve of a block, if it has both kinds of documents.
pub fn curve(scores: &[f64], novel: &[bool]) -> Result<Option<Roc>> {
    let both = novel.contains(&true) && novel.contains(&false);
    match both && !scores.is_empty() {
        true => roc(scores, novel).map(Some).map_err(say),
        false => Ok(None),
    }
}

/// A detector on its way through a stream.
pub struct Engine {
    settings: Novelty,
    detector: Option<NoveltyDetector>,
    number: usize,
}

impl Engine {
    pub fn new(settings: Novelty) -> Self {
        Engine {
            settings,
            detector: None,
            number: 0,
        }
    }

    /// The mesh, once there was a block.
    pub fn mesh(&self) -> Option<&Mesh> {
        self.detector.as_ref().map(NoveltyDetector::mesh)
    }

    /// One step as [`NoveltyDetector::process`] does it, in parts, so that there is something to
    /// show while it scores. `explain` is how many documents to explain, by the names of `term`.
    pub fn step(
        &mut self,
        x: &Samples,
        range: Range<usize>,
        explain: usize,
        term: &dyn Fn(usize) -> String,
        show: &mut dyn FnMut(Progress),
    ) -> Result<Outcome> {
        let detector = match &mut self.detector {
            Some(detector) => detector,
            none => none.insert(self.settings.build(x).map_err(say)?),
        };
        let first = self.number == 0;
        let mut outcome = Outcome {
            number: self.number,
            range,
            scores: Vec::new(),
            threshold: None,
            novel: Vec::new(),
            roc: None,
            top: Vec::new(),
            agents: 0,
            atoms: 0,
        };
        if !first {
            outcome.scores = scores(detector, x, show)?;
            outcome.threshold = detector.threshold();
            if let Some(chi) = outcome.threshold {
                let above = |j: &usize| outcome.scores[*j] > chi;
                outcome.novel = (0..x.len()).filter(above).collect();
            }
            outcome.top = explained(detector.mesh(), x, &outcome.scores, explain, term)?;
            detector.set_reference_scores(outcome.scores.clone());
            let start = match self.settings.start {
                AtomsFrom::Random => AtomInit::Random,
                AtomsFrom::Samples => AtomInit::Samples(x),
            };
            detector.grow(self.settings.growth, start).map_err(say)?;
        }
        learn(detector, x, self.number, show)?;
        if first && matches!(self.settings.threshold, Threshold::Quantile(_)) {
            let past = scores(detector, x, show)?;
            detector.set_reference_scores(past);
        }
        self.number += 1;
        (outcome.agents, outcome.atoms) = (detector.mesh().agents(), detector.mesh().atoms());
        Ok(outcome)
    }

    /// The scores of a block after which no more will come: it need not be learned.
    pub fn last(&self, x: &Samples, show: &mut dyn FnMut(Progress)) -> Result<Vec<f64>> {
        match &self.detector {
            Some(detector) => scores(detector, x, show),
            None => Ok(Vec::new()),
        }
    }
}

fn learn(
    detector: &mut NoveltyDetector,
    x: &Samples,
    block: usize,
    show: &mut dyn FnMut(Progress),
) -> Result<()> {
    let (batch, passes) = (detector.settings().batch, detector.settings().passes);
    let (mut done, total) = (0, x.len() * passes);
    let stop = detector
        .learn(x, |event| {
            done = (done + batch).min(total);
            show(Progress {
                phase: "learning the block",
                done,
                total,
                cost: Some(event.cost),
            });
            ControlFlow::Continue(())
        })
        .map_err(say)?;
    check(stop, "learning", block)
}

fn check(stop: Stop, what: &str, block: usize) -> Result<()> {
    match stop {
        Stop::Diverged | Stop::Infeasible => {
            Err(format!("{what} stopped at block {block}: {stop}").into())
        }
        _ => Ok(()),
    }
}

fn scores(
    detector: &NoveltyDetector,
    x: &Samples,
    show: &mut dyn FnMut(Progress),
) -> Result<Vec<f64>> {
    let batch = detector.settings().score_batch;
    let mut scores = Vec::with_capacity(x.len());
    for from in (0..x.len()).step_by(batch) {
        let part = x.range(from..(from + batch).min(x.len()));
        let scoring = detector.scoring(&part).map_err(say)?;
        check(scoring.stop, "scoring", detector.mesh().blocks_learned())?;
        check_finite(&scoring.scores, from)?;
        scores.extend(scoring.scores);
        show(Progress {
            phase: "scoring the block",
            done: scores.len(),
            total: x.len(),
            cost: None,
        });
    }
    Ok(scores)
}

/// Terms shown of a residual, atoms shown of a code, and terms of each.
const SHOWN: (usize, usize, usize) = (6, 2, 4);

fn explained(
    mesh: &Mesh,
    x: &Samples,
    scores: &[f64],
    count: usize,
    term: &dyn Fn(usize) -> String,
) -> Result<Vec<Explained>> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order.truncate(count);
    if order.is_empty() {
        return Ok(Vec::new());
    }
    let mut all = explain(mesh, &x.select(&order), term)?;
    for (document, &at) in all.iter_mut().zip(&order) {
        (document.at, document.score) = (at, scores[at]);
    }
    Ok(all)
}

/// Why each of these samples costs what it costs.
pub fn explain(
    mesh: &Mesh,
    chosen: &Samples,
    term: &dyn Fn(usize) -> String,
) -> Result<Vec<Explained>> {
    let codes = mesh.infer(chosen).map_err(say)?.stacked_codes();
    let w = mesh.dictionary();
    let residual = w.times(&codes);
    let mut all = Vec::new();
    for i in 0..chosen.len() {
        let mut rest: Vec<f64> = residual.column(i).iter().map(|v| -v).collect();
        chosen.add_scaled(i, 1.0, &mut rest);
        let lit = heaviest(codes.column(i), SHOWN.1);
        all.push(Explained {
            at: i,
            score: 0.0,
            unexplained: top_terms(&rest, SHOWN.0, term),
            atoms: lit
                .into_iter()
                .map(|(q, y)| (q, y, top_terms(w.column(q), SHOWN.2, term)))
                .collect(),
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_stream_once() {
        assert_eq!(blocks(10, 4, 3), [0..4, 4..7, 7..10]);
        assert_eq!(blocks(5, 4, 3), [0..4, 4..5]);
        assert_eq!(blocks(3, usize::MAX, 1).first(), Some(&(0..3)));
    }

    #[test]
    fn a_label_is_novel_in_the_whole_block_that_brings_it() {
        let labels: Vec<String> = "aabbba".chars().map(String::from).collect();
        let truth = truth(&labels, &[0..2, 2..4, 4..6]);
        assert_eq!(truth[1], [true, true]);
        assert_eq!(truth[2], [false, false]);
    }
}
