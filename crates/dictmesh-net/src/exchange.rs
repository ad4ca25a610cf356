//! The round as the primitive: what an agent says goes to all its neighbours, and what each of them says in the
//! same round comes back.

use crate::words::agents;
use dictmesh::AgentId;
use std::fmt;
use std::time::Instant;

/// What a round is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Phase {
    /// The agents find out who is there and from which sample they go on. Scalars only.
    Agreement = 0,
    /// A batch is announced: how many samples it has, or that no more will come. Scalars only.
    Opening = 1,
    /// A round of the strategy: dual vectors, and the scalars of the stopping rule.
    Inference = 2,
    /// A round of averaging the cost. Scalars only.
    Cost = 3,
    /// The last round of an agent that has come to its end: it stays until its neighbours have what they need of it.
    Closing = 4,
}

impl Phase {
    /// The phase with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        use Phase::{Agreement, Closing, Cost, Inference, Opening};
        let all = [Agreement, Opening, Inference, Cost, Closing];
        all.into_iter().find(|phase| *phase as u8 == number)
    }
}

/// Which round this is. Totally ordered, the same for all agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    /// Counts agreements: whenever an agent joins, leaves, dies or comes back, all begin a new epoch, and what was
    /// sent in an older one counts no more.
    pub epoch: u32,
    /// The number of samples before this batch.
    pub sample: u64,
    /// What the round is part of.
    pub phase: Phase,
    /// From 0 within the phase.
    pub round: u32,
}

impl Tag {
    /// The round of an agent that knows that all have come to their end and have written it down.
    pub fn all_ended(epoch: u32) -> Self {
        Tag {
            epoch,
            sample: u64::MAX, // more than there can be, and the same wherever an agent has come to
            phase: Phase::Closing,
            round: 0,
        }
    }

    /// Whether it is [`all_ended`](Tag::all_ended) of some epoch.
    pub fn is_all_ended(&self) -> bool {
        *self == Tag::all_ended(self.epoch)
    }

    /// The round of an agent that goes for good, and of those who let it go.
    pub fn going(epoch: u32) -> Self {
        Tag {
            sample: u64::MAX - 1,
            ..Tag::all_ended(epoch)
        }
    }

    /// Whether it is [`going`](Tag::going) of some epoch.
    pub fn is_going(&self) -> bool {
        *self == Tag::going(self.epoch)
    }

    /// The first round of an agreement.
    pub fn agreement(epoch: u32) -> Self {
        Tag {
            epoch,
            sample: 0,
            phase: Phase::Agreement,
            round: 0,
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (epoch, sample) = (self.epoch, self.sample);
        match self.phase {
            Phase::Agreement => write!(f, "the agreement of epoch {epoch}"),
            Phase::Opening => write!(f, "the opening of the batch at sample {sample}"),
            Phase::Inference => write!(f, "round {} at sample {sample}", self.round),
            Phase::Cost => write!(f, "the cost at sample {sample}"),
            Phase::Closing => write!(f, "the end of epoch {epoch}"),
        }
    }
}

impl Default for Tag {
    fn default() -> Self {
        Tag::agreement(0)
    }
}

/// All that an agent can say in a round. No field holds atoms or coefficients.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Which round it belongs to.
    pub tag: Tag,
    /// Control scalars: residual, cost, counts.
    pub scalars: Vec<f64>,
    /// Dual vectors, M x B by columns; empty in phases without.
    pub dual: Vec<f64>,
    /// Packed integers of a sum, a root's broadcast, or public keys; empty in other rounds.
    pub bytes: Vec<u8>,
}

/// Why a round did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Somebody began a new epoch (it restarted, joined, left, or lost a neighbour): the batch is begun again after
    /// an agreement.
    #[error("agent {by} announces a new epoch, {epoch}")]
    NewEpoch {
        /// Its number.
        epoch: u32,
        /// The neighbour that told of it.
        by: AgentId,
    },
    /// The deadline passed without these neighbours.
    #[error("{} did not answer in time", agents(missing))]
    Missing {
        /// Those who were not heard.
        missing: Vec<AgentId>,
    },
    /// A neighbour knows that all agents have come to their end, which this one has too.
    #[error("agent {by} reports that all agents have ended")]
    AllEnded {
        /// The neighbour.
        by: AgentId,
    },
    /// This agent was asked to end.
    #[error("interrupted")]
    Interrupted,
    /// The engine cannot go on.
    #[error("{0}")]
    Engine(String),
}

/// One agent's rounds with its neighbours. Nothing has a default: what one exchange forgot to pass on to another would be lost
/// without a word.
pub trait Exchange: Send {
    /// Who is on the other ends and takes part, rising.
    fn neighbours(&self) -> &[AgentId];

    /// From now on these neighbours (rising) take part. An engine whose agents neither come nor go need not do it.
    fn take_part(&mut self, neighbours: &[AgentId]);

    /// These have left for good: nothing is heard of them any more.
    fn forget(&mut self, gone: &[AgentId]);

    /// Those who do not take part and were heard since they last did: they want to come in.
    fn knocking(&mut self) -> Result<Vec<AgentId>, Fault>;

    /// From now on a neighbour's word that all have come to their end counts, or does not: it does for an agent that has
    /// written down its own, and has nothing left to do.
    fn has_ended(&mut self, ended: bool);

    /// One round: `own` goes to every neighbour; `inbox[i]` becomes the frame of the same tag of the i-th of
    /// [`neighbours`](Exchange::neighbours), in memory it already has. Returns when all have arrived. By
    /// `deadline` a neighbour that was not heard at all counts as lost (`None`: wait for as long as it takes).
    fn round(
        &mut self,
        own: &Frame,
        inbox: &mut [Frame],
        deadline: Option<Instant>,
    ) -> Result<(), Fault>;

    /// Sends `own` to some of the neighbours and does not wait. It is sent again until a frame of a
    /// later tag from the same neighbour shows that it arrived.
    fn send(&mut self, own: &Frame, to: &[AgentId]) -> Result<(), Fault>;

    /// Waits for the frames of this tag from some of the neighbours, each of which has opaque bytes
    /// only; `inbox[i]` becomes that of the i-th of [`neighbours`](Exchange::neighbours). Faults
    /// and `deadline` are those of [`round`](Exchange::round): a new epoch counts from any
    /// neighbour.
    fn receive(
        &mut self,
        tag: Tag,
        from: &[AgentId],
        inbox: &mut [Frame],
        deadline: Option<Instant>,
    ) -> Result<(), Fault>;

    /// The engine's own sums and broadcasts over all agents, if it has them; otherwise they travel
    /// along a tree by [`send`](Exchange::send) and [`receive`](Exchange::receive).
    fn collectives(&mut self) -> Option<&mut dyn Collectives>;

    /// Whether [`sum`](Exchange::sum) can be had where all agents are each other's neighbours, and is worth it.
    fn can_sum(&self) -> bool;

    /// A round among agents that are all each other's neighbours, and of which only the sum is wanted: `sum` becomes
    /// that of all dual vectors, this agent's included, in an order of the engine's own; `most` the largest of each
    /// scalar.
    fn sum(&mut self, own: &Frame, sum: &mut [f64], most: &mut [f64]) -> Result<(), Fault>;

    /// Whether all agents are started together, always: nobody can be at its end while another is not.
    fn starts_together(&self) -> bool;
}

/// Sums and broadcasts over all agents as an engine performs them. All agents call the same method
/// with the same tag.
pub trait Collectives {
    /// Replaces each integer by its sum over all agents, modulo 2^64.
    fn sum_integers(&mut self, tag: Tag, values: &mut [i64]) -> Result<(), Fault>;

    /// Replaces the bytes by those of the agent `root`.
    fn broadcast(&mut self, tag: Tag, root: AgentId, bytes: &mut Vec<u8>) -> Result<(), Fault>;
}
