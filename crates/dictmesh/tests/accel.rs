//! Each speed-up alone, and all of them, against none: the same rounds, stops and bytes, and the same codes and
//! duals, bit by bit where the speed-up promises it.

#![allow(clippy::unwrap_used)]

use dictmesh::accel::{Accel, Accels, Batch, Batching, Reduction};
use dictmesh::exact::Part;
use dictmesh::mesh::Inference;
use dictmesh::problem::Block;
use dictmesh::random::{gaussian, stream};
use dictmesh::strategy::{self, ScratchPool};
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Stopping, Task, Topology, Update};
use std::ops::ControlFlow::Continue;
use std::sync::Arc;

/// The largest relative difference of codes and duals that a speed-up allows.
const PROMISES: [(&str, f64); 5] = [
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
/// The case with the Huber residual.
const HUBER: usize = 7;

/// The bound of a speed-up in a case. Chunks are bit-identical but for gradients of several atoms: these are
/// products, whose order of summation follows the width of a chunk.
fn bound(name: &str, promise: f64, case: &Case) -> f64 {
    match name {
        "chunks" if !(case.3 == "diffusion" && case.2[0] > 1) => 0.0,
        _ => promise,
    }
}

/// Meshes on which every speed-up applies to at least one.
fn cases() -> Vec<Case> {
    let squared = Task::sparse_svd(0.05, 0.1).unwrap();
    let huber = Task::nmf_huber(0.02, 0.1, 0.2).unwrap();
    let random = Topology::erdos_renyi(40, 0.5, 1).unwrap();
    let complete = Topology::complete(8).unwrap();
    vec![
        (
            squared.clone(),
            Topology::ring(1).unwrap(),
            vec![64],
            "relaxed-admm",
        ),
        (squared.clone(), random.clone(), vec![1; 40], "relaxed-admm"),
        (squared.clone(), random.clone(), vec![1; 40], "diffusion"),
        (squared.clone(), random, vec![3; 40], "diffusion"),
        (
            squared.clone(),
            complete.clone(),
            vec![6; 8],
            "relaxed-admm",
        ),
        (
            squared.clone(),
            complete.clone(),
            vec![20, 0, 2, 2, 2, 2, 2, 2],
            "exact-diffusion",
        ),
        (squared, complete, vec![40; 8], "gradient-sums"),
        (
            huber,
            Topology::ring(5).unwrap(),
            vec![3; 5],
            "relaxed-admm",
        ),
    ]
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
fn every_speed_up_is_named_in_the_list_of_promises() {
    let names: Vec<&str> = Accels::all().names().collect();
    assert_eq!(names.len(), PROMISES.len());
    assert!(PROMISES.iter().all(|(name, _)| names.contains(name)));
}

/// Gaussian samples of about this length per entry.
fn samples(count: usize, scale: f64) -> Samples {
    let x = gaussian(ROWS, count, &mut stream(2, 0));
    Samples::dense(Matrix::from_fn(ROWS, count, |i, j| scale * x.get(i, j))).unwrap()
}

#[test]
fn inference_is_the_same_with_each_speed_up_as_without_any() {
    let cases = cases();
    // Rows with |x_m| above eta/2 are not rotated: the second samples of the Huber case have few.
    let runs = (cases.iter().map(|case| (case, 1.0))).chain([(&cases[HUBER], 0.05)]);
    for (i, (case, scale)) in runs.enumerate() {
        let x = samples(24, scale);
        let plain = mesh(case, Accels::none()).infer(&x).unwrap();
        for (name, promise) in PROMISES {
            let found = mesh(case, Accels::parse(name).unwrap()).infer(&x).unwrap();
            let off = apart(&found, &plain);
            let bound = bound(name, promise, case);
            assert!(off <= bound, "case {i}, {name}: {off:e}");
        }
        let all = mesh(case, Accels::all()).infer(&x).unwrap();
        let off = apart(&all, &plain);
        assert!(off <= 1e-9, "case {i}, all: {off:e}");
    }
}

#[test]
fn learning_is_the_same_with_each_speed_up_as_without_any() {
    let dense = gaussian(ROWS, 72, &mut stream(3, 0));
    let sparse = {
        let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
        for column in dense.columns() {
            let entries = column.iter().enumerate().filter(|(_, v)| v.abs() > 1.2);
            entries.for_each(|(i, v)| {
                row.push(i);
                value.push(*v);
            });
            start.push(row.len());
        }
        Samples::sparse(ROWS, start, row, value).unwrap()
    };
    for x in [Samples::dense(dense).unwrap(), sparse] {
        for (i, case) in cases().iter().enumerate() {
            let learned = |accels: Accels| {
                let mut mesh = mesh(case, accels);
                let mut events = Vec::new();
                let stop = mesh.learn(&x, |event| {
                    events.push((event.rounds, event.bytes, event.stop));
                    Continue(())
                });
                (mesh.dictionary(), events, stop.unwrap())
            };
            let plain = learned(Accels::none());
            let names = PROMISES.iter().map(|(name, _)| *name).chain(["all"]);
            for name in names {
                let found = learned(Accels::parse(name).unwrap());
                assert_eq!((&found.1, found.2), (&plain.1, plain.2), "case {i}, {name}");
                let off = (found.0.as_slice().iter().zip(plain.0.as_slice()))
                    .map(|(a, b)| (a - b).abs())
                    .fold(0.0, f64::max);
                let bound = bound(name, 1e-9, case);
                assert!(off <= bound, "case {i}, {name}: {off:e}");
            }
        }
    }
}

/// Two atoms 2e-7 apart, whose difference a rotation of rank one less would lose: codes differ by that over
/// delta. The rotation is declined for a small delta.
#[test]
fn a_rotation_that_loses_digits_is_declined() {
    let mut w = unit(40, 6, 5);
    let (first, second) = (w.column(0).to_vec(), w.column(1).to_vec());
    for (i, v) in w.column_mut(3).iter_mut().enumerate() {
        *v = first[i] + 2e-7 * second[i];
    }
    let x = Samples::dense(gaussian(40, 8, &mut stream(6, 0))).unwrap();
    for delta in [1e-4, 1e-2, 1.0] {
        let codes = |accels: Accels| {
            Mesh::builder(
                Task::sparse_svd(0.01, delta).unwrap(),
                Topology::ring(3).unwrap(),
            )
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

/// Each sample of a Huber batch has a rotation of its own; beyond the budget samples are coded in all rows.
#[test]
fn rotations_beyond_the_budget_are_not_made() {
    let case = &cases()[HUBER];
    let x = samples(24, 0.05);
    let plain = mesh(case, Accels::none()).infer(&x).unwrap();
    let atoms: usize = case.2.iter().sum();
    let block = Block::new(unit(ROWS, atoms, 1)).unwrap();
    let (strategy, scratch) = (strategy::default(), ScratchPool::default());
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
        let reduction = Arc::new(Reduction::with_budget(rotations * 2 * 8 * atoms * atoms));
        let chunks = reduction.chunks(&batch).unwrap_or_default();
        let made = chunks.iter().filter(|chunk| chunk.reduced.is_some());
        assert_eq!(made.count(), rotations);
        let found = mesh(case, Accels::none().with(reduction)).infer(&x);
        assert!(apart(&found.unwrap(), &plain) <= 1e-9, "{rotations}");
    }
}
