//! Agents die at any step and come back: under `wait` the atoms are those of an undisturbed run, to the bit.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use common::{Dripping, Plan, Running, Started};
use dictmesh::{Mesh, Stopping, Topology};
use dictmesh_net::agent::{Outcome, Policy};
use dictmesh_net::memory::{Faults, Hub};
use dictmesh_net::Error;
use rand::RngExt;
use std::ops::ControlFlow::Continue;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

fn plan(samples: usize) -> Plan {
    let mut plan = Plan::new(Topology::ring(4).unwrap(), 5, samples);
    plan.stopping = Stopping::rounds(6);
    plan.informed = vec![0, 2];
    plan
}

fn start(plan: &Plan, mesh: &Mesh, k: usize, hub: &Hub, directory: &Path, fuse: i64) -> Running {
    let mut started = Started {
        fuse,
        ..Started::new(plan, mesh, k).in_directory(directory)
    };
    // One that is started again after its end waits for so long, if nobody else is there any more.
    started.settings.linger = Duration::from_secs(1);
    started.start(hub)
}

/// Waits for all, and holds their atoms against those of the undisturbed mesh.
fn assert_undisturbed(plan: &Plan, start: &Mesh, agents: Vec<Running>, what: &str) {
    let mut mesh = start.clone();
    mesh.learn(&plan.x, |_| Continue(())).unwrap();
    for (k, agent) in agents.into_iter().enumerate() {
        let done = agent.wait().unwrap();
        assert_eq!(done.outcome, Outcome::Ended, "{what} {k}");
        assert_eq!(done.position, plan.x.len() as u64, "{what} {k}");
        assert_eq!(
            done.atoms,
            *mesh.block(k).atoms(),
            "{what}: the atoms of {k} differ"
        );
    }
}

#[test]
fn an_agent_killed_at_any_step_comes_back_to_the_same_atoms() {
    let plan = plan(12);
    let mesh = plan.mesh(false);
    let mut rng = dictmesh::random::stream(5, 0);
    let mut died = 0;
    for attempt in 0..24 {
        let directory = tempfile::tempdir().unwrap();
        let hub = Hub::new(attempt);
        let (victim, fuse) = (attempt as usize % 4, rng.random_range(0..1000));
        let at = |k: usize, fuse| start(&plan, &mesh, k, &hub, directory.path(), fuse);
        let mut agents: Vec<Running> = (0..4)
            .map(|k| at(k, if k == victim { fuse } else { i64::MAX }))
            .collect();
        died += i32::from(agents.remove(victim).died());
        agents.insert(victim, at(victim, i64::MAX));
        assert_undisturbed(
            &plan,
            &mesh,
            agents,
            &format!("agent {victim} after {fuse} steps"),
        );
    }
    assert!(died > 12, "only {died} died before the end");
}

#[test]
fn a_power_cut_is_survived() {
    let plan = plan(20);
    let mesh = plan.mesh(false);
    for cut in [3, 11, 17] {
        let directory = tempfile::tempdir().unwrap();
        let hub = Hub::new(cut);
        let all = |hub: &Hub| -> Vec<Running> {
            let each = (0..4).map(|k| start(&plan, &mesh, k, hub, directory.path(), i64::MAX));
            each.collect()
        };
        let agents = all(&hub);
        agents[1].until(cut);
        agents.into_iter().for_each(Running::kill);
        let agents = all(&Hub::new(0));
        assert_undisturbed(&plan, &mesh, agents, &format!("power cut after {cut}"));
    }
}

#[test]
fn a_damaged_checkpoint_is_refused_and_the_one_before_it_used() {
    let plan = plan(20);
    let mesh = plan.mesh(false);
    for damage in 0..3 {
        let directory = tempfile::tempdir().unwrap();
        let hub = Hub::new(1);
        let agents: Vec<Running> = (0..4)
            .map(|k| start(&plan, &mesh, k, &hub, directory.path(), i64::MAX))
            .collect();
        agents[2].until(9);
        agents.into_iter().for_each(Running::kill);
        let own = directory.path().join("agent-2");
        let mut files: Vec<_> = std::fs::read_dir(&own)
            .unwrap()
            .map(|f| f.unwrap().path())
            .collect();
        files.sort();
        assert_eq!(files.len(), 3);
        let newest = files.last().unwrap();
        let mut bytes = std::fs::read(newest).unwrap();
        match damage {
            0 => bytes.truncate(bytes.len() / 2),
            1 => {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 16;
            }
            _ => bytes.clear(),
        }
        std::fs::write(newest, bytes).unwrap();
        let agents: Vec<Running> = (0..4)
            .map(|k| start(&plan, &mesh, k, &hub, directory.path(), i64::MAX))
            .collect();
        assert_undisturbed(&plan, &mesh, agents, &format!("damage {damage}"));
    }
}

#[test]
fn checkpoints_of_another_run_or_agent_and_all_damaged_ones_are_errors() {
    let plan = plan(3);
    let mesh = plan.mesh(false);
    let directory = tempfile::tempdir().unwrap();
    let hub = Hub::new(1);
    let agents = (0..4).map(|k| start(&plan, &mesh, k, &hub, directory.path(), i64::MAX));
    let agents: Vec<Running> = agents.collect();
    agents
        .into_iter()
        .for_each(|agent| drop(agent.wait().unwrap()));
    let mut other = Started::new(&plan, &mesh, 1).in_directory(directory.path());
    other.settings.run = "another".to_string();
    let words = other.start(&hub).wait().unwrap_err().to_string();
    assert!(
        words.contains("run \"test\"") && words.contains("run \"another\""),
        "{words}"
    );
    let mut other = Started::new(&plan, &mesh, 1);
    other.state = Some(directory.path().join("agent-2"));
    let words = other.start(&hub).wait().unwrap_err().to_string();
    assert!(
        words.contains("it is of agent 2") && words.contains("this is agent 1"),
        "{words}"
    );
    for file in std::fs::read_dir(directory.path().join("agent-3")).unwrap() {
        std::fs::write(file.unwrap().path(), b"dmcp").unwrap();
    }
    let started = Started::new(&plan, &mesh, 3).in_directory(directory.path());
    let error = started.start(&hub).wait().unwrap_err();
    assert!(
        matches!(&error, Error::Checkpoint { why, .. } if why.contains("damaged")),
        "{error}"
    );
}

/// Random kills where the others go on: each killed agent is taken back, and all come to the end together. The number of
/// kills is DICTMESH_SOAK, 10 if it is not set.
#[test]
fn soak_under_go_on() {
    let kills = kills();
    let mut plan = plan(40 + 10 * kills);
    plan.topology = Topology::from_edges(4, &[(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]).unwrap();
    plan.informed = vec![0, 1, 3];
    let mesh = plan.mesh(false);
    let directory = tempfile::tempdir().unwrap();
    let hub = Hub::new(4);
    let there = Arc::new(AtomicUsize::new(30));
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
    let mut rng = dictmesh::random::stream(10, 0);
    for _ in 0..kills {
        agents[0].until_members(4);
        std::thread::sleep(Duration::from_millis(rng.random_range(0..50)));
        let victim = rng.random_range(1..4);
        assert!(agents.remove(victim).dies_after(0), "it ended before");
        if rng.random::<bool>() {
            agents[0].until_members(3); // otherwise it is back before it is missed
        }
        there.fetch_add(10, Ordering::Relaxed);
        agents.insert(victim, at(victim));
    }
    there.store(plan.x.len(), Ordering::Relaxed);
    for (k, agent) in agents.into_iter().enumerate() {
        let done = agent.wait().unwrap();
        assert_eq!(
            (done.outcome, done.position),
            (Outcome::Ended, plan.x.len() as u64),
            "{k}"
        );
    }
}

fn kills() -> usize {
    std::env::var("DICTMESH_SOAK").map_or(10, |n| n.parse().unwrap())
}

/// Random kills, one after the other and two at a time, over links that lose and delay. The number of kills is
/// DICTMESH_SOAK, 10 if it is not set: samples come by and by, so that the run is not over before.
#[test]
fn soak() {
    let kills = kills();
    let mut plan = plan(12 + 3 * kills);
    plan.topology = Topology::from_edges(5, &[(0, 1), (1, 2), (2, 3), (3, 0), (2, 4)]).unwrap();
    plan.sizes = vec![1, 2, 1, 0, 2];
    let mesh = plan.mesh(false);
    let directory = tempfile::tempdir().unwrap();
    let hub = Hub::new(3);
    hub.set_faults(Faults {
        loss: 0.002,
        duplicates: 0.02,
        delay: Duration::from_micros(200),
    });
    let there = Arc::new(AtomicUsize::new(10));
    let at = |k: usize| {
        let mut agent = Started::new(&plan, &mesh, k).in_directory(directory.path());
        agent.settings.linger = Duration::from_secs(1);
        if plan.informed.contains(&k) {
            let (all, there) = (plan.x.clone(), there.clone());
            agent.source = Some(Box::new(Dripping { all, there }));
        }
        agent.start(&hub)
    };
    let mut agents: Vec<Running> = (0..5).map(at).collect();
    let mut rng = dictmesh::random::stream(9, 0);
    let mut killed = 0;
    while killed < kills {
        std::thread::sleep(Duration::from_millis(rng.random_range(0..120)));
        let most = 1 + usize::from(rng.random::<f64>() < 0.2);
        let (first, count) = (rng.random_range(0..5), most.min(kills - killed));
        let mut victims: Vec<usize> = (first..first + count).map(|k| k % 5).collect();
        victims.sort_unstable();
        for victim in victims.iter().rev() {
            assert!(agents.remove(*victim).dies_after(0), "it ended before");
            killed += 1;
        }
        std::thread::sleep(Duration::from_millis(rng.random_range(0..30)));
        (victims.iter()).for_each(|victim| agents.insert(*victim, at(*victim)));
        there.fetch_add(3 * count, Ordering::Relaxed);
    }
    assert_eq!(killed, kills);
    there.store(plan.x.len(), Ordering::Relaxed);
    assert_undisturbed(&plan, &mesh, agents, &format!("{killed} kills"));
    println!("{killed} kills survived");
}
