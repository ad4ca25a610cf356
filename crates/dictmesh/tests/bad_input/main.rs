//! Invalid input gives an error with the given value and what is allowed, never a panic; unusual
//! but valid input works.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod choices;
mod data;
mod legal;
mod parameters;

use dictmesh::mesh::MeshBuilder;
use dictmesh::problem::{LocalSpec, Task, TaskSpec};
use dictmesh::random::{gaussian, stream};
use dictmesh::{Mesh, Result, Samples, Spec, Topology};
use std::fmt::Debug;

/// It was refused, and the message has all these words.
#[track_caller]
fn refused<T: Debug>(result: Result<T>, words: &[&str]) {
    let error = result.expect_err("must be refused").to_string();
    for word in words {
        assert!(error.contains(word), "\"{word}\" is missing in: {error}");
    }
}

const M: usize = 6;

fn samples(count: usize) -> Samples {
    Samples::dense(gaussian(M, count, &mut stream(1, 0))).unwrap()
}

/// A mesh of three in a ring, to be spoiled.
fn builder() -> MeshBuilder {
    Mesh::builder(
        Task::sparse_svd(0.1, 0.1).unwrap(),
        Topology::ring(3).unwrap(),
    )
}

fn task(residual: Spec) -> Task {
    let spec = TaskSpec {
        residual,
        common: LocalSpec {
            regularizer: Spec::new("elastic-net")
                .with("gamma", 0.1)
                .with("delta", 0.1),
            penalty: Default::default(),
            set: Spec::new("unit-ball"),
        },
        own: Default::default(),
    };
    spec.build().unwrap()
}

/// Every residual.
fn residuals() -> [Spec; 5] {
    [
        Spec::new("squared-l2"),
        Spec::new("huber").with("eta", 0.2),
        Spec::new("l1"),
        Spec::new("ball").with("sigma", 0.2),
        Spec::new("equality"),
    ]
}
