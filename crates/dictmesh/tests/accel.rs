//! Each speed-up alone, and all of them, against none: equal rounds, stops and bytes, and equal
//! codes and duals within the bound of the speed-up.

#![allow(clippy::unwrap_used)]

use dictmesh::accel::{Accel, Accels, Batch, Batching, Reduction};
use dictmesh::exact::Part;
use dictmesh::mesh::Inference;
use dictmesh::problem::regularizer::ElasticNet;
use dictmesh::problem::residual::Huber;
use dictmesh::problem::Block;
use dictmesh::random::{gaussian, stream};
use dictmesh::strategy::{self, ScratchPool};
use dictmesh::{laws, AtomInit, Matrix, Mesh, Samples, Stopping, Task, Topology, Update};
use std::ops::ControlFlow::Continue;
use std::sync::Arc;

/// The largest relative difference of codes and duals that a speed-up allows.
const BOUNDS: [(&str, f64); 5] = [
    ("single-agent", 1e-9),
    ("reduction", 1e-9),
    ("chunks", 1e-12),
    ("neighbour-sums", 1e-12),
    ("lanes", 1e-11),
];

fn unit(rows: usize, cols: usize, seed: u64) -> Matrix {
    let mut w = gaussian(rows, cols, &mut stream(seed, 0));
    for q in 0..cols {
        let length = w.column(q).iter().map(|v| v * v).sum::<f64>().sqrt();
        w.column_mut(q).iter_mut().for_each(|v| *v /= length);
    }
    w
}

fn mesh(case: &Case, accels: Accels) -> Mesh {
    let (task, graph, sizes, name) = case;
    let atoms = unit(ROWS, sizes.iter().sum(), 1);
    Mesh::builder(task.clone(), graph.clone())
        .strategy(strategy::named(name).unwrap())
        .stopping(Stopping {
            tolerance: Some(1e-4),
            rounds: 400,
        })
        .update(Update::Constant { mu_w: 0.05 })
        .batch(24)
        .accels(accels)
        .build(ROWS, sizes, AtomInit::Given(&atoms))
        .unwrap()
}

type Case = (Task, Topology, Vec<usize>, &'static str);
const ROWS: usize = 120;

/// A mesh with the Huber residual.
fn huber() -> Case {
    let task = Task::nmf_huber(0.02, 0.1, 0.2).unwrap();
    let graph = Topology::ring(5).unwrap();
    (task, graph, vec![3; 5], "relaxed-admm")
}

fn apart(a: &Inference, b: &Inference) -> f64 {
    assert_eq!((a.rounds, a.bytes, a.stop), (b.rounds, b.bytes, b.stop));
    let largest = |m: &Matrix| {
        m.as_slice()
            .iter()
            .fold(1e-12_f64, |most, v| most.max(v.abs()))
    };
    let pairs = (a.duals.iter().zip(&b.duals)).chain(a.codes.iter().zip(&b.codes));
    pairs
        .map(|(a, b)| {
            let off = a
                .as_slice()
                .iter()
                .zip(b.as_slice())
                .map(|(a, b)| (a - b).abs());
            off.fold(0.0, f64::max) / largest(b)
        })
        .fold(0.0, f64::max)
}

#[test]
fn every_speed_up_has_a_bound() {
    let names: Vec<&str> = Accels::all().names().collect();
    assert_eq!(names.len(), BOUNDS.len());
    assert!(BOUNDS.iter().all(|(name, _)| names.contains(name)));
}

/// Gaussian samples of about this length per entry.
fn samples(count: usize, scale: f64) -> Samples {
    let x = gaussian(ROWS, count, &mut stream(2, 0));
    Samples::dense(Matrix::from_fn(ROWS, count, |i, j| scale * x.get(i, j))).unwrap()
}

#[test]
fn each_speed_up_keeps_its_bound() {
    for (name, bound) in BOUNDS {
        assert_eq!(laws::accels(&Accels::parse(name).unwrap(), bound), Ok(()));
    }
}

#[test]
fn all_speed_ups_together_are_within_1e_9() {
    assert_eq!(laws::accels(&Accels::all(), 1e-9), Ok(()));
}

/// Chunks are bit-identical for blocks of one atom. With several atoms, W_k'nu is a product, whose
/// order of summation follows the width of a chunk.
#[test]
fn chunks_are_bit_identical_for_blocks_of_one_atom() {
    let graph = Topology::erdos_renyi(40, 0.5, 1).unwrap();
    for name in ["relaxed-admm", "diffusion"] {
        let task = Task::sparse_svd(0.05, 0.1).unwrap();
        let case: Case = (task, graph.clone(), vec![1; 40], name);
        let x = samples(24, 1.0);
        let found = |accels: &str| mesh(&case, Accels::parse(accels).unwrap()).infer(&x);
        let (on, off) = (found("chunks").unwrap(), found("none").unwrap());
        assert_eq!(apart(&on, &off), 0.0, "{name}");
        let learned = |accels: &str| {
            let mut mesh = mesh(&case, Accels::parse(accels).unwrap());
            mesh.learn(&x, |_| Continue(())).unwrap();
            mesh.dictionary()
        };
        assert_eq!(learned("chunks"), learned("none"), "{name}");
    }
}

/// Two atoms 2e-7 apart. A rotation of rank one less would lose their difference, and codes change
/// by that over delta. The rotation is declined for a small delta.
#[test]
fn a_rotation_that_loses_digits_is_declined() {
    let mut w = unit(40, 6, 5);
    let (first, second) = (w.column(0).to_vec(), w.column(1).to_vec());
    for (i, v) in w.column_mut(3).iter_mut().enumerate() {
        *v = first[i] + 2e-7 * second[i];
    }
    let drawn = gaussian(40, 8, &mut stream(6, 0));
    let scaled = |scale: f64| Matrix::from_fn(40, 8, |i, j| scale * drawn.get(i, j));
    let tasks = |delta: f64| {
        let squared = Task::sparse_svd(0.01, delta).unwrap();
        let net = ElasticNet::new(0.001, delta).unwrap();
        // Small samples, so that rows are rotated.
        let huber = Task::new(Huber::new(0.2).unwrap()).regularizer(net);
        [(squared, 1.0), (huber, 0.03)]
    };
    let cases = [1e-4, 1e-2, 1.0].map(|delta| tasks(delta).map(|case| (delta, case)));
    for (delta, (task, scale)) in cases.into_iter().flatten() {
        let x = Samples::dense(scaled(scale)).unwrap();
        let codes = |accels: Accels| {
            Mesh::builder(task.clone(), Topology::ring(3).unwrap())
                .strategy(strategy::named("relaxed-admm").unwrap())
                .stopping(Stopping::rounds(300))
                .accels(accels)
                .build(40, &[2, 2, 2], AtomInit::Given(&w))
                .unwrap()
                .infer(&x)
                .unwrap()
        };
        let off = apart(&codes(Accels::all()), &codes(Accels::none()));
        assert!(off <= 1e-9, "delta {delta}: {off:e}");
    }
}

/// Each sample of a Huber batch has its own rotation; samples above the budget are coded in all
/// rows.
#[test]
fn rotations_beyond_the_budget_are_not_made() {
    let case = &huber();
    let x = samples(24, 0.05);
    let plain = mesh(case, Accels::none()).infer(&x).unwrap();
    let atoms: usize = case.2.iter().sum();
    let block = Block::new(unit(ROWS, atoms, 1)).unwrap();
    let (strategy, scratch) = (strategy::named(case.3).unwrap(), ScratchPool::default());
    let batch = Batch {
        residual: case.0.residual(),
        agents: vec![Part {
            task: case.0.common(),
            block: &block,
        }],
        x: &x,
        strategy: &*strategy,
        tolerance: None,
        rounds: 1,
        scratch: &scratch,
        interrupt: None,
        batching: Batching::OneByOne,
    };
    for rotations in [0, 1, 7] {
        // The atoms in the kept rows, here at most all, and in the rotated ones; R and W'W.
        let bytes = 8 * (ROWS + 3 * atoms + 1) * atoms;
        let reduction = Arc::new(Reduction::with_budget(rotations * bytes));
        let chunks = reduction.chunks(&batch).unwrap_or_default();
        let made = chunks.iter().filter(|chunk| chunk.reduced.is_some());
        assert_eq!(made.count(), rotations);
        let found = mesh(case, Accels::none().with(reduction)).infer(&x);
        assert!(apart(&found.unwrap(), &plain) <= 1e-9, "{rotations}");
    }
}
