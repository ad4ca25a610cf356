//! Atoms that no sample needs are found and started anew.

use super::growth::{assert_works, text};
use super::{go_on, noise};
use dictmesh::mesh::Event;
use dictmesh::problem::Task;
use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Mesh, Samples, Topology, Update};
use std::ops::ControlFlow;

const M: usize = 8;

#[test]
fn unused_atoms_are_found_and_restarted() {
    // An atom no sample ever needs: all samples live in the first rows, it in the last.
    let mut w = gaussian(M, 4, &mut stream(1, 0));
    for q in 0..3 {
        w.column_mut(q)[M - 1] = 0.0;
    }
    w.column_mut(3).fill(0.0);
    w.column_mut(3)[M - 1] = 1.0;
    let mut mesh = Mesh::builder(
        Task::sparse_svd(0.1, 0.1).unwrap(),
        Topology::path(2).unwrap(),
    )
    .build(M, &[2, 2], AtomInit::Given(&w))
    .unwrap();
    assert_eq!(
        mesh.unused_atoms(),
        [(0, 0), (0, 1), (1, 0), (1, 1)],
        "none has been used yet"
    );
    let mut x = noise(M, 20, 4).to_dense();
    for j in 0..20 {
        x.column_mut(j)[M - 1] = 0.0;
    }
    let x = Samples::dense(x).unwrap();
    mesh.learn(&x, go_on).unwrap();
    assert_eq!(mesh.unused_atoms(), [(1, 1)]);
    let kept = mesh.dictionary().columns_range(0..3);
    let unused = mesh.unused_atoms();
    mesh.restart_atoms(&unused, AtomInit::Samples(&x)).unwrap();
    assert_eq!(
        mesh.dictionary().columns_range(0..3),
        kept,
        "the others stay"
    );
    mesh.learn(&x, go_on).unwrap();
    assert_eq!(mesh.unused_atoms(), [], "it takes part now");
    mesh.restart_atoms(&[(0, 1)], AtomInit::Random).unwrap();
    assert_eq!(mesh.unused_atoms(), [(0, 1)]);
    assert_eq!(mesh.atom_stats(0).energy[1], 0.0);
    mesh.restart_atoms(&[], AtomInit::Random).unwrap();
    let before = mesh.dictionary();
    for (which, words) in [((0, 2), "agent 0 has 2 atoms"), ((2, 0), "agent = 2")] {
        let error = text(
            mesh.restart_atoms(&[(0, 0), which], AtomInit::Random)
                .unwrap_err(),
        );
        assert!(error.contains(words), "{error}");
    }
    assert_eq!(mesh.dictionary(), before, "refused as a whole");
    assert_works(&mut mesh, "restarted");
}

#[test]
fn a_block_that_was_broken_off_goes_on_under_its_number() {
    let x = noise(M, 20, 5);
    let fresh = || {
        let task = Task::sparse_svd(0.1, 0.1).unwrap();
        let mesh = Mesh::builder(task, Topology::path(2).unwrap());
        let mesh = mesh.update(Update::Schedule { mu_w: 0.5 }).batch(4);
        mesh.build(M, &[2, 2], AtomInit::Samples(&x)).unwrap()
    };
    let mut whole = fresh();
    whole.learn(&x, go_on).unwrap();
    let broken = |reopen: bool| {
        let mut mesh = fresh();
        let stop_at_8 = |event: &Event| match event.samples {
            8 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        mesh.learn(&x, stop_at_8).unwrap();
        if reopen {
            mesh.reopen_block();
        }
        mesh.learn(&x.range(8..20), go_on).unwrap();
        mesh
    };
    assert_eq!(broken(true).dictionary(), whole.dictionary());
    assert_eq!(broken(true).progress(), whole.progress());
    assert_ne!(broken(false).dictionary(), whole.dictionary());
}
