//! When the rounds of a batch end, and how.

use super::part::Part;
use super::run::Run;
use crate::error::{Error, Result};
use crate::mesh::measure::{self, RateEstimator};
use crate::strategy::Combine;
use crate::strategy::{Local, Workspace};
use crate::Stop;
use dictmesh_kernels::matrix::Matrix;
use rayon::prelude::*;
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

    /// Refuses a tolerance or a number of rounds that cannot be.
    pub fn check(&self) -> Result<()> {
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

impl Run<'_> {
    /// Rounds until the stopping rule ends them.
    pub fn until(&mut self, stopping: &Stopping) -> Stop {
        let diameter = self.mesh.topology().diameter();
        let window = if self.is_alone() {
            1
        } else {
            measure::window(diameter)
        };
        let constraint = self.mesh.task().residual().can_be_infeasible();
        let mut floods = RateEstimator::default();
        let mut decided: Option<(usize, Stop)> = None;
        while self.rounds() < stopping.rounds {
            // Agents measure in the last round of each window, then flood what they measured.
            let window_end = (self.rounds() + 1).next_multiple_of(window);
            let measured = stopping.tolerance.map(|_| window_end);
            let due = decided.map(|(due, _)| due);
            let next = [measured, due].into_iter().flatten();
            let to = next.fold(stopping.rounds, usize::min);
            let measure = stopping.tolerance.filter(|_| to == window_end);
            let keep = measure.is_some() || (to == stopping.rounds && constraint);
            let before = self.advance(to, keep);
            match decided {
                // A round that was cut short has found nothing.
                _ if self.is_interrupted() => return Stop::Interrupted,
                Some((due, stop)) if self.rounds() >= due => return stop,
                _ => {}
            }
            if let Some(tolerance) = measure {
                self.flooded += self.links() * 8 * diameter as u64;
                match self.judge(&before, &mut floods, window, tolerance) {
                    Some(stop) if diameter == 0 => return stop,
                    Some(stop) => decided = Some((self.rounds() + diameter, stop)),
                    None => {}
                }
            } else if keep && self.find_infeasible(&before) {
                return Stop::Infeasible;
            }
        }
        match decided {
            Some((_, stop)) if stop != Stop::Converged => stop,
            _ if self.has_diverged() => Stop::Diverged,
            _ => Stop::RoundLimit,
        }
    }

    fn is_alone(&self) -> bool {
        self.parts.iter().all(|part| part.is_alone())
    }

    fn is_interrupted(&self) -> bool {
        self.parts.iter().any(|part| part.local(0).is_interrupted())
    }

    fn has_diverged(&self) -> bool {
        self.parts.iter().any(|part| part.has_diverged())
    }

    /// Whether the way nu moved in the last round proves that some samples cannot be met.
    fn find_infeasible(&mut self, before: &[Vec<Matrix>]) -> bool {
        let each = self.parts.iter_mut().zip(before);
        each.fold(false, |found, (part, before)| {
            part.find_infeasible(before) || found
        })
    }

    /// What the agents measured means, if it means the end.
    fn judge(
        &mut self,
        before: &[Vec<Matrix>],
        floods: &mut RateEstimator,
        window: usize,
        tolerance: f64,
    ) -> Option<Stop> {
        let each = self.parts.par_iter().zip(before);
        let each = each.map(|(part, before)| part.largest_residual(before));
        let each: Vec<f64> = each.collect();
        let residual = each.into_iter().fold(0.0, measure::larger);
        if !residual.is_finite() || self.has_diverged() {
            return Some(Stop::Diverged);
        }
        if self.find_infeasible(before) {
            return Some(Stop::Infeasible);
        }
        if self.is_alone() {
            let stops = self
                .parts
                .iter()
                .map(|part| part.strategies[0].argmin_stop());
            return Some(stops.fold(Stop::Converged, Stop::worse));
        }
        let met = floods.meets(residual, window, tolerance);
        met.then_some(Stop::Converged)
    }
}

impl Part<'_> {
    /// Whether one agent's own argmin is the whole problem: it is solved in one round, and solving it
    /// again would show rounding only, in which there is no rate to be seen.
    pub(super) fn is_alone(&self) -> bool {
        self.strategies.len() == 1 && self.combine == Combine::NeighbourSum
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
        let each = self.strategies.iter().zip(before).enumerate();
        each.fold(0.0, |largest, (k, (strategy, before))| {
            let (degree, combined) = (self.mesh.topology().degree(k), self.combined.column(k));
            let nu = strategy.dual();
            let own = measure::residual(self.combine, degree, nu, before, combined);
            measure::larger(largest, own)
        })
    }

    fn has_diverged(&self) -> bool {
        let delta = self.mesh.common().delta;
        self.duals()
            .any(|nu| measure::has_diverged(nu, &self.sizes, delta))
    }
}
