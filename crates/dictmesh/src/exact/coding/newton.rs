//! Proximal Newton for min_y e(c - W y) + h(y) where e is smooth but not one quadratic: the Huber
//! and l1 residuals (piecewise quadratic) and the ball (a norm).

use super::{Coding, CODE_TOLERANCE};
use crate::Stop;
use dictmesh_kernels::matrix::{axpy, dot, gemm, Matrix};
use dictmesh_kernels::quadratic::{self, Quadratic};

/// Limit of steps, a safeguard: for piecewise quadratic e the method ends in finitely many.
const STEPS: usize = 200;
/// Relative error up to which y is the code of v but for rounding.
const CODE_ROUNDING: f64 = 1e-14;
/// Share of the predicted decrease that a step must reach (Armijo's rule).
const ARMIJO: f64 = 1e-4;
/// Shortest step of the backtracking.
const SHORTEST_STEP: f64 = 1e-12;
/// Predicted relative decrease of the cost that is lost in rounding. The distance is then about its
/// square root, and [`FINE_STEPS`] Newton steps without line search end it.
const FINE: f64 = 1e-14;
const FINE_STEPS: usize = 3;

/// Scratch memory of the steps.
#[derive(Default)]
pub(super) struct Steps {
    /// c - W y at y and at the trial point, and v of the latter.
    u: Vec<f64>,
    trial_u: Vec<f64>,
    trial_v: Vec<f64>,
    /// W'v.
    s: Vec<f64>,
    /// The model's g and minimiser, the search direction, and the trial point.
    g: Vec<f64>,
    target: Vec<f64>,
    direction: Vec<f64>,
    trial: Vec<f64>,
    hessian: Hessian,
    quadratic: quadratic::Scratch,
}

impl Steps {
    /// Resizes for m rows and n atoms.
    fn make_room(&mut self, m: usize, n: usize) {
        for own in [&mut self.u, &mut self.trial_u, &mut self.trial_v] {
            own.resize(m, 0.0);
        }
        let of_atoms = [&mut self.s, &mut self.g, &mut self.target];
        for own in of_atoms
            .into_iter()
            .chain([&mut self.direction, &mut self.trial])
        {
            own.resize(n, 0.0);
        }
    }

    /// Minimises the model at y, the second-order expansion of e plus h: sets `target` and
    /// `direction`. Returns the change of the cost to first order, which is negative.
    fn solve_model(&mut self, problem: &Coding, y: &[f64]) -> f64 {
        let hessian = self.hessian.at(problem, &self.u);
        self.g.copy_from_slice(&self.s);
        for (y, column) in y.iter().zip(hessian.columns()) {
            axpy(*y, column, &mut self.g);
        }
        self.target.copy_from_slice(y);
        let scratch = std::mem::take(&mut self.quadratic);
        let penalties = problem.penalties();
        let mut model = Quadratic::new(hessian, 1.0, penalties, scratch, problem.batching);
        model.solve(&self.g, &mut self.target);
        self.quadratic = model.into_scratch();
        for (i, d) in self.direction.iter_mut().enumerate() {
            *d = self.target[i] - y[i];
        }
        problem.h.value(&self.target) - problem.h.value(y) - dot(&self.s, &self.direction)
    }

    /// Sets the trial point y + t `direction`, and returns the cost there.
    fn try_step(&mut self, problem: &Coding, c: &[f64], y: &[f64], t: f64) -> f64 {
        for (i, trial) in self.trial.iter_mut().enumerate() {
            *trial = match t {
                1.0 => self.target[i], // exactly on the kinks of h
                t => y[i] + t * self.direction[i],
            };
        }
        self.trial_u.copy_from_slice(c);
        problem.subtract_atoms(&self.trial, &mut self.trial_u);
        problem.envelope_gradient(&self.trial_u, &mut self.trial_v);
        problem.envelope(&self.trial_u, &self.trial_v) + problem.h.value(&self.trial)
    }
}

pub(super) fn solve(
    problem: &Coding,
    c: &[f64],
    y: &mut [f64],
    v: &mut [f64],
    steps: &mut Steps,
) -> Stop {
    steps.make_room(c.len(), y.len());
    steps.u.copy_from_slice(c);
    problem.subtract_atoms(y, &mut steps.u);
    problem.envelope_gradient(&steps.u, v);
    if y.is_empty() {
        return Stop::Converged;
    }
    let mut cost = problem.envelope(&steps.u, v) + problem.h.value(y);
    let mut fine_steps = 0;
    for _ in 0..STEPS {
        problem.correlate(v, &mut steps.s);
        if problem.h.is_code(&steps.s, y, CODE_ROUNDING) {
            return Stop::Converged;
        }
        let predicted = steps.solve_model(problem, y);
        let fine = -predicted <= FINE * cost.abs();
        fine_steps += usize::from(fine);
        // Backtracking with Armijo's rule on the true cost.
        let mut t = 1.0;
        let moved = loop {
            let trial_cost = steps.try_step(problem, c, y, t);
            if fine || trial_cost <= cost + ARMIJO * t * predicted {
                let moved = steps.trial != y;
                y.copy_from_slice(&steps.trial);
                v.copy_from_slice(&steps.trial_v);
                std::mem::swap(&mut steps.u, &mut steps.trial_u);
                cost = trial_cost;
                break moved;
            }
            t *= 0.5;
            if t < SHORTEST_STEP {
                break false;
            }
        };
        if !moved || fine_steps == FINE_STEPS {
            break; // the best that rounding allows
        }
    }
    problem.correlate(v, &mut steps.s);
    if problem.h.is_code(&steps.s, y, CODE_TOLERANCE) {
        Stop::Converged
    } else {
        Stop::RoundLimit
    }
}

/// W'(D + c u u')W for the generalised Hessian D + c u u' of e at u.
#[derive(Default)]
struct Hessian {
    diagonal: Vec<f64>,
    /// The rows in which D is not 0, and these rows of D^(1/2) W.
    rows: Vec<usize>,
    scaled: Matrix,
    /// W'u.
    along: Matrix,
    out: Matrix,
}

impl Hessian {
    fn at(&mut self, problem: &Coding, u: &[f64]) -> &Matrix {
        let n = problem.atoms.cols();
        self.diagonal.resize(u.len(), 0.0);
        let (s, q) = (problem.s, problem.q);
        // Newton steps require closed forms.
        let rank_one = (problem.residual.envelope()).map_or(0.0, |envelope| {
            envelope.hessian(s, q, u, &mut self.diagonal)
        });
        self.rows.clear();
        let rows = (0..u.len()).filter(|i| self.diagonal[*i] != 0.0);
        self.rows.extend(rows);
        self.scaled.reshape(self.rows.len(), n);
        for (q, w) in problem.atoms.columns().enumerate() {
            for (out, i) in self.scaled.column_mut(q).iter_mut().zip(&self.rows) {
                *out = self.diagonal[*i].sqrt() * w[*i];
            }
        }
        self.out.reshape(n, n);
        let scaled = self.scaled.view();
        gemm(self.out.view_mut(), scaled.transpose(), scaled, 1.0, false);
        if rank_one != 0.0 {
            self.along.reshape(n, 1);
            problem.correlate(u, self.along.as_mut_slice());
            let along = self.along.view();
            gemm(
                self.out.view_mut(),
                along,
                along.transpose(),
                rank_one,
                true,
            );
        }
        &self.out
    }
}
