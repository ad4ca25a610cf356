//! The path for a single agent (on W'W and W'x, without dual vectors) learns what a plain loop
//! learns.

use super::{distance, go_on};
use dictmesh::accel::Accels;
use dictmesh::mesh::Event;
use dictmesh::problem::TaskSpec;
use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Matrix, Mesh, Norm, Samples, Stop, Topology, Update};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

const GAMMA: f64 = 0.1;
const DELTA: f64 = 0.05;
const FORGETTING: f64 = 0.9;

/// `count` samples of norm 1 with `entries` non-zero entries each, many of them in rows shared with
/// other samples.
fn documents(rows: usize, count: usize, entries: usize) -> Samples {
    let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
    for j in 0..count {
        let numbers = gaussian(entries, 2, &mut stream(j as u64, 3));
        for e in 0..entries {
            let shift = (4.0 * numbers.get(e, 0).abs()) as usize;
            row.push(e * (rows / entries) + shift % (rows / entries));
            value.push(numbers.get(e, 1).abs() + 0.1);
        }
        start.push(row.len());
    }
    let counts = Samples::sparse(rows, start, row, value).unwrap();
    counts.normalised(Norm::L2)
}

fn mesh(task: TaskSpec, batch: usize, threads: usize, start: &Matrix) -> Mesh {
    Mesh::builder(task.build().unwrap(), Topology::ring(1).unwrap())
        .update(Update::Adaptive {
            forgetting: FORGETTING,
        })
        .batch(batch)
        .threads(threads)
        .build(start.rows(), &[start.cols()], AtomInit::Given(start))
        .unwrap()
}

/// The code by plain coordinate descent, and its cost.
fn code(w: &Matrix, x: &[f64], non_negative: bool) -> (Vec<f64>, f64) {
    let mut y = vec![0.0; w.cols()];
    let mut u = x.to_vec();
    for _ in 0..3000 {
        for q in 0..y.len() {
            let w = w.column(q);
            let size: f64 = w.iter().map(|w| w * w).sum();
            let s: f64 = w.iter().zip(&u).map(|(w, u)| w * u).sum::<f64>() + size * y[q];
            let shrunk = (s.abs() - GAMMA).max(0.0) * s.signum() / (size + DELTA);
            let new = if non_negative {
                shrunk.max(0.0)
            } else {
                shrunk
            };
            (u.iter_mut().zip(w)).for_each(|(u, w)| *u += (y[q] - new) * w);
            y[q] = new;
        }
    }
    let cost = 0.5 * u.iter().map(|u| u * u).sum::<f64>()
        + y.iter()
            .map(|y| GAMMA * y.abs() + 0.5 * DELTA * y * y)
            .sum::<f64>();
    (y, cost)
}

/// The adaptive update written out: for each batch, each atom, each row. Returns the atoms and the
/// mean cost of each batch.
fn naively(
    start: &Matrix,
    x: &Matrix,
    batch: usize,
    non_negative: bool,
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut w = start.clone();
    let mut energy = vec![0.0; w.cols()];
    let mut costs = Vec::new();
    for from in (0..x.cols()).step_by(batch) {
        let samples = from..(from + batch).min(x.cols());
        let coded: Vec<_> = samples
            .clone()
            .map(|j| code(&w, x.column(j), non_negative))
            .collect();
        let mut new: Vec<Vec<f64>> = w.columns().map(<[f64]>::to_vec).collect();
        for (q, atom) in new.iter_mut().enumerate() {
            let used: f64 = coded.iter().map(|(y, _)| y[q] * y[q]).sum();
            energy[q] = FORGETTING * energy[q] + used;
            for (i, entry) in atom.iter_mut().enumerate() {
                for (j, (y, _)) in samples.clone().zip(&coded) {
                    let coded: f64 = (0..y.len()).map(|p| w.get(i, p) * y[p]).sum();
                    if y[q] != 0.0 {
                        *entry += (x.get(i, j) - coded) * y[q] / energy[q];
                    }
                }
                if non_negative {
                    *entry = entry.max(0.0);
                }
            }
            let size = atom.iter().map(|w| w * w).sum::<f64>().sqrt();
            atom.iter_mut().for_each(|w| *w /= size.max(1.0));
        }
        w = Matrix::from_columns(x.rows(), &new).unwrap();
        costs.push(coded.iter().map(|(_, cost)| cost).sum::<f64>() / samples.len() as f64);
    }
    (w.columns().map(<[f64]>::to_vec).collect(), costs)
}

#[test]
fn it_learns_what_a_plain_loop_learns() {
    let sparse = documents(24, 50, 8);
    let mut signed = gaussian(24, 50, &mut stream(1, 4));
    signed.as_mut_slice().iter_mut().for_each(|v| *v *= 0.3);
    let dense = Samples::dense(signed).unwrap();
    for (x, non_negative) in [(&sparse, true), (&sparse, false), (&dense, false)] {
        let task = match non_negative {
            true => TaskSpec::nmf(GAMMA, DELTA),
            false => TaskSpec::sparse_svd(GAMMA, DELTA),
        };
        let start = mesh(task.clone(), 8, 1, &gaussian(24, 10, &mut stream(2, 4))).dictionary();
        let mut learned = mesh(task, 8, 1, &start);
        let mut events: Vec<Event> = Vec::new();
        learned
            .learn(x, |event| {
                events.push(*event);
                ControlFlow::Continue(())
            })
            .unwrap();
        let (expected, costs) = naively(&start, &x.to_dense(), 8, non_negative);
        let expected = Matrix::from_columns(24, &expected).unwrap();
        let apart = distance(&learned.dictionary(), &expected);
        assert!(
            apart < 1e-10,
            "{apart} apart, non-negative {non_negative}, sparse {}",
            x.is_sparse()
        );
        assert!(distance(&start, &expected) > 0.1, "nothing was learned");
        assert_eq!(events.len(), costs.len());
        for (event, cost) in events.iter().zip(costs) {
            assert!(
                (event.cost - cost).abs() < 1e-12,
                "{} is not {cost}",
                event.cost
            );
        }
    }
}

/// Without speed-ups, a single agent runs rounds as every mesh does, in other code. 5,000 rows are
/// several tiles, and a batch of 80 is more than one part.
#[test]
fn it_learns_what_rounds_learn_and_threads_change_nothing() {
    let x = documents(5000, 160, 30);
    let start = x.range(0..12).to_dense();
    let task = TaskSpec::nmf(0.01, 1e-3);
    let learn = |threads: usize, x: &Samples| {
        let mut learned = mesh(task.clone(), 80, threads, &start);
        assert_eq!(learned.learn(x, go_on).unwrap(), Stop::Converged);
        learned.dictionary()
    };
    let once = learn(1, &x);
    let mut rounds = mesh(task.clone(), 80, 1, &start);
    rounds.set_accels(Accels::none());
    rounds.learn(&x, go_on).unwrap();
    assert!(distance(&once, &rounds.dictionary()) < 1e-9);
    assert!(distance(&once, &learn(1, &Samples::dense(x.to_dense()).unwrap())) < 1e-10);
    assert!(distance(&once, &start) > 0.1);
    assert!(once == learn(2, &x), "two threads");
    assert!(once == learn(3, &x), "three threads");
}

/// Atoms that do not fire stay bit-identical, and W'W is right whether few or all atoms moved.
#[test]
fn the_gram_matrix_is_that_of_the_atoms() {
    let (rows, atoms) = (40, 16);
    let start = gaussian(rows, atoms, &mut stream(3, 5));
    let mut learned = mesh(TaskSpec::sparse_svd(0.4, DELTA), 32, 1, &start);
    for few in [1, 3, 7, 8, 16, 2] {
        // Each sample is nearly one of the first few atoms, so that no other fires.
        let before = learned.dictionary();
        let noise = gaussian(rows, 32, &mut stream(few as u64, 5));
        let x = Matrix::from_fn(rows, 32, |i, j| {
            before.get(i, j % few) + 0.02 * noise.get(i, j)
        });
        learned.learn(&Samples::dense(x).unwrap(), go_on).unwrap();
        let after = learned.dictionary();
        let bits = |w: &[f64]| w.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        for q in 0..atoms {
            let moved = bits(before.column(q)) != bits(after.column(q));
            assert_eq!(moved, q < few, "atom {q} of {few}");
        }
        let gram = learned.block(0).gram().unwrap();
        for (p, q) in (0..atoms).flat_map(|p| (0..atoms).map(move |q| (p, q))) {
            let expected: f64 = (0..rows).map(|i| after.get(i, p) * after.get(i, q)).sum();
            assert!(
                (gram.get(p, q) - expected).abs() < 1e-12,
                "{few}: {p} {q}: {} is not {expected}",
                gram.get(p, q)
            );
        }
    }
}

#[test]
fn interrupted_it_leaves_no_trace() {
    let x = documents(200, 64, 10);
    let start = x.range(0..20).to_dense();
    let mut learned = mesh(TaskSpec::nmf(0.01, 1e-3), 32, 1, &start);
    let before = (learned.dictionary(), learned.atom_stats(0).clone());
    learned.interrupt_by(Arc::new(AtomicBool::new(true)));
    assert_eq!(learned.learn(&x, go_on).unwrap(), Stop::Interrupted);
    assert!(before == (learned.dictionary(), learned.atom_stats(0).clone()));
}

/// The number of threads has no effect where samples are solved in lanes and divided into parts: in
/// batches taken in order, and in one that is halved first.
#[test]
fn learning_in_lanes_does_not_depend_on_threads() {
    let x = Samples::dense(gaussian(20, 5000, &mut stream(1, 0))).unwrap();
    let x = x.normalised(Norm::L2);
    let start = gaussian(20, 40, &mut stream(2, 0));
    for batch in [300, 5000] {
        let learn = |threads: usize| {
            let mut mesh = mesh(TaskSpec::sparse_svd(GAMMA, DELTA), batch, threads, &start);
            let mut events: Vec<Event> = Vec::new();
            let stop = mesh.learn(&x, |event| {
                events.push(*event);
                ControlFlow::Continue(())
            });
            assert_eq!(stop.unwrap(), Stop::Converged);
            let exact = mesh.exact(&x).unwrap();
            let codes = mesh.exact_codes(&x).unwrap();
            assert_eq!(codes.to_dense(), exact.codes);
            (mesh.dictionary(), events, exact.codes, exact.duals)
        };
        let alone = learn(1);
        assert!(alone == learn(2) && alone == learn(3), "batches of {batch}");
    }
}
