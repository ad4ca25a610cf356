//! Learning: the update against the paper's formula, starts, a planted dictionary, growth in
//! mid-stream, and events.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alone;
mod growth;
mod observer;
mod penalty;
mod planted;
mod restart;
mod start;
mod update;
mod weights;

use dictmesh::mesh::Event;
use dictmesh::problem::atoms::{
    AtomSet, NonNegativeUnitBall, NonNegativeUnitL1Ball, UnitBall, UnitL1Ball,
};
use dictmesh::random::{gaussian, stream};
use dictmesh::{Matrix, Mesh, Samples};
use std::ops::ControlFlow;

/// An observer that never breaks off.
fn go_on(_: &Event) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Gaussian samples.
fn noise(rows: usize, count: usize, seed: u64) -> Samples {
    Samples::dense(gaussian(rows, count, &mut stream(seed, 90))).unwrap()
}

/// |a - b|_F.
fn distance(a: &Matrix, b: &Matrix) -> f64 {
    assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()));
    let pairs = a.as_slice().iter().zip(b.as_slice());
    pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// Every atom is in the set of its owner.
fn assert_atoms_in_their_sets(mesh: &Mesh, label: &str) {
    for k in 0..mesh.agents() {
        let set = mesh.task().local(k).set();
        for (q, w) in mesh.block(k).atoms().columns().enumerate() {
            assert!(
                set.contains(w, 1e-12),
                "{label}: atom {q} of agent {k}: {w:?}"
            );
        }
    }
}

/// Every built-in atom set.
fn sets() -> [&'static dyn AtomSet; 4] {
    [
        &UnitBall,
        &NonNegativeUnitBall,
        &UnitL1Ball,
        &NonNegativeUnitL1Ball,
    ]
}
