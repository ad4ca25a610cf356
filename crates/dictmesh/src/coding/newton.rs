//! Proximal Newton for min_y e(c - W y) + h(y) where e is smooth but not one quadratic: the Huber
//! and l1 residuals (pieces of a quadratic) and the ball (a norm).

use super::quadratic::{Memory, Quadratic};
use super::Coding;
use crate::matrix::{axpy, dot, gemm, Matrix};
use crate::Stop;

/// Newton ends in finitely many steps for the piecewise quadratic ones; this is a backstop.
const STEPS: usize = 200;
/// Relative size of rounding at which y counts as the code of v.
const ROUNDING: f64 = 1e-14;
/// Relative fall of the cost that is lost in rounding. The distance is then about its square root, and
/// one or two Newton steps more, unchecked, end it.
const FINE: f64 = 1e-14;
const FINE_STEPS: usize = 3;

pub(super) fn solve(problem: &Coding, c: &[f64], y: &mut [f64], v: &mut [f64]) -> Stop {
    let (m, n) = (c.len(), y.len());
    let mut u = c.to_vec();
    problem.subtract_atoms(y, &mut u);
    problem.envelope_gradient(&u, v);
    if n == 0 {
        return Stop::Converged;
    }
    let mut s = vec![0.0; n];
    let (mut diagonal, mut trial_u, mut trial_v) = (vec![0.0; m], vec![0.0; m], vec![0.0; m]);
    let mut cost = problem.envelope(&u, v) + problem.regularizer_value(y);
    let mut fine_steps = 0;
    for _ in 0..STEPS {
        problem.correlate(v, &mut s);
        if problem.is_fixed_point(&s, y, ROUNDING) {
            return Stop::Converged;
        }
        // The model at y: e replaced by its second-order expansion, h kept as it is.
        let hessian = hessian(problem, &u, &mut diagonal);
        let mut g = s.clone();
        for (y, column) in y.iter().zip(hessian.columns()) {
            axpy(*y, column, &mut g);
        }
        let mut target = y.to_vec();
        Quadratic::new(&hessian, 1.0, problem.regularizers, Memory::default())
            .solve(&g, &mut target);
        // Go there, or part of the way: Armijo's rule on the true cost.
        let direction: Vec<f64> = target.iter().zip(y.iter()).map(|(t, y)| t - y).collect();
        let predicted =
            problem.regularizer_value(&target) - problem.regularizer_value(y) - dot(&s, &direction);
        let fine = -predicted <= FINE * cost.abs();
        fine_steps += usize::from(fine);
        let mut t = 1.0;
        let moved = loop {
            let trial: Vec<f64> = (0..n)
                .map(|i| match t {
                    1.0 => target[i], // exactly on the kinks of h
                    t => y[i] + t * direction[i],
                })
                .collect();
            trial_u.copy_from_slice(c);
            problem.subtract_atoms(&trial, &mut trial_u);
            problem.envelope_gradient(&trial_u, &mut trial_v);
            let trial_cost =
                problem.envelope(&trial_u, &trial_v) + problem.regularizer_value(&trial);
            if fine || trial_cost <= cost + 1e-4 * t * predicted {
                let moved = trial != y;
                y.copy_from_slice(&trial);
                u.copy_from_slice(&trial_u);
                v.copy_from_slice(&trial_v);
                cost = trial_cost;
                break moved;
            }
            t *= 0.5;
            if t < 1e-12 {
                break false;
            }
        };
        if !moved || fine_steps == FINE_STEPS {
            break; // the best that rounding allows
        }
    }
    problem.correlate(v, &mut s);
    if problem.is_fixed_point(&s, y, 1e-9) {
        Stop::Converged
    } else {
        Stop::RoundLimit
    }
}

/// W'(D + c u u')W for the generalised Hessian D + c u u' of e at u.
fn hessian(problem: &Coding, u: &[f64], diagonal: &mut [f64]) -> Matrix {
    let rank_one = problem
        .residual
        .envelope_hessian(problem.s, problem.q, u, diagonal);
    let n = problem.atoms.cols();
    let rows: Vec<usize> = (0..u.len()).filter(|i| diagonal[*i] != 0.0).collect();
    let scaled = Matrix::from_fn(rows.len(), n, |i, q| {
        diagonal[rows[i]].sqrt() * problem.atoms.get(rows[i], q)
    });
    let mut out = scaled.transpose_times(&scaled);
    if rank_one != 0.0 {
        let mut wu = Matrix::zeros(n, 1);
        problem.correlate(u, wu.as_mut_slice());
        let view = wu.view();
        gemm(out.view_mut(), view, view.transpose(), rank_one, true);
    }
    out
}
