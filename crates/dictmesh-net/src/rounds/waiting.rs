//! What time asks for in a round.

use super::Rounds;
use crate::exchange::{Fault, Phase, Tag};
use crate::wire::Wire;
use crate::words::listed;
use dictmesh::AgentId;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long the flag of an interrupt is not looked at.
const LOOK: Duration = Duration::from_millis(100);
/// After so long a wait the log says for whom.
const PATIENCE: Duration = Duration::from_secs(5);
/// And again after this time.
const AGAIN: Duration = Duration::from_secs(60);

/// Whom a round waits for, and since when.
pub(super) struct Waiting {
    pub tag: Tag,
    pub missing: usize,
    /// Which neighbours it does not wait for, or no longer.
    pub has: Vec<bool>,
    pub since: Instant,
    /// When to look at the clocks again, whatever comes in between.
    pub look: Instant,
    pub resend: Instant,
    /// Whoever is silent for so long is lost.
    pub patience: Option<Duration>,
    pub interrupted: Option<Instant>,
    /// When the log last said for whom it waits.
    pub told: Instant,
}

impl Waiting {
    /// For those of the neighbours that are wanted.
    pub fn new(tag: Tag, wanted: Vec<bool>, resend: Duration, deadline: Option<Instant>) -> Self {
        let now = Instant::now();
        Waiting {
            tag,
            missing: wanted.iter().filter(|wanted| **wanted).count(),
            has: wanted.into_iter().map(|wanted| !wanted).collect(),
            since: now,
            look: now,
            resend: now + resend,
            patience: deadline.map(|at| at.saturating_duration_since(now)),
            interrupted: None,
            told: now,
        }
    }

    /// The frame of the i-th neighbour has come; that it comes again changes nothing.
    pub fn got(&mut self, i: usize) {
        self.missing -= usize::from(!self.has[i]);
        self.has[i] = true;
    }
}

impl<W: Wire> Rounds<W> {
    /// What is to be done because time passed.
    pub(super) fn look_at_clocks(&mut self, waiting: &mut Waiting) -> Result<(), Fault> {
        let now = Instant::now();
        if now.saturating_duration_since(waiting.look) > 2 * LOOK {
            // We stood still ourselves: nobody is to blame for not having been heard.
            self.edges.values_mut().for_each(|edge| edge.heard_at = now);
        }
        if self.interrupt.load(Ordering::Relaxed) {
            let since = *waiting.interrupted.get_or_insert(now);
            if now - since >= self.options.grace {
                return Err(Fault::Interrupted);
            }
        }
        let missing = || -> Vec<AgentId> {
            let each = self.active.iter().zip(&waiting.has);
            each.filter(|(_, has)| !**has).map(|(l, _)| *l).collect()
        };
        let pause = match waiting.told == waiting.since {
            true => PATIENCE,
            false => AGAIN,
        };
        if now - waiting.told >= pause {
            let neighbours = listed(&missing());
            tracing::info!(%neighbours, at = %waiting.tag, "{}", purpose(waiting.tag));
            waiting.told = now;
        }
        // Some time first, to hear what came while this agent was busy or stood still itself.
        let settled = now - waiting.since >= 4 * self.options.resend;
        if let Some(patience) = waiting.patience.filter(|_| settled) {
            let silent = |l: &AgentId| {
                (self.edges.get(l)).is_none_or(|edge| now - edge.heard_at >= patience)
            };
            let lost: Vec<AgentId> = missing().into_iter().filter(silent).collect();
            if !lost.is_empty() {
                return Err(Fault::Missing { missing: lost });
            }
        }
        if now >= waiting.resend {
            let missing = missing();
            for l in self.edges.keys().copied().collect::<Vec<_>>() {
                if missing.contains(&l) {
                    self.send_again(l, waiting.tag.epoch, true);
                } else if waiting.patience.is_some() || waiting.tag.phase == Phase::Closing {
                    // It has all it needs of us, or was given up: it must hear that we are alive.
                    self.wire.send(l, self.alive.clone());
                }
            }
            waiting.resend = now + self.options.resend;
        }
        waiting.look = waiting.resend.min(now + LOOK);
        Ok(())
    }
}

/// What a wait is for, and what ends it.
fn purpose(tag: Tag) -> &'static str {
    match tag.phase {
        Phase::Agreement => {
            "waiting for these neighbours to agree on the members; start those that do not run, also if they have ended"
        }
        Phase::Closing if tag.is_going() => "going; waiting until these neighbours have let this agent go",
        Phase::Closing => "the samples have ended; waiting for these neighbours to confirm it",
        Phase::Opening | Phase::Inference | Phase::Cost => {
            "these neighbours have not answered yet; the round waits for them"
        }
    }
}
