//! The strategies: where they land, how fast, and what they have in common.
//!
//! A new strategy adds its line to `strategy::NAMES`; the laws below then run over it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

mod auto;
mod endings;
mod landing;
mod laws;
mod reduction;
mod rounded;
mod rounds;
mod tree;

use dictmesh::problem::atoms::{AtomPenalty, AtomSet, UnitBall};
use dictmesh::problem::{LocalSpec, Task, TaskSpec};
use dictmesh::random::{gaussian, stream};
use dictmesh::strategy::{self, Strategy};
use dictmesh::{Inference, Matrix, Mesh, Samples, Spec};
use std::sync::Arc;

fn residuals() -> [Spec; 5] {
    [
        Spec::new("squared-l2"),
        Spec::new("huber").with("eta", 0.2),
        Spec::new("l1"),
        Spec::new("ball").with("sigma", 0.3),
        Spec::new("equality"),
    ]
}

fn task(residual: &Spec, regularizer: Spec) -> Task {
    TaskSpec {
        residual: residual.clone(),
        common: LocalSpec {
            regularizer,
            penalty: AtomPenalty::None,
            set: Spec::new("unit-ball"),
        },
        own: Default::default(),
    }
    .build()
    .unwrap()
}

fn elastic_net() -> Spec {
    Spec::new("elastic-net")
        .with("gamma", 0.1)
        .with("delta", 0.3)
}

fn named(name: &str) -> Arc<dyn Strategy> {
    strategy::named(name).unwrap()
}

/// Unit atoms.
fn atoms(m: usize, k: usize, seed: u64) -> Matrix {
    let mut w = gaussian(m, k, &mut stream(seed, 1));
    for q in 0..k {
        UnitBall.normalise(w.column_mut(q));
    }
    w
}

/// Samples that sparse codes reach exactly, so that every residual is feasible.
fn reachable(w: &Matrix, samples: usize, seed: u64) -> Samples {
    let y = gaussian(w.cols(), samples, &mut stream(seed, 2));
    let y = Matrix::from_fn(w.cols(), samples, |i, j| match i % 3 {
        0 => y.get(i, j).abs(),
        _ => 0.0,
    });
    Samples::dense(w.times(&y)).unwrap()
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f64>()
        .sqrt()
}

/// The largest relative error over all columns.
fn error(found: &Matrix, exact: &Matrix) -> f64 {
    found
        .columns()
        .zip(exact.columns())
        .map(|(a, b)| distance(a, b) / norm(b).max(1e-12))
        .fold(0.0, f64::max)
}

/// Largest relative errors of nu (worst agent), y and the cost against the certified solution.
fn errors(mesh: &Mesh, x: &Samples, found: &Inference) -> (f64, f64, f64) {
    let exact = mesh.exact(x).unwrap();
    let nu = found
        .duals
        .iter()
        .map(|nu| error(nu, &exact.duals))
        .fold(0.0, f64::max);
    let y = error(&found.stacked_codes(), &exact.codes);
    let cost = (found.costs.iter().zip(&exact.certificates))
        .map(|(cost, c)| (cost - c.dual).abs() / c.dual.abs().max(1e-12))
        .fold(0.0, f64::max);
    (nu, y, cost)
}
