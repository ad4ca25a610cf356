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
mod products;

use dictmesh::problem::{LocalSpec, TaskSpec};
use dictmesh::random::{gaussian, stream};
use dictmesh::strategy;
use dictmesh::{AtomInit, Mesh, Samples, Spec, Topology};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: dictmesh::work::Allocator = dictmesh::work::Allocator;

/// Everything here counts for the whole process, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn samples(rows: usize, count: usize) -> Samples {
    Samples::dense(gaussian(rows, count, &mut stream(1, 0))).unwrap()
}

fn task(residual: Spec, regularizer: Spec) -> TaskSpec {
    TaskSpec {
        residual,
        common: LocalSpec {
            regularizer,
            penalty: Default::default(),
            set: Spec::new("unit-ball"),
        },
        own: Default::default(),
    }
}

fn elastic_net() -> Spec {
    Spec::new("elastic-net")
        .with("gamma", 0.1)
        .with("delta", 0.1)
}

fn mesh(task: &TaskSpec, graph: Topology, strategy: &str, rows: usize, atoms: usize) -> Mesh {
    uneven(
        task,
        graph.clone(),
        strategy,
        rows,
        &vec![atoms; graph.agents()],
    )
}

fn uneven(task: &TaskSpec, graph: Topology, strategy: &str, rows: usize, sizes: &[usize]) -> Mesh {
    Mesh::builder(task.build().unwrap(), graph)
        .strategy(strategy::named(strategy).unwrap())
        .build(rows, sizes, AtomInit::Random)
        .unwrap()
}
