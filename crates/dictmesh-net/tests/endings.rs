//! How runs end: an agent that dies in its last rounds and comes back late finds the others, or is found by them.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use common::{Plan, Running, Started};
use dictmesh::{Mesh, Stopping, Topology};
use dictmesh_net::agent::Outcome;
use dictmesh_net::memory::Hub;
use std::ops::ControlFlow::Continue;
use std::path::Path;
use std::time::Duration;

/// Some agents stay for 30 times as long: those that have come to their end, find one neighbour and miss another.
const LINGER: Duration = Duration::from_millis(500);

fn plan() -> Plan {
    let mut plan = Plan::new(Topology::path(4).unwrap(), 5, 6);
    plan.stopping = Stopping::rounds(6);
    plan.informed = vec![1];
    plan
}

fn start(plan: &Plan, mesh: &Mesh, k: usize, hub: &Hub, directory: &Path) -> Running {
    let mut started = Started::new(plan, mesh, k).in_directory(directory);
    started.settings.linger = LINGER;
    started.start(hub)
}

/// All come to the end with the atoms of the mesh in one process.
fn assert_ended(plan: &Plan, start: &Mesh, agents: Vec<Running>, what: &str) {
    let mut mesh = start.clone();
    mesh.learn(&plan.x, |_| Continue(())).unwrap();
    for (k, agent) in agents.into_iter().enumerate() {
        let done = agent.wait().unwrap();
        assert_eq!(
            (done.outcome, done.position),
            (Outcome::Ended, 6),
            "{what} {k}"
        );
        assert_eq!(done.atoms, *mesh.block(k).atoms(), "{what} {k}");
    }
}

/// The last rounds are a few dozen steps on the wire; the agent is killed at each of many of them, and returns when its
/// neighbours would long have gone if they had only waited for `linger`.
#[test]
fn an_agent_that_died_at_its_end_and_returns_late_finds_the_others() {
    let plan = plan();
    let mesh = plan.mesh(false);
    let died: usize = std::thread::scope(|scope| {
        let attempt = |steps: i64| {
            let (plan, mesh) = (&plan, &mesh);
            move || {
                let (directory, hub) = (tempfile::tempdir().unwrap(), Hub::new(steps as u64));
                let victim = steps as usize % 4;
                let at = |k: usize| start(plan, mesh, k, &hub, directory.path());
                let mut agents: Vec<Running> = (0..4).map(at).collect();
                agents[victim].until(5);
                let died = agents.remove(victim).dies_after(3 * steps);
                std::thread::sleep(LINGER + LINGER / 2);
                agents.insert(victim, at(victim));
                assert_ended(
                    plan,
                    mesh,
                    agents,
                    &format!("agent {victim}, {steps} steps"),
                );
                usize::from(died)
            }
        };
        let all: Vec<_> = (0..12).map(|steps| scope.spawn(attempt(steps))).collect();
        all.into_iter().map(|one| one.join().unwrap()).sum()
    });
    assert!(died > 2, "only {died} died before their end");
}

/// The others have gone for good, as whoever ran them thought that all was done: run again, they tell it.
#[test]
fn agents_that_are_run_again_after_their_end_tell_one_that_has_not_heard_of_it() {
    let plan = plan();
    let mesh = plan.mesh(false);
    let (directory, hub) = (tempfile::tempdir().unwrap(), Hub::new(0));
    let at = |k: usize| start(&plan, &mesh, k, &hub, directory.path());
    let agents: Vec<Running> = (0..4).map(at).collect();
    assert_ended(&plan, &mesh, agents, "first");
    // Agent 3 as it would be, had it died before it wrote the last file.
    let own = directory.path().join("agent-3");
    std::fs::remove_file(own.join(format!("checkpoint-{:020}", 6))).unwrap();
    let late = at(3);
    std::thread::sleep(2 * LINGER);
    assert!(!late.thread.is_finished(), "it waits");
    let mut agents: Vec<Running> = (0..3).map(at).collect();
    agents.push(late);
    assert_ended(&plan, &mesh, agents, "again");
    // And once more, when all know: nobody has anything to say.
    let agents: Vec<Running> = (0..4).map(at).collect();
    assert_ended(&plan, &mesh, agents, "once more");
}
