//! Gossip with differences of few bits between agents: what the mesh in one process does, bit for
//! bit, over links with faults and through restarts; and messages that are wrong.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use bytes::Bytes;
use common::{start_all, Plan, Running, Started};
use dictmesh::strategy;
use dictmesh::{Mesh, Spec, Stop, Stopping, Topology};
use dictmesh_net::agent::Outcome;
use dictmesh_net::codec::HEADER;
use dictmesh_net::memory::{Faults, Hub};
use dictmesh_net::Error;
use rand::RngExt;
use std::ops::ControlFlow::Continue;
use std::time::Duration;

/// The bytes of the two scalars of a round.
const SCALARS: usize = 16;
const ROWS: usize = 6;

fn plan(name: &str, bits: u32, topology: Topology, samples: usize) -> Plan {
    let mut plan = Plan::new(topology, ROWS, samples);
    plan.strategy = Spec::new(name).with("bits", bits);
    plan.batch = 4;
    plan.informed = vec![plan.topology.agents() - 1];
    plan
}

/// Waits for all, and compares them with the mesh in one process.
fn assert_equal(plan: &Plan, start: &Mesh, agents: Vec<Running>, what: &str) {
    let (mut mesh, mut told) = (start.clone(), Vec::new());
    mesh.learn(&plan.x, |event| {
        told.push(*event);
        Continue(())
    })
    .unwrap();
    for (k, agent) in agents.into_iter().enumerate() {
        let events = agent.events.clone();
        let done = agent.wait().unwrap();
        assert_eq!(done.outcome, Outcome::Ended, "{what} {k}");
        assert_eq!(done.atoms, *mesh.block(k).atoms(), "{what} {k}: atoms");
        for batch in common::batches(&events.lock().unwrap()) {
            let told = &told[batch.position as usize / plan.batch];
            let both = ((batch.rounds, batch.stop), (told.rounds, told.stop));
            assert_eq!(both.0, both.1, "{what} {k}");
        }
    }
}

#[test]
fn every_gossip_strategy_equals_the_mesh_in_one_process() {
    let graphs = [
        Topology::path(1),
        Topology::path(2),
        Topology::from_edges(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)]),
        Topology::complete(6),
        Topology::grid(4, 4),
    ];
    for topology in graphs.map(Result::unwrap) {
        for name in strategy::GOSSIP {
            for (bits, stopping) in [
                (4, Stopping::rounds(9)),
                (7, Stopping::tolerance(1e-3)),
                (16, Stopping::rounds(5)),
            ] {
                let mut plan = plan(name, bits, topology.clone(), 22);
                plan.stopping = Stopping {
                    rounds: stopping.rounds.min(300),
                    ..stopping
                };
                let mesh = plan.mesh(false);
                let agents = start_all(&plan, &mesh, &Hub::new(0));
                let what = format!("{} {} agents", plan.strategy, topology.agents());
                assert_equal(&plan, &mesh, agents, &what);
            }
        }
    }
}

/// A message that arrives twice is added once.
#[test]
fn lost_doubled_and_late_frames_change_nothing() {
    for (seed, name) in strategy::GOSSIP.into_iter().enumerate() {
        let plan = plan(name, 5, Topology::ring(6).unwrap(), 24);
        let mesh = plan.mesh(false);
        let hub = Hub::new(seed as u64);
        hub.set_faults(Faults {
            loss: 0.05,
            duplicates: 0.1,
            delay: Duration::from_micros(500),
        });
        let agents = start_all(&plan, &mesh, &hub);
        assert_equal(&plan, &mesh, agents, name);
    }
}

/// A batch that was cut off begins again with arrays of 0 at both ends of every link.
#[test]
fn agents_are_killed_in_a_batch_and_come_back() {
    let plan = plan("relaxed-admm", 4, Topology::ring(4).unwrap(), 160);
    let mesh = plan.mesh(false);
    let mut rng = dictmesh::random::stream(6, 0);
    for attempt in 0..8 {
        let directory = tempfile::tempdir().unwrap();
        let hub = Hub::new(attempt);
        let victim = attempt as usize % 4;
        let (sample, steps) = (rng.random_range(0..60), rng.random_range(0..60));
        let at = |k: usize| {
            let mut started = Started::new(&plan, &mesh, k).in_directory(directory.path());
            started.settings.linger = Duration::from_secs(1);
            started.start(&hub)
        };
        let mut agents: Vec<Running> = (0..4).map(at).collect();
        agents[victim].until(sample);
        let what = format!("agent {victim} {steps} steps after sample {sample}");
        assert!(agents.remove(victim).dies_after(steps), "{what}: it ended");
        agents.insert(victim, at(victim));
        assert_equal(&plan, &mesh, agents, &what);
    }
}

/// The bytes that the agents count are those of frames, and the mesh counts their differences.
#[test]
fn frames_have_packed_integers_and_no_doubles() {
    let mut plan = plan("relaxed-admm", 7, Topology::ring(4).unwrap(), 8);
    plan.stopping = Stopping::rounds(10);
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let agents: Vec<Running> = (0..4)
        .map(|k| Started {
            says: |bytes| {
                let packed = 4 * (2 + (7 * ROWS).div_ceil(8));
                if bytes[5] == 2 {
                    assert_eq!(bytes.len(), HEADER + SCALARS + packed);
                }
                bytes
            },
            ..Started::new(&plan, &mesh, k)
        })
        .map(|agent| agent.start(&hub))
        .collect();
    assert_equal(&plan, &mesh, agents, "frames");
}

/// The frame, with its differences changed if it has any.
fn with(bytes: &Bytes, change: impl Fn(&mut Vec<u8>)) -> Bytes {
    let mut wrong = bytes.to_vec();
    if bytes[5] == 2 && bytes.len() > HEADER + SCALARS {
        change(&mut wrong);
        let count = (wrong.len() - HEADER - SCALARS) as u32;
        wrong[40..44].copy_from_slice(&count.to_le_bytes());
    }
    wrong.into()
}

#[test]
fn messages_that_are_wrong_are_refused_with_the_name_of_their_sender() {
    let plan = plan("diffusion", 5, Topology::path(3).unwrap(), 8);
    let mesh = plan.mesh(false);
    let liars: [(common::Says, &str); 5] = [
        (|b| with(&b, |b| b.push(0)), "it sent 25 bytes"),
        (
            |b| with(&b, |b| b.truncate(b.len() - 6)),
            "it sent 18 bytes",
        ),
        (
            |b| with(&b, |b| b[HEADER + SCALARS + 1] = 0x7f),
            "as the unit of sample 0",
        ),
        // -16 times 2^1020.
        (
            |b| {
                with(&b, |b| {
                    b[HEADER + SCALARS..][..3].copy_from_slice(&[0xfc, 0x03, 0x10])
                })
            },
            "infinity",
        ),
        (
            |b| with(&b, |b| b[HEADER + SCALARS + 5] |= 0x80),
            "bits behind",
        ),
    ];
    for (says, said) in liars {
        let hub = Hub::new(0);
        let agents = (0..3).map(|k| Started {
            says: if k == 0 { says } else { |bytes| bytes },
            ..Started::new(&plan, &mesh, k)
        });
        let mut agents: Vec<Running> = agents.map(|agent| agent.start(&hub)).collect();
        let error = agents.remove(1).wait().unwrap_err();
        let from_liar = matches!(&error, Error::Protocol { from: 0, .. });
        assert!(from_liar && error.to_string().contains(said), "{error}");
        agents.into_iter().for_each(Running::stop);
    }
}

/// Numbers that leave the range of differences end the batch at all agents, as doubles do. A step
/// far too long leaves it in the second round.
#[test]
fn what_overflows_ends_as_with_doubles() {
    for name in ["diffusion", "consensus", "exact-diffusion", "jacobi-admm"] {
        for bits in [None, Some(6)] {
            let mut plan = Plan::new(Topology::path(3).unwrap(), ROWS, 1);
            plan.strategy = Spec::new(name).with("mu", 1e200).with_some("bits", bits);
            plan.stopping = Stopping::tolerance(1e-3);
            let (mesh, hub) = (plan.mesh(false), Hub::new(0));
            for agent in start_all(&plan, &mesh, &hub) {
                let events = agent.events.clone();
                let done = agent.wait().unwrap();
                let batches = common::batches(&events.lock().unwrap());
                let stops: Vec<Stop> = batches.iter().map(|batch| batch.stop).collect();
                assert_eq!(stops, [Stop::Diverged], "{name} {bits:?} {done:?}");
            }
        }
    }
}
