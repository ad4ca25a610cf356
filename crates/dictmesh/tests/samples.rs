//! Samples: sparse and dense alike, and their weights.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dictmesh::Samples;

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
