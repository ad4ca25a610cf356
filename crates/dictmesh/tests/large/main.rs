//! Dictionaries whose Gram matrices are too large to store: coded and learned from the atoms alone.
//!
//!     cargo test --release -p dictmesh --test large
//!     cargo test --release -p dictmesh --features count-work --test large          # and memory
//!     cargo test --release -p dictmesh --features count-work --test large -- --ignored --nocapture

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

mod exact;
mod learning;
#[cfg(feature = "count-work")]
mod memory;

use dictmesh::problem::{LocalSpec, TaskSpec};
use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Spec, Topology};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Peak memory is that of the whole process, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
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

fn elastic_net(gamma: f64, delta: f64) -> Spec {
    Spec::new("elastic-net")
        .with("gamma", gamma)
        .with("delta", delta)
}

fn mesh(task: &TaskSpec, graph: Topology, rows: usize, sizes: &[usize]) -> Mesh {
    Mesh::builder(task.build().unwrap(), graph)
        .build(rows, sizes, AtomInit::Random)
        .unwrap()
}

/// Samples of norm about 1.
fn samples(rows: usize, count: usize) -> Samples {
    let mut x: Matrix = gaussian(rows, count, &mut stream(1, 0));
    let scale = 1.0 / (rows as f64).sqrt();
    x.as_mut_slice().iter_mut().for_each(|x| *x *= scale);
    Samples::dense(x).unwrap()
}
