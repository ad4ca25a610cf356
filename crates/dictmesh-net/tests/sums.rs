//! Sums to a root and its broadcasts along a tree: agents do what the mesh in one process does, bit
//! for bit, over links with faults and through restarts.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use bytes::Bytes;
use common::{start_all, summing, unreachable, Dripping, Plan, Running, Started};
use dictmesh::{Mesh, Spec, Stop, Topology};
use dictmesh_net::agent::{Agent, Control, Outcome, Policy};
use dictmesh_net::codec::Limits;
use dictmesh_net::grpc::{GrpcWire, Neighbour, Settings};
use dictmesh_net::memory::{Faults, Hub};
use dictmesh_net::{Error, Rounds, RoundsOptions};
use rand::RngExt;
use std::ops::ControlFlow::Continue;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Leaves, inner agents and edges beside the tree.
fn graphs() -> Vec<(&'static str, Topology)> {
    let star: Vec<(usize, usize)> = (0..6).filter(|k| *k != 2).map(|k| (2, k)).collect();
    vec![
        ("single", Topology::path(1).unwrap()),
        ("pair", Topology::path(2).unwrap()),
        ("path", Topology::path(5).unwrap()),
        ("ring", Topology::ring(6).unwrap()),
        ("star", Topology::from_edges(6, &star).unwrap()),
        ("random", Topology::erdos_renyi(12, 0.3, 5).unwrap()),
    ]
}

fn plan(topology: Topology, samples: usize) -> Plan {
    let mut plan = summing::plan(topology, 7, samples);
    plan.batch = 3;
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
    assert!(told.iter().any(|event| event.rounds != told[0].rounds));
    let mut scores = Vec::new();
    for (k, agent) in agents.into_iter().enumerate() {
        let events = agent.events.clone();
        let done = agent.wait().unwrap();
        assert_eq!(done.outcome, Outcome::Ended, "{what} {k}");
        assert_eq!(done.position, plan.x.len() as u64, "{what} {k}");
        assert_eq!(done.atoms, *mesh.block(k).atoms(), "{what} {k}: atoms");
        let batches = common::batches(&events.lock().unwrap());
        for batch in &batches {
            let told = &told[batch.position as usize / plan.batch];
            let both = ((batch.rounds, batch.stop), (told.rounds, told.stop));
            assert_eq!(both.0, both.1, "{what} {k}");
        }
        // The root's costs, the same at all agents without any averaging.
        let own: Vec<f64> = batches.iter().flat_map(|b| b.scores.clone()).collect();
        if own.len() == plan.x.len() && scores.is_empty() {
            scores.clone_from(&own);
        }
        if own.len() == scores.len() {
            assert_eq!(own, scores, "{what} {k}");
        }
    }
}

#[test]
fn every_graph_equals_the_mesh_in_one_process() {
    for (name, topology) in graphs() {
        let plan = plan(topology, 40);
        let mesh = plan.mesh(false);
        let agents = start_all(&plan, &mesh, &Hub::new(0));
        assert_equal(&plan, &mesh, agents, name);
    }
}

#[test]
fn lost_doubled_and_late_frames_change_nothing() {
    for (seed, (name, topology)) in graphs().into_iter().enumerate() {
        let plan = plan(topology, 24);
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

/// Feasible and infeasible samples of the ball and of the equality by `tree`, with few atoms at each
/// agent and with so many that products are taken with few of them.
#[test]
fn a_sample_that_no_code_can_reach_is_found_by_all_agents() {
    for residual in [Spec::new("ball").with("sigma", 0.05), Spec::new("equality")] {
        for (n, atoms) in [(1, 20), (2, 3), (5, 20)] {
            let topology = Topology::path(n).unwrap();
            let (plan, start) = unreachable::plan(topology, atoms, residual.clone(), "tree");
            let (mut mesh, mut expected) = (start.clone(), Vec::new());
            mesh.learn(&plan.x, |event| {
                expected.push((event.rounds, event.stop));
                Continue(())
            })
            .unwrap();
            for (i, (_, stop)) in expected.iter().enumerate() {
                let is_infeasible = *stop == Stop::Infeasible;
                assert_eq!(is_infeasible, i == unreachable::BATCH, "{residual} {i}");
            }
            let agents = start_all(&plan, &start, &Hub::new(0));
            for (k, agent) in agents.into_iter().enumerate() {
                let events = agent.events.clone();
                let done = agent.wait().unwrap();
                let batches = common::batches(&events.lock().unwrap());
                let own: Vec<_> = batches.iter().map(|b| (b.rounds, b.stop)).collect();
                assert_eq!(own, expected, "{residual}, {n} agents, {k}");
                assert_eq!(done.atoms, *mesh.block(k).atoms(), "{residual} {k}");
            }
        }
    }
}

/// Agents of a network take the products of [`Mesh`] in one process, whichever atoms are left out.
#[test]
fn many_atoms_at_each_agent_equal_the_mesh_in_one_process() {
    for (topology, atoms, rows) in [
        (Topology::ring(4).unwrap(), 24, 10),
        (Topology::path(3).unwrap(), 70, 33),
    ] {
        let mut plan = Plan::new(topology, rows, 20);
        plan.strategy = Spec::new("tree");
        plan.stopping = dictmesh::Stopping::tolerance(1e-5);
        plan.batch = 5;
        plan.sizes = vec![atoms; plan.topology.agents()];
        let mesh = plan.mesh(false);
        let agents = start_all(&plan, &mesh, &Hub::new(0));
        assert_equal(&plan, &mesh, agents, "many atoms");
    }
}

static SENT: AtomicUsize = AtomicUsize::new(0);

#[test]
fn a_sum_and_its_broadcast_take_two_messages_for_each_link_of_the_tree() {
    let plan = plan(Topology::erdos_renyi(9, 0.4, 2).unwrap(), 12);
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let started: Vec<Started> = (0..9)
        .map(|k| Started {
            resend: Duration::from_secs(20), // nothing is lost here
            says: |bytes| {
                SENT.fetch_add(usize::from(bytes[5] == 2), Ordering::Relaxed);
                bytes
            },
            ..Started::new(&plan, &mesh, k)
        })
        .collect();
    let agents: Vec<Running> = started.into_iter().map(|a| a.start(&hub)).collect();
    let events = agents[0].events.clone();
    assert_equal(&plan, &mesh, agents, "count");
    let batches = common::batches(&events.lock().unwrap());
    let rounds: usize = batches.iter().map(|batch| batch.rounds).sum();
    assert_eq!(SENT.load(Ordering::Relaxed), 2 * (9 - 1) * rounds);
}

fn start(plan: &Plan, mesh: &Mesh, k: usize, hub: &Hub, directory: &Path) -> Running {
    let mut started = Started::new(plan, mesh, k).in_directory(directory);
    started.settings.linger = Duration::from_secs(1);
    started.start(hub)
}

/// The root is agent 2 of the path 0 - 1 - 2 - 3 - 4, its ends are leaves, and 4 has the samples.
#[test]
fn root_inner_agents_and_leaves_are_killed_and_come_back() {
    let plan = plan(Topology::path(5).unwrap(), 120);
    assert_eq!(plan.topology.spanning_tree().root(), 2);
    let mesh = plan.mesh(false);
    let mut rng = dictmesh::random::stream(6, 0);
    for attempt in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let hub = Hub::new(attempt);
        let victim = [2, 1, 0, 3, 4][attempt as usize % 5];
        let (sample, steps) = (rng.random_range(0..40), rng.random_range(0..60));
        let at = |k: usize| start(&plan, &mesh, k, &hub, directory.path());
        let mut agents: Vec<Running> = (0..5).map(at).collect();
        agents[victim].until(sample);
        let what = format!("agent {victim} {steps} steps after sample {sample}");
        assert!(agents.remove(victim).dies_after(steps), "{what}: it ended");
        agents.insert(victim, at(victim));
        assert_equal(&plan, &mesh, agents, &what);
    }
}

/// An agent is lost in a batch: under `go-on` the others continue without it, with a
/// tree of their own, and take it back.
#[test]
fn under_go_on_a_lost_leaf_or_root_is_left_out_and_taken_back() {
    let mut plan = plan(Topology::ring(5).unwrap(), 4000);
    plan.informed = vec![1, 4];
    let mesh = plan.mesh(false);
    for victim in [plan.topology.spanning_tree().root(), 3] {
        let (directory, hub) = (tempfile::tempdir().unwrap(), Hub::new(2));
        let there = Arc::new(AtomicUsize::new(30));
        let at = |k: usize| {
            let mut agent = Started::new(&plan, &mesh, k).in_directory(directory.path());
            agent.settings.policy = Policy::GoOn {
                deadline: Duration::from_millis(300),
            };
            if plan.informed.contains(&k) {
                let (all, there) = (plan.x.clone(), there.clone());
                agent.source = Some(Box::new(Dripping { all, there }));
            }
            agent.start(&hub)
        };
        let mut agents: Vec<Running> = (0..5).map(at).collect();
        agents[1].until(24);
        there.store(3000, Ordering::Relaxed);
        assert!(agents.remove(victim).dies_after(9), "it ended before");
        agents[if victim == 1 { 2 } else { 1 }].until_members(4);
        agents.insert(victim, at(victim));
        let other = if victim == 1 { 2 } else { 1 };
        agents[other].until_members(5);
        there.store(plan.x.len(), Ordering::Relaxed);
        for agent in agents {
            let done = agent.wait().unwrap();
            assert_eq!((done.outcome, done.position), (Outcome::Ended, 4000));
        }
    }
}

/// The root leaves for good between two batches: the others agree on another tree and new keys.
#[test]
fn the_root_of_the_tree_leaves_and_the_others_go_on() {
    let mut plan = plan(Topology::ring(5).unwrap(), 120);
    let root = plan.topology.spanning_tree().root();
    plan.informed = vec![2];
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let there = Arc::new(AtomicUsize::new(30));
    let started = (0..5).map(|k| {
        let mut agent = Started::new(&plan, &mesh, k);
        if k == 2 {
            let (all, there) = (plan.x.clone(), there.clone());
            agent.source = Some(Box::new(Dripping { all, there }));
        }
        agent
    });
    let started: Vec<Started> = started.collect();
    let mut agents: Vec<Running> = started.into_iter().map(|a| a.start(&hub)).collect();
    agents[root].until(21);
    agents[root].control.leave.store(true, Ordering::Relaxed);
    assert_eq!(agents.remove(root).wait().unwrap().outcome, Outcome::Left);
    there.store(plan.x.len(), Ordering::Relaxed);
    for agent in agents {
        let done = agent.wait().unwrap();
        assert_eq!((done.outcome, done.position), (Outcome::Ended, 120));
    }
}

/// Random kills, one or two at a time, over links that lose, double and delay. The number of kills
/// is DICTMESH_SOAK, 10 if it is not set.
#[test]
fn soak() {
    let kills = std::env::var("DICTMESH_SOAK").map_or(10, |n| n.parse().unwrap());
    let edges = [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (4, 5)];
    let mut plan = plan(Topology::from_edges(6, &edges).unwrap(), 30 + 9 * kills);
    plan.informed = vec![1, 5];
    let (mesh, directory) = (plan.mesh(false), tempfile::tempdir().unwrap());
    let hub = Hub::new(8);
    hub.set_faults(Faults {
        loss: 0.01,
        duplicates: 0.02,
        delay: Duration::from_micros(200),
    });
    let there = Arc::new(AtomicUsize::new(18));
    let at = |k: usize| {
        let mut agent = Started::new(&plan, &mesh, k).in_directory(directory.path());
        agent.settings.linger = Duration::from_secs(1);
        if plan.informed.contains(&k) {
            let (all, there) = (plan.x.clone(), there.clone());
            agent.source = Some(Box::new(Dripping { all, there }));
        }
        agent.start(&hub)
    };
    let mut agents: Vec<Running> = (0..6).map(at).collect();
    let mut rng = dictmesh::random::stream(12, 0);
    let mut killed = 0;
    while killed < kills {
        std::thread::sleep(Duration::from_millis(rng.random_range(0..120)));
        let (first, count) = (rng.random_range(0..6), rng.random_range(1..3));
        let mut victims: Vec<usize> = (first..first + count).map(|k| k % 6).collect();
        victims.sort_unstable();
        for victim in victims.iter().rev() {
            let steps = rng.random_range(0..20);
            assert!(agents.remove(*victim).dies_after(steps), "it ended");
            killed += 1;
        }
        (victims.iter()).for_each(|victim| agents.insert(*victim, at(*victim)));
        there.fetch_add(3 * count, Ordering::Relaxed);
    }
    there.store(plan.x.len(), Ordering::Relaxed);
    assert_equal(&plan, &mesh, agents, &format!("{killed} kills"));
}

/// An agent that waits along the tree for one that stands still notices an interrupt.
#[test]
fn an_interrupt_ends_a_wait_for_the_tree() {
    let plan = plan(Topology::path(3).unwrap(), 3000);
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let agents = start_all(&plan, &mesh, &hub);
    agents[0].until(9);
    hub.freeze(2);
    std::thread::sleep(Duration::from_millis(100));
    for agent in &agents {
        agent.control.interrupt.store(true, Ordering::Relaxed);
    }
    let mut agents = agents;
    let frozen = agents.remove(2);
    for agent in agents {
        assert_eq!(agent.wait().unwrap().outcome, Outcome::Interrupted);
    }
    hub.thaw(2);
    assert_eq!(frozen.wait().unwrap().outcome, Outcome::Interrupted);
}

/// The same frame with one byte more, as its header says.
fn longer(bytes: Bytes) -> Bytes {
    if bytes[5] != 2 || bytes.len() < 48 {
        return bytes;
    }
    let mut wrong = bytes.to_vec();
    let count = u32::from_le_bytes([wrong[40], wrong[41], wrong[42], wrong[43]]);
    wrong[40..44].copy_from_slice(&(count + 1).to_le_bytes());
    wrong.push(0);
    wrong.into()
}

#[test]
fn a_message_of_the_wrong_length_is_refused_with_the_name_of_its_sender() {
    let plan = plan(Topology::path(5).unwrap(), 12);
    let mesh = plan.mesh(false);
    for (liar, finds, said) in [(0, 1, "bytes for a sum that has"), (2, 3, "it broadcast")] {
        let hub = Hub::new(0);
        let started: Vec<Started> = (0..5)
            .map(|k| Started {
                says: if k == liar { longer } else { |bytes| bytes },
                ..Started::new(&plan, &mesh, k)
            })
            .collect();
        let mut agents: Vec<Running> = started.into_iter().map(|a| a.start(&hub)).collect();
        let error = agents.remove(finds).wait().unwrap_err();
        let from_liar = matches!(&error, Error::Protocol { from, .. } if *from == liar);
        assert!(from_liar && error.to_string().contains(said), "{error}");
        agents.into_iter().for_each(Running::stop); // others may have found it too
    }
}

#[test]
fn agents_over_grpc_equal_the_mesh() {
    let sums = plan(Topology::path(3).unwrap(), 12);
    let mut gossip = Plan::new(Topology::path(3).unwrap(), 7, 12);
    gossip.strategy = Spec::new("relaxed-admm").with("bits", 5);
    gossip.batch = 3;
    [sums, gossip].iter().for_each(assert_equal_over_grpc);
}

/// Over gRPC in plain text: 1 is between 0 and 2.
fn assert_equal_over_grpc(plan: &Plan) {
    let mut mesh = plan.mesh(false);
    let wire = |k: usize, neighbours: &[(usize, String)]| {
        let settings = plan.settings(&mesh, k);
        let neighbour = |(id, address): &(usize, String)| Neighbour {
            id: *id,
            name: format!("agent-{id}"),
            address: address.clone(),
        };
        GrpcWire::start(Settings {
            own: k,
            listen: "127.0.0.1:0".parse().unwrap(),
            neighbours: neighbours.iter().map(neighbour).collect(),
            run: settings.run.clone(),
            agreed: settings.agreed(),
            incarnation: 7000 + k as u64,
            epoch: 0,
            largest_frame: Limits::new(plan.rows, plan.batch).largest(),
            tls: None,
        })
        .unwrap()
    };
    // The one with the smaller number dials.
    let nowhere = || "127.0.0.1:1".to_string();
    let two = wire(2, &[(1, nowhere())]);
    let address = |wire: &GrpcWire| wire.address().unwrap().to_string();
    let one = wire(1, &[(0, nowhere()), (2, address(&two))]);
    let zero = wire(0, &[(1, address(&one))]);
    let mut threads = Vec::new();
    for (k, wire) in [zero, one, two].into_iter().enumerate() {
        let limits = Limits::new(plan.rows, plan.batch);
        let options = RoundsOptions::new(7000 + k as u64, limits);
        let around = plan.topology.neighbours(k);
        let rounds = Rounds::new(wire, around, options, Default::default());
        let settings = plan.settings(&mesh, k);
        let (atoms, source) = (mesh.block(k).atoms().clone(), plan.source(k));
        threads.push(std::thread::spawn(move || {
            let (observer, control) = (Box::new(|_: &_| {}), Control::default());
            let rounds = Box::new(rounds);
            let agent = Agent::new(settings, rounds, atoms, source, None, observer, control);
            let mut agent = agent.unwrap();
            assert_eq!(agent.run().unwrap(), Outcome::Ended);
            agent.block().atoms().clone()
        }));
    }
    mesh.learn(&plan.x, |_| Continue(())).unwrap();
    for (k, thread) in threads.into_iter().enumerate() {
        assert_eq!(thread.join().unwrap(), *mesh.block(k).atoms(), "{k}");
    }
}
