//! How agents come to their end together.
//!
//! Nobody can know that its last words were heard. So an agent writes down that the samples have ended, then says so
//! for as many rounds as the graph has diameter: whoever has come through them knows that all have written it down,
//! and that one who dies from now on needs nobody any more. That it writes down too, and says so for as many rounds
//! again: whoever has come through these may go, as nobody's return depends on it. One that died in them, and returns to
//! find some gone, tells those who are left that all have ended. Until then nobody goes under the policy `wait`,
//! however late a killed neighbour returns.
//!
//! Whoever knows that all have ended tells its neighbours; its word is enough for one that has written down its own end
//! and was called into another agreement meanwhile.
//!
//! Outside those rounds an agent that has come to its end waits for nobody for ever: others may have gone, knowing more
//! than it does.
//!
//! A run that has ended may be gone on with, when there are more samples. So one that is started again at its end, and is
//! not informed, does not take its own word for it, and waits for that of an informed one: only where nobody else is
//! there it goes after `linger`. That there are no samples yet is not that there are none: an informed one whose source
//! says so has not come to its end, and neither have those who are told of it.

use super::events::Outcome;
use super::settings::Policy;
use super::talk::Halt;
use super::Agent;
use crate::error::Error;
use crate::exchange::{Fault, Phase, Tag};
use dictmesh::AgentId;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a source that was at its end may take to say whether it still is.
const LOOK: Duration = Duration::from_secs(1);
/// How long an agent that goes leaves its neighbours alone after one of them has gone on.
const PAUSE: Duration = Duration::from_millis(50);
/// The samples before the rounds in which the end is made known: more than there can be, and the same wherever an agent
/// has come to.
const TELLING: u64 = u64::MAX - 2;
/// How many times `linger` an agent at its end waits where some neighbours are there and others are not, and one that
/// returns where nobody is who has samples.
pub(super) const TRIES: u32 = 30;

impl Agent {
    /// Writes down that the samples have ended, and whether all agents have written that down.
    pub(super) fn write_the_end(&mut self, all: bool) -> Result<(), Error> {
        (self.around.ended, self.around.all_ended) = (true, all);
        let kept = self
            .checkpoints
            .keep(self.state.clone(), &self.around, true);
        self.around.ended = false; // a later checkpoint is another matter
        kept
    }

    /// From now on it has come to its end, and its checkpoint says so.
    pub(super) fn come_to_the_end(&mut self) {
        (self.ended_at, self.around.ended) = (Some(self.state.position), false);
        self.talk.has_ended(Some(self.settings.linger));
    }

    /// The same after a start, where its checkpoint says that it had come to its end. There may be more samples now, or
    /// later. Only who is informed can know that there are none; the others believe it when they are told.
    pub(super) fn be_at_the_end_again(&mut self) -> Result<(), Error> {
        let until = Instant::now() + LOOK;
        let mut taken = self.take()?;
        while self.source.is_some() && taken.is_none() && Instant::now() < until {
            taken = self.take()?;
        }
        self.around.all_ended &= matches!(taken, Some(None));
        let may_have_more = match taken {
            Some(x) => x.is_some(),
            None => self.source.is_some(),
        };
        if may_have_more {
            self.around.ended = false;
        } else {
            self.come_to_the_end();
            self.waits_since = Some(Instant::now());
        }
        Ok(())
    }

    /// Whether it is at its end, and those who were to come have had the time to.
    pub(super) fn waits_for_long(&mut self) -> bool {
        if self.ended_at.is_none() {
            return false;
        }
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        since.elapsed() >= self.settings.linger
    }

    /// Forgets it, where an agreement has gone back to an earlier sample.
    pub(super) fn is_past_the_end(&mut self) {
        if self.ended_at.is_some_and(|at| at != self.state.position) {
            self.forget_the_end();
        }
    }

    /// From now on others are waited for as before.
    pub(super) fn forget_the_end(&mut self) {
        if self.ended_at.take().is_some() {
            (self.waits_since, self.around.all_ended) = (None, false);
            self.talk.has_ended(None);
        }
    }

    /// Stays until all know of the end. One that died before it knew, and returns, finds everybody still there.
    pub(super) fn farewell(&mut self, diameter: usize) -> Result<Outcome, Halt> {
        let patience = match self.settings.policy {
            Policy::Wait => None,
            Policy::GoOn { .. } => Some(self.settings.linger),
        };
        for round in 0..2 * diameter as u32 {
            if round == diameter as u32 {
                self.write_the_end(true)?;
            }
            let tag = Tag {
                sample: TELLING,
                round,
                ..Tag::all_ended(self.around.epoch)
            };
            match self.closing(tag, patience) {
                Ok(()) => {}
                Err(Fault::AllEnded { .. }) => break,
                Err(Fault::NewEpoch { epoch, by }) => {
                    return Err(Fault::NewEpoch { epoch, by }.into());
                }
                Err(Fault::Engine(why)) => return Err(Fault::Engine(why).into()),
                Err(_) => return Ok(Outcome::Ended),
            }
        }
        Ok(self.tell_the_end()?)
    }

    /// Tells the neighbours that all have come to their end, for as long as one of them may not know.
    pub(super) fn tell_the_end(&mut self) -> Result<Outcome, Error> {
        if !self.around.all_ended {
            self.write_the_end(true)?;
        }
        self.say_and_go(Tag::all_ended(self.around.epoch), TRIES)?;
        Ok(Outcome::Ended)
    }

    /// Whether all neighbours but these know that all have ended, as this agent has written down: it tells them. Those
    /// whose own end is not written do not hear it, and are agreed with.
    pub(super) fn those_there_know(&mut self, missing: &[AgentId]) -> bool {
        if !self.around.all_ended {
            return false;
        }
        // No patience: it is said a few times, which is enough for whoever is there.
        match self.closing(Tag::all_ended(self.around.epoch), Some(Duration::ZERO)) {
            Ok(()) => true,
            Err(Fault::Missing { missing: still }) => still.iter().all(|l| missing.contains(l)),
            Err(_) => false, // the next agreement meets with it too
        }
    }

    /// Whether one that has come to its end need not wait for these any longer.
    pub(super) fn has_waited_enough(&mut self, missing: &[AgentId]) -> bool {
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        missing.len() == self.around.active.len() || since.elapsed() >= TRIES * self.settings.linger
    }

    /// Goes for good as soon as its neighbours have let it go, or when it has not heard of one of them for a while, which
    /// may not have heard its last words.
    pub(super) fn close(&mut self) {
        // It goes whatever the engine says, for a reason of its own.
        let _ = self.say_and_go(Tag::going(self.around.epoch), 1);
    }

    /// Says it until all neighbours say the same or are silent for `linger`; those who are in a later epoch hear it
    /// again and again, for so many times `linger` at most.
    fn say_and_go(&mut self, tag: Tag, times: u32) -> Result<(), Error> {
        let until = Instant::now() + times * self.settings.linger;
        while Instant::now() < until && !self.control.interrupt.load(Ordering::Relaxed) {
            match self.closing(tag, Some(self.settings.linger)) {
                Err(Fault::NewEpoch { .. }) => std::thread::sleep(PAUSE),
                Err(Fault::Engine(why)) => return Err(Error::Engine(why)),
                _ => break,
            }
        }
        Ok(())
    }

    fn closing(&mut self, tag: Tag, patience: Option<Duration>) -> Result<(), Fault> {
        debug_assert_eq!(tag.phase, Phase::Closing);
        self.talk.own.tag = tag;
        self.talk.own.scalars.clear();
        self.talk.own.dual.clear();
        let until = patience.map(|patience| Instant::now() + patience);
        self.talk.round_until(until)
    }
}
