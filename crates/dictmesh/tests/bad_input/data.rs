//! Samples and atoms that cannot be used.

use super::{builder, refused, samples, M};
use dictmesh::problem::Block;
use dictmesh::{AtomInit, Matrix, Samples};
use std::ops::ControlFlow;

const BAD: [f64; 3] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];

/// 6 x 4, with `value` at row 2 of column 3.
fn spoiled(value: f64) -> Matrix {
    let mut x = Matrix::zeros(M, 4);
    x.column_mut(3)[2] = value;
    x
}

#[test]
fn entries_that_are_not_finite_are_named() {
    for bad in BAD {
        let given = format!("{bad}");
        let words = ["row 2", "column 3", given.as_str(), "finite"];
        refused(Samples::dense(spoiled(bad)), &words);
        let columns: Vec<Vec<f64>> = spoiled(bad).columns().map(<[f64]>::to_vec).collect();
        refused(Samples::dense_from_columns(M, &columns), &words);
        let sparse = Samples::sparse(M, vec![0, 0, 1, 1, 3], vec![5, 1, 2], vec![1.0, 1.0, bad]);
        refused(sparse, &words);
        refused(Block::new(spoiled(bad)), &words);
        let start = builder().build(M, &[2, 1, 1], AtomInit::Given(&spoiled(bad)));
        refused(start, &words);
        let mut mesh = builder().build(M, &[1; 3], AtomInit::Random).unwrap();
        refused(mesh.add_atoms(0, 4, AtomInit::Given(&spoiled(bad))), &words);
        assert_eq!(mesh.atoms(), 3);
    }
    // The first bad entry is named, not the last.
    let mut x = spoiled(f64::NAN);
    x.column_mut(1)[5] = f64::INFINITY;
    refused(Samples::dense(x), &["row 5", "column 1", "inf"]);
}

#[test]
fn sparse_samples_that_are_not() {
    let sparse = |start: &[usize], row: &[usize], value: &[f64]| {
        Samples::sparse(4, start.to_vec(), row.to_vec(), value.to_vec())
    };
    refused(
        sparse(&[0, 2], &[0, 1], &[1.0]),
        &["values", "got 1", "expected 2"],
    );
    refused(
        sparse(&[0, 1], &[0, 1], &[1.0; 2]),
        &["start", "end with", "2"],
    );
    refused(
        sparse(&[1, 2], &[0, 1], &[1.0; 2]),
        &["start", "begin with 0"],
    );
    refused(sparse(&[], &[], &[]), &["start", "begin with 0"]);
    refused(
        sparse(&[0, 2, 1, 2], &[0, 1], &[1.0; 2]),
        &["start", "sample 1", "fall"],
    );
    refused(
        sparse(&[0, 5, 2], &[0, 1], &[1.0; 2]),
        &["start", "sample 0"],
    );
    refused(
        sparse(&[0, 2], &[1, 1], &[1.0; 2]),
        &["row = 1", "sample 0", "rise"],
    );
    refused(sparse(&[0, 2], &[1, 0], &[1.0; 2]), &["row = 0", "rise"]);
    refused(sparse(&[0, 1], &[4], &[1.0]), &["row = 4", "below 4"]);
    refused(
        Samples::sparse(0, vec![0], vec![], vec![]),
        &["empty", "at least one row"],
    );
}

#[test]
fn nothing_to_work_on() {
    refused(
        Samples::dense(Matrix::zeros(0, 3)),
        &["empty", "at least one row"],
    );
    refused(
        builder().build(0, &[1; 3], AtomInit::Random),
        &["empty", "at least one row"],
    );
    let mut mesh = builder().build(M, &[1; 3], AtomInit::Random).unwrap();
    let none = Samples::dense(Matrix::zeros(M, 0)).unwrap();
    refused(
        mesh.learn(&none, |_| ControlFlow::Continue(())),
        &["empty", "at least one sample"],
    );
    assert_eq!(mesh.blocks_learned(), 0);
    refused(mesh.infer(&none), &["empty", "at least one sample"]);
    refused(mesh.exact(&none), &["empty", "at least one sample"]);
}

#[test]
fn dimensions_that_do_not_agree() {
    let mut mesh = builder().build(M, &[1; 3], AtomInit::Random).unwrap();
    let tall = Samples::dense(Matrix::zeros(M + 1, 2)).unwrap();
    let words = ["rows", "got 7", "expected 6"];
    refused(mesh.infer(&tall), &words);
    refused(mesh.run(&tall), &words);
    refused(mesh.exact(&tall), &words);
    refused(mesh.learn(&tall, |_| ControlFlow::Continue(())), &words);
    refused(mesh.add_atoms(0, 1, AtomInit::Samples(&tall)), &words);
    refused(
        builder().build(M, &[1; 3], AtomInit::Samples(&tall)),
        &words,
    );

    let sizes = ["one per agent", "got 2", "expected 3"];
    refused(builder().build(M, &[1; 2], AtomInit::Random), &sizes);
    let atoms = Matrix::zeros(M, 5);
    let count = ["given atoms", "got 5", "expected 3"];
    refused(builder().build(M, &[1; 3], AtomInit::Given(&atoms)), &count);
    let short = Matrix::zeros(M - 1, 3);
    let rows = ["given atoms", "got 5", "expected 6"];
    refused(builder().build(M, &[1; 3], AtomInit::Given(&short)), &rows);

    refused(
        Matrix::from_vec(2, 3, vec![0.0; 5]).map_err(Into::into),
        &["2 x 3", "got 5", "expected 6"],
    );
    let columns = [vec![0.0; 3], vec![0.0; 2]];
    refused(
        Matrix::from_columns(3, &columns).map_err(Into::into),
        &["column 1", "got 2", "expected 3"],
    );
    refused(
        Samples::dense_from_columns(3, &columns),
        &["column 1", "got 2"],
    );
    refused(
        Matrix::zeros(2, 1)
            .append_columns(&Matrix::zeros(3, 1))
            .map_err(Into::into),
        &["rows", "got 3", "expected 2"],
    );
    assert_eq!(
        mesh.infer(&samples(1)).unwrap().costs.len(),
        1,
        "still at work"
    );
}
