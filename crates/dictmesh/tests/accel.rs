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
    ("single-agent", 0.0),
    ("reduction", 1e-9),
    ("chunks", 0.0),
    ("neighbour-sums", 0.0),
    ("lanes", 0.0),
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

/// More meshes than those of the law: chunks of few samples, blocks of few and of many atoms,
/// outliers, rounds without a tolerance, and all bit-identical speed-ups together.
#[test]
fn all_but_the_reduction_are_bit_identical() {
    let (squared, huber) = (
        Task::sparse_svd(0.05, 0.1).unwrap(),
        Task::nmf_huber(0.02, 0.1, 0.2).unwrap(),
    );
    let dense = Topology::erdos_renyi(90, 0.5, 1).unwrap();
    let (alone, ring) = (Topology::ring(1).unwrap(), Topology::ring(3).unwrap());
    let complete = Topology::complete(12).unwrap();
    let cases: [(Case, usize); 9] = [
        (
            (squared.clone(), dense.clone(), vec![1; 90], "diffusion"),
            6,
        ),
        (
            (squared.clone(), dense.clone(), vec![2; 90], "diffusion"),
            6,
        ),
        (
            (squared.clone(), dense.clone(), vec![9; 90], "diffusion"),
            6,
        ),
        ((squared.clone(), dense, vec![33; 90], "relaxed-admm"), 4),
        ((squared.clone(), complete, vec![12; 12], "jacobi-admm"), 6),
        (
            (huber.clone(), ring.clone(), vec![20; 3], "relaxed-admm"),
            8,
        ),
        ((squared.clone(), ring, vec![40; 3], "relaxed-admm"), 8),
        (
            (squared.clone(), alone.clone(), vec![64], "relaxed-admm"),
            3,
        ),
        ((squared, alone, vec![5], "jacobi-admm"), 3),
    ];
    let exact: Vec<&str> = (BOUNDS.iter().filter(|(_, bound)| *bound == 0.0))
        .map(|(name, _)| *name)
        .collect();
    let x = samples(25, 1.0);
    for (case, rounds) in cases {
        let run = |accels: &str| {
            let mut mesh = mesh(&case, Accels::parse(accels).unwrap());
            mesh.set_stopping(Stopping::rounds(rounds)).unwrap();
            let found = mesh.infer(&x).unwrap();
            mesh.learn(&x, |_| Continue(())).unwrap();
            (found, mesh.dictionary())
        };
        let off = run("none");
        for name in exact.iter().copied().chain([&*exact.join(",")]) {
            let on = run(name);
            let label = format!("{name}: {}, {} agents", case.3, case.2.len());
            assert_eq!(apart(&on.0, &off.0), 0.0, "{label}");
            assert!(on.1 == off.1, "{label}");
        }
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
