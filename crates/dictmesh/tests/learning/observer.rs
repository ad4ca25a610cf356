//! Events of learning.

use super::{distance, go_on, noise};
use dictmesh::mesh::Event;
use dictmesh::problem::Task;
use dictmesh::{AtomInit, Mesh, Stop, Stopping, Topology};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

const M: usize = 8;

fn mesh() -> Mesh {
    Mesh::builder(
        Task::sparse_svd(0.1, 0.1).unwrap(),
        Topology::ring(4).unwrap(),
    )
    .batch(4)
    .build(M, &[3, 2, 0, 4], AtomInit::Random)
    .unwrap()
}

fn events_of(mesh: &mut Mesh, samples: usize, stop_after: usize) -> Vec<Event> {
    let mut events = Vec::new();
    mesh.learn(&noise(M, samples, 1), |event| {
        events.push(*event);
        if events.len() == stop_after {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
    .unwrap();
    events
}

#[test]
fn events_add_up() {
    let mut mesh = mesh();
    let events = events_of(&mut mesh, 10, usize::MAX);
    let sizes: Vec<usize> = events.iter().map(|e| e.batch).collect();
    assert_eq!(sizes, [4, 4, 2]);
    let counts: Vec<u64> = events.iter().map(|e| e.samples).collect();
    assert_eq!(counts, [4, 8, 10]);
    for event in &events {
        assert_eq!(event.stop, Stop::Converged);
        assert!(event.rounds > 0 && event.movement > 0.0 && event.cost > 0.0);
        assert!(event.sparsity > 0.0 && event.sparsity <= 9.0);
        // Each round crosses the 8 directed edges of the ring with 8 bytes a number; what is above
        // that is the flooding of the stopping rule.
        let arrays = (event.rounds * 8 * 8 * M * event.batch) as u64;
        assert!(
            event.bytes >= arrays && event.bytes < 2 * arrays,
            "{event:?}"
        );
    }
    // The count continues over blocks.
    assert_eq!(events_of(&mut mesh, 3, usize::MAX)[0].samples, 13);
    assert_eq!(mesh.blocks_learned(), 2);
}

/// The cost is the one before the update, and the movement the one of the whole dictionary.
#[test]
fn an_event_reports_its_own_batch() {
    let mut mesh = mesh();
    let x = noise(M, 4, 1);
    let (before, expected) = (mesh.dictionary(), mesh.infer(&x).unwrap());
    let events = events_of(&mut mesh, 4, usize::MAX);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].cost, expected.mean_cost());
    assert_eq!(events[0].sparsity, expected.mean_sparsity());
    assert_eq!(
        (events[0].rounds, events[0].bytes),
        (expected.rounds, expected.bytes)
    );
    let moved = distance(&before, &mesh.dictionary());
    assert!((events[0].movement - moved).abs() < 1e-12);
    let counted: u64 = (0..4).flat_map(|k| &mesh.atom_stats(k).samples).sum();
    assert_eq!(counted as f64, 4.0 * expected.mean_sparsity());
}

/// A break ends the block after the reported batch; what was learned stays.
#[test]
fn a_break_ends_the_block() {
    let (mut broken, mut short) = (mesh(), mesh());
    assert_eq!(events_of(&mut broken, 12, 2).len(), 2);
    short.learn(&noise(M, 12, 1).range(0..8), go_on).unwrap();
    assert_eq!(broken.dictionary(), short.dictionary());
    assert_eq!(broken.blocks_learned(), 1);
    assert_eq!(events_of(&mut broken, 4, usize::MAX)[0].samples, 12);
}

/// A batch that reaches the round limit is reported and learned; a diverged batch is reported and
/// not learned.
#[test]
fn events_report_the_stop() {
    let x = noise(M, 8, 1);
    let mut limited = mesh();
    limited.set_stopping(Stopping::rounds(3)).unwrap();
    let mut stops = Vec::new();
    let worst = limited
        .learn(&x, |event| {
            stops.push((event.rounds, event.stop));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(stops, [(3, Stop::RoundLimit); 2]);
    assert_eq!(worst, Stop::RoundLimit);

    let mut diverging = mesh();
    let strategy = std::sync::Arc::new(dictmesh::strategy::Diffusion { mu: Some(50.0) });
    diverging.set_strategy(strategy).unwrap();
    assert!(
        !diverging.warnings().is_empty(),
        "such a step gives a warning"
    );
    let before = diverging.dictionary();
    let mut count = 0;
    let end = diverging.learn(&x, |_| {
        count += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(end.unwrap(), Stop::Diverged);
    assert_eq!(
        (count, diverging.dictionary() == before),
        (1, true),
        "it is reported, not learned, and ends the block"
    );
}

/// A flag that is set in mid-stream ends the next batch early, and the mesh stays as it was before
/// that batch. After the flag is cleared, learning continues with bit-identical results. Without
/// the flag, these rounds would never end.
#[test]
fn an_interrupted_batch_leaves_no_trace() {
    let task = || Task::sparse_svd(0.1, 0.1).unwrap();
    let alone = || Mesh::builder(task(), Topology::complete(1).unwrap()).batch(4);
    let ring = || Mesh::builder(task(), Topology::ring(3).unwrap()).batch(4);
    for (build, sizes) in [(&alone as &dyn Fn() -> _, &[20][..]), (&ring, &[2, 2, 2])] {
        let start = || build().build(M, sizes, AtomInit::Random).unwrap();
        let x = noise(M, 12, 1);
        let (mut whole, mut cut) = (start(), start());
        let flag = Arc::new(AtomicBool::new(false));
        cut.interrupt_by(Arc::clone(&flag));
        let mut count = 0;
        let stop = cut.learn(&x, |_| {
            count += 1;
            flag.store(true, Ordering::SeqCst);
            ControlFlow::Continue(())
        });
        assert_eq!((stop.unwrap(), count), (Stop::Interrupted, 1));
        assert_eq!(cut.progress().samples_learned, 4);
        let mut first = start();
        first.learn(&x.range(0..4), go_on).unwrap();
        assert_eq!(cut.dictionary(), first.dictionary());
        // Nothing is learned while it is set, and scoring reports `Interrupted` as well.
        assert_eq!(cut.learn(&x, go_on).unwrap(), Stop::Interrupted);
        assert_eq!(cut.progress(), first.progress());
        assert_eq!(cut.score(&x).unwrap().1, Stop::Interrupted);
        flag.store(false, Ordering::SeqCst);
        cut.reopen_block();
        cut.learn(&x.range(4..12), go_on).unwrap();
        whole.learn(&x, go_on).unwrap();
        assert_eq!(cut.dictionary(), whole.dictionary());
        assert_eq!(cut.progress(), whole.progress());
    }
    // An unlimited number of rounds.
    let mut endless = ring()
        .stopping(Stopping::rounds(usize::MAX))
        .build(M, &[2, 2, 2], AtomInit::Random)
        .unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    endless.interrupt_by(Arc::clone(&flag));
    std::thread::scope(|scope| {
        let learning = scope.spawn(|| endless.learn(&noise(M, 4, 1), go_on));
        std::thread::sleep(std::time::Duration::from_millis(20));
        flag.store(true, Ordering::SeqCst);
        assert_eq!(learning.join().unwrap().unwrap(), Stop::Interrupted);
    });
}
