//! Agents that join, leave, are lost and return. What the others do then is what the mesh in one process does when it
//! is changed at the same sample.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use common::{agreements, Done, Dripping, Plan, Running, Started};
use dictmesh::Spec;
use dictmesh::{AtomInit, Matrix, Mesh, Stopping, Topology, Update};
use dictmesh_net::agent::{Agreed, Event, Neighbour, Outcome, Policy};
use dictmesh_net::memory::Hub;
use dictmesh_net::Error;
use std::ops::ControlFlow::Continue;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A ring with a chord, so that agent 3 can be done without; constants that do not follow from the graph.
fn plan(samples: usize) -> Plan {
    let topology = Topology::from_edges(4, &[(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]).unwrap();
    let mut plan = Plan::new(topology, 5, samples);
    plan.strategy = Spec::new("relaxed-admm")
        .with("rho", 0.5)
        .with("alpha", 0.9);
    plan.stopping = Stopping::rounds(8);
    plan.update = Update::Constant { mu_w: 0.05 };
    plan.informed = vec![0, 3];
    plan
}

/// Where the members changed, as those who stayed saw it: (sample, members), without what was done again.
fn changes(events: &Events) -> Vec<Agreed> {
    let mut all: Vec<Agreed> = Vec::new();
    for agreed in agreements(&events.lock().unwrap()) {
        while all
            .last()
            .is_some_and(|last| last.position >= agreed.position && !all.is_empty())
        {
            all.pop();
        }
        if all.last().is_none_or(|last| last.members != agreed.members) {
            all.push(agreed);
        }
    }
    all
}

fn learn(mesh: &mut Mesh, plan: &Plan, from: u64, to: u64) {
    if from < to {
        mesh.learn(&plan.x.range(from as usize..to as usize), |_| Continue(()))
            .unwrap();
    }
}

type Events = Arc<Mutex<Vec<Event>>>;

/// An agent of the plan, from whose source samples come only as far as `there` says, so that no run is over before
/// what is to happen in it.
fn held_back(plan: &Plan, mesh: &Mesh, k: usize, there: &Arc<AtomicUsize>) -> Started {
    let mut agent = Started::new(plan, mesh, k);
    if plan.informed.contains(&k) {
        let (all, there) = (plan.x.clone(), there.clone());
        agent.source = Some(Box::new(Dripping { all, there }));
    }
    agent
}

fn finish(agents: Vec<Running>) -> (Vec<Done>, Vec<Events>) {
    let events = agents.iter().map(|agent| agent.events.clone()).collect();
    let done = agents
        .into_iter()
        .map(|agent| agent.wait().unwrap())
        .collect();
    (done, events)
}

#[test]
fn an_agent_joins_a_running_mesh() {
    let plan = plan(150);
    let (mut mesh, hub) = (plan.mesh(false), Hub::new(0));
    let there = Arc::new(AtomicUsize::new(60));
    let mut agents: Vec<Running> = (0..4)
        .map(|k| {
            let mut agent = held_back(&plan, &mesh, k, &there);
            if [1, 2].contains(&k) {
                agent
                    .settings
                    .neighbours
                    .push(Neighbour { id: 4, joins: true });
            }
            agent.start(&hub)
        })
        .collect();
    agents[3].until(20);
    let own = Matrix::from_fn(5, 2, |i, j| 0.3 / (1 + i + 3 * j) as f64);
    let mut newcomer = Started::new(&plan, &mesh, 0);
    newcomer.settings.id = 4;
    newcomer.settings.joins = true;
    newcomer.settings.neighbours = [1, 2].map(|id| Neighbour { id, joins: false }).to_vec();
    newcomer.atoms = own.clone();
    newcomer.source = Some(Box::new(plan.x.clone()));
    agents.push(newcomer.start(&hub));
    agents[0].until_members(5);
    there.store(150, Ordering::Relaxed);
    let (done, events) = finish(agents);
    let changes = changes(&events[0]);
    let at: Vec<usize> = changes.iter().map(|c| c.members.len()).collect();
    assert_eq!(at, [4, 5], "{changes:?}");
    let at = changes[1].position;
    assert!((20..150).contains(&at), "{at}");
    assert_eq!(changes[1].informed, 3);
    learn(&mut mesh, &plan, 0, at);
    mesh.add_agent(&[1, 2], 2, AtomInit::Given(&own), true, None)
        .unwrap();
    learn(&mut mesh, &plan, at, 150);
    for (k, done) in done.iter().enumerate() {
        assert_eq!(done.atoms, *mesh.block(k).atoms(), "{k}");
        assert_eq!((done.outcome, done.position), (Outcome::Ended, 150));
    }
}

#[test]
fn an_agent_leaves_for_good() {
    let plan = plan(120);
    let (mut mesh, hub) = (plan.mesh(false), Hub::new(0));
    let there = Arc::new(AtomicUsize::new(60));
    let each = (0..4).map(|k| held_back(&plan, &mesh, k, &there));
    let mut agents: Vec<Running> = each.map(|agent| agent.start(&hub)).collect();
    agents[0].until(20);
    agents[3].control.leave.store(true, Ordering::Relaxed);
    let left = agents.pop().unwrap().wait().unwrap();
    assert_eq!(left.outcome, Outcome::Left);
    there.store(120, Ordering::Relaxed);
    let (done, events) = finish(agents);
    let changes = changes(&events[1]);
    assert_eq!(changes.len(), 2, "{changes:?}");
    assert_eq!(
        (&changes[1].members[..], changes[1].informed),
        (&[0, 1, 2][..], 1)
    );
    assert_eq!(changes[1].position, left.position);
    learn(&mut mesh, &plan, 0, left.position);
    assert_eq!(left.atoms, *mesh.block(3).atoms());
    mesh.remove_agent(3).unwrap();
    learn(&mut mesh, &plan, left.position, 120);
    for (k, done) in done.iter().enumerate() {
        assert_eq!(done.atoms, *mesh.block(k).atoms(), "{k}");
        assert_eq!((done.outcome, done.position), (Outcome::Ended, 120));
    }
}

/// Agent 3 is killed, or frozen; the others go on without it, and take it back.
#[test]
fn others_go_on_without_a_lost_agent_and_take_it_back() {
    for frozen in [false, true] {
        let plan = plan(300);
        let there = Arc::new(AtomicUsize::new(200));
        let (mesh, hub) = (plan.mesh(false), Hub::new(0));
        let directory = tempfile::tempdir().unwrap();
        let at = |k: usize| {
            let mut agent = held_back(&plan, &mesh, k, &there).in_directory(directory.path());
            agent.settings.policy = Policy::GoOn {
                deadline: Duration::from_millis(500),
            };
            agent.start(&hub)
        };
        let mut agents: Vec<Running> = (0..4).map(at).collect();
        agents[3].until(20);
        if frozen {
            hub.freeze(3);
        } else {
            agents.pop().unwrap().kill();
        }
        agents[1].until_members(3);
        let lost_at = agents[1].agreements().last().unwrap().position;
        agents[1].until(lost_at + 30);
        if frozen {
            hub.thaw(3);
        } else {
            agents.push(at(3));
        }
        agents[1].until_members(4);
        there.store(300, Ordering::Relaxed);
        let (done, events) = finish(agents);
        let changes = changes(&events[1]);
        let sizes: Vec<usize> = changes.iter().map(|c| c.members.len()).collect();
        assert_eq!(sizes, [4, 3, 4], "{changes:?}");
        // The same in one process. It keeps its atoms as they were when it was lost; it may have come through the batch
        // in which the others lost it, which they then did without it.
        let [lost, back] = [changes[1].position, changes[2].position];
        let replay = |seen: u64| {
            let mut mesh = mesh.clone();
            learn(&mut mesh, &plan, 0, lost);
            let mut own = mesh.clone();
            learn(&mut own, &plan, lost, seen);
            let own = own.block(3).atoms().clone();
            mesh.remove_agent(3).unwrap();
            learn(&mut mesh, &plan, lost, back);
            mesh.add_agent(&[0, 2], own.cols(), AtomInit::Given(&own), true, None)
                .unwrap();
            learn(&mut mesh, &plan, back, 300);
            mesh
        };
        let is = |mesh: &Mesh| {
            done.iter()
                .enumerate()
                .all(|(k, done)| done.atoms == *mesh.block(k).atoms())
        };
        assert!(
            is(&replay(lost)) || is(&replay(lost + 1)),
            "lost at {lost}, back at {back}"
        );
        assert!(done
            .iter()
            .all(|done| (done.outcome, done.position) == (Outcome::Ended, 300)));
    }
}

#[test]
fn without_anybody_informed_the_run_stops_with_a_reason() {
    let mut plan = plan(500);
    plan.informed = vec![3];
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let mut agents: Vec<Running> = (0..4)
        .map(|k| {
            let mut agent = Started::new(&plan, &mesh, k);
            agent.settings.policy = Policy::GoOn {
                deadline: Duration::from_millis(300),
            };
            agent.start(&hub)
        })
        .collect();
    agents[0].until(20);
    agents.pop().unwrap().kill();
    for agent in agents {
        let error = agent.wait().unwrap_err();
        assert!(
            matches!(&error, Error::Uninformed { members } if *members == [0, 1, 2]),
            "{error}"
        );
    }
}

/// A mesh falls in two halves, each with samples of its own; both go on, and are one mesh again when the links heal.
#[test]
fn two_halves_that_went_on_alone_come_together_again() {
    let mut plan = plan(300);
    plan.topology = Topology::ring(4).unwrap();
    plan.informed = vec![0, 2];
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let there = Arc::new(AtomicUsize::new(150));
    let agents: Vec<Running> = (0..4)
        .map(|k| {
            let mut agent = held_back(&plan, &mesh, k, &there);
            agent.settings.policy = Policy::GoOn {
                deadline: Duration::from_millis(500),
            };
            agent.start(&hub)
        })
        .collect();
    agents[3].until(20);
    [(1, 2), (3, 0)].iter().for_each(|(a, b)| hub.cut(*a, *b));
    agents[0].until_members(2);
    agents[2].until_members(2);
    [(1, 2), (3, 0)].iter().for_each(|(a, b)| hub.heal(*a, *b));
    agents[0].until_members(4);
    there.store(300, Ordering::Relaxed);
    let (done, events) = finish(agents);
    for (k, done) in done.iter().enumerate() {
        assert_eq!((done.outcome, done.position), (Outcome::Ended, 300), "{k}");
        assert!(done
            .atoms
            .columns()
            .all(|w| w.iter().all(|v| v.is_finite())));
    }
    let last = changes(&events[1]).pop().unwrap();
    assert_eq!((last.members, last.informed), (vec![0, 1, 2, 3], 2));
}

/// Three in a row of whom nobody is informed; the last expects a fourth if somebody `joins`.
fn uninformed(plan: &Plan, mesh: &Mesh, joins: bool, hub: &Hub) -> Vec<Running> {
    let start = |k: usize| {
        let mut agent = Started::new(plan, mesh, k);
        agent.settings.neighbours.retain(|l| joins || l.id < 3);
        let last = agent.settings.neighbours.iter_mut();
        last.filter(|l| l.id == 3).for_each(|l| l.joins = true);
        agent.start(hub)
    };
    (0..3).map(start).collect()
}

/// Under `wait` all are there who are waited for: without anybody informed among them nothing can come.
#[test]
fn a_mesh_that_waits_for_nobody_informed_stops_with_a_reason() {
    let mut plan = plan(20);
    plan.topology = Topology::path(4).unwrap();
    plan.informed = vec![3];
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    for agent in uninformed(&plan, &mesh, false, &hub) {
        let error = agent.wait().unwrap_err();
        assert!(
            matches!(&error, Error::Uninformed { members } if *members == [0, 1, 2]),
            "{error}"
        );
    }
}

/// One that is to join may bring samples; only its neighbour knows that it is to.
#[test]
fn a_mesh_without_samples_waits_for_one_that_joins_with_them() {
    let mut plan = plan(20);
    plan.topology = Topology::path(4).unwrap();
    plan.informed = vec![3];
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let mut agents = uninformed(&plan, &mesh, true, &hub);
    agents.iter().for_each(|agent| agent.until_members(3));
    std::thread::sleep(Duration::from_millis(300));
    assert!(agents.iter().all(|agent| !agent.thread.is_finished()));
    let mut newcomer = Started::new(&plan, &mesh, 3);
    newcomer.settings.joins = true;
    agents.push(newcomer.start(&hub));
    for agent in agents {
        let done = agent.wait().unwrap();
        assert_eq!((done.outcome, done.position), (Outcome::Ended, 20));
    }
}

/// The others have come to their end without it, and nobody will bring it samples any more.
#[test]
fn one_that_returns_to_nobody_informed_waits_for_some_time_and_stops_with_a_reason() {
    let mut plan = plan(500);
    plan.topology = Topology::path(2).unwrap();
    (plan.informed, plan.sizes) = (vec![1], vec![1, 2]);
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let directory = tempfile::tempdir().unwrap();
    let there = Arc::new(AtomicUsize::new(50));
    let start = |k: usize| {
        let mut agent = held_back(&plan, &mesh, k, &there).in_directory(directory.path());
        agent.settings.linger = Duration::from_millis(20);
        agent.settings.policy = Policy::GoOn {
            deadline: Duration::from_millis(300),
        };
        agent.start(&hub)
    };
    let agents: Vec<Running> = (0..2).map(start).collect();
    agents[0].until(20);
    agents.into_iter().for_each(Running::kill);
    let alone = start(0);
    let error = alone.wait().unwrap_err();
    assert!(
        matches!(&error, Error::Uninformed { members } if *members == [0]),
        "{error}"
    );
}
