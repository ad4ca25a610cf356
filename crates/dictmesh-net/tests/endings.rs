//! How runs end: an agent that dies in its last rounds and comes back late finds the others, or is found by them.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use bytes::Bytes;
use common::{Dripping, Killed, Plan, Running, Says, Started};
use dictmesh::{Mesh, Stopping, Topology};
use dictmesh_net::agent::Outcome;
use dictmesh_net::codec::{self, Limits};
use dictmesh_net::memory::Hub;
use dictmesh_net::Phase;
use std::cell::Cell;
use std::ops::ControlFlow::Continue;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Some agents stay for 30 times as long: those that have come to their end, find one neighbour and miss another.
const LINGER: Duration = Duration::from_millis(1000);

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
fn assert_ended(
    plan: &Plan,
    start: &Mesh,
    agents: impl IntoIterator<Item = (usize, Running)>,
    what: &str,
) {
    let mut mesh = start.clone();
    mesh.learn(&plan.x, |_| Continue(())).unwrap();
    for (k, agent) in agents {
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
                    agents.into_iter().enumerate(),
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
    assert_ended(&plan, &mesh, agents.into_iter().enumerate(), "first");
    // Agent 3 as it would be, had it died before it wrote the last file.
    let own = directory.path().join("agent-3");
    std::fs::remove_file(own.join(format!("checkpoint-{:020}", 6))).unwrap();
    let late = at(3);
    std::thread::sleep(2 * LINGER);
    assert!(!late.thread.is_finished(), "it waits");
    let mut agents: Vec<Running> = (0..3).map(at).collect();
    agents.push(late);
    assert_ended(&plan, &mesh, agents.into_iter().enumerate(), "again");
    // And once more, when all know: nobody has anything to say.
    let agents: Vec<Running> = (0..4).map(at).collect();
    assert_ended(&plan, &mesh, agents.into_iter().enumerate(), "once more");
}

thread_local! {
    /// How often this agent has said its word of the round it is to die in.
    static SAID: Cell<usize> = const { Cell::new(0) };
}

/// Lets the agent die when it has told one neighbour, and no other, what it says in this round of its farewell.
fn dies_between<const ROUND: u32>(bytes: Bytes) -> Bytes {
    let tag = codec::header(&bytes, &Limits::new(5, 1)).unwrap().tag;
    // What the samples of those rounds are called: more than there can be.
    if (tag.phase, tag.sample, tag.round) == (Phase::Closing, u64::MAX - 2, ROUND) {
        SAID.set(SAID.get() + 1);
        if SAID.get() == 2 {
            std::panic::resume_unwind(Box::new(Killed));
        }
    }
    bytes
}

/// Agent 1 stands between the others, and dies when one side has heard its word of some round and the other has not. After
/// the word of the last round that side goes, the other waits, and nobody but agent 1 can tell it that all have ended.
/// It does so when it returns, if it is informed; if it is not, the other side tells it. Nobody waits for 30 times `linger`,
/// which is longer than this test waits.
#[test]
fn an_agent_that_died_when_one_side_had_heard_its_last_words_tells_the_other_when_it_returns() {
    let linger = Duration::from_millis(2500);
    let mut plan = Plan::new(Topology::path(3).unwrap(), 5, 6);
    plan.stopping = Stopping::rounds(6);
    plan.informed = vec![1];
    let with_samples = plan.clone();
    plan.informed = vec![0];
    let plans = [with_samples, plan].map(|plan| (plan.mesh(false), plan));
    // Twice the diameter.
    let rounds: [Says; 4] = [
        dies_between::<0>,
        dies_between::<1>,
        dies_between::<2>,
        dies_between::<3>,
    ];
    std::thread::scope(|scope| {
        let all = plans
            .iter()
            .flat_map(|plan| rounds.map(|says| (plan, says)));
        for (i, ((mesh, plan), says)) in all.enumerate() {
            let round = i % rounds.len();
            scope.spawn(move || {
                let (directory, hub) = (tempfile::tempdir().unwrap(), Hub::new(0));
                let at = |k: usize, says: Says| {
                    let mut started = Started::new(plan, mesh, k).in_directory(directory.path());
                    (started.settings.linger, started.says) = (linger, says);
                    started.start(&hub)
                };
                let same: Says = |bytes| bytes;
                let (first, victim, last) = (at(0, same), at(1, says), at(2, same));
                assert!(victim.died(), "round {round}");
                let what = format!("round {round}, agent");
                if round == 3 {
                    assert_ended(plan, mesh, [(0, first)], &what);
                    assert!(!last.thread.is_finished(), "the other side waits");
                    assert_ended(plan, mesh, [(1, at(1, same)), (2, last)], &what);
                } else {
                    std::thread::sleep(linger + linger / 2);
                    assert!(!first.thread.is_finished() && !last.thread.is_finished());
                    assert_ended(plan, mesh, [(0, first), (1, at(1, same)), (2, last)], &what);
                }
            });
        }
    });
}

/// A run of four agents whose samples end after the third: there are more in the plan to go on with.
fn run_to_sample_3(plan: &Plan, mesh: &Mesh, hub: &Hub, directory: &Path) {
    let mut short = plan.clone();
    short.x = plan.x.range(0..3);
    let each = (0..4).map(|k| start(&short, mesh, k, hub, directory));
    let agents: Vec<Running> = each.collect();
    for agent in agents {
        assert_eq!(agent.wait().unwrap().position, 3);
    }
}

/// An agent of which the samples come when they are `there`, if it sees them.
fn start_dripping(
    (plan, mesh): (&Plan, &Mesh),
    k: usize,
    hub: &Hub,
    directory: &Path,
    there: &Arc<AtomicUsize>,
) -> Running {
    let mut started = Started::new(plan, mesh, k).in_directory(directory);
    started.settings.linger = LINGER;
    if started.source.is_some() {
        let (all, there) = (plan.x.clone(), there.clone());
        started.source = Some(Box::new(Dripping { all, there }));
    }
    started.start(hub)
}

/// A run that has ended is gone on with, as there are more samples now. From then on a neighbour that dies is waited for
/// as ever, and not for `linger` only.
#[test]
fn a_run_that_is_gone_on_with_after_its_end_waits_for_the_killed_as_before() {
    let plan = plan();
    let mesh = plan.mesh(false);
    let (directory, hub) = (tempfile::tempdir().unwrap(), Hub::new(0));
    run_to_sample_3(&plan, &mesh, &hub, directory.path());
    let there = Arc::new(AtomicUsize::new(4));
    let at = |k: usize| start_dripping((&plan, &mesh), k, &hub, directory.path(), &there);
    let mut agents: Vec<Running> = (0..4).map(at).collect();
    agents.iter().for_each(|agent| agent.until(3));
    agents.remove(3).kill();
    std::thread::sleep(3 * LINGER);
    assert!(agents.iter().all(|agent| !agent.thread.is_finished()));
    agents.push(at(3));
    there.store(6, Ordering::Relaxed);
    assert_ended(&plan, &mesh, agents.into_iter().enumerate(), "gone on with");
}

/// The same before the first new sample has come: nothing yet is not the end. The one who sees the samples waits for
/// those who start late, and all of them for the killed, also agent 3, which is alone without its only neighbour.
#[test]
fn a_run_that_is_gone_on_with_waits_as_before_while_its_samples_have_not_come_yet() {
    let plan = plan();
    let mesh = plan.mesh(false);
    let (directory, hub) = (tempfile::tempdir().unwrap(), Hub::new(0));
    run_to_sample_3(&plan, &mesh, &hub, directory.path());
    let there = Arc::new(AtomicUsize::new(3));
    let at = |k: usize| start_dripping((&plan, &mesh), k, &hub, directory.path(), &there);
    let informed = at(1);
    // A second until it knows that there is nothing yet, and longer than it would stay at an end.
    std::thread::sleep(Duration::from_secs(1) + 3 * LINGER);
    assert!(!informed.thread.is_finished(), "it waits for the others");
    let mut agents = vec![at(0), informed, at(2), at(3)];
    agents.iter().for_each(|agent| agent.until_members(4));
    std::thread::sleep(LINGER); // so that all have been told that there is nothing yet
    agents.remove(2).kill();
    std::thread::sleep(3 * LINGER);
    assert!(agents.iter().all(|agent| !agent.thread.is_finished()));
    agents.insert(2, at(2));
    there.store(6, Ordering::Relaxed);
    assert_ended(&plan, &mesh, agents.into_iter().enumerate(), "nothing yet");
}

/// The same, and one is started when the others have waited for longer than they stay for anybody at an end. Only agent 0 can
/// know that there are more samples; agent 2, which misses a neighbour, and agent 1, which agent 2 asks, cannot.
#[test]
fn a_run_that_is_gone_on_with_after_its_end_waits_for_those_who_start_late() {
    let mut plan = plan();
    plan.informed = vec![0];
    let mesh = plan.mesh(false);
    let (directory, hub) = (tempfile::tempdir().unwrap(), Hub::new(0));
    run_to_sample_3(&plan, &mesh, &hub, directory.path());
    // Longer than a loaded machine keeps one of those from being heard who are there.
    let linger = Duration::from_millis(2500);
    let at = |k: usize| {
        let mut started = Started::new(&plan, &mesh, k).in_directory(directory.path());
        started.settings.linger = linger;
        started.start(&hub)
    };
    let mut agents: Vec<Running> = (0..3).map(at).collect();
    std::thread::sleep(3 * linger);
    assert!(agents.iter().all(|agent| !agent.thread.is_finished()));
    agents.push(at(3));
    assert_ended(&plan, &mesh, agents.into_iter().enumerate(), "late");
}

/// Where there are no more samples, the one who sees them tells the others, and nobody waits for 30 times `linger`, which is
/// longer than this test waits.
#[test]
fn agents_that_are_run_again_without_one_of_them_go_when_the_informed_one_has_told_them() {
    let mut plan = plan();
    plan.informed = vec![0];
    let mesh = plan.mesh(false);
    let (directory, hub) = (tempfile::tempdir().unwrap(), Hub::new(0));
    let at = |k: usize| {
        let mut started = Started::new(&plan, &mesh, k).in_directory(directory.path());
        started.settings.linger = Duration::from_millis(2500);
        started.start(&hub)
    };
    for agents in [4, 3] {
        let agents: Vec<Running> = (0..agents).map(at).collect();
        assert_ended(&plan, &mesh, agents.into_iter().enumerate(), "again");
    }
}
