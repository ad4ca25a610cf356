//! Rounds over any wire: what is lost is sent again, what comes twice or late is dropped, what comes early waits.
//!
//! In lock-step a neighbour is at most one round ahead: to begin round t + 2 it needs our frame of t + 1. So the
//! frame of the round and one early frame a neighbour are all that is ever kept, however slow an agent is; and our
//! last two frames are all that a neighbour can still need of us.

mod edge;

use crate::codec::{self, Header, Limits, Refusal};
use crate::exchange::{Exchange, Fault, Frame, Phase, Tag};
use crate::wire::{Wire, WireEvent};
use bytes::{Bytes, BytesMut};
use dictmesh::agent::AgentId;
use edge::Edge;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An epoch that is ahead by more than this is no epoch but an error.
const EPOCHS_AHEAD: u32 = 1_000_000;
/// How long the flag of an interrupt is not looked at.
const LOOK: Duration = Duration::from_millis(100);
/// After so long a wait the log says for whom.
const PATIENCE: Duration = Duration::from_secs(5);

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
}

/// A round under way.
struct Waiting {
    tag: Tag,
    missing: usize,
    got: Vec<bool>,
    since: Instant,
    /// When to look at the clocks again, whatever comes in between.
    look: Instant,
    resend: Instant,
    /// Whoever is silent for so long is lost.
    patience: Option<Duration>,
    interrupted: Option<Instant>,
    told: bool,
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
        Rounds {
            wire,
            options,
            interrupt,
            active: edges.keys().copied().collect(),
            edges,
            sent: Vec::new(),
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

    /// Sends again what this neighbour may lack: frames of older epochs count no more.
    fn send_again(&mut self, to: AgentId, epoch: u32) {
        for (tag, bytes) in &self.sent {
            if tag.epoch == epoch {
                self.wire.send(to, bytes.clone());
            }
        }
    }

    /// Takes what came early and belongs to this round.
    fn take_early(
        &mut self,
        own: &Frame,
        inbox: &mut [Frame],
        waiting: &mut Waiting,
    ) -> Result<(), Fault> {
        for (i, l) in self.active.clone().into_iter().enumerate() {
            let early = self.edges.get_mut(&l).and_then(|edge| edge.early.take());
            if let Some((header, bytes)) = early {
                self.place(l, i, header, bytes, own, inbox, waiting)?;
            }
        }
        Ok(())
    }

    /// Puts a frame of a neighbour that takes part where it belongs.
    #[allow(clippy::too_many_arguments)] // the parts of one round
    fn place(
        &mut self,
        from: AgentId,
        i: usize,
        header: Header,
        bytes: Bytes,
        own: &Frame,
        inbox: &mut [Frame],
        waiting: &mut Waiting,
    ) -> Result<(), Fault> {
        let Some(edge) = self.edges.get_mut(&from) else {
            return Ok(());
        };
        let (tag, epoch) = (header.tag, own.tag.epoch);
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
            std::cmp::Ordering::Greater => edge.keep_early(header, bytes),
            std::cmp::Ordering::Equal if waiting.got[i] => {}
            std::cmp::Ordering::Equal => match accept(&bytes, &header, own, &mut inbox[i]) {
                Ok(()) => {
                    waiting.got[i] = true;
                    waiting.missing -= 1;
                }
                Err(refusal) => edge.refuse(from, &refusal.to_string()),
            },
        }
        Ok(())
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
            self.send_again(from, tag.epoch);
        }
        Ok(())
    }

    fn on_frame(
        &mut self,
        from: AgentId,
        bytes: Bytes,
        own: &Frame,
        inbox: &mut [Frame],
        waiting: &mut Waiting,
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
            return self.place(from, i, header, bytes, own, inbox, waiting);
        }
        edge.knocks = true;
        edge.epoch = edge.epoch.max(
            header
                .tag
                .epoch
                .min(own.tag.epoch.saturating_add(EPOCHS_AHEAD)),
        );
        // While all agree on who is there, it comes in at once: others may be waiting for it already.
        if own.tag.phase == Phase::Agreement {
            let epoch = edge.epoch.max(own.tag.epoch) + 1;
            return Err(Fault::NewEpoch { epoch, by: from });
        }
        // Otherwise it has to wait for the end of the batch, and is told that we are alive.
        if let Some((_, bytes)) = self.sent.last() {
            self.wire.send(from, bytes.clone());
        }
        Ok(())
    }

    /// What is to be done because time passed.
    fn look_at_clocks(&mut self, waiting: &mut Waiting) -> Result<(), Fault> {
        let now = Instant::now();
        if self.interrupt.load(Ordering::Relaxed) {
            let since = *waiting.interrupted.get_or_insert(now);
            if now - since >= self.options.grace {
                return Err(Fault::Interrupted);
            }
        }
        let missing = || -> Vec<AgentId> {
            let each = self.active.iter().zip(&waiting.got);
            each.filter(|(_, got)| !**got).map(|(l, _)| *l).collect()
        };
        if !waiting.told && now - waiting.since >= PATIENCE {
            tracing::info!(agents = ?missing(), tag = ?waiting.tag, "waiting");
            waiting.told = true;
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
            for l in missing() {
                self.send_again(l, waiting.tag.epoch);
            }
            waiting.resend = now + self.options.resend;
        }
        waiting.look = waiting.resend.min(now + LOOK);
        Ok(())
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

    fn knocking(&self) -> Vec<AgentId> {
        let knocking = self.edges.iter().filter(|(_, edge)| edge.knocks);
        knocking.map(|(l, _)| *l).collect()
    }

    fn round(
        &mut self,
        own: &Frame,
        inbox: &mut [Frame],
        deadline: Option<Instant>,
    ) -> Result<(), Fault> {
        let now = Instant::now();
        let mut waiting = Waiting {
            tag: own.tag,
            missing: self.active.len(),
            got: vec![false; self.active.len()],
            since: now,
            look: now,
            resend: now + self.options.resend,
            patience: deadline.map(|at| at.saturating_duration_since(now)),
            interrupted: None,
            told: false,
        };
        if self
            .sent
            .last()
            .is_none_or(|(tag, _)| tag.epoch < own.tag.epoch)
        {
            self.wire.newest_epoch(own.tag.epoch);
        }
        self.send_all(own);
        self.take_early(own, inbox, &mut waiting)?;
        while waiting.missing > 0 {
            if Instant::now() >= waiting.look {
                self.look_at_clocks(&mut waiting)?;
            }
            match self.wire.next(waiting.look) {
                None => {}
                Some(WireEvent::Up {
                    neighbour,
                    incarnation,
                    epoch,
                }) => self.on_up(neighbour, incarnation, epoch, own.tag)?,
                Some(WireEvent::Down { neighbour, reason }) => {
                    tracing::info!(agent = neighbour, %reason, "link down");
                }
                Some(WireEvent::Frame { neighbour, bytes }) => {
                    self.on_frame(neighbour, bytes, own, inbox, &mut waiting)?;
                }
            }
        }
        Ok(())
    }
}
