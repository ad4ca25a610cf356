//! Meshes whose Gram matrices together exceed the budget code and learn as those that store them.

use super::*;
use dictmesh::problem::atoms::AtomPenalty;
use dictmesh::problem::block::{stores_grams, GRAM_BYTES};
use dictmesh::{Model, Stop, Stopping};
use dictmesh_kernels::matrix::distance;
use std::ops::ControlFlow;

/// Sizes just above the budget: no agent alone has too many atoms.
const ROWS: usize = 8;
const SIZES: [usize; 5] = [2_100, 1_700, 2_000, 2_100, 1_200];

fn large(task: &TaskSpec) -> Mesh {
    Mesh::builder(task.build().unwrap(), Topology::ring(5).unwrap())
        .stopping(Stopping::tolerance(1e-8))
        .batch(2)
        .seed(3)
        .build(ROWS, &SIZES, AtomInit::Random)
        .unwrap()
}

#[test]
fn the_budget_is_for_all_agents_together() {
    let _alone = alone();
    assert!(!stores_grams(SIZES, ROWS));
    assert!(SIZES.into_iter().all(|n| stores_grams([n], ROWS)));
    assert!(stores_grams([512; 64], 512) && !stores_grams([513; 64], 512));
    assert!(stores_grams([4_096], 1) && !stores_grams([4_097], 1));
    assert_eq!(GRAM_BYTES, 4_096 * 4_096 * 8);
    // A Gram matrix that is small beside its atoms is stored.
    assert!(stores_grams([8_000], 64_000) && !stores_grams([8_000], 63_000));
    let sparse_svd = TaskSpec::sparse_svd(0.1, 0.1);
    let mut mesh = large(&sparse_svd);
    assert!((0..5).all(|k| mesh.block(k).gram().is_none()));
    mesh.remove_agent(0).unwrap();
    assert!((0..4).all(|k| mesh.block(k).gram().is_some()));
    mesh.add_atoms(0, 1_000, AtomInit::Random).unwrap();
    assert!((0..4).all(|k| mesh.block(k).gram().is_none()));
}

/// The mesh finds what `exact` certifies, for a residual of each kind.
#[test]
fn inference_without_gram_matrices_lands_at_the_solution() {
    let _alone = alone();
    for residual in [Spec::new("squared-l2"), Spec::new("huber").with("eta", 0.2)] {
        let mesh = large(&task(residual, elastic_net(0.3, 0.1)));
        let x = samples(ROWS, 3);
        let found = mesh.infer(&x).unwrap();
        assert_eq!(found.stop, Stop::Converged);
        let exact = mesh.exact(&x).unwrap();
        assert!(exact.relative_gap() <= 1e-10);
        let (codes, known) = (found.stacked_codes(), exact.codes);
        let apart = distance(codes.as_slice(), known.as_slice());
        assert!(apart < 1e-4, "{apart:e}");
    }
}

/// A penalty moves atoms that did not fire, too. They are changed in place.
#[test]
fn learning_goes_on_from_a_file_bit_for_bit() {
    let _alone = alone();
    for penalty in [AtomPenalty::None, AtomPenalty::L1 { beta: 1e-3 }] {
        let mut spec = TaskSpec::sparse_svd(0.3, 0.1);
        spec.common.penalty = penalty;
        let go_on = |_: &_| ControlFlow::Continue(());
        let x = samples(ROWS, 4);
        let mut through = large(&spec);
        let start = through.dictionary();
        through.learn(&x.range(0..2), go_on).unwrap();
        let bytes = through.to_model().to_bytes().unwrap();
        through.learn(&x.range(2..4), go_on).unwrap();
        let mut restored = Mesh::from_model(&Model::from_bytes(&bytes).unwrap()).unwrap();
        restored.learn(&x.range(2..4), go_on).unwrap();
        assert!(restored.dictionary() == through.dictionary());
        assert!(through.dictionary() != start);
    }
}

/// A sample of weight 0 equals leaving it out: for one agent, whose product has columns only for
/// atoms that fired, and for several.
#[test]
fn samples_of_weight_zero_are_left_out() {
    let _alone = alone();
    for (rows, sizes) in [(256, &[4_200][..]), (ROWS, &SIZES)] {
        for penalty in [AtomPenalty::None, AtomPenalty::L1 { beta: 1e-3 }] {
            let mut spec = TaskSpec::sparse_svd(0.15, 0.1);
            spec.common.penalty = penalty;
            let x = samples(rows, 3);
            let learned = |x: &Samples| {
                let graph = Topology::complete(sizes.len()).unwrap();
                let mut mesh = Mesh::builder(spec.build().unwrap(), graph)
                    .stopping(Stopping::tolerance(1e-9))
                    .batch(3)
                    .seed(3)
                    .build(rows, sizes, AtomInit::Random)
                    .unwrap();
                assert!(mesh.block(0).gram().is_none());
                let start = mesh.dictionary();
                let stop = mesh.learn(x, |_| ControlFlow::Continue(())).unwrap();
                assert_eq!(stop, Stop::Converged);
                let moved = distance(mesh.dictionary().as_slice(), start.as_slice());
                assert!(moved > 1e-3, "{moved:e}");
                let used: Vec<_> = (0..sizes.len())
                    .map(|k| mesh.atom_stats(k).clone())
                    .collect();
                (mesh.dictionary(), used)
            };
            let (weighed, used) = learned(&x.clone().weighted(vec![1.0, 1.0, 0.0]).unwrap());
            let (alone, used_alone) = learned(&x.range(0..2));
            let apart = distance(weighed.as_slice(), alone.as_slice());
            assert!(apart < 1e-6, "{} agents: {apart:e}", sizes.len());
            for (used, alone) in used.iter().zip(&used_alone) {
                assert_eq!(used.samples, alone.samples);
            }
        }
    }
}
