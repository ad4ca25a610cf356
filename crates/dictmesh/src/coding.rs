//! The coding problem in one place, and the kernel under it.
//!
//! Everything that needs an argmin solves the same pair of problems, for a matrix W, a vector c, a
//! residual f with weight s and a proximal weight q:
//!
//! ```text
//! dual    min_v  s f*(v) + q/2 |v|^2 - c'v + h*(W'v)
//! primal  min_y  e(c - W y) + h(y),    e the conjugate of s f* + q/2 |.|^2,    v = e'(c - W y)
//! ```
//!
//! With s = 1, q = 0 and all atoms it is the paper's inference problem; with s = 1/N, q = rho d_k and
//! one agent's atoms it is the local argmin of the ADMM strategies, the "third time scale" the paper
//! objects to. It is solved in y, which has as many entries as there are atoms:
//!
//! - f* quadratic: coordinate descent on the Gram matrix, ended by exact solves ([`quadratic`]);
//! - f* piecewise quadratic or a norm: proximal Newton steps, each of which is such a problem
//!   ([`newton`]);
//! - f* without curvature and q = 0: the proximal point method in v, each step of which is one of
//!   the above ([`proximal_point`]).

mod cholesky;
mod newton;
mod proximal_point;
mod quadratic;

use crate::matrix::{axpy, dot, norm, Matrix};
use crate::regularizer::Regularizer;
use crate::residual::Residual;
use crate::Stop;
use quadratic::Coordinates;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Samples whose products with the atoms are formed together. Problems with fewer atoms than this are
/// small enough to be solved one after the other.
pub(crate) const TOGETHER: usize = 16;

/// One coding problem without its vector c.
pub(crate) struct Coding<'a> {
    /// f.
    pub residual: &'a dyn Residual,
    /// h, one entry per atom: agents may have different ones.
    pub regularizers: &'a [&'a dyn Regularizer],
    /// W, M x n.
    pub atoms: &'a Matrix,
    /// W'W.
    pub gram: &'a Matrix,
    /// The weight s of f*.
    pub s: f64,
    /// The proximal weight q.
    pub q: f64,
    /// Once it is set, samples are left as they are.
    pub interrupt: Option<&'a AtomicBool>,
}

impl Coding<'_> {
    /// Solves for one c. `y` holds the start on entry and the code on return; `v` gets the dual
    /// vector.
    pub fn solve(&self, c: &[f64], y: &mut [f64], v: &mut [f64]) -> Stop {
        if self.s * self.residual.conjugate_curvature() + self.q <= 0.0 {
            return proximal_point::solve(self, c, y, v);
        }
        if let Some(a) = self.residual.envelope_quadratic(self.s, self.q) {
            let mut g = vec![0.0; y.len()];
            self.correlate(c, &mut g);
            return self.solve_quadratic(a, &self.coordinates(), c, &mut g, y, v);
        }
        newton::solve(self, c, y, v)
    }

    fn coordinates(&self) -> Coordinates {
        Coordinates::new(self.gram, self.regularizers)
    }

    /// e(u) = |u|^2 / (2 a): min_y 1/2 y'(G/a)y - (g/a)'y + h(y) for g = W'c, and v = (c - W y)/a. What
    /// `g` holds afterwards is of no use.
    fn solve_quadratic(
        &self,
        a: f64,
        coordinates: &Coordinates,
        c: &[f64],
        g: &mut [f64],
        y: &mut [f64],
        v: &mut [f64],
    ) -> Stop {
        g.iter_mut().for_each(|g| *g /= a);
        let stop = quadratic::solve(self.gram, coordinates, 1.0 / a, g, self.regularizers, y);
        v.copy_from_slice(c);
        self.subtract_atoms(y, v);
        v.iter_mut().for_each(|v| *v /= a);
        stop
    }

    /// Solves for each column of C = `c` (+ `share` where given). `y` holds the starts on entry and
    /// the codes on return, `v` gets the dual vectors. Returns the worst way any column ended.
    ///
    /// Each column is solved on its own, and the product W'C is formed by parts of a fixed width: no
    /// result depends on the number of threads.
    pub fn solve_batch(
        &self,
        c: &Matrix,
        share: Option<&Matrix>,
        y: &mut Matrix,
        v: &mut Matrix,
    ) -> Stop {
        let (m, n) = (c.rows(), self.atoms.cols());
        if n < TOGETHER || c.cols() < 2 {
            // Little to do for each: it is over before another thread wakes up.
            return self.solve_part(c, share, 0, y.as_mut_slice(), v.as_mut_slice());
        }
        let parts = y.as_mut_slice().par_chunks_mut(n * TOGETHER);
        let parts = parts.zip(v.as_mut_slice().par_chunks_mut((m * TOGETHER).max(1)));
        parts
            .enumerate()
            .map(|(part, (y, v))| self.solve_part(c, share, part * TOGETHER, y, v))
            .reduce(|| Stop::Converged, Stop::worse)
    }

    /// Solves for the columns from `from` on, as many as `v` has room for.
    fn solve_part(
        &self,
        c: &Matrix,
        share: Option<&Matrix>,
        from: usize,
        y: &mut [f64],
        v: &mut [f64],
    ) -> Stop {
        let (m, n) = (c.rows(), self.atoms.cols());
        let columns = (c.cols() - from).min(if n < TOGETHER { c.cols() } else { TOGETHER });
        let mut total = c.columns_range(from..from + columns);
        if let Some(share) = share {
            let share = &share.as_slice()[from * m..(from + columns) * m];
            axpy(1.0, share, total.as_mut_slice());
        }
        self.solve_together(&total, y, v)
            .into_iter()
            .fold(Stop::Converged, Stop::worse)
    }

    /// Solves for each column of C with one product W'C; how each ended. `y` and `v` are as in
    /// [`solve_batch`](Coding::solve_batch), by columns.
    pub fn solve_together(&self, c: &Matrix, y: &mut [f64], v: &mut [f64]) -> Vec<Stop> {
        let (m, n) = (c.rows(), self.atoms.cols());
        let mut quadratic = match self.residual.envelope_quadratic(self.s, self.q) {
            Some(a) if self.s * self.residual.conjugate_curvature() + self.q > 0.0 => {
                let g = self.atoms.transpose_times(c);
                Some((a, self.coordinates(), g))
            }
            _ => None,
        };
        (0..c.cols())
            .map(|j| {
                if self
                    .interrupt
                    .is_some_and(|flag| flag.load(Ordering::Relaxed))
                {
                    return Stop::Interrupted;
                }
                let (y, v) = (&mut y[j * n..(j + 1) * n], &mut v[j * m..(j + 1) * m]);
                match &mut quadratic {
                    Some((a, coordinates, g)) => {
                        self.solve_quadratic(*a, coordinates, c.column(j), g.column_mut(j), y, v)
                    }
                    None => self.solve(c.column(j), y, v),
                }
            })
            .collect()
    }

    /// e(u) = u'v - s f*(v) - q/2 |v|^2 at its own v.
    fn envelope(&self, u: &[f64], v: &[f64]) -> f64 {
        dot(u, v) - self.s * self.residual.conjugate(v) - 0.5 * self.q * dot(v, v)
    }

    /// v = e'(u).
    fn envelope_gradient(&self, u: &[f64], v: &mut [f64]) {
        self.residual.envelope_gradient(self.s, self.q, u, v);
    }

    /// |W y_0| at most, for the code y_0 nearest to 0 that is allowed.
    fn least(&self) -> f64 {
        (self.regularizers.iter().zip(self.atoms.columns()))
            .map(|(h, w)| start_code(*h).abs() * norm(w))
            .sum()
    }

    /// The largest |w_q|.
    fn longest_atom(&self) -> f64 {
        (0..self.gram.cols())
            .map(|q| self.gram.get(q, q))
            .fold(0.0, f64::max)
            .sqrt()
    }

    /// `u -= W y`.
    pub fn subtract_atoms(&self, y: &[f64], u: &mut [f64]) {
        for (w, y) in self.atoms.columns().zip(y) {
            if *y != 0.0 {
                axpy(-y, w, u);
            }
        }
    }

    /// `s = W'v`.
    pub fn correlate(&self, v: &[f64], s: &mut [f64]) {
        for (s, w) in s.iter_mut().zip(self.atoms.columns()) {
            *s = dot(w, v);
        }
    }

    /// h(y).
    pub fn regularizer_value(&self, y: &[f64]) -> f64 {
        self.regularizers
            .iter()
            .zip(y)
            .map(|(h, y)| h.value_at(*y))
            .sum()
    }

    /// Whether y is the code of v to rounding: y = grad h*(W'v), which with v = e'(c - W y) is the
    /// whole optimality condition.
    pub fn is_fixed_point(&self, s: &[f64], y: &[f64], tolerance: f64) -> bool {
        self.regularizers.iter().zip(s).zip(y).all(|((h, s), y)| {
            let recovered = h.recover_damped(*s, 0.0);
            // An error of eps |s| in s moves the recovered code by eps |s| / delta.
            (recovered - y).abs() <= tolerance * (y.abs() + s.abs() / h.strong_convexity())
        })
    }
}

pub(crate) use proximal_point::{separates, support_within_reach};

/// Starting value of a coefficient: the point of the domain of h that a zero sample gets.
pub(crate) fn start_code(h: &dyn Regularizer) -> f64 {
    h.recover_damped(0.0, 0.0)
}
