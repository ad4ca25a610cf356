//! Agents that talk through a wire do what the mesh in one process does, to the last bit.
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use common::{apart, start_all, Plan};
use dictmesh::accel::Accels;
use dictmesh::problem::TaskSpec;
use dictmesh::random::{gaussian, stream};
use dictmesh::strategy;
use dictmesh::{AtomInit, Matrix, Samples, Spec, Stop, Stopping, Topology, Update, WeightRule};
use dictmesh_net::agent::Outcome;
use dictmesh_net::memory::Hub;
use std::ops::ControlFlow::Continue;

fn graph(n: usize) -> Topology {
    match n {
        1 => Topology::path(1),
        2 => Topology::path(2),
        // Dense enough for the mesh's product, were it allowed to take it.
        5 => Topology::from_edges(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2)]),
        _ => Topology::grid(4, n / 4),
    }
    .unwrap()
}

/// Runs a plan both ways; the agents' atoms equal the plain mesh's to the bit, and the fast one's to 1e-9.
fn assert_equal(plan: &Plan, what: &str) {
    let (mut plain, mut fast) = (plan.mesh(false), plan.mesh(true));
    let agents = start_all(plan, &plain, &Hub::new(0));
    let mut told = Vec::new();
    plain
        .learn(&plan.x, |event| {
            told.push(*event);
            Continue(())
        })
        .unwrap();
    fast.learn(&plan.x, |_| Continue(())).unwrap();
    for (k, agent) in agents.into_iter().enumerate() {
        let events = agent.events.clone();
        let done = agent.wait().unwrap();
        assert_eq!(done.outcome, Outcome::Ended, "{what} {k}");
        assert_eq!(done.position, plan.x.len() as u64, "{what} {k}");
        let batches = common::batches(&events.lock().unwrap());
        assert_eq!(batches.len(), told.len(), "{what} {k}");
        for (batch, told) in batches.iter().zip(&told) {
            assert_eq!(
                (batch.rounds, batch.stop),
                (told.rounds, told.stop),
                "{what} {k}"
            );
            let cost = batch.cost().unwrap();
            assert!(
                (cost - told.cost).abs() <= 1e-9 * (1.0 + told.cost.abs()),
                "{what} {k}: {cost} {told:?}"
            );
        }
        assert_eq!(
            done.atoms,
            *plain.block(k).atoms(),
            "{what} {k}: atoms differ"
        );
        // Sums of integers take other rounds in rotated rows, to results within their certified gaps.
        if !plain.strategy().is_certified() {
            let apart = apart(&done.atoms, fast.block(k).atoms());
            assert!(apart < 1e-9, "{what} {k}: {apart:e} from the fast path");
        }
    }
}

fn each_strategy(n: usize, samples: usize, rounds: usize) {
    for name in strategy::NAMES {
        let mut plan = Plan::new(graph(n), 6, samples);
        plan.strategy = Spec::new(name);
        plan.stopping = Stopping::rounds(rounds);
        plan.batch = if n > 5 { 4 } else { 1 };
        plan.informed = if n > 2 { vec![1, 2] } else { vec![n - 1] };
        assert_equal(&plan, &format!("{name}, {n} agents"));
    }
}

#[test]
fn one_agent() {
    each_strategy(1, 300, 12);
}

#[test]
fn two_agents() {
    each_strategy(2, 300, 12);
}

#[test]
fn five_agents() {
    each_strategy(5, 200, 12);
}

#[test]
fn sixteen_agents() {
    each_strategy(16, 200, 6);
}

#[test]
fn batches_of_several_samples_with_a_short_last_one() {
    for task in [
        TaskSpec::nmf_huber(0.05, 0.1, 0.2),
        TaskSpec::biclustering(0.1, 0.1, 0.02),
    ] {
        let mut plan = Plan::new(graph(5), 11, 103);
        plan.task = task;
        plan.batch = 10;
        plan.sizes = vec![3, 0, 1, 2, 4]; // agent 1 only relays
        assert_equal(&plan, "batches");
    }
}

#[test]
fn the_tolerance_stops_all_in_the_round_in_which_it_stops_the_mesh() {
    for name in ["relaxed-admm", "exact-diffusion", "diffusion"] {
        for n in [1, 2, 5] {
            let mut plan = Plan::new(graph(n), 6, 40);
            plan.strategy = Spec::new(name);
            plan.stopping = Stopping {
                tolerance: Some(1e-3),
                rounds: 400,
            };
            plan.batch = 4;
            assert_equal(&plan, &format!("{name} to a tolerance, {n} agents"));
        }
    }
}

/// Codes are private and never sent: here each agent is asked for its own. Those of the last hundred samples, after it
/// has learned from the two hundred before.
#[test]
fn codes_are_those_of_the_mesh_after_hundreds_of_samples() {
    for name in strategy::NAMES {
        for n in [1, 2, 5, 16] {
            let mut plan = Plan::new(graph(n), 9, 300);
            plan.strategy = Spec::new(name);
            plan.batch = 100;
            plan.sizes[n - 1] += 2;
            let start = plan.mesh(false);
            let agents = start_all(&plan, &start, &Hub::new(0));
            let [found, fast] = [start, plan.mesh(true)].map(|mut mesh| {
                mesh.learn(&plan.x.range(0..200), |_| Continue(())).unwrap();
                mesh.infer(&plan.x.range(200..300)).unwrap()
            });
            assert!(found.mean_sparsity() > 0.0);
            for (k, agent) in agents.into_iter().enumerate() {
                let codes = agent.wait().unwrap().codes;
                assert_eq!(codes, found.codes[k], "{name}, {n} agents, {k}");
                let apart = apart(&codes, &fast.codes[k]);
                assert!(
                    apart < 1e-9 || strategy::named(name).unwrap().is_certified(),
                    "{name}, {n} agents, {k}: {apart:e} from the fast path"
                );
            }
        }
    }
}

#[test]
fn single_precision_halves_the_bytes_and_keeps_seven_digits() {
    let mut plan = Plan::new(graph(5), 50, 20);
    plan.batch = 10;
    plan.stopping = Stopping::rounds(60);
    let mut mesh = plan.mesh(false);
    let hub = Hub::new(0);
    let agents: Vec<_> = (0..5)
        .map(|k| common::Started {
            float32: true,
            ..common::Started::new(&plan, &mesh, k)
        })
        .map(|agent| agent.start(&hub))
        .collect();
    mesh.learn(&plan.x, |_| Continue(())).unwrap();
    for (k, agent) in agents.into_iter().enumerate() {
        let apart = apart(&agent.wait().unwrap().atoms, mesh.block(k).atoms());
        assert!(apart > 0.0 && apart < 1e-5, "{k}: {apart:e}");
    }
}

/// No atom has anything in the last row, so a sample that has cannot be met: nobody learns from it, and the run goes on.
#[test]
fn samples_that_no_code_can_meet_are_found_by_all() {
    for (residual, n) in [
        (Spec::new("equality"), 5),
        (Spec::new("ball").with("sigma", 0.05), 5),
        (Spec::new("equality"), 1),
    ] {
        let mut plan = Plan::new(graph(n), 4, 1);
        plan.task.residual = residual.clone();
        plan.update = Update::Constant { mu_w: 0.01 };
        plan.stopping = Stopping {
            tolerance: Some(1e-3),
            rounds: 3000,
        };
        plan.sizes = vec![2; n];
        let drawn = gaussian(4, 2 * n, &mut stream(3, 0));
        let atoms = Matrix::from_fn(
            4,
            2 * n,
            |i, q| if i == 3 { 0.0 } else { 0.4 * drawn.get(i, q) },
        );
        let reached: Vec<f64> = atoms.column(0).to_vec();
        let beyond = [0.0, 0.1, 0.0, 0.5];
        let half: Vec<f64> = reached.iter().map(|v| 0.5 * v).collect();
        plan.x = Samples::dense_from_columns(4, &[&reached[..], &beyond, &half]).unwrap();
        plan.informed = if n == 1 { vec![0] } else { vec![1, 3] };
        let start = plan
            .builder()
            .accels(Accels::parse("lanes").unwrap())
            .build(4, &plan.sizes, AtomInit::Given(&atoms))
            .unwrap();
        let mut mesh = start.clone();
        let mut stops = Vec::new();
        mesh.learn(&plan.x, |event| {
            stops.push(event.stop);
            Continue(())
        })
        .unwrap();
        assert_eq!(stops[1], Stop::Infeasible, "{residual:?}");
        assert!(stops[0] != Stop::Infeasible && stops[2] != Stop::Infeasible);
        for (k, agent) in start_all(&plan, &start, &Hub::new(0))
            .into_iter()
            .enumerate()
        {
            let events = agent.events.clone();
            let done = agent.wait().unwrap();
            let batches = common::batches(&events.lock().unwrap());
            let own: Vec<Stop> = batches.iter().map(|b| b.stop).collect();
            assert_eq!(own, stops, "{residual:?} {k}");
            assert_eq!(done.atoms, *mesh.block(k).atoms(), "{residual:?} {k}");
        }
    }
}

#[test]
fn an_agent_without_speed_ups_equals_the_mesh_without_any() {
    let mut plan = Plan::new(graph(5), 40, 24);
    (plan.sizes, plan.batch) = (vec![36; 5], 8);
    let start = plan
        .builder()
        .accels(Accels::none())
        .build(plan.rows, &plan.sizes, AtomInit::Random)
        .unwrap();
    let (mut plain, mut lanes) = (start.clone(), start.clone());
    lanes.set_accels(Accels::parse("lanes").unwrap());
    for mesh in [&mut plain, &mut lanes] {
        mesh.learn(&plan.x, |_| Continue(())).unwrap();
    }
    for (accels, mesh) in [(Accels::none(), &plain), (Accels::all(), &lanes)] {
        plan.accels = accels;
        for (k, agent) in start_all(&plan, &start, &Hub::new(0))
            .into_iter()
            .enumerate()
        {
            let done = agent.wait().unwrap();
            assert_eq!(done.atoms, *mesh.block(k).atoms(), "{} {k}", plan.accels);
        }
    }
    assert_eq!(plain.dictionary(), lanes.dictionary());
}

/// Total minus own, in one process and at each agent.
#[test]
fn a_complete_graph() {
    for name in ["relaxed-admm", "diffusion"] {
        let mut plan = Plan::new(Topology::complete(7).unwrap(), 6, 40);
        plan.strategy = Spec::new(name);
        plan.batch = 4;
        assert_equal(&plan, &format!("{name} on a complete graph"));
    }
}

#[test]
fn weights_of_every_rule() {
    let given = dictmesh::Weights::new(&graph(5), &WeightRule::Uniform).unwrap();
    for rule in [
        WeightRule::Uniform,
        WeightRule::Given(given.lazy().to_matrix()),
    ] {
        for name in ["diffusion", "consensus"] {
            let mut plan = Plan::new(graph(5), 6, 30);
            plan.strategy = Spec::new(name);
            plan.rule = rule.clone();
            assert_equal(&plan, &format!("{name} {rule:?}"));
        }
    }
}
