//! The rounds by which an agent finds its nu_k of a batch.

use super::talk::{Halt, Talk};
use crate::exchange::{Phase, Tag};
use dictmesh::agent::{AgentId, Local};
use dictmesh::inference::measure::{self, Floods};
use dictmesh::inference::{combine, Combine, Strategy};
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
    pub stopping: Stopping,
    pub diameter: usize,
    /// |x| of each sample, where the agent is informed: what nu is held against.
    pub sizes: Option<&'a [f64]>,
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

/// What travels with the dual vectors.
struct Flood {
    /// The largest residual that was heard of since the last window.
    residual: f64,
    /// The earliest round after which somebody's numbers were beyond all bounds.
    trouble: f64,
    /// When the residual was measured, until it has reached everybody.
    measured: Option<usize>,
    floods: Floods,
    last: Option<f64>,
}

impl Inference<'_> {
    /// Rounds until the stopping rule ends them, for all agents in the same round.
    pub fn run(&self, strategy: &mut dyn Strategy, talk: &mut Talk) -> Result<Found, Halt> {
        let alone = self.local.agents == 1 && self.combine == Combine::NeighbourSum;
        let window = if alone {
            1
        } else {
            measure::window(self.diameter)
        };
        let numbers = self.local.rows() * self.local.samples;
        let (mut combined, mut before) = (vec![0.0; numbers], Matrix::zeros(0, 0));
        let mut flood = Flood {
            residual: 0.0,
            trouble: NEVER,
            measured: None,
            floods: Floods::default(),
            last: None,
        };
        strategy.start(&self.local);
        let mut rounds = 0;
        while rounds < self.stopping.rounds {
            let measures = self.stopping.tolerance.is_some() && (rounds + 1) % window == 0;
            if measures {
                before = strategy.dual().clone();
            }
            strategy.adapt(&self.local);
            self.exchange(strategy.outgoing(), rounds, &mut flood, talk)?;
            let own = strategy.outgoing().as_slice();
            combine(
                talk.weighted(self.id, self.weights, own, |frame| &frame.dual),
                &mut combined,
            );
            strategy.absorb(&self.local, &combined);
            rounds += 1;
            if let Some(stop) = self.judge(&mut flood, rounds, window) {
                return Ok(found(stop, rounds, &flood));
            }
            if measures {
                self.measure(strategy.dual(), &before, &combined, rounds, &mut flood);
                let now = if alone {
                    Some(strategy.argmin_stop())
                } else {
                    None
                };
                if let Some(stop) = now.or_else(|| self.judge(&mut flood, rounds, window)) {
                    return Ok(found(stop, rounds, &flood));
                }
            }
        }
        let away = self.has_run_away(strategy.dual());
        Ok(Found {
            troubled: away || flood.trouble < NEVER,
            ..found(Stop::RoundLimit, rounds, &flood)
        })
    }

    /// What this agent says goes out with what it knows of the others, and theirs comes in.
    fn exchange(
        &self,
        outgoing: &Matrix,
        rounds: usize,
        flood: &mut Flood,
        talk: &mut Talk,
    ) -> Result<(), Halt> {
        talk.own.tag = Tag {
            epoch: self.epoch,
            sample: self.position,
            phase: Phase::Inference,
            round: rounds as u32,
        };
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
            flood.trouble = flood.trouble.min(rounds as f64);
        }
        own.scalars.clear();
        own.scalars.extend([flood.residual, flood.trouble]);
        talk.round()?;
        for (_, frame) in talk.heard() {
            flood.residual = flood.residual.max(frame.scalars[0]);
            flood.trouble = flood.trouble.min(frame.scalars[1]);
        }
        Ok(())
    }

    /// What the agent sees of its own nu at the end of a window.
    fn measure(
        &self,
        nu: &Matrix,
        before: &Matrix,
        combined: &[f64],
        rounds: usize,
        flood: &mut Flood,
    ) {
        let own = measure::residual(self.combine, self.local.degree, nu, before, combined);
        if !own.is_finite() || self.has_run_away(nu) {
            flood.trouble = flood.trouble.min(rounds as f64);
        }
        flood.residual = if own.is_finite() { own } else { 0.0 };
        flood.measured = Some(rounds);
    }

    /// What has reached everybody by now means the end, if it does: all see it in the same round.
    fn judge(&self, flood: &mut Flood, rounds: usize, window: usize) -> Option<Stop> {
        if rounds as f64 >= flood.trouble + self.diameter as f64 {
            return Some(Stop::Diverged);
        }
        let measured = flood.measured.filter(|at| rounds >= at + self.diameter);
        measured?;
        flood.measured = None;
        flood.last = Some(flood.residual);
        let tolerance = self.stopping.tolerance?;
        let met = flood.floods.meets(flood.residual, window, tolerance);
        met.then_some(Stop::Converged)
    }

    fn has_run_away(&self, nu: &Matrix) -> bool {
        let delta = self.local.task.regularizer().strong_convexity();
        (self.sizes).is_some_and(|sizes| measure::has_run_away(nu, sizes, delta))
    }
}

fn found(stop: Stop, rounds: usize, flood: &Flood) -> Found {
    Found {
        stop,
        rounds,
        residual: flood.last,
        troubled: false,
    }
}
