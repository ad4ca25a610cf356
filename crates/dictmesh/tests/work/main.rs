//! What a round costs, counted and not timed: allocations and multiply-adds.
//!
//!     cargo test --release -p dictmesh --features count-work --test work

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

mod allocations;

use dictmesh::inference::StrategySpec;
use dictmesh::random::{gaussian, stream};
use dictmesh::task::{LocalSpec, RegularizerSpec, ResidualSpec, TaskSpec};
use dictmesh::{Mesh, Samples, Start, Topology};

#[global_allocator]
static ALLOCATOR: dictmesh::work::Allocator = dictmesh::work::Allocator;

fn samples(rows: usize, count: usize) -> Samples {
    Samples::dense(gaussian(rows, count, &mut stream(1, 0))).unwrap()
}

fn task(residual: ResidualSpec, regularizer: RegularizerSpec) -> TaskSpec {
    TaskSpec {
        residual,
        common: LocalSpec {
            regularizer,
            penalty: Default::default(),
            set: Default::default(),
        },
        own: Default::default(),
    }
}

fn elastic_net() -> RegularizerSpec {
    RegularizerSpec::ElasticNet {
        gamma: 0.1,
        delta: 0.1,
    }
}

fn mesh(task: &TaskSpec, graph: Topology, strategy: &str, rows: usize, atoms: usize) -> Mesh {
    let sizes = vec![atoms; graph.agents()];
    Mesh::builder(task.build().unwrap(), graph)
        .strategy(StrategySpec::from_name(strategy).unwrap())
        .build(rows, &sizes, Start::Random)
        .unwrap()
}
