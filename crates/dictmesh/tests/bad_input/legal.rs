//! Odd but legal: zero samples, zero atoms, doubles, one agent, no atoms, sparse storage.

use super::{residuals, task, M};
use dictmesh::problem::atoms::{AtomSet, UnitBall};
use dictmesh::problem::Task;
use dictmesh::random::{gaussian, stream};
use dictmesh::strategy::{self, Strategy};
use dictmesh::{
    AtomInit, Inference, Matrix, Mesh, Samples, Spec, Stop, Stopping, Topology, Update,
};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Unit atoms.
fn atoms(count: usize, seed: u64) -> Matrix {
    let mut w = gaussian(M, count, &mut stream(seed, 4));
    for q in 0..count {
        UnitBall.normalise(w.column_mut(q));
    }
    w
}

/// Samples that even an equality can meet.
fn reachable(w: &Matrix, count: usize, seed: u64) -> Matrix {
    let y = gaussian(w.cols(), count, &mut stream(seed, 5));
    w.times(&y)
}

/// Every strategy with every residual it can do.
fn pairs() -> Vec<(Task, Arc<dyn Strategy>)> {
    let mut list = Vec::new();
    for residual in residuals() {
        for name in strategy::NAMES {
            let (task, spec) = (task(residual.clone()), strategy::named(name).unwrap());
            if spec.check(task.residual(), true).is_ok() {
                list.push((task, spec));
            }
        }
    }
    assert_eq!(list.len(), 28);
    list
}

fn mesh(
    task: &Task,
    spec: &Arc<dyn Strategy>,
    topology: Topology,
    sizes: &[usize],
    w: &Matrix,
) -> Mesh {
    Mesh::builder(task.clone(), topology)
        .strategy(spec.clone())
        .stopping(Stopping::tolerance(1e-6))
        .update(Update::Constant { mu_w: 0.1 })
        .build(M, sizes, AtomInit::Given(w))
        .unwrap()
}

fn assert_finite(found: &Inference, label: &str) {
    let all = || found.duals.iter().chain(&found.codes);
    assert!(
        all().all(|m| m.as_slice().iter().all(|v| v.is_finite())),
        "{label}"
    );
    assert!(found.costs.iter().all(|c| c.is_finite()), "{label}");
}

/// One agent is a mesh: every strategy and residual lands on the exact solution.
#[test]
fn a_single_agent() {
    let w = atoms(9, 1);
    let x = Samples::dense(reachable(&w, 2, 1)).unwrap();
    for (task, spec) in pairs() {
        let label = format!("{} {}", task.residual().name(), spec.name());
        let mut alone = mesh(&task, &spec, Topology::complete(1).unwrap(), &[9], &w);
        let (found, exact) = (alone.infer(&x).unwrap(), alone.exact(&x).unwrap());
        assert_eq!(
            found.stop,
            Stop::Converged,
            "{label} in {} rounds",
            found.rounds
        );
        for (cost, certificate) in found.costs.iter().zip(&exact.certificates) {
            let off = (cost - certificate.dual).abs();
            assert!(
                off < 1e-5 * certificate.dual,
                "{label}: {cost}, {certificate:?}"
            );
        }
        assert_eq!((found.disagreement, found.bytes), (0.0, 0), "{label}");
        let end = alone.learn(&x, |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(end, Stop::Converged, "{label}");
    }
}

/// Where one agent's own argmin is the whole problem it takes one round. The next ones differ in
/// rounding only, which has no rate: it once went on for 100,000 rounds.
#[test]
fn a_single_agent_needs_one_round() {
    for seed in 0..5 {
        let w = atoms(9, seed);
        let x = Samples::dense(reachable(&w, 3, seed)).unwrap();
        for residual in residuals() {
            for name in ["relaxed-admm", "jacobi-admm"] {
                let spec = strategy::named(name).unwrap();
                let alone = Topology::complete(1).unwrap();
                let mesh = mesh(&task(residual.clone()), &spec, alone, &[9], &w);
                let found = mesh.infer(&x).unwrap();
                let end = (found.rounds, found.stop);
                assert_eq!(end, (1, Stop::Converged), "{residual:?} {name} seed {seed}");
            }
        }
    }
}

/// And it is proven there too that no code can meet a constraint.
#[test]
fn a_single_agent_that_cannot() {
    let w = atoms(3, 1);
    let mut x = reachable(&w, 2, 1);
    let off = gaussian(M, 1, &mut stream(8, 8));
    x.column_mut(1).copy_from_slice(off.column(0));
    let x = Samples::dense(x).unwrap();
    for residual in [Spec::new("ball").with("sigma", 0.2), Spec::new("equality")] {
        for name in ["relaxed-admm", "jacobi-admm", "exact-diffusion"] {
            let spec = strategy::named(name).unwrap();
            let alone = Topology::complete(1).unwrap();
            let mesh = mesh(&task(residual.clone()), &spec, alone, &[3], &w);
            let found = mesh.infer(&x).unwrap();
            let label = format!("{residual:?} {name} in {} rounds", found.rounds);
            assert_eq!(found.stop, Stop::Infeasible, "{label}");
            assert_eq!(found.infeasible, [1], "{label}");
            assert_eq!(mesh.exact(&x).unwrap().stop(), Stop::Infeasible);
        }
    }
}

/// A zero sample beside one that is not: its cost and code are 0, and the other sample is
/// unaffected.
#[test]
fn a_zero_sample() {
    let w = atoms(9, 1);
    let mut x = Matrix::zeros(M, 2);
    x.column_mut(1)
        .copy_from_slice(reachable(&w, 1, 2).column(0));
    let x = Samples::dense(x).unwrap();
    for (task, spec) in pairs() {
        let label = format!("{} {}", task.residual().name(), spec.name());
        let mut mesh = mesh(&task, &spec, Topology::complete(3).unwrap(), &[3, 0, 6], &w);
        mesh.set_stopping(Stopping {
            tolerance: Some(1e-4),
            rounds: 20_000,
        })
        .unwrap();
        let found = mesh.infer(&x).unwrap();
        assert_finite(&found, &label);
        assert_ne!(found.stop, Stop::Diverged, "{label}");
        assert!(found.infeasible.is_empty(), "{label}");
        assert_eq!(found.costs[0], 0.0, "{label}");
        assert!(
            found.stacked_codes().column(0).iter().all(|y| *y == 0.0),
            "{label}"
        );
        assert!(
            found
                .duals
                .iter()
                .all(|nu| nu.column(0).iter().all(|v| *v == 0.0)),
            "{label}"
        );
        assert!(found.costs[1] > 0.0, "{label}");
        // Only zeros: done at once.
        let only = mesh.infer(&x.range(0..1)).unwrap();
        assert_eq!(
            (only.stop, only.costs[0]),
            (Stop::Converged, 0.0),
            "{label}"
        );
    }
}

/// A zero atom, a double atom and a double sample: what is the same is treated the same.
#[test]
fn zero_atoms_and_doubles() {
    let mut w = atoms(9, 1);
    w.column_mut(2).fill(0.0);
    let twin = w.column(4).to_vec();
    w.column_mut(5).copy_from_slice(&twin);
    let one = reachable(&w, 1, 3);
    let x = Samples::dense_from_columns(M, &[one.column(0), one.column(0)]).unwrap();
    for (task, spec) in pairs() {
        let label = format!("{} {}", task.residual().name(), spec.name());
        let mut mesh = mesh(&task, &spec, Topology::complete(3).unwrap(), &[3, 4, 2], &w);
        mesh.set_stopping(Stopping {
            tolerance: Some(1e-5),
            rounds: 20_000,
        })
        .unwrap();
        let found = mesh.infer(&x).unwrap();
        assert_finite(&found, &label);
        assert_ne!(found.stop, Stop::Diverged, "{label}");
        let y = found.stacked_codes();
        assert_eq!(y.column(0), y.column(1), "{label}: a double sample");
        assert_eq!(y.get(2, 0), 0.0, "{label}: a zero atom");
        assert!(
            (y.get(4, 0) - y.get(5, 0)).abs() < 1e-9,
            "{label}: a double atom"
        );
        if !spec.is_biased() && found.stop == Stop::Converged {
            let exact = mesh.exact(&x).unwrap().certificates[0].dual;
            assert!((found.costs[0] - exact).abs() < 1e-3 * exact, "{label}");
        }
    }
}

/// Agents without atoms relay: the cost is that of the others, with and without informed ones.
#[test]
fn empty_blocks() {
    let w = atoms(9, 1);
    let x = Samples::dense(reachable(&w, 2, 4)).unwrap();
    for (task, spec) in pairs().iter().filter(|(_, spec)| !spec.is_biased()) {
        let label = format!("{} {}", task.residual().name(), spec.name());
        for informed in [vec![0, 1, 2], vec![1]] {
            let mut mesh = Mesh::builder(task.clone(), Topology::complete(3).unwrap())
                .strategy(spec.clone())
                .informed(&informed)
                .stopping(Stopping::tolerance(1e-6))
                .update(Update::Constant { mu_w: 0.1 })
                .build(M, &[9, 0, 0], AtomInit::Given(&w))
                .unwrap();
            let (found, exact) = (mesh.infer(&x).unwrap(), mesh.exact(&x).unwrap());
            assert_eq!(found.stop, Stop::Converged, "{label}");
            for (cost, certificate) in found.costs.iter().zip(&exact.certificates) {
                let off = (cost - certificate.dual).abs();
                assert!(
                    off < 1e-4 * certificate.dual,
                    "{label}: {cost}, {certificate:?}"
                );
            }
            assert_eq!((found.codes[1].rows(), found.codes[1].cols()), (0, 2));
            mesh.learn(&x, |_| ControlFlow::Continue(())).unwrap();
            assert_eq!(mesh.block(1).len(), 0);
        }
    }
}

/// Sparse samples are the same samples: coding and learning give bit-identical results.
#[test]
fn sparse_equals_dense() {
    let w = atoms(9, 1);
    let dense = gaussian(M, 5, &mut stream(6, 0));
    let dense = Matrix::from_fn(M, 5, |i, j| match (i + 2 * j) % 3 {
        0 => dense.get(i, j),
        _ => 0.0,
    });
    let (mut start, mut row, mut value) = (vec![0], vec![], vec![]);
    for column in dense.columns() {
        for (i, v) in column.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            row.push(i);
            value.push(*v);
        }
        start.push(row.len());
    }
    let sparse = Samples::sparse(M, start, row, value).unwrap();
    let dense = Samples::dense(dense).unwrap();
    assert!(sparse.is_sparse() && !dense.is_sparse());
    for residual in [
        Spec::new("squared-l2"),
        Spec::new("huber").with("eta", 0.2),
        Spec::new("l1"),
    ] {
        let results = [&sparse, &dense].map(|x| {
            let spec = strategy::default();
            let ring = Topology::ring(3).unwrap();
            let mut mesh = mesh(&task(residual.clone()), &spec, ring, &[3, 3, 3], &w);
            let (costs, exact) = (mesh.infer(x).unwrap().costs, mesh.exact(x).unwrap().codes);
            mesh.learn(x, |_| ControlFlow::Continue(())).unwrap();
            (costs, exact, mesh.dictionary())
        });
        assert!(results[0] == results[1], "{residual:?}");
    }
}
