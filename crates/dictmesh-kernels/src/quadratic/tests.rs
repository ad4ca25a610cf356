//! Samples solved in lanes have the solutions of single solves, whichever share their registers.

use super::batch::SideBySide;
use super::small_cd::SmallCd;
use super::*;
use crate::penalty::soft_threshold;
use crate::penalty::Piece;
use crate::test_data::{gaussian, stream};

/// gamma |y| + delta/2 y^2, on y >= 0 where `lo` is minus infinity.
#[derive(Debug)]
struct Net {
    lo: f64,
    gamma: f64,
    delta: f64,
}

fn elastic_net(gamma: f64, delta: f64) -> Net {
    let lo = -gamma;
    Net { lo, gamma, delta }
}

fn non_negative(gamma: f64, delta: f64) -> Net {
    let lo = f64::NEG_INFINITY;
    Net { lo, gamma, delta }
}

impl ScalarPenalty for Net {
    fn value_at(&self, y: f64) -> f64 {
        match y < 0.0 && self.lo == f64::NEG_INFINITY {
            true => f64::INFINITY,
            false => self.gamma * y.abs() + 0.5 * self.delta * y * y,
        }
    }

    fn coordinate_argmax(&self, s: f64, kappa: f64) -> f64 {
        let outside = match self.lo == f64::NEG_INFINITY {
            true => (s - self.gamma).max(0.0),
            false => soft_threshold(s, self.gamma),
        };
        outside / (self.delta + kappa)
    }

    fn strong_convexity(&self) -> f64 {
        self.delta
    }

    fn quadratic_piece(&self, y: f64) -> Option<Piece> {
        let (lo, hi) = match y > 0.0 {
            true => (0.0, f64::INFINITY),
            false => (f64::NEG_INFINITY, 0.0),
        };
        let slope = self.gamma * y.signum() + self.delta * y;
        (y != 0.0).then_some(Piece { slope, lo, hi })
    }

    fn subgradient_at_zero(&self) -> Option<(f64, f64)> {
        Some((self.lo, self.gamma))
    }
}

/// W'W and W'X of random atoms and samples. `alike` > 0 correlates the atoms, repeats one and
/// zeroes another.
fn problem(m: usize, n: usize, samples: usize, alike: f64, seed: u64) -> (Matrix, Matrix) {
    let mut w = gaussian(m, n, &mut stream(seed, 0));
    let common = w.column(0).to_vec();
    for q in 1..n {
        let pairs = w.column_mut(q).iter_mut().zip(&common);
        pairs.for_each(|(w, c)| *w += alike * c);
        let length = crate::matrix::norm(w.column(q));
        w.column_mut(q).iter_mut().for_each(|w| *w /= length);
    }
    if alike > 0.0 {
        let copy = w.column(3).to_vec();
        w.column_mut(n - 1).copy_from_slice(&copy);
        w.column_mut(n / 2).fill(0.0);
    }
    let x = gaussian(m, samples, &mut stream(seed, 1));
    (w.transpose_times(&w), w.transpose_times(&x))
}

/// The largest KKT violation relative to the largest |g|.
fn left_over(gram: &Matrix, scale: f64, h: &dyn ScalarPenalty, g: &[f64], y: &[f64]) -> f64 {
    let size = g.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
    (0..g.len())
        .map(|q| {
            let r = g[q] - scale * crate::matrix::dot(gram.column(q), y);
            Coordinate::new(q, h, scale * gram.get(q, q)).change(y[q], r) / size
        })
        .fold(0.0, f64::max)
}

fn solved(gram: &Matrix, scale: f64, h: &dyn ScalarPenalty, g: &Matrix) -> (Matrix, usize) {
    solved_by(Batching::SideBySide, gram, scale, h, g)
}

fn solved_by(
    batching: Batching,
    gram: &Matrix,
    scale: f64,
    h: &dyn ScalarPenalty,
    g: &Matrix,
) -> (Matrix, usize) {
    let hs = vec![h; gram.cols()];
    let mut problem = Quadratic::new(
        gram,
        scale,
        hs.iter().copied(),
        Scratch::default(),
        batching,
    );
    let n = gram.cols();
    let mut y = Matrix::zeros(n, g.cols());
    let energies = vec![1.0; g.cols()];
    let mut cold = Vec::new();
    assert!(problem.find_cold(g.as_slice(), y.as_slice(), &mut cold));
    problem.start(g.as_slice(), &energies, &cold, y.as_mut_slice());
    let mut at_once = 0;
    for j in 0..g.cols() {
        let r: Vec<f64> = (0..n)
            .map(|q| g.get(q, j) - scale * crate::matrix::dot(gram.column(q), y.column(j)))
            .collect();
        if problem.is_solved(g.column(j), &r, y.column(j)) {
            at_once += 1;
        } else {
            problem.solve(g.column(j), y.column_mut(j));
        }
    }
    (y, at_once)
}

/// Registers with one lane, and with half of the widest, give the same solutions.
#[test]
fn registers_of_any_width_find_the_same() {
    let (gram, g) = problem(20, 40, 50, 0.0, 9);
    let h = elastic_net(1.0, 0.3);
    let hs = vec![&h as &dyn ScalarPenalty; 40];
    let (reference, _) = solved(&gram, 1.0, &h, &g);
    let energies = vec![1.0; g.cols()];
    let found = |run: &dyn Fn(SideBySide)| {
        let mut problem = Quadratic::new(
            &gram,
            1.0,
            hs.iter().copied(),
            Scratch::default(),
            Batching::SideBySide,
        );
        let mut y = Matrix::zeros(40, g.cols());
        let mut cold = Vec::new();
        assert!(problem.find_cold(g.as_slice(), y.as_slice(), &mut cold));
        run(problem.side_by_side(g.as_slice(), &energies, &cold, y.as_mut_slice()));
        let near = (0..g.cols())
            .filter(|j| crate::matrix::distance(y.column(*j), reference.column(*j)) < 1e-8)
            .count();
        assert!(near > 40, "{near} of 50");
    };
    found(&|work| work.with_simd(pulp::Scalar::new()));
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        found(&|work| Simd::vectorize(v3, work));
    }
}

#[test]
fn side_by_side_is_one_after_the_other() {
    let elastic = |size: f64| elastic_net(0.3 * size, 0.2);
    for (seed, (m, n, alike, size)) in [
        (20, 60, 0.0, 1.0),
        (30, 100, 0.5, 1.0),
        (80, 33, 0.0, 1e-140),
        (16, 130, 2.0, 1e140),
    ]
    .into_iter()
    .enumerate()
    {
        let (gram, mut g) = problem(m, n, 70, alike, seed as u64);
        g.as_mut_slice().iter_mut().for_each(|g| *g *= size);
        let (h, one_sided) = (elastic(size), non_negative(0.1 * size, 0.2));
        for h in [&h as &dyn ScalarPenalty, &one_sided] {
            for scale in [1.0, 0.01] {
                let (y, at_once) = solved(&gram, scale, h, &g);
                for j in 0..g.cols() {
                    let rest = left_over(&gram, scale, h, g.column(j), y.column(j));
                    assert!(rest < 1e-12, "{seed} {scale} sample {j}: {rest:e}");
                }
                // Weak curvature gives supports beyond a lane's capacity; correlated atoms need
                // many scans.
                let enough = at_once * 3 > g.cols() || scale < 1.0 || alike > 1.0;
                assert!(enough, "{seed}: {at_once} at once");
            }
        }
    }
}

#[test]
fn a_sample_does_not_depend_on_its_neighbours() {
    let (gram, g) = problem(24, 80, 64, 0.3, 9);
    let h = elastic_net(0.2, 0.1);
    let (y, _) = solved(&gram, 1.0, &h, &g);
    let order: Vec<usize> = (0..64).map(|j| (j * 37 + 11) % 64).take(23).collect();
    let columns: Vec<&[f64]> = order.iter().map(|j| g.column(*j)).collect();
    let others = Matrix::from_columns(80, &columns).unwrap();
    let (again, _) = solved(&gram, 1.0, &h, &others);
    for (i, j) in order.into_iter().enumerate() {
        assert_eq!(again.column(i), y.column(j), "sample {j}");
    }
}

/// The codes of one lane are those of all, bit-identical, and the active set alone finds the same
/// solutions up to rounding.
#[test]
fn one_lane_and_no_lane_find_the_same() {
    for (m, n, alike) in [(24, 80, 0.3), (60, 33, 0.0), (16, 130, 2.0)] {
        let (gram, g) = problem(m, n, 50, alike, 4);
        let h = elastic_net(0.2, 0.1);
        let (y, _) = solved(&gram, 1.0, &h, &g);
        let (one_by_one, _) = solved_by(Batching::OneByOne, &gram, 1.0, &h, &g);
        assert!(y == one_by_one);
        let hs = vec![&h as &dyn ScalarPenalty; n];
        let scratch = Scratch::default();
        let mut problem =
            Quadratic::new(&gram, 1.0, hs.iter().copied(), scratch, Batching::OneByOne);
        for j in 0..g.cols() {
            let mut alone = vec![0.0; n];
            assert_eq!(problem.solve(g.column(j), &mut alone), Outcome::Converged);
            let apart = crate::matrix::distance(&alone, y.column(j));
            assert!(apart < 1e-11, "{m} {n} {j}: {apart:e}");
        }
    }
}

/// Samples are started if they are 0 and 0 is not their solution.
#[test]
fn cold_samples_are_zero_and_not_solved() {
    let (gram, mut g) = problem(24, 40, 4, 0.0, 3);
    g.column_mut(1).fill(0.1);
    let h = elastic_net(0.2, 0.1);
    let hs = vec![&h as &dyn ScalarPenalty; 40];
    let scratch = Scratch::default();
    let mut problem = Quadratic::new(&gram, 1.0, hs.iter().copied(), scratch, Batching::default());
    let (mut y, mut cold) = (Matrix::zeros(40, 4), Vec::new());
    y.column_mut(2)[5] = 1.0;
    assert!(problem.find_cold(g.as_slice(), y.as_slice(), &mut cold));
    assert_eq!(cold, [true, false, false, true]);
    let before = y.clone();
    problem.start(g.as_slice(), &[1.0; 4], &cold, y.as_mut_slice());
    for j in [1, 2] {
        assert_eq!(y.column(j), before.column(j));
    }
    for j in [0, 3] {
        let rest = left_over(&gram, 1.0, &h, g.column(j), y.column(j));
        assert!(rest < 1e-12, "{j}: {rest:e}");
    }
}

#[test]
fn non_finite_columns_are_left_to_the_caller() {
    let (gram, mut g) = problem(24, 40, 5, 0.0, 3);
    g.column_mut(2)[7] = f64::NAN;
    g.column_mut(3)[7] = f64::INFINITY;
    let h = elastic_net(0.2, 0.1);
    let hs = vec![&h as &dyn ScalarPenalty; 40];
    let mut problem = Quadratic::new(
        &gram,
        1.0,
        hs.iter().copied(),
        Scratch::default(),
        Batching::SideBySide,
    );
    let mut y = Matrix::zeros(40, 5);
    let mut cold = Vec::new();
    assert!(problem.find_cold(g.as_slice(), y.as_slice(), &mut cold));
    problem.start(g.as_slice(), &[1.0; 5], &cold, y.as_mut_slice());
    for j in [2, 3] {
        assert!(!problem.is_solved(g.column(j), g.column(j), y.column(j)));
        assert_eq!(
            problem.solve(g.column(j), y.column_mut(j)),
            Outcome::NotFinite
        );
    }
    let rest = left_over(&gram, 1.0, &h, g.column(4), y.column(4));
    assert!(rest < 1e-12, "{rest:e}");
}

/// Coordinate descent on few coordinates: solutions depend neither on the other samples nor, up to
/// rounding, on the CPU, and unsolved samples are reported.
#[test]
fn few_coordinates_are_solved_side_by_side() {
    for n in 2..=small_cd::MOST {
        let (gram, mut g) = problem(30, n, 21, 0.0, n as u64);
        g.column_mut(4)[1] = f64::NAN;
        g.column_mut(5)[0] = f64::INFINITY;
        let one_sided = non_negative(0.1, 0.2);
        for h in [&elastic_net(0.3, 0.2) as &dyn ScalarPenalty, &one_sided] {
            let hs = vec![h; n];
            let mut problem = Quadratic::new(
                &gram,
                0.7,
                hs.iter().copied(),
                Scratch::default(),
                Batching::SideBySide,
            );
            let start = Matrix::from_fn(n, 21, |q, j| ((q + j) % 3) as f64 * 0.5);
            let (mut y, mut solved) = (start.clone(), Vec::new());
            problem.solve_few(g.as_slice(), y.as_mut_slice(), &mut solved);
            assert!(solved.iter().filter(|solved| **solved).count() >= 15, "{n}");
            assert!(!solved[4] && !solved[5]);
            for j in 0..21 {
                let alone = |run: &dyn Fn(SmallCd)| {
                    let (mut y, mut solved) = (start.column(j).to_vec(), Vec::new());
                    run(SmallCd {
                        problem: &problem,
                        g: g.column(j),
                        y: &mut y,
                        solved: &mut solved,
                    });
                    y
                };
                assert_eq!(alone(&|few| dispatch(few)), y.column(j));
                if [4, 5].contains(&j) {
                    assert_eq!(start.column(j), y.column(j), "nothing is known");
                }
                if !solved[j] {
                    continue;
                }
                let rest = left_over(&gram, 0.7, h, g.column(j), y.column(j));
                assert!(rest < 1e-14, "{n} {j}: {rest:e}");
                let scalar = alone(&|few| few.with_simd(pulp::Scalar::new()));
                assert!(crate::matrix::distance(&scalar, y.column(j)) < 1e-13);
            }
        }
    }
    // Nearly collinear atoms exceed the limit of sweeps.
    let (gram, g) = problem(30, 8, 9, 20.0, 1);
    let h = elastic_net(1e-3, 1e-4);
    let hs = [&h as &dyn ScalarPenalty; 8];
    let mut problem = Quadratic::new(
        &gram,
        1.0,
        hs.iter().copied(),
        Scratch::default(),
        Batching::SideBySide,
    );
    let (mut y, mut solved) = (Matrix::zeros(8, 9), Vec::new());
    problem.solve_few(g.as_slice(), y.as_mut_slice(), &mut solved);
    assert!(solved.iter().any(|solved| !solved));
    for j in 0..9 {
        problem.solve(g.column(j), y.column_mut(j));
        let rest = left_over(&gram, 1.0, &h, g.column(j), y.column(j));
        assert!(rest < 1e-12, "{j}: {rest:e}");
    }
}
