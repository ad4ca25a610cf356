//! Samples: sparse and dense alike, and their weights.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dictmesh::{Norm, Samples};

/// The squares of sparse entries overflowed or underflowed, those of dense ones did not.
#[test]
fn sparse_norms_equal_dense_ones_at_the_ends_of_the_range() {
    for entry in [0.0, 1e-310, 1e-200, 1.0, 1e200, 1e308] {
        let dense = Samples::dense_from_columns(4, &[[0.0, entry, 0.0, -entry]]).unwrap();
        let sparse = Samples::sparse(4, vec![0, 2], vec![1, 3], vec![entry, -entry]).unwrap();
        assert_eq!(sparse.norm(0), dense.norm(0), "{entry}");
        let expected = entry * 2.0_f64.sqrt();
        assert!(
            (sparse.norm(0) - expected).abs() <= 1e-15 * expected,
            "{entry}"
        );
    }
}

/// Weights stay with their samples.
#[test]
fn weights_follow_their_samples() {
    let plain = Samples::dense_from_columns(2, &[[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]).unwrap();
    let x = plain.clone().weighted(vec![0.5, 0.0, 2.0]).unwrap();
    assert_eq!(plain.weights(), None);
    assert_eq!(x.weights(), Some(&[0.5, 0.0, 2.0][..]));
    assert_eq!((x.weight(2), plain.weight(2)), (2.0, 1.0));
    assert_eq!(x.range(1..3).weights(), Some(&[0.0, 2.0][..]));
    assert_eq!(x.select(&[2, 0]).weights(), Some(&[2.0, 0.5][..]));
    assert_eq!(x.select_rows(&[1]).weights(), x.weights());
    assert_eq!(x.normalised(Norm::L2).weights(), x.weights());
    let joined = Samples::joined(&[plain.range(0..1), x.range(2..3)]).unwrap();
    assert_eq!(joined.weights(), Some(&[1.0, 2.0][..]));
    assert_eq!(
        Samples::joined(&[plain.clone(), plain.clone()])
            .unwrap()
            .weights(),
        None
    );
    assert!(x != plain, "weights count in comparisons");
}

#[test]
fn bad_weights_are_refused() {
    let x = Samples::dense_from_columns(2, &[[1.0, 0.0], [0.0, 2.0]]).unwrap();
    for bad in [
        vec![1.0],
        vec![1.0; 3],
        vec![1.0, -0.5],
        vec![f64::NAN, 1.0],
        vec![f64::INFINITY, 1.0],
    ] {
        let message = x.clone().weighted(bad).unwrap_err().to_string();
        assert!(message.contains("weight"), "{message}");
    }
}
