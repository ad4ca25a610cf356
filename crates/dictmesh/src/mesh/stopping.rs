//! The stopping rule of a batch.

mod rate;

use crate::error::{Error, Result};
use crate::strategy::divergence::is_beyond;
use crate::strategy::Strategy;
use crate::Stop;
use dictmesh_kernels::matrix::{distance, distance_from, norm, Matrix};
use rate::RateEstimator;
use serde::{Deserialize, Serialize};

/// Minimum number of rounds between two measurements; fewer are too noisy to estimate a rate.
const WINDOW: usize = 5;
/// Limit of rounds, if only a tolerance is given.
const MAX_ROUNDS: usize = 100_000;

/// The parameters of the stopping rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stopping {
    /// The relative distance of nu from the strategy's limit, as estimated, at which to stop;
    /// `None` runs all rounds.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// The maximum number of rounds.
    pub rounds: usize,
}

impl Stopping {
    /// Stops after exactly `rounds` rounds.
    pub fn rounds(rounds: usize) -> Self {
        Stopping {
            tolerance: None,
            rounds,
        }
    }

    /// Stops when the estimated distance of nu from the strategy's limit is within `tolerance`,
    /// relative to nu, or after 100,000 rounds. For `diffusion` and `consensus` the limit itself is
    /// biased.
    ///
    /// Each agent measures the relative change of its nu_k in a round and its distance from its
    /// neighbours. The maximum is flooded for a number of rounds equal to the diameter, so that all
    /// agents stop in the same round. Its decrease over the last four measurements gives a rate,
    /// and the rate an estimate of the remaining distance. The estimate is accurate to a factor of
    /// a few. It is not a certificate; [`Mesh::exact`](super::Mesh::exact) gives one.
    pub fn tolerance(tolerance: f64) -> Self {
        Stopping {
            tolerance: Some(tolerance),
            rounds: MAX_ROUNDS,
        }
    }

    /// `Ok` if the tolerance is positive and finite and the number of rounds is at least 1.
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

/// The residuals received from other agents; they travel with the arrays, one hop per round.
#[derive(Clone, Copy, Debug)]
pub struct Flood {
    /// The largest residual received since the last measurement.
    pub residual: f64,
    /// The earliest round in which some agent's iterates diverged; [`Flood::NEVER`] if none.
    pub trouble: f64,
}

impl Flood {
    /// A round number that is never reached.
    pub const NEVER: f64 = u32::MAX as f64;

    /// Merges the flood of a neighbour.
    pub fn merge(&mut self, residual: f64, trouble: f64) {
        self.residual = self.residual.max(residual);
        self.trouble = self.trouble.min(trouble);
    }

    /// Records that iterates diverged in this round.
    pub fn report_trouble(&mut self, round: usize) {
        self.trouble = self.trouble.min(round as f64);
    }
}

impl Default for Flood {
    fn default() -> Self {
        Flood {
            residual: 0.0,
            trouble: Flood::NEVER,
        }
    }
}

/// The agents that one process runs on a batch, and their link to the others.
pub trait Rounds {
    /// The error of a failed round.
    type Error;

    /// Rounds done.
    fn rounds(&self) -> usize;

    /// Does at least one round, at most until `to` are done. `keep` stores nu before round `to`,
    /// for [`measure`](Rounds::measure) and [`proves_infeasible`](Rounds::proves_infeasible).
    fn advance(&mut self, to: usize, keep: bool) -> std::result::Result<(), Self::Error>;

    /// Whether the caller requested a stop; the iterates are then discarded.
    fn is_interrupted(&self) -> bool;

    /// The outcome that the strategy decided on, if it [decides](Strategy::decides) itself.
    fn verdict(&self) -> Option<Stop>;

    /// The residuals received from other agents.
    fn flood(&mut self) -> &mut Flood;

    /// The largest relative change of nu in the last round over the local agents; `None` if it is
    /// not finite or nu has diverged.
    fn measure(&self) -> Option<f64>;

    /// The worst outcome of the last argmins of the local agents.
    fn argmin_stop(&self) -> Stop;

    /// Whether nu has diverged at the limit of rounds, as far as this process can decide for all
    /// agents.
    fn has_diverged(&self) -> bool;

    /// Whether the change of nu in the last round certifies, for all agents, some sample as
    /// infeasible.
    fn proves_infeasible(&mut self) -> std::result::Result<bool, Self::Error>;
}

/// The state of the stopping rule for one batch. A mesh in one process and an agent of a network
/// use the same type, so that all agents stop in the same round.
#[derive(Debug)]
pub struct StoppingRule {
    stopping: Stopping,
    diameter: usize,
    /// Whether one agent's argmin is the whole problem. The first round then solves it, and later
    /// rounds would show only rounding error.
    single: bool,
    /// Whether samples may be infeasible.
    constrained: bool,
    /// Whether the strategy decides; nothing is measured or flooded then.
    decided: bool,
    /// The round of the last measurement while it is being flooded.
    measured: Option<usize>,
    rate: RateEstimator,
    /// The largest residual over all agents in the last completed measurement.
    last_residual: Option<f64>,
    /// The round in which all agents stop after a certificate of infeasibility.
    infeasible_by: Option<usize>,
    measurements: usize,
}

impl StoppingRule {
    /// The rule for a graph of this diameter. `single`: one agent, whose argmin is the whole
    /// problem. `constrained`: the residual may make samples infeasible.
    pub fn new(stopping: Stopping, diameter: usize, single: bool, constrained: bool) -> Self {
        StoppingRule {
            stopping,
            diameter,
            single,
            constrained,
            decided: false,
            measured: None,
            rate: RateEstimator::default(),
            last_residual: None,
            infeasible_by: None,
            measurements: 0,
        }
    }

    /// The rule for a strategy that may [decide](Strategy::decides) itself.
    pub fn decided_by(mut self, strategy: &dyn Strategy) -> Self {
        self.decided = strategy.decides();
        self
    }

    /// The largest residual of the last completed measurement.
    pub fn last_residual(&self) -> Option<f64> {
        self.last_residual
    }

    /// The number of measurements; each is flooded over the graph.
    pub fn measurements(&self) -> usize {
        self.measurements
    }

    /// Rounds between two measurements; a measurement reaches every agent before the next.
    fn window(&self) -> usize {
        match self.single {
            true => 1,
            false => window(self.diameter),
        }
    }

    fn measures(&self, round: usize) -> bool {
        self.stopping.tolerance.is_some() && round.is_multiple_of(self.window())
    }

    /// The round of the next decision, and whether nu before that round is needed.
    pub fn next<R: Rounds>(&self, run: &mut R) -> (usize, bool) {
        let (rounds, limit) = (run.rounds(), self.stopping.rounds);
        if self.decided {
            return (usize::MAX, false); // the strategy keeps the limit
        }
        let window_end = (rounds + 1).next_multiple_of(self.window());
        let measured = self.stopping.tolerance.map(|_| window_end);
        let flooded = self.measured.map(|at| at + self.diameter);
        let trouble = run.flood().trouble;
        let diverged = (trouble < Flood::NEVER).then(|| trouble as usize + self.diameter);
        let to = [measured, flooded, diverged, self.infeasible_by]
            .into_iter()
            .flatten()
            .filter(|round| *round > rounds)
            .fold(limit, usize::min);
        let keep = self.measures(to) || (to == limit && self.constrained);
        (to, keep)
    }

    /// The outcome after the rounds so far, or `None` to continue.
    pub fn after_round<R: Rounds>(
        &mut self,
        run: &mut R,
    ) -> std::result::Result<Option<Stop>, R::Error> {
        if run.is_interrupted() {
            return Ok(Some(Stop::Interrupted));
        }
        let (rounds, limit) = (run.rounds(), self.stopping.rounds);
        if self.decided {
            return Ok(run.verdict());
        }
        if self.infeasible_by.is_some_and(|by| rounds >= by) {
            return Ok(Some(Stop::Infeasible));
        }
        if let Some(stop) = self.decide(run.flood(), rounds) {
            return Ok(Some(stop));
        }
        let measures = self.measures(rounds);
        if measures {
            self.measure(run, rounds);
            if self.single && run.flood().trouble == Flood::NEVER {
                let stop = run.argmin_stop();
                if stop == Stop::Infeasible {
                    run.proves_infeasible()?; // lists the samples
                }
                return Ok(Some(stop));
            }
            if let Some(stop) = self.decide(run.flood(), rounds) {
                return Ok(Some(stop));
            }
        }
        self.try_infeasible(run, rounds, measures)?;
        if self
            .infeasible_by
            .is_some_and(|by| by <= rounds || rounds >= limit)
        {
            return Ok(Some(Stop::Infeasible));
        }
        if rounds < limit {
            return Ok(None);
        }
        Ok(Some(match run.has_diverged() {
            true => Stop::Diverged,
            false => Stop::RoundLimit,
        }))
    }

    /// Starts the flood of the residuals of the last round.
    fn measure<R: Rounds>(&mut self, run: &mut R, rounds: usize) {
        self.measurements += 1;
        let own = run.measure();
        // An unsolved argmin is no iterate of the strategy, so this round must not count as
        // converged.
        let unsolved = run.argmin_stop() != Stop::Converged;
        let flood = run.flood();
        if own.is_none() {
            flood.report_trouble(rounds);
        }
        flood.residual = match unsolved {
            true => f64::MAX,
            false => own.unwrap_or(0.0),
        };
        self.measured = Some(rounds);
    }

    /// The outcome that follows from information that has reached every agent; all agents decide in
    /// the same round.
    fn decide(&mut self, flood: &Flood, rounds: usize) -> Option<Stop> {
        if rounds as f64 >= flood.trouble + self.diameter as f64 {
            return Some(Stop::Diverged);
        }
        self.measured.filter(|at| rounds >= at + self.diameter)?;
        self.measured = None;
        self.last_residual = Some(flood.residual);
        let met = (self.rate).meets(flood.residual, self.window(), self.stopping.tolerance?);
        met.then_some(Stop::Converged)
    }

    /// Tries to certify infeasibility after 1, 2, 4, 8, ... windows and at the limit: on a network,
    /// an attempt takes the rounds of two floods.
    fn try_infeasible<R: Rounds>(
        &mut self,
        run: &mut R,
        rounds: usize,
        measures: bool,
    ) -> std::result::Result<(), R::Error> {
        let windows = rounds / self.window();
        let due = (measures && windows.is_power_of_two()) || rounds >= self.stopping.rounds;
        if self.constrained && due && self.infeasible_by.is_none() && run.proves_infeasible()? {
            self.infeasible_by = Some(rounds + self.diameter);
        }
        Ok(())
    }
}

/// Rounds between two measurements: at least the diameter, so that each one reaches every agent
/// before the next.
fn window(diameter: usize) -> usize {
    diameter.max(WINDOW)
}

/// The largest relative change of an agent's nu over its samples in one round. If `sum` gives the
/// number of neighbours and their plain sum, the distance from their mean counts too. NaN
/// propagates.
pub fn relative_change(nu: &Matrix, before: &Matrix, sum: Option<(usize, &[f64])>) -> f64 {
    let mut largest = 0.0_f64;
    for j in 0..nu.cols() {
        let new = nu.column(j);
        let mut moved = distance(new, before.column(j));
        if let Some((degree, sum)) = sum.filter(|(degree, _)| *degree > 0) {
            let sum = &sum[j * nu.rows()..(j + 1) * nu.rows()];
            moved = max_or_nan(moved, distance_from(new, 1.0 / degree as f64, sum));
        }
        if moved != 0.0 {
            let relative = moved / norm(new).max(f64::MIN_POSITIVE);
            if relative.is_nan() {
                return f64::NAN; // f64::max would drop it
            }
            largest = largest.max(relative);
        }
    }
    largest
}

/// The larger of two residuals; NaN propagates.
pub fn max_or_nan(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() {
        b
    } else {
        a
    }
}

/// Whether nu has diverged, for samples of these magnitudes. `delta` is the smallest of any agent.
pub fn has_diverged(nu: &Matrix, sizes: &[f64], delta: f64) -> bool {
    let mut each = nu.columns().zip(sizes);
    each.any(|(nu, size)| is_beyond(nu, *size, delta))
}
