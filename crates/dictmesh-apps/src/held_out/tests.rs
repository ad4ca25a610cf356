use super::*;
use dictmesh::graph::Topology;
use dictmesh::mesh::AtomInit;
use dictmesh::problem::atoms::{AtomSet, UnitBall};
use dictmesh::problem::regularizer::{ElasticNet, GroupElasticNet, Groups, WeightedElasticNet};
use dictmesh::problem::residual::SquaredL2;
use dictmesh::problem::{Regularizer, Task};
use dictmesh::random::gaussian;
use rand::RngExt;
use std::sync::Arc;

const ROWS: usize = 40;
const ATOMS: usize = 12;
const NOISE: f64 = 0.1;

fn atoms(count: usize, seed: u64) -> Matrix {
    let mut w = gaussian(ROWS, count, &mut stream(seed, 1));
    for q in 0..count {
        UnitBall.normalise(w.column_mut(q));
    }
    w
}

/// Sums of two atoms of `w`, plus noise.
fn samples(w: &Matrix, count: usize) -> Samples {
    let mut rng = stream(5, 2);
    let noise = gaussian(ROWS, count, &mut rng);
    let mut x = Matrix::from_fn(ROWS, count, |i, j| NOISE * noise.get(i, j));
    for j in 0..count {
        for _ in 0..2 {
            let q = rng.random_range(0..ATOMS);
            let y = 1.0 + rng.random::<f64>();
            (x.column_mut(j).iter_mut().zip(w.column(q))).for_each(|(x, w)| *x += y * w);
        }
    }
    Samples::dense(x).unwrap()
}

fn mesh(w: &Matrix, gamma: f64) -> Mesh {
    let sizes = [w.cols() / 2, w.cols() - w.cols() / 2];
    Mesh::builder(
        Task::sparse_svd(gamma, 0.01).unwrap(),
        Topology::path(2).unwrap(),
    )
    .build(ROWS, &sizes, AtomInit::Given(w))
    .unwrap()
}

#[test]
fn the_true_atoms_predict_to_the_noise_and_others_do_not() {
    let w = atoms(ATOMS, 1);
    let x = samples(&w, 200);
    let found = predict(&mesh(&w, 0.3), &x, 0).unwrap();
    let energy: f64 = (0..x.len()).map(|j| x.norm(j).powi(2)).sum();
    let noise = NOISE * NOISE * (ROWS * x.len()) as f64 / energy;
    // Slightly above the noise, because the codes are fitted to noisy entries.
    let score = found.score();
    assert!(
        score > 0.9 * noise && score < 1.5 * noise,
        "{score} {noise}"
    );
    assert!((found.sparsity - 2.0).abs() < 0.3, "{}", found.sparsity);
    let others = predict(&mesh(&atoms(ATOMS, 2), 0.3), &x, 0).unwrap();
    assert!(others.score() > 0.5);
    // Over the parts each entry is hidden once, so the hidden energy is about a tenth.
    let hidden: f64 = found.sizes.iter().sum();
    assert!((hidden / energy - 0.1).abs() < 0.02, "{}", hidden / energy);
}

#[test]
fn neither_fit_nor_sparsity_alone_wins() {
    let w = atoms(ATOMS, 1);
    let x = samples(&w, 200);
    let at = |gamma| predict(&mesh(&w, gamma), &x, 0).unwrap();
    let (small, right, large) = (at(0.001), at(0.3), at(1.5));
    assert!(small.residual < right.residual); // the fit prefers the smallest gamma
    assert!(right.score() < small.score());
    assert!(right.score() < large.score());
}

#[test]
fn the_simplest_within_one_standard_error_is_taken() {
    let of = |errors: [f64; 4]| Prediction {
        errors: errors.to_vec(),
        sizes: vec![1.0; 4],
        sparsity: 1.0,
        residual: 0.0,
    };
    let poor = of([0.5, 0.6, 0.7, 0.6]);
    let near = of([0.21, 0.29, 0.41, 0.33]);
    let best = of([0.2, 0.3, 0.4, 0.3]);
    assert!((best.score() - 0.3).abs() < 1e-12);
    // The standard error of a mean of four: sqrt(0.02/3)/2.
    assert!((best.standard_error() - (0.02_f64 / 3.0).sqrt() / 2.0).abs() < 1e-12);
    assert_eq!(simplest(&[poor.clone(), near, best.clone()]), Some(1));
    assert_eq!(simplest(&[poor, best]), Some(1));
    assert_eq!(simplest(&[]), None);
}

#[test]
fn sparse_samples_and_one_row() {
    let w = atoms(ATOMS, 1);
    let x = samples(&w, 30);
    let dense = predict(&mesh(&w, 0.3), &x, 4).unwrap();
    let row: Vec<usize> = (0..30).flat_map(|_| 0..ROWS).collect();
    let start = (0..=30).map(|j| j * ROWS).collect();
    let sparse = Samples::sparse(ROWS, start, row, x.to_dense().into_vec()).unwrap();
    assert_eq!(predict(&mesh(&w, 0.3), &sparse, 4).unwrap(), dense);
    let one = Samples::dense(Matrix::zeros(1, 3)).unwrap();
    assert!(predict(&mesh(&w, 0.3), &one, 0).is_err());
}

#[test]
fn samples_of_another_dimension_are_refused() {
    let w = atoms(ATOMS, 1);
    for rows in [ROWS - 1, ROWS + 1, 3 * ROWS] {
        let x = Samples::dense(Matrix::from_fn(rows, 4, |i, j| (i + j) as f64)).unwrap();
        let error = predict(&mesh(&w, 0.1), &x, 0).unwrap_err().to_string();
        assert!(error.contains(&rows.to_string()), "{error}");
    }
}

/// The refit codes with the atoms that fired alone, a number that weights and groups do not allow.
#[test]
fn weighted_and_group_nets_predict_as_the_plain_one() {
    let w = atoms(ATOMS, 1);
    let x = samples(&w, 60);
    let plain = predict(&mesh(&w, 0.3), &x, 0).unwrap();
    let with = |h: Arc<dyn Regularizer>| {
        Mesh::builder(
            Task::new(SquaredL2).regularizer(h),
            Topology::path(2).unwrap(),
        )
        .build(ROWS, &[ATOMS / 2; 2], AtomInit::Given(&w))
        .unwrap()
    };
    let weighted = WeightedElasticNet::new(vec![0.3; ATOMS / 2], 0.01, false).unwrap();
    let found = predict(&with(Arc::new(weighted)), &x, 0).unwrap();
    assert!((found.score() - plain.score()).abs() < 1e-9);
    // Groups of one atom are the plain net; sizes as a list allow no other number of atoms.
    let sizes = Groups::Sizes(vec![1; ATOMS / 2]);
    let groups = GroupElasticNet::new(0.3, 0.01, sizes).unwrap();
    let found = predict(&with(Arc::new(groups)), &x, 0).unwrap();
    assert!((found.score() - plain.score()).abs() < 1e-6);
}

/// The set of the atoms has no effect on codes, so it need not be registered.
#[test]
fn a_set_from_another_crate_keeps_the_refit() {
    #[derive(Debug)]
    struct Anywhere;
    impl AtomSet for Anywhere {
        fn spec(&self) -> Spec {
            Spec::new("anywhere")
        }
        fn project(&self, _w: &mut [f64]) {}
        fn contains(&self, _w: &[f64], _tolerance: f64) -> bool {
            true
        }
    }
    let w = atoms(ATOMS, 1);
    let x = samples(&w, 60);
    let net = ElasticNet::new(0.3, 0.01).unwrap();
    let own = Mesh::builder(
        Task::new(SquaredL2).regularizer(net).atoms(Anywhere),
        Topology::path(2).unwrap(),
    )
    .build(ROWS, &[ATOMS / 2; 2], AtomInit::Given(&w))
    .unwrap();
    let plain = predict(&mesh(&w, 0.3), &x, 0).unwrap();
    assert_eq!(predict(&own, &x, 0).unwrap(), plain);
}
