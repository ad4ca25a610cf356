//! Rounds over any wire: what is lost is sent again, what comes twice or late is dropped, what comes early waits.
//!
//! In lock-step a neighbour is at most one round ahead: to begin round t + 2 it needs our frame of t + 1. So the
//! frame of the round and one early frame a neighbour are all that is ever kept, however slow an agent is; and our
//! last two frames are all that a neighbour can still need of us.

mod edge;
mod hearing;
mod parting;
mod waiting;

use crate::codec::{self, Limits};
use crate::exchange::{Exchange, Fault, Frame, Phase, Tag};
use crate::wire::Wire;
use bytes::{Bytes, BytesMut};
use dictmesh::AgentId;
use edge::Edge;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::{Duration, Instant};
use waiting::Waiting;

/// How rounds are made.
#[derive(Clone, Debug)]
pub struct RoundsOptions {
    /// Another number for each start of this process, the one that the wire's hand-shakes tell.
    pub incarnation: u64,
    /// The most that a frame may hold.
    pub limits: Limits,
    /// Whether dual vectors go in single precision: half the bytes, seven digits.
    pub float32: bool,
    /// Unanswered frames are sent again after this time.
    pub resend: Duration,
    /// How long a round may still take once an end was asked for.
    pub grace: Duration,
}

impl RoundsOptions {
    /// Double precision, and times that suit networks.
    pub fn new(incarnation: u64, limits: Limits) -> Self {
        RoundsOptions {
            incarnation,
            limits,
            float32: false,
            resend: Duration::from_millis(200),
            grace: Duration::from_secs(2),
        }
    }
}

/// An [`Exchange`] over a [`Wire`].
#[derive(Debug)]
pub struct Rounds<W> {
    wire: W,
    options: RoundsOptions,
    interrupt: Arc<AtomicBool>,
    edges: BTreeMap<AgentId, Edge>,
    active: Vec<AgentId>,
    /// Our last two frames, the newest last.
    sent: Vec<(Tag, Bytes)>,
    /// Whether we have come to our end, so that the word of a neighbour that all have is enough.
    ended: bool,
    /// Why there can be no more rounds, whoever was told of it first.
    failed: Option<String>,
    /// A frame that says nothing, of an epoch that never was.
    alive: Bytes,
}

/// A round under way.
struct Round<'a> {
    /// What we say in it.
    own: &'a Frame,
    /// What the neighbours that take part say, where it has come.
    inbox: &'a mut [Frame],
    waiting: Waiting,
}

impl<W: Wire> Rounds<W> {
    /// With these neighbours. Setting `interrupt` lets a round that does not come to its end within the grace fail.
    pub fn new(
        wire: W,
        neighbours: &[AgentId],
        options: RoundsOptions,
        interrupt: Arc<AtomicBool>,
    ) -> Self {
        let edges: BTreeMap<_, _> = (neighbours.iter()).map(|l| (*l, Edge::new())).collect();
        let nothing = Frame {
            tag: Tag {
                phase: Phase::Opening,
                ..Tag::default()
            },
            ..Frame::default()
        };
        Rounds {
            alive: codec::encode(&nothing, options.incarnation, false, BytesMut::new()),
            wire,
            options,
            interrupt,
            active: edges.keys().copied().collect(),
            edges,
            sent: Vec::new(),
            ended: false,
            failed: None,
        }
    }

    /// The wire below.
    pub fn wire(&self) -> &W {
        &self.wire
    }

    /// Frames that were refused since the start.
    pub fn refused(&self) -> u64 {
        self.edges.values().map(|edge| edge.refused).sum()
    }

    fn send_all(&mut self, own: &Frame) {
        // The same round begun again says the same.
        self.sent.retain(|(tag, _)| *tag != own.tag);
        let room = match self.sent.len() {
            2.. => (self.sent.remove(0).1).try_into_mut().unwrap_or_default(),
            _ => BytesMut::new(),
        };
        let bytes = codec::encode(own, self.options.incarnation, self.options.float32, room);
        for l in &self.active {
            self.wire.send(*l, bytes.clone());
        }
        self.sent.push((own.tag, bytes));
    }

    /// Sends again what this neighbour may lack: frames of older epochs count no more. If it `asks`, the neighbour
    /// is to do the same.
    fn send_again(&mut self, to: AgentId, epoch: u32, asks: bool) {
        for (tag, bytes) in &self.sent {
            if tag.epoch == epoch {
                let asking = asks.then(|| codec::asking(bytes));
                self.wire.send(to, asking.unwrap_or_else(|| bytes.clone()));
            }
        }
    }

    /// Takes what came early and belongs to this round.
    fn take_early(&mut self, round: &mut Round<'_>) -> Result<(), Fault> {
        for (i, l) in self.active.clone().into_iter().enumerate() {
            // Once is enough: it may have gone.
            if round.own.tag.is_all_ended() && self.edges.get(&l).is_some_and(|edge| edge.ended) {
                round.waiting.got(i);
                continue;
            }
            let early = self.edges.get_mut(&l).and_then(|edge| edge.early.take());
            if let Some(came) = early {
                self.place(l, i, came, round)?;
            }
        }
        Ok(())
    }
}

impl<W: Wire> Exchange for Rounds<W> {
    fn neighbours(&self) -> &[AgentId] {
        &self.active
    }

    fn take_part(&mut self, neighbours: &[AgentId]) {
        let known = neighbours.iter().filter(|l| self.edges.contains_key(l));
        self.active = known.copied().collect();
        for (l, edge) in &mut self.edges {
            edge.knocks = false;
            if self.active.binary_search(l).is_err() {
                edge.early = None;
                edge.heard_in = None;
            }
        }
    }

    fn has_ended(&mut self, ended: bool) {
        self.ended = ended;
        if !ended {
            self.edges.values_mut().for_each(|edge| edge.ended = false);
        }
    }

    fn forget(&mut self, gone: &[AgentId]) {
        gone.iter().for_each(|l| self.let_go(*l));
    }

    fn knocking(&mut self) -> Result<Vec<AgentId>, Fault> {
        // An agent that is left alone has no rounds in which it would hear.
        while self.active.is_empty() && self.hear(Instant::now(), None)? {}
        let knocking = self.edges.iter().filter(|(_, edge)| edge.knocks);
        Ok(knocking.map(|(l, _)| *l).collect())
    }

    fn can_sum(&self) -> bool {
        false
    }

    fn sum(&mut self, _: &Frame, _: &mut [f64], _: &mut [f64]) -> Result<(), Fault> {
        Err(Fault::Engine("rounds on single links have no sums".into()))
    }

    fn starts_together(&self) -> bool {
        false
    }

    fn round(
        &mut self,
        own: &Frame,
        inbox: &mut [Frame],
        deadline: Option<Instant>,
    ) -> Result<(), Fault> {
        let (neighbours, resend) = (self.active.len(), self.options.resend);
        let mut round = Round {
            own,
            inbox,
            waiting: Waiting::new(own.tag, neighbours, resend, deadline),
        };
        if self
            .sent
            .last()
            .is_none_or(|(tag, _)| tag.epoch < own.tag.epoch)
        {
            self.wire.newest_epoch(own.tag.epoch);
        }
        self.send_all(own);
        self.take_early(&mut round)?;
        while round.waiting.missing > 0 {
            if Instant::now() >= round.waiting.look {
                self.look_at_clocks(&mut round.waiting)?;
            }
            self.hear(round.waiting.look, Some(&mut round))?;
        }
        self.wire.flush();
        Ok(())
    }
}
