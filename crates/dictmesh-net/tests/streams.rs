//! Samples that come when they come.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use common::{Dripping, Plan, Running, Started};
use dictmesh::{Stopping, Topology};
use dictmesh_net::agent::{Event, Outcome, Policy};
use dictmesh_net::memory::Hub;
use std::ops::ControlFlow::Continue;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

fn plan(samples: usize) -> Plan {
    let mut plan = Plan::new(Topology::path(4).unwrap(), 5, samples);
    plan.stopping = Stopping::rounds(6);
    plan.informed = vec![1, 3];
    plan
}

/// Two informed agents at the ends of long pauses, in a mesh that gives up who is silent for much less.
#[test]
fn a_pause_times_nobody_out() {
    let mut plan = plan(23);
    plan.batch = 4;
    let (mut mesh, hub) = (plan.mesh(false), Hub::new(0));
    let there = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    let agents: Vec<Running> = (0..4)
        .map(|k| {
            let mut agent = Started::new(&plan, &mesh, k);
            agent.settings.policy = Policy::GoOn {
                deadline: Duration::from_millis(400),
            };
            if let Some(i) = plan.informed.iter().position(|i| *i == k) {
                let (all, there) = (plan.x.clone(), there[i].clone());
                agent.source = Some(Box::new(Dripping { all, there }));
            }
            agent.start(&hub)
        })
        .collect();
    std::thread::sleep(Duration::from_millis(900));
    there[0].store(23, Ordering::Relaxed);
    there[1].store(9, Ordering::Relaxed);
    agents[0].until(4);
    std::thread::sleep(Duration::from_millis(900));
    assert_eq!(
        agents[2].batches().last().map(|b| b.position),
        Some(4),
        "sample 9 of agent 3 has not come"
    );
    there[1].store(23, Ordering::Relaxed);
    mesh.learn(&plan.x, |_| Continue(())).unwrap();
    for (k, agent) in agents.into_iter().enumerate() {
        let events = agent.events.clone();
        let done = agent.wait().unwrap();
        assert_eq!((done.outcome, done.position), (Outcome::Ended, 23));
        assert_eq!(done.atoms, *mesh.block(k).atoms(), "{k}");
        let events = events.lock().unwrap();
        let agreements = events
            .iter()
            .filter(|e| matches!(e, Event::Agreed(_)))
            .count();
        assert_eq!(agreements, 1, "somebody was given up: {events:?}");
    }
}

#[test]
fn informed_agents_that_see_different_numbers_of_samples_stop_with_a_reason() {
    let plan = plan(12);
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let agents: Vec<Running> = (0..4)
        .map(|k| {
            let mut agent = Started::new(&plan, &mesh, k);
            if k == 3 {
                agent.source = Some(Box::new(plan.x.range(0..7)));
            }
            agent.start(&hub)
        })
        .collect();
    for agent in agents {
        let words = agent.wait().unwrap_err().to_string();
        assert!(
            words.contains("at sample 7") && words.contains("has 0 samples"),
            "{words}"
        );
    }
}

#[test]
fn every_agent_has_the_score_of_the_mesh() {
    let mut plan = plan(10);
    plan.batch = 5;
    plan.stopping = Stopping::rounds(200);
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let agents: Vec<Running> = (0..4)
        .map(|k| {
            let mut agent = Started::new(&plan, &mesh, k);
            agent.settings.update = None;
            agent.start(&hub)
        })
        .collect();
    let (scores, _) = mesh.score(&plan.x).unwrap();
    let mut first = Vec::new();
    for (k, agent) in agents.into_iter().enumerate() {
        let events = agent.events.clone();
        let done = agent.wait().unwrap();
        assert_eq!(done.atoms, *mesh.block(k).atoms(), "it was not to learn");
        let batches = common::batches(&events.lock().unwrap());
        let own: Vec<f64> = batches.iter().flat_map(|b| b.scores.clone()).collect();
        for (j, own) in own.iter().enumerate() {
            let expected = scores.get(k, j);
            assert!(
                (own - expected).abs() < 1e-9 * expected.abs(),
                "{k} {j}: {own} {expected}"
            );
        }
        assert_eq!(own.len(), 10);
        // Averaging ends where neighbours are 1e-12 apart, so that agents must not be further than a few of that.
        first = if k == 0 { own.clone() } else { first };
        for (own, first) in own.iter().zip(&first) {
            assert!((own - first).abs() <= 1e-11 * first.abs(), "{own} {first}");
        }
    }
}

#[test]
fn an_interrupted_agent_finishes_its_batch_and_a_restart_goes_on() {
    let plan = plan(40);
    let (mut mesh, hub) = (plan.mesh(false), Hub::new(0));
    let directory = tempfile::tempdir().unwrap();
    // The last sample does not come before all three were interrupted: nobody can be at its end by then.
    let there = Arc::new(AtomicUsize::new(39));
    let at = |k: usize| {
        let mut agent = Started::new(&plan, &mesh, k).in_directory(directory.path());
        if agent.source.is_some() {
            let (all, there) = (plan.x.clone(), there.clone());
            agent.source = Some(Box::new(Dripping { all, there }));
        }
        agent.start(&hub)
    };
    let mut agents: Vec<Running> = (0..4).map(at).collect();
    for (k, position) in [(2, 6), (0, 15), (1, 24)] {
        agents[k].until(position);
        agents[k].control.interrupt.store(true, Ordering::Relaxed);
        let done = agents.remove(k).wait().unwrap();
        assert_eq!(done.outcome, Outcome::Interrupted);
        assert!(done.position > position && done.position < 40);
        agents.insert(k, at(k));
    }
    there.store(40, Ordering::Relaxed);
    mesh.learn(&plan.x, |_| Continue(())).unwrap();
    for (k, agent) in agents.into_iter().enumerate() {
        assert_eq!(agent.wait().unwrap().atoms, *mesh.block(k).atoms(), "{k}");
    }
}

#[test]
fn steps_that_are_too_large_end_the_run_everywhere_with_the_atoms_before() {
    let mut plan = plan(12);
    plan.strategy = dictmesh::Spec::new("diffusion").with("mu", 50.0);
    plan.stopping = Stopping::rounds(400);
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    for (k, agent) in common::start_all(&plan, &mesh, &hub)
        .into_iter()
        .enumerate()
    {
        let done = agent.wait().unwrap();
        assert_eq!(done.outcome, Outcome::Diverged, "{k}");
        assert_eq!(
            done.atoms,
            *mesh.block(k).atoms(),
            "{k} learned from nothing"
        );
    }
}
