//! How a batch is opened: informed agents announce how many samples it has, and what anybody wants to change
//! travels with it, neighbour by neighbour.
//!
//! All of it is flooded for as many rounds as the graph has diameter. While a source has nothing, the agents go on
//! asking each other: so a pause looks like nothing else, and a neighbour that is lost or restarted in it is noticed.

use super::talk::{Halt, Talk};
use crate::error::Error;
use crate::exchange::{Phase, Tag};
use dictmesh::AgentId;
use std::time::{Duration, Instant};

/// What an agent has to say before a batch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    /// Samples that a batch has at most.
    pub batch: usize,
    /// Samples that it has for the batch, 0 if its source has ended; `None` if it is not informed.
    pub samples: Option<usize>,
    /// It is informed, and its source has not enough yet; or nobody is, and it expects somebody who may be.
    pub pending: bool,
    /// It wants to leave for good.
    pub leaves: Option<AgentId>,
    /// Somebody wants to come in.
    pub change: bool,
    /// Somebody's numbers are beyond all bounds.
    pub trouble: Option<Trouble>,
}

/// What an agent knows of numbers beyond all bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Somebody told of them.
    Heard,
    /// They are those of the agent with this number, as it says itself.
    Of(AgentId),
}

impl Trouble {
    fn scalar(trouble: Option<Trouble>) -> f64 {
        match trouble {
            None => 0.0,
            Some(Trouble::Heard) => 1.0,
            Some(Trouble::Of(id)) => 2.0 + id as f64,
        }
    }

    fn read(scalar: f64) -> Option<Trouble> {
        match scalar {
            s if s <= 0.0 => None,
            s if s >= 2.0 && s.fract() == 0.0 => Some(Trouble::Of((s - 2.0) as AgentId)),
            _ => Some(Trouble::Heard),
        }
    }
}

/// What all of them do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    /// A batch of so many samples.
    Batch(usize),
    /// Nothing yet.
    Pending,
    /// Nothing, and nobody expects anything.
    Nobody,
    /// No more samples will come.
    End,
    /// This agent leaves.
    Leaves(AgentId),
    /// Agree anew.
    Change,
    /// End: somebody's numbers are beyond all bounds; with the neighbour that told more of it than was known.
    Diverged(Trouble, Option<AgentId>),
}

/// Smaller than any number of samples.
const NO_OPINION: f64 = -1e18;

/// RateEstimator the wishes. `tick` counts the attempts to open this batch.
pub(super) fn open(
    talk: &mut Talk,
    epoch: u32,
    position: u64,
    tick: u32,
    diameter: usize,
    wish: &Wish,
) -> Result<Opened, Halt> {
    let flag = |flag| if flag { 1.0 } else { 0.0 };
    let count = wish.samples.map(|n| n as f64);
    // The largest of each is flooded; the smallest count is the largest of its negative.
    let mut known = [
        count.unwrap_or(NO_OPINION),
        count.map_or(NO_OPINION, |n| -n),
        flag(wish.pending),
        wish.leaves.map_or(-1.0, |id| id as f64),
        flag(wish.change),
        Trouble::scalar(wish.trouble),
    ];
    let mut told_by = None;
    for round in 0..diameter as u32 {
        talk.own.tag = Tag {
            epoch,
            sample: position,
            phase: Phase::Opening,
            round: tick.wrapping_mul(diameter as u32).wrapping_add(round),
        };
        talk.own.dual.clear();
        talk.own.scalars.clear();
        talk.own.scalars.extend(known);
        talk.round()?;
        for (from, frame) in talk.heard() {
            if frame
                .scalars
                .get(5)
                .is_some_and(|theirs| *theirs > known[5])
            {
                told_by = Some(from);
            }
            (known.iter_mut().zip(&frame.scalars)).for_each(|(own, v)| *own = own.max(*v));
        }
    }
    match Trouble::read(known[5]) {
        Some(trouble) => Ok(Opened::Diverged(trouble, told_by)),
        None => judge(known, position, wish.batch).map_err(Halt::from),
    }
}

/// So many more rounds of the same: whoever has come through them knows that all within as many links know what was
/// decided, so that none of them is called away by a new epoch before it does. One round is not enough: the neighbour
/// of a neighbour may still be waiting for the last frame of the decision when the call comes to it along another way.
/// Each is waited for with `patience`, or as all rounds are.
pub(super) fn confirm(
    talk: &mut Talk,
    rounds: usize,
    patience: Option<Duration>,
) -> Result<(), Halt> {
    if talk.degree() == 0 {
        return Ok(());
    }
    for _ in 0..rounds {
        talk.own.tag.round = talk.own.tag.round.wrapping_add(1);
        match patience {
            Some(patience) => talk.round_until(Some(Instant::now() + patience))?,
            None => talk.round()?,
        }
    }
    Ok(())
}

fn judge(known: [f64; 6], position: u64, batch: usize) -> Result<Opened, Error> {
    let [most, fewest, pending, leaves, change, _] = known;
    let fewest = -fewest;
    Ok(if leaves >= 0.0 {
        Opened::Leaves(leaves as AgentId)
    } else if change > 0.0 {
        Opened::Change
    } else if pending > 0.0 {
        Opened::Pending
    } else if most <= NO_OPINION {
        Opened::Nobody
    } else if most != fewest {
        return Err(Error::Counts {
            position,
            fewest: fewest.max(0.0) as u64,
            most: most.max(0.0) as u64,
        });
    } else if most == 0.0 {
        Opened::End
    } else if (1.0..=batch as f64).contains(&most) && most.fract() == 0.0 {
        Opened::Batch(most as usize)
    } else {
        return Err(Error::Announced {
            position,
            given: most,
            batch,
        });
    })
}
