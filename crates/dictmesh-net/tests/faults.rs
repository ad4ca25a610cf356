//! Links that lose, delay, double, reorder, break and heal, agents that stand still, and neighbours that send rubbish:
//! the atoms are those of an undisturbed run, or nothing happens at all.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use bytes::{Bytes, BytesMut};
use common::{Done, Plan, Running, Started};
use dictmesh::AgentId;
use dictmesh::{Mesh, Stopping, Topology};
use dictmesh_net::agent::Outcome;
use dictmesh_net::codec::{self, Limits};
use dictmesh_net::memory::{Faults, Hub};
use dictmesh_net::{Error, Exchange, Frame, Phase, Rounds, RoundsOptions, Wire, WireEvent};
use rand::RngExt;
use std::ops::ControlFlow::Continue;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn plan(samples: usize) -> Plan {
    let mut plan = Plan::new(Topology::ring(4).unwrap(), 5, samples);
    plan.stopping = Stopping::rounds(6);
    plan
}

fn start_all(plan: &Plan, mesh: &Mesh, hub: &Hub) -> Vec<Running> {
    let each = (0..plan.topology.agents()).map(|k| Started {
        resend: Duration::from_millis(4),
        ..Started::new(plan, mesh, k)
    });
    each.map(|agent| agent.start(hub)).collect()
}

fn assert_undisturbed(plan: &Plan, start: &Mesh, done: Vec<Result<Done, Error>>, what: &str) {
    let mut mesh = start.clone();
    mesh.learn(&plan.x, |_| Continue(())).unwrap();
    for (k, done) in done.into_iter().enumerate() {
        let done = done.unwrap();
        let why = done.diverged;
        assert_eq!(done.outcome, Outcome::Ended, "{what} {k}: {why}");
        assert_eq!(
            done.atoms,
            *mesh.block(k).atoms(),
            "{what}: the atoms of {k} differ"
        );
    }
}

fn wait_all(agents: Vec<Running>) -> Vec<Result<Done, Error>> {
    agents.into_iter().map(Running::wait).collect()
}

#[test]
fn thirty_percent_lost_doubled_late_and_out_of_order() {
    let millis = Duration::from_millis;
    for (what, faults) in [
        (
            "loss",
            Faults {
                loss: 0.3,
                ..Faults::default()
            },
        ),
        (
            "duplicates",
            Faults {
                duplicates: 0.5,
                ..Faults::default()
            },
        ),
        (
            "late",
            Faults {
                delay: millis(6),
                duplicates: 0.2,
                ..Faults::default()
            },
        ),
        (
            "all",
            Faults {
                loss: 0.3,
                duplicates: 0.3,
                delay: millis(3),
            },
        ),
    ] {
        let plan = plan(3);
        let (mesh, hub) = (plan.mesh(false), Hub::new(17));
        hub.set_faults(faults);
        assert_undisturbed(&plan, &mesh, wait_all(start_all(&plan, &mesh, &hub)), what);
    }
}

#[test]
fn cuts_partitions_and_freezes_that_end() {
    let plan = plan(60);
    let mesh = plan.mesh(false);
    let pause = || std::thread::sleep(Duration::from_millis(300));
    // One link of the ring; two, which part it in halves; all.
    for cut in [
        &[(0, 1)][..],
        &[(0, 1), (2, 3)],
        &[(0, 1), (1, 2), (2, 3), (3, 0)],
    ] {
        let hub = Hub::new(0);
        let agents = start_all(&plan, &mesh, &hub);
        agents[3].until(10);
        cut.iter().for_each(|(a, b)| hub.cut(*a, *b));
        std::thread::sleep(Duration::from_millis(100));
        let stands_at = agents[0].batches().len();
        pause();
        assert!(
            agents[0].batches().len() <= stands_at + 1,
            "it went on over a cut link"
        );
        cut.iter().for_each(|(a, b)| hub.heal(*a, *b));
        assert_undisturbed(&plan, &mesh, wait_all(agents), &format!("cut {cut:?}"));
    }
    for frozen in [&[1][..], &[0, 2]] {
        let hub = Hub::new(0);
        let agents = start_all(&plan, &mesh, &hub);
        agents[3].until(10);
        frozen.iter().for_each(|k| hub.freeze(*k));
        pause();
        frozen.iter().for_each(|k| hub.thaw(*k));
        assert_undisturbed(
            &plan,
            &mesh,
            wait_all(agents),
            &format!("frozen {frozen:?}"),
        );
    }
}

#[test]
fn a_cut_that_does_not_heal_is_waited_for_until_an_end_is_asked_for() {
    let plan = plan(60);
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let agents = start_all(&plan, &mesh, &hub);
    agents[3].until(10);
    hub.cut(0, 1);
    std::thread::sleep(Duration::from_millis(100));
    assert!(agents.iter().all(|agent| !agent.thread.is_finished()));
    agents
        .iter()
        .for_each(|agent| agent.control.interrupt.store(true, Ordering::Relaxed));
    for done in wait_all(agents) {
        let done = done.unwrap();
        assert_eq!(done.outcome, Outcome::Interrupted);
        assert!(done.position < 60);
    }
}

/// Sends rubbish of every kind before each right frame, but nothing that pretends to be a new epoch: who is a
/// neighbour may begin one.
struct Mischief<W> {
    wire: W,
    incarnation: u64,
    limits: Limits,
    rng: dictmesh::random::Rng,
    /// Those it sends, of the [`KINDS`].
    kinds: std::ops::Range<u32>,
}

const KINDS: u32 = 12;
/// Frames of which nobody needs to be told: they are over.
const OF_THE_PAST: u32 = 11;

impl<W> Mischief<W> {
    fn rubbish(&mut self, bytes: &Bytes) -> Bytes {
        let header = codec::header(bytes, &self.limits).unwrap();
        let mut frame = Frame::default();
        codec::decode(bytes, &header, &mut frame).unwrap();
        let kind = self.rng.random_range(self.kinds.clone());
        match kind {
            0 => (0..self.rng.random_range(0..200))
                .map(|_| self.rng.random::<u8>())
                .collect(),
            1 => bytes.slice(..self.rng.random_range(0..bytes.len())),
            2 => [&bytes[..], &bytes[..]].concat().into(),
            3 => {
                let mut claims = BytesMut::from(&bytes[..]);
                claims[36..40].copy_from_slice(&u32::MAX.to_le_bytes());
                claims.freeze()
            }
            _ => {
                match kind {
                    4 => frame.dual.push(1.0),
                    5 => frame.dual.iter_mut().for_each(|v| *v = f64::NAN),
                    6 => frame.scalars.iter_mut().for_each(|v| *v = f64::INFINITY),
                    7 => frame.tag.round += 7,
                    8 => frame.tag.epoch = u32::MAX,
                    // Within all limits, but not what this round has.
                    9 => frame.dual.truncate(6),
                    10 => frame.scalars.truncate(1),
                    _ => lies_about_the_past(&mut frame),
                }
                codec::encode(&frame, self.incarnation, false, BytesMut::new())
            }
        }
    }
}

/// Other numbers for the round before the last, where there is one: whoever sent the frame has heard of the last round
/// from all, so all have that one behind them. (For the last round itself the true frame may have been lost, on a busy
/// machine, and nobody could know a lie that comes in its place.)
fn lies_about_the_past(frame: &mut Frame) {
    if frame.tag.round > 1 {
        frame.tag.round -= 2;
        let numbers = frame.dual.iter_mut().chain(&mut frame.scalars);
        numbers.for_each(|v| *v += 100.0);
    }
}

impl<W: Wire> Wire for Mischief<W> {
    fn send(&mut self, to: AgentId, bytes: Bytes) {
        let rubbish = self.rubbish(&bytes);
        self.wire.send(to, rubbish);
        self.wire.send(to, bytes);
    }

    fn next(&mut self, until: Instant) -> Option<WireEvent> {
        self.wire.next(until)
    }
}

/// Two agents go through so many rounds, of whom one sends these kinds of rubbish; how often the other refused it.
fn through_rubbish(kinds: std::ops::Range<u32>, rounds: u32) -> u64 {
    let (hub, limits) = (Hub::new(0), Limits::new(6, 2));
    let frame = |id: AgentId, round: u32| {
        let mut frame = Frame::default();
        (frame.tag.epoch, frame.tag.round) = (3, round);
        frame.tag.phase = Phase::Inference;
        frame.scalars = vec![id as f64, f64::from(round)];
        frame.dual = (0..12)
            .map(|i| f64::from(round) + i as f64 / (id + 2) as f64)
            .collect();
        frame
    };
    let options = |incarnation| RoundsOptions {
        resend: Duration::from_millis(5),
        ..RoundsOptions::new(incarnation, limits)
    };
    let bad = Mischief {
        wire: hub.wire(0, &[1], 77),
        incarnation: 77,
        limits,
        rng: dictmesh::random::stream(2, 0),
        kinds,
    };
    let good = hub.wire(1, &[0], 78);
    let mut bad = Rounds::new(bad, &[1], options(77), Arc::default());
    let other = std::thread::spawn(move || {
        for round in 0..rounds {
            let mut inbox = vec![Frame::default()];
            bad.round(&frame(0, round), &mut inbox, None).unwrap();
        }
    });
    let mut good = Rounds::new(good, &[0], options(78), Arc::default());
    for round in 0..rounds {
        let mut inbox = vec![Frame::default()];
        good.round(&frame(1, round), &mut inbox, None).unwrap();
        assert_eq!(inbox[0], frame(0, round));
    }
    other.join().unwrap();
    good.refused()
}

#[test]
fn rubbish_is_refused_and_the_rounds_go_on() {
    let refused = through_rubbish(0..KINDS, 400);
    assert!(refused > 100, "{refused}");
}

/// One kind at a time, so that none is stopped only because others are.
#[test]
fn rubbish_of_each_kind_is_refused() {
    for kind in 0..KINDS {
        let refused = through_rubbish(kind..kind + 1, 60);
        match kind {
            OF_THE_PAST => assert_eq!(refused, 0),
            _ => assert!(refused >= 30, "kind {kind}: {refused}"),
        }
    }
}

/// The frame in other words, as its sender would say them.
fn changed(bytes: &Bytes, change: fn(&mut Frame)) -> Option<Bytes> {
    let header = codec::header(bytes, &Limits::new(5, 1)).unwrap();
    let mut frame = Frame::default();
    codec::decode(bytes, &header, &mut frame).unwrap();
    let before = frame.clone();
    change(&mut frame);
    let encoded = || codec::encode(&frame, header.incarnation, false, BytesMut::new());
    (frame != before).then(encoded)
}

/// What a neighbour sends before each of its frames: half of the dual vectors or too few scalars; or other numbers for a
/// round that is over. (How many scalars an agreement has is not known beforehand.)
const NEARLY_RIGHT: [fn(&Bytes) -> Option<Bytes>; 2] = [
    |bytes| {
        changed(bytes, |frame| match frame.tag.round % 2 {
            0 => frame.dual.truncate(frame.dual.len() / 2),
            _ if frame.tag.phase != Phase::Agreement => frame.scalars.truncate(1),
            _ => {}
        })
    },
    |bytes| changed(bytes, lies_about_the_past),
];

#[test]
fn a_mesh_goes_on_through_frames_of_other_dimensions_and_rounds() {
    let plan = plan(30);
    let mesh = plan.mesh(false);
    for (kind, before) in NEARLY_RIGHT.into_iter().enumerate() {
        let hub = Hub::new(0);
        let each = (0..4).map(|k| {
            let mut agent = Started::new(&plan, &mesh, k);
            agent.resend = Duration::from_millis(4);
            if k == 2 {
                agent.before = before;
            }
            agent.start(&hub)
        });
        let agents: Vec<Running> = each.collect();
        assert_undisturbed(
            &plan,
            &mesh,
            wait_all(agents),
            &format!("nearly right frames, kind {kind},"),
        );
    }
}
