//! Rounds over any wire: what is lost is sent again, what comes twice or late is dropped, what comes early waits.
//!
//! In lock-step a neighbour is at most one round ahead: to begin round t + 2 it needs our frame of t + 1. So the
//! frame of the round and one early frame a neighbour are all that is ever kept, however slow an agent is; and our
//! last two frames are all that a neighbour can still need of us.

mod edge;
mod parting;
mod waiting;

use crate::codec::{self, Header, Limits, Refusal};
use crate::exchange::{Exchange, Fault, Frame, Phase, Tag};
use crate::wire::{Wire, WireEvent};
use bytes::{Bytes, BytesMut};
use dictmesh::agent::AgentId;
use edge::Edge;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::{Duration, Instant};
use waiting::Waiting;

/// An epoch that is ahead by more than this is no epoch but an error.
const EPOCHS_AHEAD: u32 = 10_000;

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
                round.waiting.got[i] = true;
                round.waiting.missing -= 1;
                continue;
            }
            let early = self.edges.get_mut(&l).and_then(|edge| edge.early.take());
            if let Some((header, bytes)) = early {
                self.place(l, i, header, bytes, round)?;
            }
        }
        Ok(())
    }

    /// Puts a frame of a neighbour that takes part where it belongs.
    fn place(
        &mut self,
        from: AgentId,
        i: usize,
        header: Header,
        bytes: Bytes,
        round: &mut Round<'_>,
    ) -> Result<(), Fault> {
        let Some(edge) = self.edges.get_mut(&from) else {
            return Ok(());
        };
        let own = round.own;
        let (tag, epoch) = (header.tag, own.tag.epoch);
        if self.ended && tag.is_all_ended() {
            edge.ended = true;
            if !own.tag.is_all_ended() {
                return Err(Fault::AllEnded { by: from });
            }
            // In whichever epoch either of us has come to know it.
            round.waiting.missing -= usize::from(!round.waiting.got[i]);
            round.waiting.got[i] = true;
            if header.asks {
                self.send_again(from, epoch, false);
            }
            return Ok(());
        }
        if tag.epoch > epoch {
            if tag.epoch - epoch > EPOCHS_AHEAD {
                edge.refuse(
                    from,
                    &format!("its epoch {} is too far ahead of {epoch}", tag.epoch),
                );
                return Ok(());
            }
            edge.early = Some((header, bytes));
            return Err(Fault::NewEpoch {
                epoch: tag.epoch,
                by: from,
            });
        }
        if tag.epoch < epoch {
            return Ok(());
        }
        edge.heard_in = Some(epoch);
        match tag.cmp(&own.tag) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Greater if is_next(own.tag, tag) => edge.keep_early(header, bytes),
            std::cmp::Ordering::Greater => {
                edge.refuse(from, "it is of a round that nobody can have come to yet");
            }
            std::cmp::Ordering::Equal if round.waiting.got[i] => {}
            std::cmp::Ordering::Equal => match accept(&bytes, &header, own, &mut round.inbox[i]) {
                Ok(()) => {
                    round.waiting.got[i] = true;
                    round.waiting.missing -= 1;
                }
                Err(refusal) => edge.refuse(from, &refusal.to_string()),
            },
        }
        // It waits for us, so what we sent was lost. Answers do not ask, or they would never end.
        if header.asks && tag <= own.tag {
            self.send_again(from, epoch, false);
        }
        Ok(())
    }

    /// Hears what has come where nobody takes part: an agent that is left alone has no rounds in which it would.
    fn listen_alone(&mut self) {
        while self.active.is_empty() {
            let (neighbour, frame) = match self.wire.next(Instant::now()) {
                None => return,
                Some(WireEvent::Down { .. }) => continue,
                Some(WireEvent::Up {
                    neighbour,
                    incarnation,
                    ..
                }) => {
                    if let Some(edge) = self.edges.get_mut(&neighbour) {
                        edge.incarnation = Some(incarnation);
                    }
                    continue;
                }
                Some(WireEvent::Frame { neighbour, bytes }) => (neighbour, bytes),
            };
            let header = codec::header(&frame, &self.options.limits);
            if let (Some(edge), Ok(header)) = (self.edges.get_mut(&neighbour), header) {
                edge.knocks |= edge.incarnation == Some(header.incarnation);
            }
        }
    }

    fn on_up(
        &mut self,
        from: AgentId,
        incarnation: u64,
        newest: u32,
        tag: Tag,
    ) -> Result<(), Fault> {
        let active = self.active.contains(&from);
        let Some(edge) = self.edges.get_mut(&from) else {
            return Ok(());
        };
        let before = edge.incarnation.replace(incarnation);
        let another = before.is_some_and(|before| before != incarnation);
        edge.heard_at = Instant::now();
        if another {
            edge.early = None;
            // What it said in this epoch it does not know any more; all must agree anew.
            if active && edge.heard_in.take() == Some(tag.epoch) {
                return Err(Fault::NewEpoch {
                    epoch: newest
                        .min(tag.epoch.saturating_add(EPOCHS_AHEAD))
                        .max(tag.epoch)
                        + 1,
                    by: from,
                });
            }
        }
        if active {
            self.send_again(from, tag.epoch, false);
        }
        Ok(())
    }

    fn on_frame(
        &mut self,
        from: AgentId,
        bytes: Bytes,
        round: &mut Round<'_>,
    ) -> Result<(), Fault> {
        let Some(edge) = self.edges.get_mut(&from) else {
            return Ok(());
        };
        let header = match codec::header(&bytes, &self.options.limits) {
            Ok(header) => header,
            Err(refusal) => {
                edge.refuse(from, &refusal.to_string());
                return Ok(());
            }
        };
        if edge.incarnation != Some(header.incarnation) {
            return Ok(()); // from before it was started anew
        }
        edge.heard_at = Instant::now();
        if let Ok(i) = self.active.binary_search(&from) {
            return self.place(from, i, header, bytes, round);
        }
        // It wants to come in, or has not heard that it was given up. While all agree on who is there it comes in at
        // once, as others may be waiting for it already; otherwise it waits for the end of the batch.
        edge.knocks = true;
        let (theirs, epoch) = (header.tag.epoch, round.own.tag.epoch);
        if round.own.tag.phase == Phase::Agreement {
            let epoch = theirs.min(epoch.saturating_add(EPOCHS_AHEAD)).max(epoch) + 1;
            return Err(Fault::NewEpoch { epoch, by: from });
        }
        // From our frame it learns that we are alive, and in which epoch.
        if let Some((_, bytes)) = self.sent.last().filter(|_| theirs > 0) {
            self.wire.send(from, bytes.clone());
        }
        Ok(())
    }
}

/// Whether the second tag can be that of the round after the first: the next of its phase, or the first of another.
fn is_next(now: Tag, next: Tag) -> bool {
    match (now.sample, now.phase) == (next.sample, next.phase) {
        true => next.round == now.round + 1,
        false => next.round == 0,
    }
}

/// The numbers of a frame of this very round, if it has as many as ours.
fn accept(bytes: &[u8], header: &Header, own: &Frame, to: &mut Frame) -> Result<(), Refusal> {
    let same = |what, given, expected| match given == expected {
        true => Ok(()),
        false => Err(Refusal::Dimension {
            what,
            given,
            expected,
        }),
    };
    same("dual entries", header.dual, own.dual.len())?;
    // Agents know of different numbers of others while they agree.
    if own.tag.phase != Phase::Agreement {
        same("scalars", header.scalars, own.scalars.len())?;
    }
    codec::decode(bytes, header, to)
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

    fn knocking(&mut self) -> Vec<AgentId> {
        self.listen_alone();
        let knocking = self.edges.iter().filter(|(_, edge)| edge.knocks);
        knocking.map(|(l, _)| *l).collect()
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
            match self.wire.next(round.waiting.look) {
                None => {}
                Some(WireEvent::Up {
                    neighbour,
                    incarnation,
                    epoch,
                }) => self.on_up(neighbour, incarnation, epoch, own.tag)?,
                Some(WireEvent::Down { .. }) => {} // the wire has said so
                Some(WireEvent::Frame { neighbour, bytes }) => {
                    self.on_frame(neighbour, bytes, &mut round)?;
                }
            }
        }
        self.wire.flush();
        Ok(())
    }
}
