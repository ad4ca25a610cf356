//! Ranks of an MPI job sum, broadcast and exchange differences of few bits as the mesh in one
//! process does, bit for bit.
#![cfg(feature = "mpi")]
#![allow(clippy::unwrap_used, clippy::panic)] // The helpers stand outside the test functions.

mod common;

use common::{summing, Plan};
use dictmesh::{Spec, Topology};
use dictmesh_net::agent::{Agent, Control, Outcome};
use dictmesh_net::mpi::Job;
use std::ops::ControlFlow::Continue;
use std::process::Command;

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
        assert_equal(&job, &plan);
    }
    job.barrier().unwrap();
    println!("rank {k} equals the mesh");
}

fn assert_equal(job: &Job, plan: &Plan) {
    let k = job.rank();
    let mut mesh = plan.mesh(false);
    let exchange = job.exchange(plan.topology.neighbours(k)).unwrap();
    let (observer, control) = (Box::new(|_: &_| {}), Control::default());
    let mut agent = Agent::new(
        plan.settings(&mesh, k),
        Box::new(exchange),
        mesh.block(k).atoms().clone(),
        plan.source(k),
        None,
        observer,
        control,
    )
    .unwrap();
    assert_eq!(agent.run().unwrap(), Outcome::Ended);
    mesh.learn(&plan.x, |_| Continue(())).unwrap();
    assert_eq!(
        agent.block().atoms(),
        mesh.block(k).atoms(),
        "{}",
        plan.strategy
    );
}
