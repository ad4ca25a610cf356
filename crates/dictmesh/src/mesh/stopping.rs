//! When the rounds of a batch end, and how.

use super::run::Run;
use crate::agent::{Local, Workspace};
use crate::error::{Error, Result};
use crate::inference::Combine;
use crate::matrix::{distance, norm, Matrix};
use crate::Stop;
use serde::{Deserialize, Serialize};

/// When the rounds of one batch end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stopping {
    /// The relative distance of nu to the strategy's limit to stop at, estimated; `None` does all
    /// rounds.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// The most rounds to do.
    pub rounds: usize,
}

impl Stopping {
    /// Exactly this many rounds.
    pub fn rounds(rounds: usize) -> Self {
        Stopping {
            tolerance: None,
            rounds,
        }
    }

    /// When nu is estimated to be within `tolerance`, relatively, of where the strategy leads (for
    /// `diffusion` and `consensus` that is itself off by their bias), or after 100,000 rounds.
    ///
    /// Each agent measures by how much its nu_k changed in a round, relative to its size, and how far
    /// it is from its neighbours; the agents flood the largest such number for as many rounds as the
    /// graph has diameter, so that all know it and stop together. The rate at which it fell over the
    /// last four floods turns it into an estimate of what remains. It is an estimate, right to a factor of a few, not a certificate: that is
    /// [`Mesh::exact`](super::Mesh::exact)'s.
    pub fn tolerance(tolerance: f64) -> Self {
        Stopping {
            tolerance: Some(tolerance),
            rounds: 100_000,
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if let Some(tolerance) = self.tolerance {
            Error::check_positive("tolerance", tolerance)?;
        }
        if self.rounds == 0 {
            return Err(Error::parameter("rounds", 0, "must be 1 or more"));
        }
        Ok(())
    }
}

impl Default for Stopping {
    /// A relative error of 1e-4.
    fn default() -> Self {
        Stopping::tolerance(1e-4)
    }
}

/// Rounds between two floods, at least: one flood's worth of rounds is too short to see a rate.
const WINDOW: usize = 5;
/// Relative changes below this are rounding, which goes on for ever at a rate of 1.
const ROUNDING: f64 = 1e-14;
/// nu longer than this many times the sample has left all bounds.
const RUNAWAY: f64 = 1e12;

/// How many floods the rate is taken from.
const MEMORY: usize = 4;

/// The last floods, newest first.
#[derive(Default)]
struct Floods {
    residuals: Vec<f64>,
}

impl Floods {
    /// Takes in a new residual and says whether the estimate is within the tolerance.
    fn meets(&mut self, residual: f64, window: usize, tolerance: f64) -> bool {
        self.residuals.insert(0, residual);
        self.residuals.truncate(MEMORY);
        if self.residuals.len() < MEMORY {
            return false;
        }
        // Residuals oscillate: the rate is that of the largest of the newer half over the older half.
        let (newer, older) = self.residuals.split_at(MEMORY / 2);
        let largest = |half: &[f64]| half.iter().copied().fold(0.0, f64::max);
        let windows = (window * MEMORY / 2) as f64;
        let rate = (largest(newer) / largest(older)).powf(1.0 / windows);
        let residual = largest(newer);
        // What remains of a geometric series with this rate.
        rate < 1.0 && residual / (1.0 - rate) <= tolerance
    }
}

impl Run<'_> {
    /// Rounds until the stopping rule ends them.
    pub fn until(&mut self, stopping: &Stopping) -> Stop {
        let diameter = self.mesh.topology().diameter();
        let window = if self.is_alone() {
            1
        } else {
            diameter.max(WINDOW)
        };
        let constraint = self.mesh.task().residual().can_be_infeasible();
        let mut floods = Floods::default();
        let mut decided: Option<(usize, Stop)> = None;
        while self.rounds < stopping.rounds {
            // Agents measure in the last round of each window, then flood what they measured.
            let measure = stopping
                .tolerance
                .filter(|_| (self.rounds + 1).is_multiple_of(window));
            let last_round = self.rounds + 1 == stopping.rounds;
            let keep = measure.is_some() || (last_round && constraint);
            let before: Vec<Matrix> = self.duals().filter(|_| keep).cloned().collect();
            self.round();
            match decided {
                // A round that was cut short has found nothing.
                _ if self.local(0).is_interrupted() => return Stop::Interrupted,
                Some((due, stop)) if self.rounds >= due => return stop,
                _ => {}
            }
            if let Some(tolerance) = measure {
                self.bytes += self.links() * 8 * diameter as u64;
                match self.judge(&before, &mut floods, window, tolerance) {
                    Some(stop) if diameter == 0 => return stop,
                    Some(stop) => decided = Some((self.rounds + diameter, stop)),
                    None => {}
                }
            } else if keep && self.find_infeasible(&before) {
                return Stop::Infeasible;
            }
        }
        match decided {
            Some((_, stop)) if stop != Stop::Converged => stop,
            _ if self.has_run_away() => Stop::Diverged,
            _ => Stop::RoundLimit,
        }
    }

    /// Whether one agent's own argmin is the whole problem: it is solved in one round, and solving it
    /// again would show rounding only, in which there is no rate to be seen.
    pub(super) fn is_alone(&self) -> bool {
        self.strategies.len() == 1 && self.combine == Combine::NeighbourSum
    }

    /// What the agents measured means, if it means the end.
    fn judge(
        &mut self,
        before: &[Matrix],
        floods: &mut Floods,
        window: usize,
        tolerance: f64,
    ) -> Option<Stop> {
        let residual = self.largest_residual(before);
        if !residual.is_finite() || self.has_run_away() {
            return Some(Stop::Diverged);
        }
        if self.find_infeasible(before) {
            return Some(Stop::Infeasible);
        }
        if self.is_alone() {
            return Some(self.strategies[0].argmin_stop()); // it is the whole problem
        }
        let met = floods.meets(residual, window, tolerance);
        (met || residual <= ROUNDING).then_some(Stop::Converged)
    }

    /// How the argmin of an agent that is alone ends for one sample.
    pub(super) fn argmin_stop_of(&self, j: usize) -> Stop {
        let share = self.share.columns_range(j..j + 1);
        let local = Local {
            share: Some(&share),
            samples: 1,
            ..self.local(0)
        };
        let nothing = Matrix::zeros(share.rows(), 1);
        let mut v = nothing.clone();
        local.argmin(0.0, &nothing, &mut v, &mut Workspace::new(&local))
    }

    /// The largest relative change of any agent's nu for any sample, and its distance from what its
    /// neighbours hold.
    fn largest_residual(&self, before: &[Matrix]) -> f64 {
        let mut largest = 0.0_f64;
        for (k, strategy) in self.strategies.iter().enumerate() {
            let nu = strategy.dual();
            let degree = self.mesh.topology().degree(k) as f64;
            for j in 0..nu.cols() {
                let (new, old) = (nu.column(j), before[k].column(j));
                let mut moved = distance(new, old);
                if self.combine == Combine::NeighbourSum && degree > 0.0 {
                    let sum = &self.combined.column(k)[j * nu.rows()..(j + 1) * nu.rows()];
                    let mean: Vec<f64> = sum.iter().map(|s| s / degree).collect();
                    moved = moved.max(distance(new, &mean));
                }
                if moved != 0.0 {
                    let relative = moved / norm(new).max(f64::MIN_POSITIVE);
                    if relative.is_nan() {
                        return f64::NAN; // f64::max would drop it
                    }
                    largest = largest.max(relative);
                }
            }
        }
        largest
    }

    fn has_run_away(&self) -> bool {
        let delta = self.mesh.common().delta;
        self.duals().any(|nu| {
            nu.columns().zip(&self.sizes).any(|(nu, size)| {
                // nu scales with the sample, and where the residual is an equality with delta too.
                let bound = RUNAWAY * size.max(f64::MIN_POSITIVE.sqrt()) * (1.0 + 1.0 / delta);
                let length = norm(nu);
                !length.is_finite() || length > bound
            })
        })
    }
}
