//! The rounds by which an agent finds its nu_k of a batch.

use super::talk::{Halt, Talk};
use crate::codec::SCALARS;
use crate::exchange::{Phase, Tag};
use dictmesh::mesh::measure::{self, RateEstimator};
use dictmesh::strategy::Local;
use dictmesh::strategy::{combine, Combine, Strategy};
use dictmesh::AgentId;
use dictmesh::{Matrix, Stop, Stopping};

/// The number of a round that never comes.
const NEVER: f64 = u32::MAX as f64;

/// What stays the same through the rounds of a batch.
pub(super) struct Inference<'a> {
    pub id: AgentId,
    pub local: Local<'a>,
    pub combine: Combine,
    /// As the strategy wants them.
    pub weights: &'a [(AgentId, f64)],
    /// Whether all neighbours, who are all agents, have the same weight, and only sums over all agents are exchanged.
    pub sums: bool,
    pub stopping: Stopping,
    pub diameter: usize,
    /// |x| of each sample, where the agent is informed: what nu is held against.
    pub sizes: Option<&'a [f64]>,
    /// All agents and whether they are informed, rising.
    pub members: &'a [(AgentId, bool)],
    pub epoch: u32,
    pub position: u64,
}

/// How the rounds ended.
pub(super) struct Found {
    pub stop: Stop,
    pub rounds: usize,
    /// The largest residual of the last flood.
    pub residual: Option<f64>,
    /// Whether this agent knows of numbers beyond all bounds that not all have heard of yet.
    pub troubled: bool,
}

/// Where the rounds of a batch have come to.
struct Course {
    rounds: usize,
    /// Rounds of the strategy and those of proofs.
    exchanges: u32,
    /// nu_k before the last round, where it is needed after it.
    before: Matrix,
    /// What came in, combined.
    combined: Vec<f64>,
    flood: Flood,
    /// The round in which all stop, once it is proven that no code meets the constraint.
    infeasible_by: Option<usize>,
}

/// What travels with the dual vectors.
struct Flood {
    /// The largest residual that was heard of since the last window.
    residual: f64,
    /// The earliest round after which somebody's numbers were beyond all bounds.
    trouble: f64,
    /// When the residual was measured, until it has reached everybody.
    measured: Option<usize>,
    floods: RateEstimator,
    last: Option<f64>,
}

impl Flood {
    fn hear(&mut self, residual: f64, trouble: f64) {
        self.residual = self.residual.max(residual);
        self.trouble = self.trouble.min(trouble);
    }
}

impl Course {
    fn new(numbers: usize) -> Self {
        Course {
            rounds: 0,
            exchanges: 0,
            before: Matrix::zeros(0, 0),
            combined: vec![0.0; numbers],
            flood: Flood {
                residual: 0.0,
                trouble: NEVER,
                measured: None,
                floods: RateEstimator::default(),
                last: None,
            },
            infeasible_by: None,
        }
    }

    fn found(&self, stop: Stop) -> Found {
        Found {
            stop,
            rounds: self.rounds,
            residual: self.flood.last,
            troubled: false,
        }
    }
}

impl Inference<'_> {
    /// Rounds until the stopping rule ends them, for all agents in the same round.
    pub fn run(&self, strategy: &mut dyn Strategy, talk: &mut Talk) -> Result<Found, Halt> {
        let mut course = Course::new(self.local.rows() * self.local.samples);
        strategy.start(&self.local);
        while course.rounds < self.stopping.rounds {
            let next = course.rounds + 1;
            if self.measures(next) || next == self.stopping.rounds {
                course.before = strategy.dual().clone();
            }
            strategy.adapt(&self.local);
            self.exchange(strategy.outgoing(), &mut course, talk)?;
            strategy.absorb(&self.local, &course.combined);
            course.rounds = next;
            if let Some(stop) = self.end(strategy, &mut course, talk)? {
                return Ok(course.found(stop));
            }
        }
        let away = self.has_diverged(strategy.dual());
        Ok(Found {
            troubled: away || course.flood.trouble < NEVER,
            ..course.found(Stop::RoundLimit)
        })
    }

    /// What this round means for all, if it means the end before the limit of rounds.
    fn end(
        &self,
        strategy: &dyn Strategy,
        course: &mut Course,
        talk: &mut Talk,
    ) -> Result<Option<Stop>, Halt> {
        let rounds = course.rounds;
        if course.infeasible_by.is_some_and(|by| rounds >= by) {
            return Ok(Some(Stop::Infeasible));
        }
        if let Some(stop) = self.judge(&mut course.flood, rounds) {
            return Ok(Some(stop));
        }
        let (measures, last) = (self.measures(rounds), rounds == self.stopping.rounds);
        if measures {
            self.measure(strategy.dual(), course);
            let now = self.is_alone().then(|| strategy.argmin_stop());
            if let Some(stop) = now.or_else(|| self.judge(&mut course.flood, rounds)) {
                return Ok(Some(stop));
            }
        }
        // The proof takes as many rounds as two floods: it is tried after 1, 2, 4, 8, ... windows, and at the end.
        let due = measures && (rounds / self.window()).is_power_of_two() || last;
        if due && course.infeasible_by.is_none() && self.can_be_proven_infeasible() {
            let Course {
                before, exchanges, ..
            } = &mut *course;
            let proven = match self.is_alone() {
                true => strategy.argmin_stop() == Stop::Infeasible,
                false => self.is_infeasible(strategy.dual(), before, exchanges, talk)?,
            };
            course.infeasible_by = proven.then_some(rounds + self.diameter);
        }
        let now = course.infeasible_by.filter(|by| last || *by == rounds);
        Ok(now.map(|_| Stop::Infeasible))
    }

    /// Whether there is nobody to exchange anything with, so that the first argmin is the whole problem.
    fn is_alone(&self) -> bool {
        self.local.agents == 1 && self.combine == Combine::NeighbourSum
    }

    /// Rounds between two measurements.
    fn window(&self) -> usize {
        match self.is_alone() {
            true => 1,
            false => measure::window(self.diameter),
        }
    }

    /// Whether this round, counted from 1, is measured.
    fn measures(&self, round: usize) -> bool {
        self.stopping.tolerance.is_some() && round.is_multiple_of(self.window())
    }

    /// Whether there is a constraint, and room in a frame for what all agents add to the proof.
    fn can_be_proven_infeasible(&self) -> bool {
        let scalars = self.members.len() * (1 + 2 * self.local.samples);
        self.local.residual.can_be_infeasible() && scalars <= SCALARS
    }

    /// The tag of the next exchange of this batch.
    pub(super) fn tag(&self, exchanges: &mut u32) -> Tag {
        let round = *exchanges;
        *exchanges += 1;
        Tag {
            epoch: self.epoch,
            sample: self.position,
            phase: Phase::Inference,
            round,
        }
    }

    /// What this agent says, with what it knows of the others, goes out; theirs comes in and is combined.
    fn exchange(
        &self,
        outgoing: &Matrix,
        course: &mut Course,
        talk: &mut Talk,
    ) -> Result<(), Halt> {
        let flood = &mut course.flood;
        talk.own.tag = self.tag(&mut course.exchanges);
        let own = &mut talk.own;
        own.dual.clear();
        own.dual.extend_from_slice(outgoing.as_slice());
        // Others refuse what is no number, so it is told instead of sent.
        if own
            .dual
            .iter()
            .fold(false, |found, v| found | !v.is_finite())
        {
            own.dual.fill(0.0);
            flood.trouble = flood.trouble.min(course.rounds as f64);
        }
        own.scalars.clear();
        own.scalars.extend([flood.residual, flood.trouble]);
        match self.sums {
            true => self.sum(outgoing.as_slice(), flood, talk, &mut course.combined),
            false => self.hear(outgoing.as_slice(), flood, talk, &mut course.combined),
        }
    }

    /// In the order of the agents.
    fn hear(
        &self,
        outgoing: &[f64],
        flood: &mut Flood,
        talk: &mut Talk,
        combined: &mut [f64],
    ) -> Result<(), Halt> {
        talk.round()?;
        for (_, frame) in talk.heard() {
            flood.hear(frame.scalars[0], frame.scalars[1]);
        }
        combine(
            talk.weighted(self.id, self.weights, outgoing, |f| &f.dual),
            combined,
        );
        Ok(())
    }

    /// The same by a sum over all agents, where each neighbour has the weight w:
    /// sum_l a_lk psi_l = w sum_l psi_l + (a_kk - w) psi_k.
    fn sum(
        &self,
        outgoing: &[f64],
        flood: &mut Flood,
        talk: &mut Talk,
        combined: &mut [f64],
    ) -> Result<(), Halt> {
        // The earliest trouble is the largest of the negatives.
        talk.own.scalars[1] = -flood.trouble;
        let mut most = [0.0; 2];
        talk.sum(combined, &mut most)?;
        flood.hear(most[0], -most[1]);
        let of = |own: bool| self.weights.iter().find(|(l, _)| (*l == self.id) == own);
        let [own, w] = [true, false].map(|own| of(own).map_or(0.0, |(_, a)| *a));
        let each = combined.iter_mut().zip(outgoing);
        each.for_each(|(sum, psi)| *sum = w * *sum + (own - w) * psi);
        Ok(())
    }

    /// What the agent sees of its own nu at the end of a window.
    fn measure(&self, nu: &Matrix, course: &mut Course) {
        let Course {
            before, combined, ..
        } = course;
        let own = measure::residual(self.combine, self.local.degree, nu, before, combined);
        let flood = &mut course.flood;
        if !own.is_finite() || self.has_diverged(nu) {
            flood.trouble = flood.trouble.min(course.rounds as f64);
        }
        flood.residual = if own.is_finite() { own } else { 0.0 };
        flood.measured = Some(course.rounds);
    }

    /// What has reached everybody by now means the end, if it does: all see it in the same round.
    fn judge(&self, flood: &mut Flood, rounds: usize) -> Option<Stop> {
        if rounds as f64 >= flood.trouble + self.diameter as f64 {
            return Some(Stop::Diverged);
        }
        let measured = flood.measured.filter(|at| rounds >= at + self.diameter);
        measured?;
        flood.measured = None;
        flood.last = Some(flood.residual);
        let tolerance = self.stopping.tolerance?;
        let met = (flood.floods).meets(flood.residual, self.window(), tolerance);
        met.then_some(Stop::Converged)
    }

    fn has_diverged(&self, nu: &Matrix) -> bool {
        let delta = self.local.task.regularizer().strong_convexity();
        (self.sizes).is_some_and(|sizes| measure::has_diverged(nu, sizes, delta))
    }
}
