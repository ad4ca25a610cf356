//! An agent's rounds with its neighbours, as its main loop uses them.

use super::settings::Policy;
use crate::codec;
use crate::error::Error;
use crate::exchange::{Collectives, Exchange, Fault, Frame, Tag};
use dictmesh::AgentId;
use std::time::{Duration, Instant};

/// What ends a batch before its time.
#[derive(Debug)]
pub(super) enum Halt {
    /// Something that the protocol deals with.
    Fault(Fault),
    /// Something that it does not.
    Error(Error),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        Halt::Fault(fault)
    }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Halt::Error(error)
    }
}

impl From<dictmesh::Error> for Halt {
    fn from(error: dictmesh::Error) -> Self {
        Halt::Error(error.into())
    }
}

/// The exchange with all it needs to be used round after round.
pub(super) struct Talk {
    exchange: Box<dyn Exchange>,
    policy: Policy,
    /// Whether dual vectors travel in single precision.
    float32: bool,
    /// How long the silent are waited for, whatever the policy.
    patience: Option<Duration>,
    /// What is said next.
    pub own: Frame,
    inbox: Vec<Frame>,
    /// Bytes sent since somebody last asked.
    bytes: u64,
}

impl Talk {
    pub fn new(exchange: Box<dyn Exchange>, policy: Policy, float32: bool) -> Self {
        Talk {
            exchange,
            policy,
            float32,
            patience: None,
            own: Frame::default(),
            inbox: Vec::new(),
            bytes: 0,
        }
    }

    /// From now on these neighbours take part, and those have gone for good.
    pub fn take_part(&mut self, neighbours: &[AgentId], gone: &[AgentId]) {
        self.exchange.forget(gone);
        self.exchange.take_part(neighbours);
    }

    /// From now on this agent has come to its end, and waits so long for those who may not have; or it has not.
    pub fn has_ended(&mut self, patience: Option<Duration>) {
        self.patience = patience;
        self.exchange.has_ended(patience.is_some());
    }

    /// Those who want to.
    pub fn knocking(&mut self) -> Result<Vec<AgentId>, Fault> {
        self.exchange.knocking()
    }

    pub fn neighbours(&self) -> &[AgentId] {
        self.exchange.neighbours()
    }

    pub fn degree(&self) -> usize {
        self.neighbours().len()
    }

    /// One round: `own` goes out and what the neighbours say comes in.
    pub fn round(&mut self) -> Result<(), Fault> {
        self.round_until(self.deadline())
    }

    fn deadline(&self) -> Option<Instant> {
        match self.policy {
            Policy::Wait => self.patience.map(|patience| Instant::now() + patience),
            Policy::GoOn { deadline } => Some(Instant::now() + deadline),
        }
    }

    /// Sends these bytes to some neighbours.
    pub fn send(&mut self, tag: Tag, bytes: Vec<u8>, to: &[AgentId]) -> Result<(), Fault> {
        let frame = Frame {
            tag,
            bytes,
            ..Frame::default()
        };
        self.bytes += (to.len() * codec::length(&frame, self.float32)) as u64;
        self.exchange.send(&frame, to)
    }

    /// Waits for the frames of some neighbours, which [`heard`](Talk::heard) then returns; those of
    /// the other neighbours are of earlier rounds.
    pub fn receive(&mut self, tag: Tag, from: &[AgentId]) -> Result<(), Fault> {
        if from.is_empty() {
            return Ok(());
        }
        let (degree, deadline) = (self.degree(), self.deadline());
        self.inbox.resize_with(degree, Frame::default);
        self.exchange.receive(tag, from, &mut self.inbox, deadline)
    }

    /// The engine's own sums and broadcasts, if it has them.
    pub fn collectives(&mut self) -> Option<&mut dyn Collectives> {
        self.exchange.collectives()
    }

    /// The same with a deadline of its own.
    pub fn round_until(&mut self, deadline: Option<Instant>) -> Result<(), Fault> {
        let degree = self.degree();
        self.inbox.resize_with(degree, Frame::default);
        self.bytes += (degree * codec::length(&self.own, self.float32)) as u64;
        self.exchange.round(&self.own, &mut self.inbox, deadline)
    }

    /// Whether [`sum`](Talk::sum) can be had where all are each other's neighbours.
    pub fn can_sum(&self) -> bool {
        self.exchange.can_sum()
    }

    /// Whether nobody can be at its end while another is not.
    pub fn starts_together(&self) -> bool {
        self.exchange.starts_together()
    }

    /// One round of which only the sum of what all say is wanted, and the largest of each scalar.
    pub fn sum(&mut self, sum: &mut [f64], most: &mut [f64]) -> Result<(), Fault> {
        // What an allreduce sends: about two arrays, however many agents there are.
        let numbers = self.own.scalars.len() + self.own.dual.len();
        self.bytes += (2 * 8 * numbers) as u64;
        self.exchange.sum(&self.own, sum, most)
    }

    /// What each neighbour said in the last round, rising.
    pub fn heard(&self) -> impl Iterator<Item = (AgentId, &Frame)> + Clone {
        self.exchange.neighbours().iter().copied().zip(&self.inbox)
    }

    /// The array of a neighbour in the last round.
    pub fn dual_of(&self, neighbour: AgentId) -> Option<&[f64]> {
        let at = (self.exchange.neighbours().binary_search(&neighbour)).ok()?;
        self.inbox.get(at).map(|frame| &frame.dual[..])
    }

    /// What was said and heard with the weights of those who said it, where they have one, rising: what
    /// [`combine`](dictmesh::network::combine) takes. Weights and neighbours are both rising. `part` has the place of a
    /// neighbour among them and its frame.
    pub fn weighted<'a>(
        &'a self,
        id: AgentId,
        weights: &'a [(AgentId, f64)],
        own: &'a [f64],
        part: impl Fn(usize, &'a Frame) -> &'a [f64] + Clone + 'a,
    ) -> impl Iterator<Item = (f64, &'a [f64])> + Clone {
        let at = |l: &AgentId| self.exchange.neighbours().binary_search(l).ok();
        let inbox = &self.inbox;
        weights.iter().filter_map(move |(l, a)| {
            let said = if *l == id {
                Some(own)
            } else {
                at(l).map(|i| part(i, &inbox[i]))
            };
            said.map(|said| (*a, said))
        })
    }

    /// Bytes sent since the last call.
    pub fn take_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }
}
