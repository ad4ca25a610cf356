//! What a neighbour says, and what it means for the round under way.

use super::edge::{Came, Edge};
use super::{Form, Round, Rounds};
use crate::codec::{self, Header, Refusal};
use crate::exchange::{Fault, Frame, Phase, Tag};
use crate::wire::{Wire, WireEvent};
use bytes::{Bytes, BytesMut};
use dictmesh::AgentId;
use std::cmp::Ordering;
use std::time::Instant;

/// An epoch that is ahead by more than this is no epoch but an error.
const EPOCHS_AHEAD: u32 = 10_000;

impl<W: Wire> Rounds<W> {
    /// Hears what comes next; `false` if nothing does until then. With no round under way it is only kept who is there,
    /// and who knocks.
    pub(super) fn hear(
        &mut self,
        until: Instant,
        round: Option<&mut Round<'_>>,
    ) -> Result<bool, Fault> {
        if let Some(why) = &self.failed {
            return Err(Fault::Engine(why.clone()));
        }
        match self.wire.next(until) {
            None => return Ok(false),
            Some(WireEvent::Up {
                neighbour,
                incarnation,
                epoch,
            }) => self.on_up(neighbour, incarnation, epoch, round)?,
            Some(WireEvent::Down { .. }) => {} // the wire has said so, as often as is good for a log
            // Both would say they are this agent, each to some of the neighbours, and nobody's numbers would be right.
            Some(WireEvent::Twin { neighbour, reason }) => {
                let why = format!("agent {neighbour} says: {reason}");
                self.failed = Some(why.clone());
                return Err(Fault::Engine(why));
            }
            Some(WireEvent::Frame { neighbour, bytes }) => {
                self.on_frame(neighbour, bytes, round)?
            }
        }
        Ok(true)
    }

    fn on_up(
        &mut self,
        from: AgentId,
        incarnation: u64,
        newest: u32,
        round: Option<&mut Round<'_>>,
    ) -> Result<(), Fault> {
        let Some(edge) = self.edges.get_mut(&from) else {
            return Ok(());
        };
        let before = edge.incarnation.replace(incarnation);
        let another = before.is_some_and(|before| before != incarnation);
        if another {
            (edge.early, edge.seen) = (None, None);
        }
        if !self.active.contains(&from) {
            // One that was given up may be there again. Both halves of a partition go on and need not wait long enough to
            // say that they are alive. That a link is up is no word of an agent: a process may end before it has any.
            self.wire.send(from, self.alive.clone());
            return Ok(());
        }
        let Some(round) = round else {
            return Ok(());
        };
        let epoch = round.form.tag.epoch;
        // What it said in this epoch it does not know any more; all must agree anew.
        if another && edge.heard_in.take() == Some(epoch) {
            return Err(epoch_after(epoch, newest, from));
        }
        self.send_again(from, epoch, false);
        Ok(())
    }

    fn on_frame(
        &mut self,
        from: AgentId,
        bytes: Bytes,
        round: Option<&mut Round<'_>>,
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
        let place = self.active.binary_search(&from);
        edge.knocks |= place.is_err();
        match (round, place) {
            (Some(round), Ok(i)) => self.place(from, i, (header, bytes), round),
            (Some(round), Err(_)) => self.on_knock(from, header.tag.epoch, round.form.tag),
            (None, _) => Ok(()),
        }
    }

    /// It wants to come in, or has not heard that it was given up. While all agree on who is there it comes in at
    /// once, as others may be waiting for it already; otherwise it waits for the end of the batch.
    fn on_knock(&mut self, from: AgentId, theirs: u32, own: Tag) -> Result<(), Fault> {
        if own.phase == Phase::Agreement {
            return Err(epoch_after(own.epoch, theirs, from));
        }
        // From our tag it learns that we are alive, and in which epoch.
        if let Some(tag) = self.newest.filter(|_| theirs > 0) {
            let word = Frame {
                tag,
                ..Frame::default()
            };
            let bytes = codec::encode(&word, self.options.incarnation, false, BytesMut::new());
            self.wire.send(from, bytes);
        }
        Ok(())
    }

    /// Puts a frame of a neighbour that takes part where it belongs.
    pub(super) fn place(
        &mut self,
        from: AgentId,
        i: usize,
        came: Came,
        round: &mut Round<'_>,
    ) -> Result<(), Fault> {
        let Some(edge) = self.edges.get_mut(&from) else {
            return Ok(());
        };
        let (tag, own, asks) = (came.0.tag, round.form.tag, came.0.asks);
        let ends = self.ended && tag.is_all_ended();
        edge.ended |= ends;
        match tag.epoch.cmp(&own.epoch) {
            _ if ends && !own.is_all_ended() => return Err(Fault::AllEnded { by: from }),
            _ if ends => round.waiting.got(i), // in whichever epoch either of us has come to know it
            Ordering::Less => return Ok(()),
            Ordering::Equal => edge.sort_in(from, i, came, round),
            Ordering::Greater => return edge.follow(from, came, own.epoch),
        }
        // It waits for us, so what we sent was lost. Answers do not ask, or they would never end.
        if asks && (ends || tag <= own) {
            self.send_again(from, own.epoch, false);
        }
        Ok(())
    }
}

impl Edge {
    /// A frame of this epoch, be it of this round, the next, or one that is over.
    fn sort_in(&mut self, from: AgentId, i: usize, came: Came, round: &mut Round<'_>) {
        let (own, (header, bytes)) = (round.form.tag, &came);
        self.heard_in = Some(own.epoch);
        // While agents agree, one of them may have gone on without the other, which then knocks
        // with the frames of its agreement.
        let in_step = own.phase != Phase::Agreement;
        if in_step && (header.tag <= own || is_next(own, header.tag)) {
            self.seen = self.seen.max(Some(header.tag));
        }
        match header.tag.cmp(&own) {
            Ordering::Less => {}
            Ordering::Equal if round.waiting.has[i] => {}
            Ordering::Equal => match accept(bytes, header, &round.form, &mut round.inbox[i]) {
                Ok(()) => round.waiting.got(i),
                Err(refusal) => self.refuse(from, &refusal.to_string()),
            },
            Ordering::Greater if is_next(own, header.tag) => self.keep_early(came),
            // It has gone on without us, and takes us back when it is through with the batch: it answers our knocking.
            Ordering::Greater if own.phase == Phase::Agreement => {
                self.pass_over(from, "it still continues without this agent");
            }
            Ordering::Greater => {
                self.refuse(from, "it is of a round that no agent can have reached");
            }
        }
    }

    /// A frame of a later epoch than ours: we go there too.
    fn follow(&mut self, from: AgentId, came: Came, ours: u32) -> Result<(), Fault> {
        let epoch = came.0.tag.epoch;
        if epoch - ours > EPOCHS_AHEAD {
            let why = format!("its epoch {epoch} is too far ahead of {ours}");
            self.refuse(from, &why);
            return Ok(());
        }
        self.early = Some(came);
        Err(Fault::NewEpoch { epoch, by: from })
    }
}

/// An epoch after ours and that of the neighbour which makes it necessary.
fn epoch_after(ours: u32, theirs: u32, by: AgentId) -> Fault {
    let newest = theirs.min(ours.saturating_add(EPOCHS_AHEAD)).max(ours);
    Fault::NewEpoch {
        epoch: newest + 1,
        by,
    }
}

/// Whether the second tag can be that of the round after the first: the next of its phase, or the first of another.
fn is_next(now: Tag, next: Tag) -> bool {
    match (now.sample, now.phase) == (next.sample, next.phase) {
        true => next.round == now.round + 1,
        false => next.round == 0,
    }
}

/// The content of a frame of this very round, if it has the round's form.
fn accept(bytes: &[u8], header: &Header, form: &Form, to: &mut Frame) -> Result<(), Refusal> {
    let same = |what, given, expected| match given == expected {
        true => Ok(()),
        false => Err(Refusal::Dimension {
            what,
            given,
            expected,
        }),
    };
    same("dual entries", header.dual, form.dual)?;
    // Agents know of different numbers of others while they agree.
    if form.tag.phase != Phase::Agreement {
        same("scalars", header.scalars, form.scalars)?;
    }
    if let Some(expected) = form.bytes {
        same("bytes", header.bytes, expected)?;
    }
    codec::decode(bytes, header, to)
}

#[cfg(test)]
mod tests {
    use super::super::RoundsOptions;
    use super::*;
    use crate::codec::Limits;
    use crate::exchange::Exchange;
    use std::collections::VecDeque;
    use std::sync::Arc;
    use std::time::Duration;

    /// Nobody is there, but these things were said.
    struct Told(VecDeque<WireEvent>);

    impl Wire for Told {
        fn send(&mut self, _: AgentId, _: Bytes) {}

        fn next(&mut self, _: Instant) -> Option<WireEvent> {
            self.0.pop_front()
        }
    }

    #[test]
    fn an_agent_that_runs_twice_hears_of_it_in_every_round_from_then_on() {
        let reason = "agent 0 runs twice".to_string();
        let twin = WireEvent::Twin {
            neighbour: 1,
            reason,
        };
        let wire = Told([twin].into());
        let options = RoundsOptions::new(1, Limits::new(5, 1));
        let mut rounds = Rounds::new(wire, &[1], options, Arc::default());
        let said = |fault: Fault| assert_eq!(fault.to_string(), "agent 1 says: agent 0 runs twice");
        // Alone, without any round.
        rounds.take_part(&[]);
        said(rounds.knocking().unwrap_err());
        said(rounds.knocking().unwrap_err());
        rounds.take_part(&[1]);
        let own = Frame {
            tag: Tag::all_ended(1),
            ..Frame::default()
        };
        for _ in 0..2 {
            let until = Instant::now() + Duration::from_secs(20);
            let mut inbox = [Frame::default()];
            said(rounds.round(&own, &mut inbox, Some(until)).unwrap_err());
        }
    }

    /// Agents never go back to an epoch: masks of its sums would be used again.
    #[test]
    fn frames_of_earlier_epochs_are_dropped_and_those_of_later_ones_followed() {
        const INCARNATION: u64 = 7;
        let frame = |epoch: u32, number: f64| Frame {
            tag: Tag {
                epoch,
                sample: 4,
                phase: Phase::Inference,
                round: 0,
            },
            scalars: vec![number],
            ..Frame::default()
        };
        let says = |epoch, number| WireEvent::Frame {
            neighbour: 1,
            bytes: codec::encode(&frame(epoch, number), INCARNATION, false, BytesMut::new()),
        };
        let up = WireEvent::Up {
            neighbour: 1,
            incarnation: INCARNATION,
            epoch: 3,
        };
        let events = [
            up,
            says(2, 20.0),
            says(1, 10.0),
            says(3, 30.0),
            says(2, 21.0),
            says(5, 50.0),
        ];
        let options = RoundsOptions::new(1, Limits::new(5, 1));
        let mut rounds = Rounds::new(Told(events.into()), &[1], options, Arc::default());
        rounds.take_part(&[1]);
        let mut ask = |epoch| {
            let until = Instant::now() + Duration::from_secs(20);
            let mut inbox = [Frame::default()];
            let done = rounds.round(&frame(epoch, 0.0), &mut inbox, Some(until));
            done.map(|()| inbox)
        };
        assert_eq!(ask(3).unwrap(), [frame(3, 30.0)]);
        let fault = ask(4).unwrap_err();
        assert!(
            matches!(fault, Fault::NewEpoch { epoch: 5, by: 1 }),
            "{fault}"
        );
    }

    /// A neighbour that says other numbers for a round than it has said already, in that round or after it: what came
    /// first counts, for all, as all may have gone on with it.
    #[test]
    fn the_first_frame_of_a_round_counts() {
        const INCARNATION: u64 = 7;
        let frame = |round: u32, number: f64| Frame {
            tag: Tag {
                epoch: 1,
                sample: 0,
                phase: Phase::Inference,
                round,
            },
            scalars: vec![number],
            dual: vec![number; 5],
            bytes: Vec::new(),
        };
        let up = |neighbour| WireEvent::Up {
            neighbour,
            incarnation: INCARNATION,
            epoch: 1,
        };
        let says = |neighbour, round, number| WireEvent::Frame {
            neighbour,
            bytes: codec::encode(&frame(round, number), INCARNATION, false, BytesMut::new()),
        };
        let events = [
            up(1),
            up(2),
            says(1, 0, 10.0),
            says(1, 0, 11.0), // while agent 2 is waited for
            says(2, 0, 20.0),
            says(1, 0, 12.0), // in the next round
            says(2, 1, 21.0),
            says(1, 1, 13.0),
        ];
        let options = RoundsOptions::new(1, Limits::new(5, 1));
        let wire = Told(events.into());
        let mut rounds = Rounds::new(wire, &[1, 2], options, Arc::default());
        rounds.take_part(&[1, 2]);
        for (round, expected) in [(0, [10.0, 20.0]), (1, [13.0, 21.0])] {
            let until = Instant::now() + Duration::from_secs(20);
            let mut inbox = [Frame::default(), Frame::default()];
            let own = frame(round, 0.0);
            rounds.round(&own, &mut inbox, Some(until)).unwrap();
            assert_eq!(inbox, expected.map(|number| frame(round, number)));
        }
    }
}
