//! Where atoms come from: in the set, distinct, seeded.

use super::{noise, sets};
use dictmesh::problem::atoms::{AtomSet, UnitBall};
use dictmesh::problem::{LocalSpec, Task, TaskSpec};
use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Spec, Topology};

const M: usize = 7;

fn draw(start: AtomInit<'_>, count: usize, set: &dyn AtomSet, seed: u64) -> Matrix {
    start.draw(M, count, set, &mut stream(seed, 3)).unwrap()
}

/// No two columns are equal, and none is zero.
fn assert_distinct(w: &Matrix, label: &str) {
    for (q, a) in w.columns().enumerate() {
        assert!(a.iter().any(|v| *v != 0.0), "{label}: atom {q} is zero");
        for (p, b) in w.columns().enumerate().take(q) {
            assert_ne!(a, b, "{label}: atoms {p} and {q}");
        }
    }
}

#[test]
fn starts_are_in_the_set_distinct_and_seeded() {
    let x = noise(M, 12, 1);
    for set in sets() {
        for start in [AtomInit::Random, AtomInit::Samples(&x)] {
            let label = format!("{set:?} {start:?}");
            let w = draw(start, 10, set, 5);
            assert!(w.columns().all(|w| set.contains(w, 1e-12)), "{label}");
            assert_distinct(&w, &label);
            assert_eq!(w, draw(start, 10, set, 5), "{label}: the same seed");
            assert_ne!(w, draw(start, 10, set, 6), "{label}: another seed");
        }
        let given = gaussian(M, 10, &mut stream(2, 2));
        let w = draw(AtomInit::Given(&given), 10, set, 5);
        assert_eq!(
            w,
            draw(AtomInit::Given(&given), 10, set, 6),
            "no seed in it"
        );
        for (w, given) in w.columns().zip(given.columns()) {
            let mut expected = given.to_vec();
            set.project(&mut expected);
            assert_eq!(w, expected);
        }
    }
}

/// Each atom is a sample scaled to norm 1 (its positive part, in a non-negative set), and no sample
/// is taken twice even if all are needed. Dense and sparse samples start the same atoms.
#[test]
fn samples_start_atoms_without_repetition() {
    let x = noise(M, 10, 2);
    for set in sets() {
        let w = draw(AtomInit::Samples(&x), 10, set, 1);
        let mut taken = vec![false; 10];
        for w in w.columns() {
            let from = (0..10).find(|j| {
                let mut sample = x.to_dense().column(*j).to_vec();
                set.normalise(&mut sample);
                sample.iter().zip(w).all(|(a, b)| (a - b).abs() < 1e-12)
            });
            taken[from.expect("every atom is a sample")] = true;
        }
        assert_eq!(taken, [true; 10], "{set:?}");
        assert_eq!(w, draw(AtomInit::Samples(&sparse(&x)), 10, set, 1));
    }
}

fn sparse(x: &Samples) -> Samples {
    let (mut start, mut row, mut value) = (vec![0], vec![], vec![]);
    for j in 0..x.len() {
        for (i, v) in x.entries(j).filter(|(_, v)| *v != 0.0) {
            row.push(i);
            value.push(v);
        }
        start.push(row.len());
    }
    Samples::sparse(x.rows(), start, row, value).unwrap()
}

/// Too few samples that can start an atom: the rest are random, none is zero.
#[test]
fn too_few_samples_are_made_up_for() {
    let mut x = Matrix::zeros(M, 4);
    x.column_mut(1)[2] = 5.0;
    x.column_mut(3)[0] = -2.0; // nothing of it is left in a non-negative set
    let x = Samples::dense(x).unwrap();
    for set in sets() {
        let w = draw(AtomInit::Samples(&x), 6, set, 1);
        assert_distinct(&w, &format!("{set:?}"));
        let corners = w
            .columns()
            .filter(|w| w.iter().filter(|v| **v != 0.0).count() == 1)
            .count();
        assert_eq!(
            corners,
            if set.is_non_negative() { 1 } else { 2 },
            "{set:?}"
        );
    }
    let none = Samples::dense(Matrix::zeros(M, 0)).unwrap();
    assert_distinct(&draw(AtomInit::Samples(&none), 3, &UnitBall, 1), "none");
}

/// In a mesh no sample starts atoms of two agents, and each agent's atoms are in its own set.
#[test]
fn a_mesh_deals_distinct_atoms() {
    let x = noise(M, 8, 3);
    let mut spec = TaskSpec::sparse_svd(0.1, 0.1);
    let own = LocalSpec {
        set: Spec::new("unit-l1-ball"),
        ..spec.common.clone()
    };
    spec.own.insert(1, own);
    for start in [AtomInit::Random, AtomInit::Samples(&x)] {
        let mesh = |seed| {
            Mesh::builder(spec.build().unwrap(), Topology::ring(3).unwrap())
                .seed(seed)
                .build(M, &[3, 3, 2], start)
                .unwrap()
        };
        let (a, b, other) = (mesh(1), mesh(1), mesh(2));
        assert_distinct(&a.dictionary(), "mesh");
        super::assert_atoms_in_their_sets(&a, "mesh");
        assert_eq!(a.dictionary(), b.dictionary());
        assert_ne!(a.dictionary(), other.dictionary());
    }
}

/// Given atoms are dealt out in order, and a later draw does not repeat an earlier one.
#[test]
fn given_atoms_are_dealt_in_order() {
    let mut w = gaussian(M, 5, &mut stream(1, 0));
    (0..5).for_each(|q| UnitBall.normalise(w.column_mut(q)));
    let mut mesh = Mesh::builder(
        Task::sparse_svd(0.1, 0.1).unwrap(),
        Topology::ring(3).unwrap(),
    )
    .build(M, &[2, 0, 3], AtomInit::Given(&w))
    .unwrap();
    let mut expected = w.clone();
    (0..5).for_each(|q| UnitBall.project(expected.column_mut(q)));
    assert_eq!(mesh.dictionary(), expected);
    assert_eq!(mesh.block(1).len(), 0);
    mesh.add_atoms(1, 2, AtomInit::Random).unwrap();
    mesh.add_atoms(1, 2, AtomInit::Random).unwrap();
    assert_distinct(mesh.block(1).atoms(), "two draws in a row");
}
