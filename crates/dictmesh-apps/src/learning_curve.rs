//! The paper's learning curve: the distance to the exact solution after each round. Also tunes the
//! constant of a strategy.
//!
//! ```text
//! SNR of nu = |nu|^2 / |nu_k - nu|^2   of the agent k with the largest error
//! SNR of y  = |y|^2 / |y' - y|^2       with y' the concatenation of every agent's y_k(nu_k)
//! ```
//!
//! in dB, where nu and y are exact. For several samples, both norms are taken over all of them.

mod ladder;
#[cfg(test)]
mod tests;

pub use ladder::{tune, Trial, Tuned};

use dictmesh::exact::Exact;
use dictmesh::mesh::{Mesh, Run, Stopping};
use dictmesh::problem::samples::Samples;
use dictmesh::strategy::Strategy;
use dictmesh::Stop;
use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::{distance, norm, Matrix};
use serde::Serialize;
use std::sync::Arc;

/// SNR goals in dB for counting rounds. 40 dB is a relative error of 1e-2, the paper's
/// "satisfactory".
pub const GOALS: [f64; 3] = [20.0, 40.0, 60.0];
/// SNR of nu in dB below which a run counts as diverged.
const LOST: f64 = -60.0;
/// Minimum gain in dB over the second half of the rounds; with less, the run has stalled.
const HALT: f64 = 0.1;
/// Ratio between recorded rounds, once it exceeds one round.
const SPACING: f64 = 1.1;

/// Samples with their exact solution.
#[derive(Clone, Debug)]
pub struct Target<'a> {
    x: &'a Samples,
    exact: Exact,
}

/// The SNRs after a round, in dB.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// Number of rounds.
    pub round: usize,
    /// The SNR of the worst agent's nu in dB; null in JSON if infinite.
    #[serde(rename = "nu_db")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub nu: f64,
    /// The SNR of y in dB; null in JSON if infinite.
    #[serde(rename = "y_db")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub y: f64,
}

impl Point {
    /// The lower of the two SNRs.
    pub fn both(&self) -> f64 {
        self.nu.min(self.y)
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// nu and y reached the last of [`GOALS`].
    Reached,
    /// The round limit was reached while the SNR still improved.
    RoundLimit,
    /// The round limit was reached, and the second half of the rounds brought no improvement.
    Halted,
    /// nu diverged.
    Diverged,
}

/// The constant of a strategy that a search varies.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Constant {
    /// "rho" of `relaxed-admm`, "bits" of `tree`, else "mu".
    pub name: &'static str,
    /// Its value.
    pub value: f64,
}

impl Constant {
    /// The constant of a strategy, if it has one.
    pub fn of(strategy: &dyn Strategy) -> Option<Self> {
        let spec = strategy.spec();
        let name = match spec.kind() {
            "relaxed-admm" => "rho",
            "tree" => "bits",
            _ => "mu",
        };
        let value = spec.number(name).ok().flatten()?;
        Some(Constant { name, value })
    }
}

/// The convergence of one strategy to the exact solution.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearningCurve {
    /// The strategy with all constants resolved.
    #[serde(skip)]
    pub strategy: Arc<dyn Strategy>,
    /// The constant that a search varies.
    pub constant: Option<Constant>,
    /// A selection of rounds at increasing distances. It includes 1, 2 and 5 times the powers of
    /// ten, and the last round.
    pub points: Vec<Point>,
    /// For each of [`GOALS`], the round from which nu stays at or above it.
    #[serde(rename = "rounds_nu")]
    pub nu: [Option<usize>; 3],
    /// The same for y.
    #[serde(rename = "rounds_y")]
    pub y: [Option<usize>; 3],
    /// Why the run ended.
    pub ending: Ending,
    /// Bytes sent over links per round, in the mean over all rounds.
    pub bytes_per_round: u64,
    /// Bytes sent over links until the end of each round, that of round 1 first.
    #[serde(skip)]
    bytes: Vec<u64>,
}

impl<'a> Target<'a> {
    /// Solves the samples exactly.
    ///
    /// Errors: the solution is not certified, or all codes are zero and the SNR is undefined.
    pub fn new(mesh: &Mesh, x: &'a Samples) -> Result<Self> {
        let exact = mesh.exact(x)?;
        if exact.stop() != Stop::Converged {
            return Err(Error::Unsupported {
                what: "a learning curve".into(),
                with: "these samples".into(),
                why: format!("the exact solution is not certified: {}", exact.stop()),
            });
        }
        if exact.codes.as_slice().iter().all(|y| *y == 0.0) {
            return Err(Error::Empty {
                what: "the exact code of every sample",
                need: "take a smaller gamma, or samples that the atoms explain",
            });
        }
        Ok(Target { x, exact })
    }

    /// Runs a strategy until nu and y reach the last of [`GOALS`], for at most `rounds` rounds.
    pub fn curve(
        &self,
        mesh: &Mesh,
        strategy: &Arc<dyn Strategy>,
        rounds: usize,
    ) -> Result<LearningCurve> {
        self.curve_while(mesh, strategy, rounds, &mut || Ok(()))
    }

    /// As [`curve`](Self::curve), with a call of `watch` before each round. Its error ends the run.
    pub fn curve_while(
        &self,
        mesh: &Mesh,
        strategy: &Arc<dyn Strategy>,
        rounds: usize,
        watch: &mut dyn FnMut() -> Result<()>,
    ) -> Result<LearningCurve> {
        let mut mesh = mesh.clone();
        mesh.set_strategy(strategy.clone())?;
        // For strategies that end a batch themselves: not before the goals.
        mesh.set_stopping(Stopping::rounds(rounds.max(1)))?;
        let mut run = mesh.run(self.x)?;
        let strategy = strategy.resolve(&mesh.shared_constants())?;
        let mut curve = LearningCurve {
            constant: Constant::of(&*strategy),
            strategy,
            points: Vec::new(),
            nu: [None; 3],
            y: [None; 3],
            ending: Ending::RoundLimit,
            bytes_per_round: 0,
            bytes: Vec::new(),
        };
        let (mut middle, mut last) = (None, None);
        let mut next = 1;
        while run.rounds() < rounds.max(1) {
            watch()?;
            run.round();
            if run.rounds() == curve.bytes.len() {
                // The strategy has ended the batch: nu is as exact as it gets.
                curve
                    .points
                    .extend(last.filter(|last| curve.last() != *last));
                break;
            }
            curve.bytes.push(run.bytes());
            let point = self.measure(&run);
            last = Some(point);
            pass(&mut curve.nu, point.nu, point.round);
            pass(&mut curve.y, point.y, point.round);
            if point.round <= rounds / 2 {
                middle = Some(point);
            }
            let end = end_of(&point);
            if point.round >= next {
                next = (point.round + 1).max((point.round as f64 * SPACING) as usize);
                curve.points.push(point);
            } else if end.is_some() || point.round == rounds || is_round_number(point.round) {
                curve.points.push(point);
            }
            if let Some(end) = end {
                curve.ending = end;
                break;
            }
        }
        if let (Ending::RoundLimit, Some(middle)) = (curve.ending, middle) {
            if curve.last().both() < middle.both() + HALT {
                curve.ending = Ending::Halted;
            }
        }
        curve.bytes_per_round = curve.bytes_after(usize::MAX) / curve.bytes.len().max(1) as u64;
        Ok(curve)
    }

    fn measure(&self, run: &Run<'_>) -> Point {
        let worst = run.duals().map(|nu| decibel(&self.exact.duals, nu)).fold(
            f64::INFINITY,
            |worst, snr| match snr.is_nan() {
                true => f64::NEG_INFINITY,
                false => worst.min(snr),
            },
        );
        let (mut error, mut from) = (0.0, 0);
        for y in run.codes() {
            for j in 0..y.cols() {
                let exact = &self.exact.codes.column(j)[from..from + y.rows()];
                error += distance(y.column(j), exact).powi(2);
            }
            from += y.rows();
        }
        Point {
            round: run.rounds(),
            nu: worst,
            y: 20.0 * (norm(self.exact.codes.as_slice()) / error.sqrt()).log10(),
        }
    }
}

fn decibel(exact: &Matrix, found: &Matrix) -> f64 {
    let (exact, found) = (exact.as_slice(), found.as_slice());
    20.0 * (norm(exact) / distance(found, exact)).log10()
}

fn pass(reached: &mut [Option<usize>; 3], snr: f64, round: usize) {
    for (reached, goal) in reached.iter_mut().zip(GOALS) {
        match snr >= goal {
            true => *reached = reached.or(Some(round)),
            false => *reached = None,
        }
    }
}

/// 1, 2 or 5 times a power of ten.
fn is_round_number(mut round: usize) -> bool {
    while round >= 10 && round.is_multiple_of(10) {
        round /= 10;
    }
    matches!(round, 1 | 2 | 5)
}

fn end_of(point: &Point) -> Option<Ending> {
    if point.both() >= GOALS[GOALS.len() - 1] {
        Some(Ending::Reached)
    } else if point.nu < LOST {
        Some(Ending::Diverged)
    } else {
        None
    }
}

impl LearningCurve {
    /// For each of [`GOALS`], the round from which nu and y both stay at or above it.
    pub fn both(&self) -> [Option<usize>; 3] {
        [0, 1, 2].map(|i| Some(self.nu[i]?.max(self.y[i]?)))
    }

    /// The point after the last round.
    pub fn last(&self) -> Point {
        self.points.last().copied().unwrap_or(Point {
            round: 0,
            nu: 0.0,
            y: 0.0,
        })
    }

    /// Bytes sent over links in the first `rounds` rounds, or in all if there are fewer.
    pub fn bytes_after(&self, rounds: usize) -> u64 {
        let last = rounds.min(self.bytes.len()).checked_sub(1);
        last.map_or(0, |last| self.bytes[last])
    }

    /// The point after this round, or the last point recorded before it.
    pub fn after(&self, round: usize) -> Point {
        let before = self.points.iter().rev().find(|p| p.round <= round);
        before.copied().unwrap_or(self.last())
    }

    /// Whether this curve reaches `GOALS[goal]` in fewer rounds. If neither reaches it, whether its
    /// final SNR is higher.
    ///
    /// Panics unless `goal` is below the number of [`GOALS`].
    pub fn is_better(&self, other: &LearningCurve, goal: usize) -> bool {
        let rounds = |curve: &LearningCurve| curve.both()[goal];
        match (rounds(self), rounds(other)) {
            (Some(mine), Some(others)) => mine < others,
            (None, None) => self.last().both() > other.last().both(),
            (mine, _) => mine.is_some(),
        }
    }
}
