//! Weights of samples: a weight of 2 is the sample given twice, 0 is leaving it out.

use super::{distance, go_on, noise};
use dictmesh::problem::atoms::AtomPenalty;
use dictmesh::problem::TaskSpec;
use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Mesh, Samples, Stopping, Topology, Update};
use std::ops::ControlFlow;

const M: usize = 7;
/// Samples 0 to 5 by these weights.
const WEIGHTS: [f64; 6] = [1.0, 2.0, 0.0, 1.0, 3.0, 0.0];
/// The same, spelt out.
const REPEATED: [usize; 7] = [0, 1, 1, 3, 4, 4, 4];

fn sparse(x: &Samples) -> Samples {
    let all = x.to_dense();
    let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
    for column in all.columns() {
        for (i, v) in column.iter().enumerate().filter(|(i, _)| i % 2 == 0) {
            row.push(i);
            value.push(*v);
        }
        start.push(row.len());
    }
    Samples::sparse(x.rows(), start, row, value).unwrap()
}

/// One agent, dense and sparse; three agents, with and without reduction, Huber and squared
/// residuals.
#[test]
fn a_weight_of_two_is_the_sample_twice() {
    let dense = noise(M, WEIGHTS.len(), 3);
    let sparse = sparse(&dense);
    let mut penalised = TaskSpec::sparse_svd(0.1, 0.1);
    penalised.common.penalty = AtomPenalty::L1 { beta: 0.01 };
    let tasks = [
        TaskSpec::sparse_svd(0.1, 0.1),
        penalised,
        TaskSpec::nmf_huber(0.1, 0.1, 0.2),
    ];
    let updates = [
        Update::Constant { mu_w: 0.3 },
        Update::Adaptive { forgetting: 0.9 },
    ];
    let start = gaussian(M, 6, &mut stream(4, 0));
    for (x, task) in [&dense, &sparse]
        .into_iter()
        .flat_map(|x| tasks.iter().map(move |t| (x, t)))
    {
        for (sizes, reduction) in [(&[6][..], true), (&[2, 3, 1], true), (&[2, 3, 1], false)] {
            for update in updates {
                let label = format!("{task:?} {sizes:?} {reduction} {update:?}");
                let learned = |x: &Samples| {
                    let graph = Topology::complete(sizes.len()).unwrap();
                    let mut mesh = Mesh::builder(task.build().unwrap(), graph)
                        .stopping(Stopping::tolerance(1e-11))
                        .accels(match reduction {
                            true => dictmesh::accel::Accels::all(),
                            false => dictmesh::accel::Accels::none(),
                        })
                        .update(update)
                        .batch(x.len())
                        .build(M, sizes, AtomInit::Given(&start))
                        .unwrap();
                    let (mut cost, mut sparsity) = (0.0, 0.0);
                    for _ in 0..2 {
                        mesh.learn(x, |event| {
                            (cost, sparsity) = (event.cost, event.sparsity);
                            ControlFlow::Continue(())
                        })
                        .unwrap();
                    }
                    let energy: Vec<f64> = (0..mesh.agents())
                        .flat_map(|k| mesh.atom_stats(k).energy.clone())
                        .collect();
                    (mesh.dictionary(), energy, cost, sparsity)
                };
                let weighted = learned(&x.clone().weighted(WEIGHTS.to_vec()).unwrap());
                let twice = learned(&x.select(&REPEATED));
                let off = distance(&weighted.0, &twice.0);
                assert!(off < 1e-7, "{label}: atoms {off}");
                for (a, b) in weighted.1.iter().zip(&twice.1) {
                    assert!((a - b).abs() < 1e-7 * (1.0 + b), "{label}: energy {a} {b}");
                }
                assert!((weighted.2 - twice.2).abs() < 1e-7, "{label}: cost");
                assert!((weighted.3 - twice.3).abs() < 1e-9, "{label}: sparsity");
                let plain = learned(x);
                assert!(distance(&weighted.0, &plain.0) > 1e-4, "{label}: no effect");
            }
        }
    }
}

/// A batch of weight 0 is not there, and neither are its samples when atoms start.
#[test]
fn a_batch_of_weight_zero_changes_no_atom() {
    let x = noise(M, 4, 5).weighted(vec![0.0; 4]).unwrap();
    let mesh = |start| {
        Mesh::builder(
            TaskSpec::sparse_svd(0.1, 0.1).build().unwrap(),
            Topology::ring(2).unwrap(),
        )
        .batch(4)
        .seed(3)
        .build(M, &[2, 1], start)
        .unwrap()
    };
    let mut learner = mesh(AtomInit::Samples(&x));
    assert_eq!(learner.dictionary(), mesh(AtomInit::Random).dictionary());
    let (before, used) = (learner.dictionary(), learner.atom_stats(0).clone());
    learner
        .learn(&x, |event| {
            assert_eq!(
                (event.movement, event.cost, event.sparsity),
                (0.0, 0.0, 0.0)
            );
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(learner.dictionary(), before);
    assert_eq!(learner.atom_stats(0), &used);
}

/// Codes and the cost of each sample do not depend on weights; the mean cost does.
#[test]
fn weights_change_no_code() {
    let x = noise(M, WEIGHTS.len(), 6);
    let weighted = x.clone().weighted(WEIGHTS.to_vec()).unwrap();
    let mut mesh = Mesh::builder(
        TaskSpec::sparse_svd(0.1, 0.1).build().unwrap(),
        Topology::ring(3).unwrap(),
    )
    .build(M, &[2, 2, 2], AtomInit::Samples(&x))
    .unwrap();
    mesh.learn(&x, go_on).unwrap();
    let (plain, found) = (mesh.infer(&x).unwrap(), mesh.infer(&weighted).unwrap());
    assert_eq!((&plain.codes, &plain.costs), (&found.codes, &found.costs));
    let by_hand: f64 = plain
        .costs
        .iter()
        .zip(WEIGHTS)
        .map(|(c, w)| c * w / 7.0)
        .sum();
    assert!((found.mean_cost() - by_hand).abs() < 1e-12);
    assert!(plain.mean_cost() != found.mean_cost());
    // Weights of 1 are none.
    let ones = x.clone().weighted(vec![1.0; WEIGHTS.len()]).unwrap();
    assert_eq!(ones, x);
}
