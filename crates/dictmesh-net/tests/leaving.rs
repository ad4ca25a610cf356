//! Agents that are left alone, leave where others need them, or are killed while they leave.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use common::{Dripping, Plan, Running, Started};
use dictmesh::{Mesh, Stopping, Topology, Update};
use dictmesh_net::agent::{AgentSettings, Neighbour, Outcome, Policy};
use dictmesh_net::memory::{Faults, Hub};
use dictmesh_net::Error;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// A run of 60 samples whose source has only the first 30 until `more`.
struct Held {
    plan: Plan,
    mesh: Mesh,
    hub: Hub,
    there: Arc<AtomicUsize>,
    directory: tempfile::TempDir,
}

impl Held {
    fn new(topology: Topology) -> Self {
        let mut plan = Plan::new(topology, 5, 60);
        plan.stopping = Stopping::rounds(8);
        plan.update = Update::Constant { mu_w: 0.05 };
        plan.informed = vec![0];
        Held {
            mesh: plan.mesh(false),
            plan,
            hub: Hub::new(0),
            there: Arc::new(AtomicUsize::new(30)),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn start(&self, k: usize, policy: Policy) -> Running {
        self.start_with(k, policy, |_| {})
    }

    fn start_with(
        &self,
        k: usize,
        policy: Policy,
        change: impl FnOnce(&mut AgentSettings),
    ) -> Running {
        let directory: &Path = self.directory.path();
        let mut agent = Started::new(&self.plan, &self.mesh, k).in_directory(directory);
        if self.plan.informed.contains(&k) {
            let (all, there) = (self.plan.x.clone(), self.there.clone());
            agent.source = Some(Box::new(Dripping { all, there }));
        }
        agent.settings.policy = policy;
        change(&mut agent.settings);
        agent.start(&self.hub)
    }

    fn more(&self) {
        self.there.store(60, Ordering::Relaxed);
    }
}

/// An agent that goes on alone has no rounds in which it would hear anybody.
#[test]
fn one_that_is_left_alone_takes_the_other_back() {
    let held = Held::new(Topology::path(2).unwrap());
    let go_on = || Policy::GoOn {
        deadline: Duration::from_secs(2),
    };
    let [first, second] = [0, 1].map(|k| held.start(k, go_on()));
    second.until(20);
    second.kill();
    first.until_members(1);
    let second = held.start(1, go_on());
    first.until_members(2);
    held.more();
    for agent in [first, second] {
        let done = agent.wait().unwrap();
        assert_eq!((done.outcome, done.position), (Outcome::Ended, 60));
    }
}

/// Two halves that learn on without each other would both look right.
#[test]
fn when_the_graph_falls_apart_the_others_stop_and_say_so() {
    let held = Held::new(Topology::path(3).unwrap());
    let agents = [0, 1, 2].map(|k| held.start(k, Policy::Wait));
    agents[1].until(20);
    agents[1].control.leave.store(true, Ordering::Relaxed);
    let [first, left, last] = agents.map(Running::wait);
    assert_eq!(left.unwrap().outcome, Outcome::Left);
    for (cut, from) in [(first, 2), (last, 0)] {
        match cut {
            Err(Error::CutOff { left: 1, cut_off }) => assert_eq!(cut_off, [from]),
            other => panic!("{other:?}"),
        }
    }
    // As the message says: they become each other's neighbours, and are started again. Whoever comes first waits.
    let linked = |k: usize, other: usize| {
        held.start_with(k, Policy::Wait, |settings| {
            let (id, joins) = (other, false);
            settings.neighbours.push(Neighbour { id, joins });
        })
    };
    held.more();
    let first = linked(0, 2);
    std::thread::sleep(Duration::from_millis(500));
    for agent in [first, linked(2, 0)] {
        agent.until_members(2);
        let done = agent.wait().unwrap();
        assert_eq!((done.outcome, done.position), (Outcome::Ended, 60));
    }
}

/// Agent 3 leaves while no samples come, and a neighbour is killed before the next batch: it must have written down that
/// nobody is to be waited for. The leaver is killed too before it is through, and knows it when it returns.
#[test]
fn who_left_is_written_down_by_itself_and_by_its_neighbours() {
    let held = Held::new(Topology::complete(4).unwrap());
    let mut agents: Vec<Running> = (0..4).map(|k| held.start(k, Policy::Wait)).collect();
    agents[3].until(20);
    let leaver = agents.pop().unwrap();
    leaver.control.leave.store(true, Ordering::Relaxed);
    agents[2].until_members(3);
    leaver.kill();
    agents.pop().unwrap().kill();
    agents.push(held.start(2, Policy::Wait));
    agents[2].until_members(3);
    let leaver = held.start(3, Policy::Wait).wait().unwrap();
    assert_eq!(leaver.outcome, Outcome::Left);
    held.more();
    for agent in agents {
        let done = agent.wait().unwrap();
        assert_eq!((done.outcome, done.position), (Outcome::Ended, 60));
    }
}

/// Its neighbours let it go when they know that it leaves: it does not wait until they have been silent for long, which
/// would be longer here than any test may take.
#[test]
fn one_that_leaves_goes_as_soon_as_its_neighbours_know() {
    let held = Held::new(Topology::complete(4).unwrap());
    let agents: Vec<Running> = (0..4)
        .map(|k| {
            held.start_with(k, Policy::Wait, |settings| {
                settings.linger = Duration::from_secs(24 * 3600);
            })
        })
        .collect();
    agents[3].until(20);
    agents[3].control.leave.store(true, Ordering::Relaxed);
    let mut agents = agents;
    let left = agents.pop().unwrap().wait().unwrap();
    assert_eq!(left.outcome, Outcome::Left);
    held.more();
    for agent in agents {
        let done = agent.wait().unwrap();
        assert_eq!((done.outcome, done.position), (Outcome::Ended, 60));
    }
}

/// Frames are lost and come later, so that one agent still waits for a frame of the decision while another has come through
/// all rounds of it, and calls for a new epoch: whoever followed that call too early waited for the leaver for ever.
#[test]
fn nobody_is_called_away_before_it_knows_who_leaves() {
    for seed in 0..5 {
        let mut held = Held::new(Topology::ring(6).unwrap());
        held.hub = Hub::new(seed);
        let start = |k| {
            held.start_with(k, Policy::Wait, |settings| {
                settings.linger = Duration::from_millis(500);
            })
        };
        let mut agents: Vec<Running> = (0..6).map(start).collect();
        agents[3].until(20);
        held.hub.set_faults(Faults {
            loss: 0.25,
            ..Faults::default()
        });
        let leaver = agents.remove(3);
        leaver.control.leave.store(true, Ordering::Relaxed);
        agents.iter().for_each(|agent| agent.until_members(5));
        held.hub.set_faults(Faults::default());
        assert_eq!(leaver.wait().unwrap().outcome, Outcome::Left);
        held.more();
        for agent in agents {
            let done = agent.wait().unwrap();
            assert_eq!((done.outcome, done.position), (Outcome::Ended, 60));
        }
    }
}
