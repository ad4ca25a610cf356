//! min_y 1/2 y'Hy - g'y + h(y) for a Gram matrix H: coordinate descent to find the support, exact
//! solves on it to end.
//!
//! While few coefficients are not zero, the support grows by the one coordinate that is most wrong, with
//! an exact solve after each: a sparse code is found in about as many solves as it has atoms. Beyond, whole
//! sweeps find many at once.

use super::cholesky;
use crate::matrix::{axpy, Matrix};
use crate::regularizer::Regularizer;
use crate::Stop;
use faer::linalg::solvers::Solve;
use faer::Side;

/// Sweeps of coordinate descent between two exact solves: one over all, the others over the support.
const SWEEPS: usize = 4;
/// Coefficients that are not zero up to which the support grows one by one.
const FEW: usize = 12;
/// Unknowns up to which a plain factorisation is faster than a library's.
const SMALL: usize = 32;
/// How often the two take turns before we give up; each turn lowers the cost.
const TURNS: usize = 500;
/// Relative change of the gradient below which a sweep has changed nothing but rounding.
const QUIET: f64 = 4.0 * f64::EPSILON;
/// Relative change below which turns that bring no progress end it.
const CALM: f64 = 1e-13;
/// How many such turns.
const IDLE: usize = 6;

/// What is known of the coordinates before any g: gathered once for many problems.
pub(super) struct Coordinates {
    /// The diagonal of the Gram matrix, where its entries lie far apart.
    diagonal: Vec<f64>,
    /// [`Regularizer::zero_zone`] of each.
    zero: Vec<(f64, f64)>,
}

impl Coordinates {
    pub(super) fn new(gram: &Matrix, regularizers: &[&dyn Regularizer]) -> Self {
        Coordinates {
            diagonal: (0..gram.cols()).map(|q| gram.get(q, q)).collect(),
            zero: regularizers.iter().map(|h| h.zero_zone()).collect(),
        }
    }
}

/// Solves with H = `scale` * `gram`; `y` holds the start on entry and the solution on return.
pub(super) fn solve(
    gram: &Matrix,
    coordinates: &Coordinates,
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
        coordinates,
        scale,
        g,
        largest_g: g.iter().fold(0.0, |m, g| f64::max(m, g.abs())),
        regularizers,
    };
    let mut r = vec![0.0; n];
    let mut support = Vec::with_capacity(n);
    let (mut smallest, mut idle) = (f64::INFINITY, 0);
    for _ in 0..TURNS {
        gather(y, &mut support);
        let size = problem.refresh(&support, y, &mut r);
        let sparse = support.len() <= FEW;
        let change = match sparse {
            true => problem.largest_step(&mut support, y, &mut r),
            false => problem.sweep(0..n, y, &mut r),
        };
        if change <= QUIET * size {
            return Stop::Converged;
        }
        idle = if change < 0.5 * smallest { 0 } else { idle + 1 };
        smallest = smallest.min(change);
        if idle >= IDLE && change <= CALM * size {
            return Stop::Converged; // ill-conditioned: this is as far as rounding lets it go
        }
        if !sparse {
            // Most coordinates rest at 0: the others settle among themselves first.
            gather(y, &mut support);
            for _ in 1..SWEEPS {
                if problem.sweep(support.iter().copied(), y, &mut r) <= QUIET * size {
                    break;
                }
            }
        }
        // Each step that is cut leaves one coordinate fewer free, so this ends.
        while problem.newton_on_free_set(&support, y, &r) {
            problem.refresh(&support, y, &mut r);
        }
    }
    Stop::RoundLimit
}

/// The coordinates that are not 0.
fn gather(y: &[f64], support: &mut Vec<usize>) {
    support.clear();
    support.extend((0..y.len()).filter(|q| y[*q] != 0.0));
}

struct Quadratic<'a> {
    gram: &'a Matrix,
    coordinates: &'a Coordinates,
    scale: f64,
    g: &'a [f64],
    largest_g: f64,
    regularizers: &'a [&'a dyn Regularizer],
}

impl Quadratic<'_> {
    /// The entry of H on its diagonal.
    fn curvature(&self, q: usize) -> f64 {
        self.scale * self.coordinates.diagonal[q]
    }

    /// Whether coordinate q is 0 and stays so.
    fn rests(&self, q: usize, y: f64, r: f64) -> bool {
        let (lo, hi) = self.coordinates.zero[q];
        y == 0.0 && lo <= r && r <= hi
    }

    /// r = g - H y for a y that is 0 outside of `support`. Returns the size of the numbers that were added
    /// up, the yardstick of rounding.
    fn refresh(&self, support: &[usize], y: &[f64], r: &mut [f64]) -> f64 {
        r.copy_from_slice(self.g);
        let mut size = self.largest_g;
        for &q in support {
            axpy(-self.scale * y[q], self.gram.column(q), r);
            size += self.curvature(q) * y[q].abs();
        }
        size
    }

    /// One exact minimisation over each of the coordinates in turn; returns the largest change of the
    /// gradient.
    fn sweep(&self, coordinates: impl Iterator<Item = usize>, y: &mut [f64], r: &mut [f64]) -> f64 {
        let mut largest = 0.0_f64;
        for q in coordinates {
            if self.rests(q, y[q], r[q]) {
                continue;
            }
            let curvature = self.curvature(q);
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

    /// The exact minimisation over the one coordinate that changes the gradient most, which joins the
    /// support; returns that change.
    fn largest_step(&self, support: &mut Vec<usize>, y: &mut [f64], r: &mut [f64]) -> f64 {
        let (mut largest, mut chosen) = (0.0, None);
        for q in 0..y.len() {
            if self.rests(q, y[q], r[q]) {
                continue;
            }
            let curvature = self.curvature(q);
            let h = self.regularizers[q];
            let new = h.recover_damped(r[q] + curvature * y[q], curvature);
            if new != y[q] {
                let change = (curvature + h.strong_convexity()) * (new - y[q]).abs();
                if change > largest {
                    (largest, chosen) = (change, Some((q, new)));
                }
            }
        }
        if let Some((q, new)) = chosen {
            axpy(-self.scale * (new - y[q]), self.gram.column(q), r);
            y[q] = new;
            if !support.contains(&q) {
                support.push(q);
            }
        }
        largest
    }

    /// The Newton step on the coordinates of `support` that lie inside a quadratic piece of h, cut where the first
    /// of them would leave its piece; returns whether it was cut. Within the pieces the cost is one
    /// quadratic, so the step, cut or not, lowers it.
    fn newton_on_free_set(&self, support: &[usize], y: &mut [f64], r: &[f64]) -> bool {
        let free: Vec<_> = (support.iter())
            .filter_map(|&q| Some((q, self.regularizers[q].piece(y[q])?)))
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
        let mut step: Vec<f64> = free.iter().map(|(q, p)| r[*q] - p.slope).collect();
        if !solve_positive_definite(&mut hessian, &mut step) {
            return false; // too ill-conditioned for an exact solve: the sweeps go on alone
        }
        let mut t = 1.0_f64;
        let mut first = None;
        for (i, (q, piece)) in free.iter().enumerate() {
            let d = step[i];
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
            y[*q] += t * step[i];
        }
        match first {
            Some((q, end)) => y[q] = end,
            None => return false,
        }
        true
    }
}

/// `b` becomes the solution of `a x = b`; false if `a` is not positive definite to rounding.
fn solve_positive_definite(a: &mut Matrix, b: &mut [f64]) -> bool {
    if b.len() <= SMALL {
        return cholesky::solve(a.as_mut_slice(), b);
    }
    let Ok(factor) = a.view().llt(Side::Lower) else {
        return false;
    };
    let x = factor.solve(Matrix::from_fn(b.len(), 1, |i, _| b[i]).view());
    b.iter_mut().enumerate().for_each(|(i, b)| *b = x[(i, 0)]);
    true
}
