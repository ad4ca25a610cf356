//! When the rounds of a batch end, and how.

use super::measure::{self, RateEstimator};
use super::rounds::Rounds;
use crate::error::{Error, Result};
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
    /// it is from its neighbours. The agents flood the largest such number for as many rounds as the
    /// graph has diameter, so that all know it and stop together. The rate at which it fell over the
    /// last four floods turns it into an estimate of what remains. The estimate is right to a factor of
    /// a few; it is not a certificate, which is [`Mesh::exact`](super::Mesh::exact)'s.
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

/// The residuals of other agents, as far as they have arrived: they travel with the arrays, one hop a round.
#[derive(Clone, Copy, Debug)]
pub struct Flood {
    /// The largest residual known since the last measurement.
    pub residual: f64,
    /// The earliest round after which some agent's iterates had diverged; [`Flood::NEVER`] if none.
    pub trouble: f64,
}

impl Flood {
    /// The number of a round that never comes.
    pub const NEVER: f64 = u32::MAX as f64;

    /// Merges the flood of a neighbour.
    pub fn merge(&mut self, residual: f64, trouble: f64) {
        self.residual = self.residual.max(residual);
        self.trouble = self.trouble.min(trouble);
    }

    /// Iterates diverged in this round.
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

/// The stopping rule at work on one batch: the same object for a mesh in one process and for an agent of a
/// network, so that all agents stop in the same round.
#[derive(Debug)]
pub struct StoppingRule {
    stopping: Stopping,
    diameter: usize,
    /// Whether one agent's own argmin is the whole problem: then the first round solves it, and later ones
    /// would show rounding alone, in which no rate can be seen.
    single: bool,
    /// Whether samples may have no feasible code.
    constrained: bool,
    /// The round of the last measurement, until it has reached every agent.
    measured: Option<usize>,
    rate: RateEstimator,
    /// The largest residual over all agents in the last measurement that reached all.
    last_residual: Option<f64>,
    /// The round in which all stop, once infeasibility is proven.
    infeasible_by: Option<usize>,
    measurements: usize,
}

impl StoppingRule {
    /// For a graph of this diameter. `single`: one agent, whose argmin is the whole problem.
    /// `constrained`: the residual may make samples infeasible.
    pub fn new(stopping: Stopping, diameter: usize, single: bool, constrained: bool) -> Self {
        StoppingRule {
            stopping,
            diameter,
            single,
            constrained,
            measured: None,
            rate: RateEstimator::default(),
            last_residual: None,
            infeasible_by: None,
            measurements: 0,
        }
    }

    /// The largest residual of the last measurement.
    pub fn last_residual(&self) -> Option<f64> {
        self.last_residual
    }

    /// Measurements so far; each is flooded over the graph.
    pub fn measurements(&self) -> usize {
        self.measurements
    }

    /// The rounds between two measurements: one measurement reaches every agent before the next.
    fn window(&self) -> usize {
        match self.single {
            true => 1,
            false => measure::window(self.diameter),
        }
    }

    fn measures(&self, round: usize) -> bool {
        self.stopping.tolerance.is_some() && round.is_multiple_of(self.window())
    }

    /// The round of the next decision, and whether nu before it is needed.
    pub fn next<R: Rounds>(&self, run: &mut R) -> (usize, bool) {
        let (rounds, limit) = (run.rounds(), self.stopping.rounds);
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

    /// What the rounds so far mean for all agents, if they mean the end.
    pub fn after_round<R: Rounds>(
        &mut self,
        run: &mut R,
    ) -> std::result::Result<Option<Stop>, R::Error> {
        if run.is_interrupted() {
            return Ok(Some(Stop::Interrupted));
        }
        let (rounds, limit) = (run.rounds(), self.stopping.rounds);
        if self.infeasible_by.is_some_and(|by| rounds >= by) {
            return Ok(Some(Stop::Infeasible));
        }
        if let Some(stop) = self.judge(run.flood(), rounds) {
            return Ok(Some(stop));
        }
        let measures = self.measures(rounds);
        if measures {
            self.measure(run, rounds);
            if self.single && run.flood().trouble == Flood::NEVER {
                let stop = run.argmin_stop();
                if stop == Stop::Infeasible {
                    run.proves_infeasible()?; // which samples
                }
                return Ok(Some(stop));
            }
            if let Some(stop) = self.judge(run.flood(), rounds) {
                return Ok(Some(stop));
            }
        }
        self.prove(run, rounds, measures)?;
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

    /// Starts a flood of what the agents measured in the last round.
    fn measure<R: Rounds>(&mut self, run: &mut R, rounds: usize) {
        self.measurements += 1;
        let own = run.measure();
        // An argmin that has not ended is no iterate of the strategy: such a round converges to nothing.
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

    /// What has reached every agent by now means the end, if it does: all agents decide so in the same round.
    fn judge(&mut self, flood: &Flood, rounds: usize) -> Option<Stop> {
        if rounds as f64 >= flood.trouble + self.diameter as f64 {
            return Some(Stop::Diverged);
        }
        self.measured.filter(|at| rounds >= at + self.diameter)?;
        self.measured = None;
        self.last_residual = Some(flood.residual);
        let met = (self.rate).meets(flood.residual, self.window(), self.stopping.tolerance?);
        met.then_some(Stop::Converged)
    }

    /// Tries to prove infeasibility after 1, 2, 4, 8, ... windows and at the limit: on a network a proof takes
    /// as many rounds as two floods.
    fn prove<R: Rounds>(
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
