//! The penalty of relaxed-admm follows the rounds of the batches, where it is not given.

use super::{distance, go_on};
use dictmesh::problem::Task;
use dictmesh::random::{gaussian, stream};
use dictmesh::strategy::relaxed_admm::default_rho;
use dictmesh::strategy::{PenaltyRule, RelaxedAdmm};
use dictmesh::{AtomInit, Matrix, Mesh, Model, Samples, Stopping, Topology};
use std::ops::ControlFlow;
use std::sync::Arc;

const M: usize = 20;
const BATCH: usize = 4;

/// Twice as many atoms as rows, for which the default rho is too large.
fn mesh(stopping: Stopping, warm: bool) -> Mesh {
    let task = Task::sparse_svd(0.05, 0.02).unwrap();
    Mesh::builder(task, Topology::ring(4).unwrap())
        .stopping(stopping)
        .batch(BATCH)
        .warm_start(warm)
        .build(M, &[10; 4], AtomInit::Random)
        .unwrap()
}

/// Samples of four atoms each.
fn samples(batches: usize) -> Samples {
    let w = gaussian(M, 40, &mut stream(3, 1));
    let y = gaussian(4, batches * BATCH, &mut stream(3, 2));
    let column = |i: usize, j: usize| w.get(i, (7 * j + 11) % 40);
    Samples::dense(Matrix::from_fn(M, batches * BATCH, |i, j| {
        let each = (0..4).map(|a| 0.2 * y.get(a, j) * column(i, 13 * a + j));
        each.sum()
    }))
    .unwrap()
}

fn rounds_of(mesh: &mut Mesh, x: &Samples) -> Vec<usize> {
    let mut rounds = Vec::new();
    mesh.learn(x, |event| {
        rounds.push(event.rounds);
        ControlFlow::Continue(())
    })
    .unwrap();
    rounds
}

/// A rho that is this multiple of the default one.
fn given(mesh: &Mesh, factor: f64, adapt: Option<bool>) -> Arc<RelaxedAdmm> {
    Arc::new(RelaxedAdmm {
        rho: Some(factor * default_rho(&mesh.shared_constants())),
        adapt,
        ..RelaxedAdmm::default()
    })
}

#[test]
fn a_rho_that_is_too_large_shrinks_and_a_given_one_stays() {
    let x = samples(60);
    let mut adapts = mesh(Stopping::tolerance(1e-3), false);
    let mut stays = adapts.clone();
    adapts
        .set_strategy(given(&adapts, 4.0, Some(true)))
        .unwrap();
    stays.set_strategy(given(&stays, 4.0, None)).unwrap();
    let last = |rounds: &[usize]| rounds[30..].iter().sum::<usize>() as f64;
    let (adapted, fixed) = (rounds_of(&mut adapts, &x), rounds_of(&mut stays, &x));
    assert_eq!(adapted[..4], fixed[..4]);
    assert!(last(&adapted) < 0.6 * last(&fixed), "{adapted:?} {fixed:?}");
    assert!(adapts.progress().penalty.scale() < 0.4);
    assert_eq!(stays.progress().penalty, PenaltyRule::default());
    // The tolerance bounds the difference of the codes.
    let apart = distance(&adapts.dictionary(), &stays.dictionary());
    assert!(apart < 0.05, "{apart}");
}

#[test]
fn a_resumed_model_continues_bit_identically() {
    let x = samples(45);
    let mut whole = mesh(Stopping::tolerance(1e-3), false);
    let mut first = whole.clone();
    whole.learn(&x, go_on).unwrap();
    first.learn(&x.range(0..22 * BATCH), go_on).unwrap();
    assert_ne!(first.progress().penalty, PenaltyRule::default());
    let bytes = first.to_model().to_bytes().unwrap();
    let mut again = Mesh::from_model(&Model::from_bytes(&bytes).unwrap()).unwrap();
    assert_eq!(again.progress(), first.progress());
    again.learn(&x.range(22 * BATCH..x.len()), go_on).unwrap();
    assert_eq!(again.dictionary(), whole.dictionary());
    assert_eq!(again.progress().penalty, whole.progress().penalty);
    let mut damaged = first.to_model();
    let text = serde_json::to_string(&damaged.description.progress).unwrap();
    let text = text.replace("\"side\":", "\"side\":1");
    damaged.description.progress = serde_json::from_str(&text).unwrap();
    assert!(damaged.check().unwrap_err().to_string().contains("penalty"));
}

/// A change of rho between warm-started batches does not move their limits.
#[test]
fn warm_starts_converge_to_the_same_codes() {
    let x = samples(40);
    let mut warm = mesh(Stopping::tolerance(1e-7), true);
    let mut cold = mesh(Stopping::tolerance(1e-7), false);
    cold.set_strategy(given(&cold, 1.0, None)).unwrap();
    warm.learn(&x, go_on).unwrap();
    cold.learn(&x, go_on).unwrap();
    assert_ne!(warm.progress().penalty.scale(), 1.0);
    let apart = distance(&warm.dictionary(), &cold.dictionary());
    assert!(apart < 1e-4, "{apart}");
}

#[test]
fn the_limit_of_rounds_and_fixed_rounds_do_not_move_it() {
    let x = samples(40);
    let mut fixed_rounds = mesh(Stopping::rounds(12), false);
    fixed_rounds.learn(&x, go_on).unwrap();
    assert_eq!(fixed_rounds.progress().penalty, PenaltyRule::default());
    let limited = Stopping {
        tolerance: Some(1e-3),
        rounds: 20,
    };
    let mut limited = mesh(limited, false);
    for from in (0..x.len()).step_by(BATCH) {
        limited.learn(&x.range(from..from + BATCH), go_on).unwrap();
        let scale = limited.progress().penalty.scale();
        assert!((0.7..1.5).contains(&scale), "{scale}");
    }
}
