//! The learning curve: SNR of nu and y against rounds, on the paper's document example.

use crate::learning_curve::{LearningCurve, Point, Target};
use crate::novelty::Novelty;
use crate::progress::{report, Observer, Progress};
use dictmesh::random::{stream, Rng};
use dictmesh::strategy::{Diffusion, RelaxedAdmm, Strategy};
use dictmesh::{AtomInit, Error, Mesh, Result, Samples, WeightRule};
use rand::RngExt;
use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The experiment on documents, vectors of norm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LearningCurveExperiment {
    /// Number of documents that the strategies run on, spread over all of them; at least 1.
    pub samples: usize,
    /// Rounds of each strategy.
    pub rounds: usize,
    /// Seed of all random draws.
    pub seed: u64,
}

impl Default for LearningCurveExperiment {
    fn default() -> Self {
        LearningCurveExperiment {
            samples: 3,
            rounds: 1000,
            seed: 0,
        }
    }
}

/// A strategy on one of the meshes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearningCurveCase {
    /// Strategy, graph and step.
    pub name: &'static str,
    /// The SNRs after the paper's number of rounds.
    pub at_paper_rounds: Point,
    /// Its curve to 60 dB.
    pub curve: LearningCurve,
}

impl LearningCurveCase {
    /// Whether y reaches each goal no later than nu, as the paper says.
    pub fn is_y_first(&self) -> bool {
        let pairs = self.curve.y.iter().zip(&self.curve.nu);
        pairs.into_iter().all(|(y, nu)| match (y, nu) {
            (Some(y), Some(nu)) => y <= nu,
            (y, nu) => y.is_some() || nu.is_none(),
        })
    }
}

/// The result.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearningCurveResult {
    /// The paper: "about 500" iterations for 40 to 50 dB of both y and nu.
    pub paper_rounds: usize,
    /// The paper's SNR after these rounds, from and to, in dB.
    pub paper_db: [f64; 2],
    /// The paper's two meshes by its steps, then relaxed-admm on the second.
    pub cases: Vec<LearningCurveCase>,
}

impl LearningCurveExperiment {
    /// "The required number of diffusion iterations is about 500" for "40-50 dB for both y and nu".
    pub const PAPER_ROUNDS: usize = 500;

    /// Learns ten atoms from the documents by the paper's fully connected diffusion, and codes some
    /// of the documents again, against their exact solution.
    ///
    /// Errors: fewer documents than samples, invalid settings, documents with zero codes.
    pub fn run(&self, x: &Samples, observer: &mut Observer<'_>) -> Result<LearningCurveResult> {
        if self.samples == 0 || self.samples > x.len() {
            let allowed = format!("must be 1 to {}, the number of documents", x.len());
            return Err(Error::parameter("samples", self.samples, allowed));
        }
        let (complete, random) = self.meshes(x, observer)?;
        let every = x.len() / self.samples;
        let chosen: Vec<usize> = (0..self.samples).map(|i| i * every).collect();
        let few = x.select(&chosen);
        let target = Target::new(&complete, &few)?;
        let step = |mu| -> Arc<dyn Strategy> { Arc::new(Diffusion { mu: Some(mu) }) };
        let plan: [(_, _, Arc<dyn Strategy>); 3] = [
            ("diffusion, complete, mu = .5", &complete, step(0.5)),
            ("diffusion, p = .5, mu = .05", &random, step(0.05)),
            (
                "relaxed-admm, p = .5",
                &random,
                Arc::new(RelaxedAdmm::default()),
            ),
        ];
        let total = plan.len();
        let mut cases = Vec::new();
        for (done, (name, mesh, strategy)) in plan.into_iter().enumerate() {
            let watch = &mut || report(observer, Progress::steps("rounds", done, total));
            let curve = target.curve_while(mesh, &strategy, self.rounds, watch)?;
            cases.push(LearningCurveCase {
                name,
                at_paper_rounds: curve.after(Self::PAPER_ROUNDS),
                curve,
            });
        }
        Ok(LearningCurveResult {
            paper_rounds: Self::PAPER_ROUNDS,
            paper_db: [40.0, 50.0],
            cases,
        })
    }

    /// The paper's fully connected mesh after learning, and its atoms on the random graph.
    fn meshes(&self, x: &Samples, observer: &mut Observer<'_>) -> Result<(Mesh, Mesh)> {
        let settings = Novelty {
            seed: self.seed,
            ..Novelty::paper_fully_connected()
        };
        let mut detector = settings.build(x)?;
        let mut left = false;
        detector.learn(x, |event| {
            let flow = observer(Progress {
                phase: "learning",
                done: event.samples as usize,
                total: x.len(),
                cost: Some(event.cost),
            });
            left |= flow == ControlFlow::Break(());
            flow
        })?;
        if left {
            return Err(Error::Interrupted);
        }
        let complete = detector.into_mesh();
        let settings = Novelty {
            seed: self.seed,
            ..Novelty::paper()
        };
        let graph = settings.build(x)?.mesh().topology().clone();
        let sizes = vec![1; graph.agents()];
        let random = Mesh::builder(complete.task().clone(), graph)
            .weights(WeightRule::Metropolis)
            .build(x.rows(), &sizes, AtomInit::Given(&complete.dictionary()))?;
        Ok((complete, random))
    }
}

/// Generated documents: number of topics, of terms, and of words in each.
const TOPICS: usize = 10;
const TERMS: usize = 1000;
const WORDS: usize = 150;
/// Terms that only one topic uses, and the fraction of its words drawn from them.
const OWN_TERMS: usize = 60;
const OWN_SHARE: f64 = 0.6;
/// Random stream of the documents ("text" in ASCII).
const TEXT_STREAM: u64 = 0x74_65_78_74;

/// Counts of words (terms x documents) of ten topics, which stand in for the paper's documents.
pub fn generated_documents(count: usize, seed: u64) -> Result<Samples> {
    let rng = &mut stream(seed, TEXT_STREAM);
    let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
    for j in 0..count {
        let mut words = vec![0_u32; TERMS];
        for _ in 0..WORDS {
            let own = rng.random::<f64>() < OWN_SHARE;
            words[match own {
                true => (j % TOPICS) * OWN_TERMS + rank(OWN_TERMS, rng),
                false => TOPICS * OWN_TERMS + rank(TERMS - TOPICS * OWN_TERMS, rng),
            }] += 1;
        }
        for (i, n) in words.into_iter().enumerate().filter(|(_, n)| *n > 0) {
            row.push(i);
            value.push(f64::from(n));
        }
        start.push(row.len());
    }
    Samples::sparse(TERMS, start, row, value)
}

/// A rank below `terms` with probability about 1/rank (Zipf's law).
fn rank(terms: usize, rng: &mut Rng) -> usize {
    let place = (terms as f64).powf(rng.random::<f64>());
    (place as usize).saturating_sub(1).min(terms - 1)
}
