//! min_y 1/2 y'Hy - g'y + h(y) for a Gram matrix H: coordinate descent to find the support, exact
//! solves on it to end.

use crate::matrix::{axpy, Matrix};
use crate::regularizer::Regularizer;
use crate::Stop;
use faer::linalg::solvers::Solve;
use faer::Side;

/// Sweeps of coordinate descent between two exact solves.
const SWEEPS: usize = 8;
/// How often the two take turns before we give up; each turn lowers the cost.
const TURNS: usize = 500;
/// Relative change of the gradient below which a sweep has changed nothing but rounding.
const QUIET: f64 = 4.0 * f64::EPSILON;
/// Relative change below which turns that bring no progress end it.
const CALM: f64 = 1e-13;
/// How many such turns.
const IDLE: usize = 6;

/// Solves with H = `scale` * `gram`; `y` holds the start on entry and the solution on return.
pub(super) fn solve(
    gram: &Matrix,
    scale: f64,
    g: &[f64],
    regularizers: &[&dyn Regularizer],
    y: &mut [f64],
) -> Stop {
    let n = g.len();
    if n == 0 {
        return Stop::Converged;
    }
    if n == 1 {
        // The paper's own experiments have one atom per agent: closed form.
        y[0] = regularizers[0].recover_damped(g[0], scale * gram.get(0, 0));
        return Stop::Converged;
    }
    let problem = Quadratic {
        gram,
        scale,
        g,
        regularizers,
    };
    let mut r = vec![0.0; n];
    let (mut smallest, mut idle) = (f64::INFINITY, 0);
    for _ in 0..TURNS {
        let size = problem.refresh(y, &mut r);
        let mut change = 0.0;
        for sweep in 0..SWEEPS {
            change = problem.sweep(y, &mut r);
            if change <= QUIET * size {
                return Stop::Converged;
            }
            if sweep == 0 {
                idle = if change < 0.5 * smallest { 0 } else { idle + 1 };
                smallest = smallest.min(change);
            }
        }
        if idle >= IDLE && change <= CALM * size {
            return Stop::Converged; // ill-conditioned: this is as far as rounding lets it go
        }
        // Each step that is cut leaves one coordinate fewer free, so this ends.
        while problem.newton_on_free_set(y, &r) {
            problem.refresh(y, &mut r);
        }
    }
    Stop::RoundLimit
}

struct Quadratic<'a> {
    gram: &'a Matrix,
    scale: f64,
    g: &'a [f64],
    regularizers: &'a [&'a dyn Regularizer],
}

impl Quadratic<'_> {
    /// r = g - H y. Returns the size of the numbers that were added up, the yardstick of rounding.
    fn refresh(&self, y: &[f64], r: &mut [f64]) -> f64 {
        r.copy_from_slice(self.g);
        let mut size = self.g.iter().fold(0.0, |m, g| f64::max(m, g.abs()));
        for (q, y) in y.iter().enumerate() {
            if *y != 0.0 {
                axpy(-self.scale * y, self.gram.column(q), r);
                size += self.scale * self.gram.get(q, q) * y.abs();
            }
        }
        size
    }

    /// One exact minimisation over each coordinate in turn; returns the largest change of the
    /// gradient.
    fn sweep(&self, y: &mut [f64], r: &mut [f64]) -> f64 {
        let mut largest = 0.0_f64;
        for q in 0..y.len() {
            let curvature = self.scale * self.gram.get(q, q);
            let h = self.regularizers[q];
            let new = h.recover_damped(r[q] + curvature * y[q], curvature);
            let change = new - y[q];
            if change != 0.0 {
                y[q] = new;
                axpy(-self.scale * change, self.gram.column(q), r);
                largest = largest.max((curvature + h.strong_convexity()) * change.abs());
            }
        }
        largest
    }

    /// The Newton step on the coordinates that lie inside a quadratic piece of h, cut where the first
    /// of them would leave its piece; returns whether it was cut. Within the pieces the cost is one
    /// quadratic, so the step, cut or not, lowers it.
    fn newton_on_free_set(&self, y: &mut [f64], r: &[f64]) -> bool {
        let free: Vec<_> = (0..y.len())
            .filter_map(|q| Some((q, self.regularizers[q].piece(y[q])?)))
            .collect();
        if free.is_empty() {
            return false;
        }
        let n = free.len();
        let mut hessian = Matrix::from_fn(n, n, |i, j| {
            self.scale * self.gram.get(free[i].0, free[j].0)
        });
        for (i, (q, _)) in free.iter().enumerate() {
            hessian.column_mut(i)[i] += self.regularizers[*q].strong_convexity();
        }
        let Ok(factor) = hessian.view().llt(Side::Lower) else {
            return false; // too ill-conditioned for an exact solve: the sweeps go on alone
        };
        let rhs = Matrix::from_fn(n, 1, |i, _| r[free[i].0] - free[i].1.slope);
        let step = factor.solve(rhs.view());
        let mut t = 1.0_f64;
        let mut first = None;
        for (i, (q, piece)) in free.iter().enumerate() {
            let d = step[(i, 0)];
            let end = if d < 0.0 { piece.lo } else { piece.hi };
            let room = (end - y[*q]) / d;
            if room < t {
                t = room;
                first = Some((*q, end));
            }
        }
        if !t.is_finite() {
            return false;
        }
        for (i, (q, _)) in free.iter().enumerate() {
            y[*q] += t * step[(i, 0)];
        }
        match first {
            Some((q, end)) => y[q] = end,
            None => return false,
        }
        true
    }
}
