//! Ranks of an MPI job sum, broadcast and exchange differences of few bits as the mesh in one
//! process does, bit for bit.
#![cfg(feature = "mpi")]
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use common::{summing, unreachable, Plan};
use dictmesh::{Mesh, Spec, Stop, Topology};
use dictmesh_net::agent::{Agent, Control, Event, Outcome};
use dictmesh_net::mpi::Job;
use std::ops::ControlFlow::Continue;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// Starts this very test program as a job; each rank runs [`rank`].
#[test]
fn ranks_equal_the_mesh_in_one_process() {
    for ranks in ["1", "2", "5"] {
        let program = std::env::current_exe().unwrap();
        let job = Command::new("mpirun")
            .args(["--allow-run-as-root", "--oversubscribe", "-n", ranks])
            .arg(program)
            .args(["rank", "--exact", "--ignored", "--nocapture"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&job.stdout);
        let errors = String::from_utf8_lossy(&job.stderr);
        assert!(job.status.success(), "{said}\n{errors}");
        let equal = said.matches("equals the mesh").count();
        assert_eq!(equal.to_string(), ranks, "{said}\n{errors}");
    }
}

#[test]
#[ignore = "a rank of the job that the other test starts"]
fn rank() {
    let job = Job::begin().unwrap();
    let (k, ranks) = (job.rank(), job.size());
    let topology = match ranks {
        5 => Topology::from_edges(5, &[(4, 0), (4, 1), (4, 2), (2, 3), (0, 1)]),
        _ => Topology::path(ranks),
    };
    let topology = topology.unwrap();
    for residual in [Spec::new("ball").with("sigma", 0.05), Spec::new("equality")] {
        // With 20 atoms, agents take products with few of them.
        for atoms in [3, 20] {
            let (plan, mesh) = unreachable::plan(topology.clone(), atoms, residual.clone(), "tree");
            let stops = assert_equal(&job, &plan, mesh);
            let is_infeasible = |(i, stop): (usize, &Stop)| {
                (*stop == Stop::Infeasible) == (i == unreachable::BATCH)
            };
            assert!(stops.iter().enumerate().all(is_infeasible), "{stops:?}");
        }
    }
    let sums = summing::plan(topology.clone(), 7, 20);
    // On a complete graph, arrays of doubles would be summed in an order of MPI's own.
    let graphs = [topology, Topology::complete(ranks).unwrap()];
    let few_bits = graphs.into_iter().flat_map(|topology| {
        let gossip = Plan::new(topology, 7, 20);
        let names = ["relaxed-admm", "exact-diffusion"];
        names.map(|name| Plan {
            strategy: Spec::new(name).with("bits", 5),
            ..gossip.clone()
        })
    });
    for mut plan in std::iter::once(sums).chain(few_bits) {
        plan.batch = 3;
        plan.informed = vec![ranks - 1];
        assert_equal(&job, &plan, plan.mesh(false));
    }
    job.barrier().unwrap();
    println!("rank {k} equals the mesh");
}

/// Learns as a rank and in one process from `mesh`; returns the outcome of each batch.
fn assert_equal(job: &Job, plan: &Plan, mut mesh: Mesh) -> Vec<Stop> {
    let k = job.rank();
    let exchange = job.exchange(plan.topology.neighbours(k)).unwrap();
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = events.clone();
    let observer = Box::new(move |event: &Event| seen.lock().unwrap().push(event.clone()));
    let mut agent = Agent::new(
        plan.settings(&mesh, k),
        Box::new(exchange),
        mesh.block(k).atoms().clone(),
        plan.source(k),
        None,
        observer,
        Control::default(),
    )
    .unwrap();
    assert_eq!(agent.run().unwrap(), Outcome::Ended);
    let mut expected = Vec::new();
    mesh.learn(&plan.x, |event| {
        expected.push((event.rounds, event.stop));
        Continue(())
    })
    .unwrap();
    let batches = common::batches(&events.lock().unwrap());
    let own: Vec<_> = batches.iter().map(|b| (b.rounds, b.stop)).collect();
    assert_eq!(own, expected, "{}", plan.strategy);
    assert_eq!(
        agent.block().atoms(),
        mesh.block(k).atoms(),
        "{}",
        plan.strategy
    );
    expected.into_iter().map(|(_, stop)| stop).collect()
}
