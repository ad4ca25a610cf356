#![allow(clippy::unwrap_used)]

use super::*;
use dictmesh::problem::samples::Norm;
use dictmesh::random::Rng;

/// Sparse non-negative atoms with |w|_1 = 1.
fn planted(rows: usize, atoms: usize, rng: &mut Rng) -> Matrix {
    let mut w = gaussian(rows, atoms, rng);
    for k in 0..atoms {
        let column = w.column_mut(k);
        column
            .iter_mut()
            .for_each(|v| *v = (v.abs() - 1.2).max(0.0));
        let size: f64 = column.iter().sum();
        column.iter_mut().for_each(|v| *v /= size);
    }
    w
}

/// Sums of two atoms with a little noise, |x|_1 = 1.
fn draw(w: &Matrix, samples: usize, rng: &mut Rng) -> Samples {
    let mut y = gaussian(w.cols(), samples, rng);
    for j in 0..samples {
        for (k, v) in y.column_mut(j).iter_mut().enumerate() {
            let on = k == j % w.cols() || k == (j / w.cols()) % w.cols();
            *v = if on { v.abs() + 0.1 } else { 0.0 };
        }
    }
    let mut x = w.times(&y);
    let noise = gaussian(w.rows(), samples, rng);
    let pairs = x.as_mut_slice().iter_mut().zip(noise.as_slice());
    pairs.for_each(|(x, n)| *x = (*x + 0.002 * n).max(0.0));
    Samples::dense(x).unwrap().normalised(Norm::L1)
}

fn to_sparse(x: &Samples) -> Samples {
    let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
    for j in 0..x.len() {
        for (i, v) in x.entries(j).filter(|(_, v)| *v != 0.0) {
            row.push(i);
            value.push(v);
        }
        start.push(row.len());
    }
    Samples::sparse(x.rows(), start, row, value).unwrap()
}

fn soft(v: f64, a: f64) -> f64 {
    v.signum() * (v.abs() - a).max(0.0)
}

fn combine(a: &Matrix, b: &Matrix, f: impl Fn(f64, f64) -> f64) -> Matrix {
    Matrix::from_fn(a.rows(), a.cols(), |i, j| f(a.get(i, j), b.get(i, j)))
}

fn distance(a: &Matrix, b: &Matrix) -> f64 {
    let pairs = a.as_slice().iter().zip(b.as_slice());
    pairs.fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
}

/// Coding exactly as published: returns (Y, rho).
fn literal_coding(s: &L1Admm, w: &Matrix, x: &Matrix) -> (Matrix, Matrix) {
    let kappa = 0.9 / w.spectral_norm_squared();
    let mut y = Matrix::zeros(w.cols(), x.cols());
    let mut rho = Matrix::zeros(x.rows(), x.cols());
    for _ in 0..s.coding_iterations {
        let residual = combine(x, &w.times(&y), |x, wy| x - wy);
        let e = combine(&residual, &rho, |r, rho| soft(r + rho / s.phi, 1.0 / s.phi));
        let inner = combine(&e, &residual, |e, r| e - r);
        let g = w.transpose_times(&combine(&inner, &rho, |a, rho| a - rho / s.phi));
        y = combine(&y, &g, |y, g| {
            (y - kappa * g - s.lambda * kappa / s.phi).max(0.0)
        });
        let residual = combine(x, &w.times(&y), |x, wy| x - wy);
        let gap = combine(&residual, &e, |r, e| r - e);
        rho = combine(&rho, &gap, |rho, gap| rho + s.phi * gap);
    }
    (y, rho)
}

/// The dictionary update exactly as published.
fn literal_update(s: &L1Admm, w: &mut Matrix, delta: &mut Matrix, x: &Matrix, y: &Matrix) {
    let tau = 0.5 / y.spectral_norm_squared();
    for _ in 0..s.update_iterations {
        let r = combine(x, &w.times(y), |x, wy| x - wy);
        let gamma = combine(&r, delta, |r, d| soft(r + d / s.beta, 1.0 / s.beta));
        let inner = combine(&r, &gamma, |r, g| r - g);
        let pull = combine(&inner, delta, |a, d| d / s.beta + a).times(&y.transpose());
        *w = combine(w, &pull, |w, pull| w + tau * pull);
        (0..w.cols()).for_each(|k| ATOMS.project(w.column_mut(k)));
        let r = combine(x, &w.times(y), |x, wy| x - wy);
        let gap = combine(&r, &gamma, |r, g| r - g);
        *delta = combine(delta, &gap, |d, gap| d + s.beta * gap);
    }
}

#[test]
fn coding_and_update_equal_the_published_iterations() {
    let mut rng = stream(1, 0);
    let w = planted(50, 6, &mut rng);
    let x = draw(&planted(50, 8, &mut rng), 130, &mut rng);
    let dense = x.to_dense();
    let settings = L1Admm::default();
    let (y, _) = literal_coding(&settings, &w, &dense);
    for x in [&x, &to_sparse(&x)] {
        let model = L1Model::from_dictionary(settings.clone(), w.clone()).unwrap();
        assert!(distance(&model.code(x).unwrap(), &y) < 1e-13);

        // Two updates with a shared multiplier and different codes, as in initialisation.
        let (mut fast, mut slow) = (w.clone(), w.clone());
        let mut block = update::Block::new(x, &w);
        let mut delta = Matrix::zeros(50, 130);
        for scale in [1.0, 0.7] {
            let y = combine(&y, &y, |y, _| scale * y);
            block.update(&settings, &mut fast, &y);
            literal_update(&settings, &mut slow, &mut delta, &dense, &y);
            assert!(distance(&fast, &slow) < 1e-13);
            assert!(distance(&fast, &w) > 1e-3, "it moved");
        }
    }
}

/// The dual is `max x'nu` over `|nu|_inf <= 1, W'nu <= lambda`. Scaling rho into that set gives a
/// lower bound on the optimum, so a small gap certifies the cost.
#[test]
fn long_coding_reaches_the_certified_optimum() {
    let mut rng = stream(2, 0);
    let w = planted(40, 6, &mut rng);
    let x = draw(&planted(40, 6, &mut rng), 20, &mut rng);
    let settings = L1Admm {
        coding_iterations: 20_000,
        ..L1Admm::default()
    };
    let lambda = settings.lambda;
    let (_, rho) = literal_coding(&settings, &w, &x.to_dense());
    let model = L1Model::from_dictionary(settings, w.clone()).unwrap();
    let cost = model.cost(&x).unwrap();
    let wr = w.transpose_times(&rho);
    for j in 0..x.len() {
        let over = rho.column(j).iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        let over = wr.column(j).iter().fold(over, |m, v| m.max(v / lambda));
        let bound = x.dot(j, rho.column(j)) / over;
        assert!(bound <= cost[j] + 1e-12, "weak duality");
        assert!(cost[j] - bound < 1e-4, "gap {}", cost[j] - bound);
    }
}

#[test]
fn the_cost_falls_and_atoms_stay_in_their_set() {
    let mut rng = stream(3, 0);
    let x = draw(&planted(60, 5, &mut rng), 120, &mut rng);
    let total = |model: &L1Model| model.cost(&x).unwrap().iter().sum::<f64>();
    let drawn = L1Admm {
        initial_alternations: 0,
        ..L1Admm::default()
    };
    let mut model = L1Model::initialise(drawn, &x, 5, 4).unwrap();
    let start = total(&model);
    let mut last = start;
    for _ in 0..8 {
        model.learn(&x).unwrap();
        assert!(model
            .dictionary()
            .columns()
            .all(|w| ATOMS.contains(w, 1e-12)));
        let now = total(&model);
        assert!(now < last * 1.01, "{last} -> {now}");
        last = now;
    }
    assert!(last < 0.8 * start, "{start} -> {last}");
    let full = L1Model::initialise(L1Admm::default(), &x, 5, 4).unwrap();
    assert!(total(&full) < 0.8 * start);
    let same = L1Model::initialise(L1Admm::default(), &to_sparse(&x), 5, 4).unwrap();
    assert!(distance(full.dictionary(), same.dictionary()) < 1e-9);
}

#[test]
fn samples_of_another_dictionary_cost_more() {
    let mut rng = stream(5, 0);
    let (known, other) = (planted(80, 5, &mut rng), planted(80, 5, &mut rng));
    let train = draw(&known, 200, &mut rng);
    let mut model = L1Model::initialise(L1Admm::default(), &train, 5, 6).unwrap();
    let old = model.cost(&draw(&known, 60, &mut rng)).unwrap();
    let new_block = draw(&other, 60, &mut rng);
    let new = model.cost(&new_block).unwrap();
    let above = |a: f64| old.iter().filter(|b| a > **b).count();
    let auc = new.iter().map(|a| above(*a)).sum::<usize>() as f64 / 3600.0;
    assert!(auc > 0.9, "auc {auc}");

    model.grow(&new_block, 5, 7).unwrap();
    model.learn(&new_block).unwrap();
    assert_eq!(model.dictionary().cols(), 10);
    let after = model.cost(&new_block).unwrap();
    assert!(after.iter().sum::<f64>() < 0.6 * new.iter().sum::<f64>());
}

#[test]
fn zero_duplicate_and_too_few_samples_work() {
    let one = [0.25, 0.75, 0.0, 0.0];
    let x = Samples::dense_from_columns(4, &[[0.0; 4], one, one, [0.0; 4]]).unwrap();
    // Penalties for entries of order one.
    let settings = L1Admm {
        phi: 2.0,
        beta: 2.0,
        ..L1Admm::default()
    };
    let mut model = L1Model::initialise(settings.clone(), &x, 3, 1).unwrap();
    let cost = model.cost(&x).unwrap();
    assert_eq!((cost[0], cost[3]), (0.0, 0.0));
    assert!(cost[1] == cost[2] && cost[1] < 0.2);
    assert_ne!(model.dictionary().column(1), model.dictionary().column(2));

    let zero = Samples::dense(Matrix::zeros(4, 2)).unwrap();
    let before = model.clone();
    model.learn(&zero).unwrap();
    model.learn(&x.range(0..0)).unwrap();
    model.grow(&x, 0, 1).unwrap();
    assert_eq!(model, before);
    assert_eq!(model.code(&x.range(0..0)).unwrap(), Matrix::zeros(3, 0));
    assert!(L1Model::initialise(settings.clone(), &zero, 2, 1).is_ok());

    let dead = L1Model::from_dictionary(settings, Matrix::zeros(4, 2)).unwrap();
    assert_eq!(dead.cost(&x).unwrap(), [0.0, 1.0, 1.0, 0.0]);
}

#[test]
fn l1_scaling_keeps_zero_samples_and_huge_ones() {
    let x = Samples::dense_from_columns(2, &[[0.0, 0.0], [1e308, -1e308], [3.0, 1.0]]).unwrap();
    for x in [&x, &to_sparse(&x)] {
        let scaled = x.normalised(Norm::L1);
        assert_eq!(scaled.is_sparse(), x.is_sparse());
        let expected = [0.0, 0.0, 0.5, -0.5, 0.75, 0.25];
        assert_eq!(scaled.to_dense().as_slice(), expected);
    }
}

#[test]
fn bad_input_is_refused() {
    let x = Samples::dense(Matrix::from_fn(3, 4, |i, j| (i + j) as f64)).unwrap();
    let good = L1Admm::default();
    for bad in [
        L1Admm {
            lambda: -1.0,
            ..good.clone()
        },
        L1Admm {
            phi: 0.0,
            ..good.clone()
        },
        L1Admm {
            beta: f64::NAN,
            ..good.clone()
        },
        L1Admm {
            kappa: Some(0.0),
            ..good.clone()
        },
        L1Admm {
            kappa: Some(1e9),
            ..good.clone()
        },
        L1Admm {
            coding_iterations: 0,
            ..good.clone()
        },
        L1Admm {
            update_iterations: 0,
            ..good.clone()
        },
    ] {
        let error = L1Model::initialise(bad, &x, 2, 0);
        assert!(matches!(error, Err(Error::Parameter { .. })), "{error:?}");
    }
    assert!(L1Model::initialise(good.clone(), &x, 0, 0).is_err());
    assert!(L1Model::initialise(good.clone(), &x.range(0..0), 2, 0).is_err());
    for w in [
        Matrix::zeros(0, 1),
        Matrix::zeros(1, 0),
        Matrix::from_fn(1, 1, |_, _| 2.0),
        Matrix::from_fn(1, 1, |_, _| -0.5),
        Matrix::from_fn(1, 1, |_, _| f64::NAN),
    ] {
        assert!(L1Model::from_dictionary(good.clone(), w).is_err());
    }
    let mut model = L1Model::initialise(good, &x, 2, 0).unwrap();
    let other = Samples::dense(Matrix::zeros(5, 1)).unwrap();
    assert!(model.code(&other).is_err());
    assert!(model.cost(&other).is_err());
    assert!(model.learn(&other).is_err());
    assert!(model.grow(&other, 1, 0).is_err());
    for atoms in [usize::MAX, 1 << 50] {
        let refused = model.grow(&x, atoms, 0).unwrap_err().to_string();
        assert!(refused.contains("take fewer"), "{refused}");
    }
}
