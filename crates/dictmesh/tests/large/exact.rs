//! `exact` without the joint Gram matrix.

use super::*;
use dictmesh::Stop;

/// The joint W'W of 200 agents with 500 atoms has 80 GB. It was allocated without a check, and the
/// process aborted.
#[test]
fn a_joint_gram_matrix_of_80_gb_is_not_needed() {
    let _alone = alone();
    let task = task(Spec::new("squared-l2"), elastic_net(0.2, 0.1));
    let mesh = mesh(&task, Topology::ring(200).unwrap(), 8, &[500; 200]);
    let exact = mesh.exact(&samples(8, 2)).unwrap();
    assert_eq!(exact.stop(), Stop::Converged);
    assert!(exact.relative_gap() <= 1e-10, "{:e}", exact.relative_gap());
}

/// More atoms than a stored Gram matrix may have, for every residual: the certificate is the proof.
#[test]
fn twenty_thousand_atoms_are_certified() {
    let _alone = alone();
    let (rows, sizes) = (64, [5_000, 0, 9_999, 5_001]);
    for (residual, tolerance) in [
        (Spec::new("squared-l2"), 1e-10),
        (Spec::new("huber").with("eta", 0.05), 1e-10),
        (Spec::new("l1"), 1e-10),
        (Spec::new("ball").with("sigma", 0.3), 1e-10),
        (Spec::new("equality"), 1e-10),
    ] {
        let task = task(residual.clone(), elastic_net(0.1, 0.1));
        let mesh = mesh(&task, Topology::path(4).unwrap(), rows, &sizes);
        let x = samples(rows, 3);
        let exact = mesh.exact(&x).unwrap();
        assert_eq!(exact.stop(), Stop::Converged, "{residual:?}");
        let gap = exact.relative_gap();
        assert!(gap <= tolerance, "{residual:?}: {gap:e}");
        assert_eq!(mesh.exact_codes(&x).unwrap().to_dense(), exact.codes);
        let (duals, _) = mesh.exact_duals(&x).unwrap();
        let apart = dictmesh_kernels::matrix::distance(duals.as_slice(), exact.duals.as_slice());
        assert!(apart < 1e-7, "{residual:?}: {apart:e}");
    }
}

/// A regularizer that is not separable has no working sets. It is solved by proximal gradient
/// steps, over one block and over separate blocks.
#[test]
fn groups_of_atoms_are_certified() {
    let _alone = alone();
    let (rows, groups) = (8, Spec::new("group-elastic-net").with("group", 5));
    let groups = groups.with("gamma", 0.2).with("delta", 0.3);
    for sizes in [&[4_500][..], &[2_000, 0, 2_500]] {
        let task = task(Spec::new("squared-l2"), groups.clone());
        let mesh = mesh(&task, Topology::complete(sizes.len()).unwrap(), rows, sizes);
        assert!(!dictmesh::problem::block::stores_grams([4_500], rows));
        let exact = mesh.exact(&samples(rows, 2)).unwrap();
        assert_eq!(exact.stop(), Stop::Converged);
        assert!(exact.relative_gap() <= 1e-10, "{:e}", exact.relative_gap());
        let zero = exact.codes.as_slice().iter().filter(|y| **y == 0.0);
        assert!(zero.count() > 0);
    }
}
