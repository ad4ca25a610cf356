//! Rounds over any wire: what is lost is sent again, what comes twice or late is dropped, what comes early waits.
//!
//! In lock-step a neighbour is at most one round ahead: to begin round t + 2 it needs our frame of t + 1. So the
//! frame of the round and one early frame a neighbour are all that is ever kept, however slow an agent is; and our
//! last two frames to a neighbour are all that it can still need of us.
//!
//! Steps along a tree keep to this on each link: an agent sends its part of a sum once and then
//! waits for the root's broadcast; it sends that on once and then waits for parts of the next sum.
//! A frame from a neighbour thus acknowledges all frames to it with an earlier tag. The neighbours
//! beside the tree receive nothing: they may be one opening ahead, or still lack our last one, for
//! which it is kept.

mod edge;
mod hearing;
mod parting;
mod waiting;

use crate::codec::{self, Limits};
use crate::exchange::{Collectives, Exchange, Fault, Frame, Phase, Tag};
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
    /// The tag of our newest frame to any neighbour.
    newest: Option<Tag>,
    /// Whether we have come to our end, so that the word of a neighbour that all have is enough.
    ended: bool,
    /// Why there can be no more rounds, whoever was told of it first.
    failed: Option<String>,
    /// A frame that says nothing, of an epoch that never was.
    alive: Bytes,
}

/// What the frames of a round have in common.
#[derive(Clone, Copy)]
struct Form {
    tag: Tag,
    scalars: usize,
    dual: usize,
    /// `None`: any number within the limits.
    bytes: Option<usize>,
}

/// A round under way.
struct Round<'a> {
    form: Form,
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
            newest: None,
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

    fn send_to(&mut self, own: &Frame, to: &[AgentId]) {
        let mut room = None;
        for l in to {
            if let Some(edge) = self.edges.get_mut(l) {
                // The last of the edges that shared a frame gives its memory back.
                room = edge.make_room(own.tag).or(room);
            }
        }
        let room = room.and_then(|bytes| bytes.try_into_mut().ok());
        let (incarnation, float32) = (self.options.incarnation, self.options.float32);
        let bytes = codec::encode(own, incarnation, float32, room.unwrap_or_default());
        for l in to {
            if let Some(edge) = self.edges.get_mut(l) {
                edge.kept.push((own.tag, bytes.clone()));
                self.wire.send(*l, bytes.clone());
            }
        }
        self.newest = Some(own.tag);
    }

    /// Sends again what this neighbour may lack: frames of older epochs count no more, and those
    /// before its own newest have arrived. If it `asks`, the neighbour is to do the same.
    fn send_again(&mut self, to: AgentId, epoch: u32, asks: bool) {
        let Some(edge) = self.edges.get(&to) else {
            return;
        };
        for (tag, bytes) in &edge.kept {
            if tag.epoch == epoch && edge.seen.is_none_or(|seen| *tag >= seen) {
                let asking = asks.then(|| codec::asking(bytes));
                self.wire.send(to, asking.unwrap_or_else(|| bytes.clone()));
            }
        }
    }

    /// Waits until the frames of all that the round waits for are there.
    fn complete(&mut self, mut round: Round<'_>) -> Result<(), Fault> {
        self.take_early(&mut round)?;
        while round.waiting.missing > 0 {
            if Instant::now() >= round.waiting.look {
                self.look_at_clocks(&mut round.waiting)?;
            }
            self.hear(round.waiting.look, Some(&mut round))?;
        }
        Ok(())
    }

    /// Takes what came early and belongs to this round.
    fn take_early(&mut self, round: &mut Round<'_>) -> Result<(), Fault> {
        for (i, l) in self.active.clone().into_iter().enumerate() {
            // Once is enough: it may have gone.
            if round.form.tag.is_all_ended() && self.edges.get(&l).is_some_and(|edge| edge.ended) {
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
        if self.newest.is_none_or(|tag| tag.epoch < own.tag.epoch) {
            self.wire.newest_epoch(own.tag.epoch);
        }
        let all = self.active.clone();
        let wanted = vec![true; all.len()];
        // The receiver of opaque bytes checks them, and reports their sender.
        let varies = own.tag.phase == Phase::Agreement || !own.bytes.is_empty();
        let round = Round {
            form: Form {
                tag: own.tag,
                scalars: own.scalars.len(),
                dual: own.dual.len(),
                bytes: (!varies).then_some(own.bytes.len()),
            },
            inbox,
            waiting: Waiting::new(own.tag, wanted, self.options.resend, deadline),
        };
        self.send_to(own, &all);
        self.complete(round)?;
        self.wire.flush();
        Ok(())
    }

    fn send(&mut self, own: &Frame, to: &[AgentId]) -> Result<(), Fault> {
        let (given, most) = (own.bytes.len(), self.options.limits.bytes);
        if given > most {
            return Err(Fault::Engine(format!(
                "{}: a message of {given} bytes is longer than frames of this run, which have at \
                 most {most}; take smaller batches",
                own.tag
            )));
        }
        self.send_to(own, to);
        self.wire.flush();
        Ok(())
    }

    fn receive(
        &mut self,
        tag: Tag,
        from: &[AgentId],
        inbox: &mut [Frame],
        deadline: Option<Instant>,
    ) -> Result<(), Fault> {
        let wanted = self.active.iter().map(|l| from.contains(l)).collect();
        self.complete(Round {
            form: Form {
                tag,
                scalars: 0,
                dual: 0,
                bytes: None,
            },
            inbox,
            waiting: Waiting::new(tag, wanted, self.options.resend, deadline),
        })
    }

    fn collectives(&mut self) -> Option<&mut dyn Collectives> {
        None
    }
}
