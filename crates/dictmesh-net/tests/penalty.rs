//! A penalty that follows the rounds of the batches is the same at all agents, whatever happens to them.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use common::{batches, Done, Dripping, Plan, Running, Started};
use dictmesh::strategy::PenaltyRule;
use dictmesh::{AtomInit, Matrix, Mesh, Spec, Stopping, Topology};
use dictmesh_net::agent::{Batch, Neighbour, Outcome, Policy};
use dictmesh_net::memory::Hub;
use std::ops::ControlFlow::Continue;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// A rho far above the best, so that the rule moves it. It does not follow from the graph.
fn plan(samples: usize) -> Plan {
    let topology = Topology::from_edges(4, &[(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]).unwrap();
    let mut plan = Plan::new(topology, 5, samples);
    let adapts = Spec::new("relaxed-admm").with("adapt", true);
    plan.strategy = adapts.with("rho", 4.0).with("alpha", 0.9);
    plan.stopping = Stopping::tolerance(1e-2);
    plan.informed = vec![0, 2];
    plan
}

fn start(plan: &Plan, mesh: &Mesh, k: usize, hub: &Hub, directory: &Path, fuse: i64) -> Running {
    let mut started = Started {
        fuse,
        ..Started::new(plan, mesh, k).in_directory(directory)
    };
    started.settings.linger = Duration::from_secs(1);
    started.start(hub)
}

/// The atoms and the state of the rule are those of the mesh in one process.
fn assert_same(done: &[Done], mesh: &Mesh) {
    for (k, done) in done.iter().enumerate() {
        assert_eq!(done.outcome, Outcome::Ended, "{k}");
        assert_eq!(done.penalty, mesh.progress().penalty, "{k}");
        assert_eq!(done.atoms, *mesh.block(k).atoms(), "{k}");
    }
}

fn wait(agents: Vec<Running>) -> Vec<Done> {
    (agents.into_iter())
        .map(|agent| agent.wait().unwrap())
        .collect()
}

#[test]
fn it_is_that_of_one_process_also_after_a_kill() {
    let plan = plan(60);
    let start_mesh = plan.mesh(false);
    let (mut mesh, mut rounds) = (start_mesh.clone(), Vec::new());
    mesh.learn(&plan.x, |event| {
        rounds.push(event.rounds);
        Continue(())
    })
    .unwrap();
    // The rule has moved rho, and may have returned to the default since.
    let sum = |batches: &[usize]| batches.iter().sum::<usize>();
    assert!(sum(&rounds[40..]) < sum(&rounds[..20]), "{rounds:?}");
    for at in [7, 21, 40] {
        let directory = tempfile::tempdir().unwrap();
        let hub = Hub::new(at);
        let one = |k: usize| start(&plan, &start_mesh, k, &hub, directory.path(), i64::MAX);
        let mut agents: Vec<Running> = (0..4).map(one).collect();
        agents[0].until(at);
        let victim = at as usize % 4;
        assert!(agents.remove(victim).dies_after(3));
        agents.insert(victim, one(victim));
        let events = agents[(victim + 1) % 4].events.clone();
        assert_same(&wait(agents), &mesh);
        let told = batches(&events.lock().unwrap());
        let same = |b: &Batch| b.rounds == rounds[b.position as usize];
        assert!(told.iter().all(same), "killed at {at}");
    }
}

#[test]
fn all_agents_are_killed_and_go_on_from_their_checkpoints() {
    let plan = plan(45);
    let mesh = plan.mesh(false);
    let directory = tempfile::tempdir().unwrap();
    let all = |hub: &Hub| -> Vec<Running> {
        let each = (0..4).map(|k| start(&plan, &mesh, k, hub, directory.path(), i64::MAX));
        each.collect()
    };
    let agents = all(&Hub::new(1));
    agents[1].until(26);
    agents.into_iter().for_each(Running::kill);
    let done = wait(all(&Hub::new(2)));
    let mut whole = mesh.clone();
    whole.learn(&plan.x, |_| Continue(())).unwrap();
    assert_same(&done, &whole);
}

#[test]
fn all_begin_anew_where_one_joins() {
    let plan = plan(90);
    let (mut mesh, hub) = (plan.mesh(false), Hub::new(0));
    let there = Arc::new(AtomicUsize::new(50));
    let mut agents: Vec<Running> = (0..4)
        .map(|k| {
            let mut agent = Started::new(&plan, &mesh, k);
            if plan.informed.contains(&k) {
                let (all, there) = (plan.x.clone(), there.clone());
                agent.source = Some(Box::new(Dripping { all, there }));
            }
            if [1, 2].contains(&k) {
                let joins = Neighbour { id: 4, joins: true };
                agent.settings.neighbours.push(joins);
            }
            agent.start(&hub)
        })
        .collect();
    agents[3].until(30);
    let own = Matrix::from_fn(5, 2, |i, j| 0.3 / (1 + i + 3 * j) as f64);
    let mut newcomer = Started::new(&plan, &mesh, 0);
    newcomer.settings.id = 4;
    newcomer.settings.joins = true;
    newcomer.settings.neighbours = [1, 2].map(|id| Neighbour { id, joins: false }).to_vec();
    newcomer.atoms = own.clone();
    newcomer.source = None;
    agents.push(newcomer.start(&hub));
    agents[0].until_members(5);
    let at = agents[0].agreements().last().unwrap().position as usize;
    there.store(90, Ordering::Relaxed);
    let done = wait(agents);
    mesh.learn(&plan.x.range(0..at), |_| Continue(())).unwrap();
    assert_ne!(mesh.progress().penalty, PenaltyRule::default());
    mesh.add_agent(&[1, 2], 2, AtomInit::Given(&own), false, None)
        .unwrap();
    assert_eq!(mesh.progress().penalty, PenaltyRule::default());
    mesh.learn(&plan.x.range(at..90), |_| Continue(())).unwrap();
    assert_ne!(mesh.progress().penalty, PenaltyRule::default());
    assert_same(&done, &mesh);
}

/// Under `go-on`, agents that learned apart have different states; they begin anew together.
#[test]
fn agents_that_learned_apart_agree_again() {
    let plan = plan(150);
    let mesh = plan.mesh(false);
    let (directory, hub) = (tempfile::tempdir().unwrap(), Hub::new(4));
    let there = Arc::new(AtomicUsize::new(40));
    let at = |k: usize| {
        let mut agent = Started::new(&plan, &mesh, k).in_directory(directory.path());
        agent.settings.policy = Policy::GoOn {
            deadline: Duration::from_millis(400),
        };
        if plan.informed.contains(&k) {
            let (all, there) = (plan.x.clone(), there.clone());
            agent.source = Some(Box::new(Dripping { all, there }));
        }
        agent.start(&hub)
    };
    let mut agents: Vec<Running> = (0..4).map(at).collect();
    agents[0].until(25);
    assert!(agents.pop().unwrap().dies_after(0));
    agents[0].until_members(3);
    there.store(80, Ordering::Relaxed);
    agents[0].until(70);
    agents.push(at(3));
    agents[0].until_members(4);
    there.store(150, Ordering::Relaxed);
    let events: Vec<_> = agents.iter().map(|agent| agent.events.clone()).collect();
    let done = wait(agents);
    assert!(done.iter().all(|d| d.penalty == done[0].penalty));
    assert_ne!(done[0].penalty, PenaltyRule::default());
    let last = |k: usize| batches(&events[k].lock().unwrap()).last().cloned().unwrap();
    let rounds: Vec<usize> = (0..4).map(|k| last(k).rounds).collect();
    assert!(rounds.iter().all(|r| *r == rounds[0]), "{rounds:?}");
}
