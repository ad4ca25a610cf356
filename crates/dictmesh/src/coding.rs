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
//! - f* quadratic: an active set on the Gram matrix, with coordinate descent and exact solves
//!   ([`quadratic`]);
//! - f* quadratic in a box (Huber): the same with a code for each row, its outlier ([`outliers`]), or, where
//!   rows are many or atoms few, as the next;
//! - f* piecewise quadratic or a norm: proximal Newton steps, each of which is such a problem
//!   ([`newton`]);
//! - f* without curvature and q = 0: the proximal point method in v, each step of which is one of
//!   the above ([`proximal_point`]).

mod cholesky;
mod newton;
mod outliers;
mod proximal_point;
mod quadratic;
mod scratch;

use crate::matrix::{dot, gemm, norm, Matrix};
use crate::regularizer::Regularizer;
use crate::residual::Residual;
use crate::simd::{self, dispatch, Simd, WithSimd};
use crate::Stop;
use faer::{MatMut, MatRef};
use quadratic::{Coordinate, Quadratic};
use rayon::prelude::*;
pub use scratch::Memory;
use scratch::Scratch;
pub(crate) use scratch::{emptied, Scratches, Shelves};
use std::sync::atomic::{AtomicBool, Ordering};

/// Samples whose products with the atoms are formed together.
pub(crate) const TOGETHER: usize = 64;
/// Problems with fewer atoms than this are small enough to be solved one after the other.
const FEW: usize = 16;

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
    /// Once it is set, samples that are not yet solved are left at their start.
    pub interrupt: Option<&'a AtomicBool>,
}

impl Coding<'_> {
    /// Solves for one c. `y` holds the start on entry and the code on return; `v` gets the dual
    /// vector.
    fn solve(&self, c: &[f64], y: &mut [f64], v: &mut [f64], scratches: &Scratches) -> Stop {
        if self.s * self.residual.conjugate_curvature() + self.q <= 0.0 {
            return proximal_point::solve(self, c, y, v, scratches);
        }
        if let Some(a) = self.quadratic() {
            let mut stop = Stop::Converged;
            let solved = |scratch: &mut Scratch| {
                self.solve_quadratics(a, c, None, y, v, scratch, |ended| stop = ended)
            };
            scratches.with(solved);
            return stop;
        }
        match outliers::bound(self) {
            Some(a) => {
                let mut stop = Stop::Converged;
                outliers::solve(self, a, (c, None), y, v, scratches, |ended| stop = ended);
                stop
            }
            None => scratches.with(|scratch| newton::solve(self, c, y, v, &mut scratch.newton)),
        }
    }

    fn is_interrupted(&self) -> bool {
        (self.interrupt).is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// a, if the envelope e(u) is |u|^2 / (2 a).
    fn quadratic(&self) -> Option<f64> {
        (self.residual.envelope_quadratic(self.s, self.q)).filter(|a| *a > 0.0)
    }

    /// e(u) = |u|^2 / (2 a): min_y 1/2 y'(G/a)y - g'y + h(y) for g = W'c/a, and v = c/a - W y/a, for each
    /// column of C = `c` (+ `share`). Tells how each ended; returns whether W'V is in the scratch.
    #[allow(clippy::too_many_arguments)] // the problem, where it is given, and where it goes
    fn solve_quadratics(
        &self,
        a: f64,
        c: &[f64],
        share: Option<&[f64]>,
        y: &mut [f64],
        v: &mut [f64],
        scratch: &mut Scratch,
        mut ended: impl FnMut(Stop),
    ) -> bool {
        let (m, n) = (self.atoms.rows(), self.atoms.cols());
        let inverse = 1.0 / a;
        let scaled = |from: usize, v: &mut [f64]| {
            scaled_sum(inverse, &c[from..], share.map(|share| &share[from..]), v);
        };
        scaled(0, v);
        let samples = v.len() / m.max(1);
        let Scratch { before, after, .. } = scratch;
        before.resize(n * samples, 0.0);
        self.correlate_all(v, before);
        let memory = std::mem::take(&mut scratch.quadratic);
        let mut problem = Quadratic::new(self.gram, inverse, self.regularizers, memory);
        // Most samples are solved several at once; W'v = g - (G/a) y then shows which of them are.
        let started = problem.start(before, y);
        if started {
            for (y, v) in y.chunks_exact(n).zip(v.chunks_exact_mut(m)) {
                self.add_atoms(-inverse, y, v);
            }
            after.resize(n * samples, 0.0);
            self.correlate_all(v, after);
        }
        for j in 0..samples {
            let (y, v) = (&mut y[j * n..(j + 1) * n], &mut v[j * m..(j + 1) * m]);
            let g = &before[j * n..(j + 1) * n];
            if self.is_interrupted() {
                ended(Stop::Interrupted);
                continue;
            }
            if started {
                if problem.is_solved(g, &after[j * n..(j + 1) * n], y) {
                    ended(Stop::Converged);
                    continue;
                }
                scaled(j * m, v);
            }
            ended(problem.solve(g, y));
            self.add_atoms(-inverse, y, v);
            if started {
                self.correlate(v, &mut after[j * n..(j + 1) * n]);
            }
        }
        scratch.quadratic = problem.into_memory();
        started
    }

    /// The same for one atom, as in the paper's own experiments: closed form.
    fn solve_one_atom(
        &self,
        a: f64,
        c: &[f64],
        share: Option<&[f64]>,
        y: &mut [f64],
        v: &mut [f64],
    ) {
        let inverse = 1.0 / a;
        dispatch(OneAtom {
            coordinate: Coordinate::new(0, self.regularizers[0], inverse * self.gram.get(0, 0)),
            w: self.atoms.column(0),
            inverse,
            c,
            share,
            y,
            v,
        });
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
        scratches: &Scratches,
    ) -> Stop {
        let (m, n) = (c.rows(), self.atoms.cols());
        if n < FEW || c.cols() < 2 {
            // Mostly over before another thread wakes up, and agents work side by side already.
            let (y, v) = (y.as_mut_slice(), v.as_mut_slice());
            return self.solve_part(c, share, 0, y, v, scratches);
        }
        let parts = y.as_mut_slice().par_chunks_mut(n * TOGETHER);
        let parts = parts.zip(v.as_mut_slice().par_chunks_mut((m * TOGETHER).max(1)));
        parts
            .enumerate()
            .map(|(part, (y, v))| self.solve_part(c, share, part * TOGETHER, y, v, scratches))
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
        scratches: &Scratches,
    ) -> Stop {
        let (m, n) = (c.rows(), self.atoms.cols());
        let columns = (c.cols() - from).min(if n < FEW { c.cols() } else { TOGETHER });
        let mut worst = Stop::Converged;
        let ended = |stop| worst = worst.worse(stop);
        let range = from * m..(from + columns) * m;
        let (c, share) = (
            &c.as_slice()[range.clone()],
            share.map(|b| &b.as_slice()[range]),
        );
        match self.quadratic() {
            Some(a) if n == 1 => self.solve_one_atom(a, c, share, y, v),
            Some(a) => scratches.with(|scratch| {
                self.solve_quadratics(a, c, share, y, v, scratch, ended);
            }),
            None => self.solve_each(c, share, y, v, scratches, ended),
        }
        worst
    }

    /// Solves for each column of C; `s` gets W'V, and `stops` how each ended. `y` and `v` are as in
    /// [`solve_batch`](Coding::solve_batch), by columns.
    pub fn solve_together(
        &self,
        c: &[f64],
        y: &mut [f64],
        v: &mut [f64],
        s: &mut [f64],
        stops: &mut Vec<Stop>,
        scratches: &Scratches,
    ) {
        let ended = |stop| stops.push(stop);
        let Some(a) = self.quadratic() else {
            self.solve_each(c, None, y, v, scratches, ended);
            return self.correlate_all(v, s);
        };
        scratches.with(
            |scratch| match self.solve_quadratics(a, c, None, y, v, scratch, ended) {
                true => s.copy_from_slice(&scratch.after),
                false => self.correlate_all(v, s),
            },
        );
    }

    /// One after the other, where the envelope is not one quadratic.
    fn solve_each(
        &self,
        c: &[f64],
        share: Option<&[f64]>,
        y: &mut [f64],
        v: &mut [f64],
        scratches: &Scratches,
        mut ended: impl FnMut(Stop),
    ) {
        if let Some(a) = outliers::bound(self) {
            return outliers::solve(self, a, (c, share), y, v, scratches, ended);
        }
        let (m, n) = (self.atoms.rows(), self.atoms.cols());
        for j in 0..c.len() / m.max(1) {
            let (y, v) = (&mut y[j * n..(j + 1) * n], &mut v[j * m..(j + 1) * m]);
            if self.is_interrupted() {
                ended(Stop::Interrupted);
                continue;
            }
            let range = j * m..(j + 1) * m;
            let Some(share) = share else {
                ended(self.solve(&c[range], y, v, scratches));
                continue;
            };
            let mut total = scratches.with(|scratch| std::mem::take(&mut scratch.total));
            total.clear();
            total.extend((c[range.clone()].iter().zip(&share[range])).map(|(c, b)| c + b));
            ended(self.solve(&total, y, v, scratches));
            scratches.with(|scratch| scratch.total = total);
        }
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
        self.add_atoms(-1.0, y, u);
    }

    /// `u += factor W y`.
    fn add_atoms(&self, factor: f64, y: &[f64], u: &mut [f64]) {
        add_atoms(self.atoms, factor, y, u);
    }

    /// `s = W'V` for V by columns.
    fn correlate_all(&self, v: &[f64], s: &mut [f64]) {
        let (m, n) = (self.atoms.rows(), self.atoms.cols());
        let samples = v.len() / m.max(1);
        let v = MatRef::from_column_major_slice(v, m, samples);
        let s = MatMut::from_column_major_slice_mut(s, n, samples);
        gemm(s, self.atoms.view().transpose(), v, 1.0, false);
    }

    /// `s = W'v`.
    pub fn correlate(&self, v: &[f64], s: &mut [f64]) {
        dispatch(Correlate {
            atoms: self.atoms,
            v,
            s,
        });
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

/// argmin_y 1/2 y'Gy - g'y + h(y) for each column g, G = W'W: with g = W'x the codes for the squared residual. `y`
/// holds the starts on entry. Each column is solved on its own. Returns the worst way any ended.
pub(crate) fn solve_on_gram(
    gram: &Matrix,
    regularizer: &dyn Regularizer,
    g: &Matrix,
    y: &mut Matrix,
    scratches: &Scratches,
    interrupt: Option<&AtomicBool>,
) -> Stop {
    let n = gram.cols();
    let regularizers = vec![regularizer; n];
    let interrupted = || interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed));
    let part = (n * TOGETHER).max(1);
    let parts = (y.as_mut_slice().par_chunks_mut(part)).zip(g.as_slice().par_chunks(part));
    let solve_part = |(y, g): (&mut [f64], &[f64])| {
        scratches.with(|scratch| {
            let memory = std::mem::take(&mut scratch.quadratic);
            let mut problem = Quadratic::new(gram, 1.0, &regularizers, memory);
            problem.start(g, y);
            let mut worst = Stop::Converged;
            for (g, y) in g.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
                worst = worst.worse(match interrupted() {
                    true => Stop::Interrupted,
                    false => problem.solve(g, y),
                });
            }
            scratch.quadratic = problem.into_memory();
            worst
        })
    };
    parts
        .map(solve_part)
        .reduce(|| Stop::Converged, Stop::worse)
}

/// `v = factor (c + share)`.
#[inline(always)]
fn scaled_sum(factor: f64, c: &[f64], share: Option<&[f64]>, v: &mut [f64]) {
    match share {
        Some(share) => {
            (v.iter_mut().zip(c.iter().zip(share))).for_each(|(v, (c, b))| *v = (c + b) * factor)
        }
        None => (v.iter_mut().zip(c)).for_each(|(v, c)| *v = c * factor),
    }
}

/// One atom for every sample.
struct OneAtom<'a> {
    coordinate: Coordinate<'a>,
    w: &'a [f64],
    inverse: f64,
    c: &'a [f64],
    share: Option<&'a [f64]>,
    y: &'a mut [f64],
    v: &'a mut [f64],
}

impl WithSimd for OneAtom<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let m = self.w.len();
        for (j, y) in self.y.iter_mut().enumerate() {
            let range = j * m..(j + 1) * m;
            let v = &mut self.v[range.clone()];
            let share = self.share.map(|share| &share[range.clone()]);
            scaled_sum(self.inverse, &self.c[range], share, v);
            *y = self.coordinate.recover(simd::dot(simd, self.w, v));
            simd::add(simd, -self.inverse * *y, self.w, v);
        }
    }
}

/// `u += factor W y`, for a y that is mostly 0.
pub(crate) fn add_atoms(atoms: &Matrix, factor: f64, y: &[f64], u: &mut [f64]) {
    dispatch(AddAtoms {
        atoms,
        factor,
        y,
        u,
    });
}

struct AddAtoms<'a> {
    atoms: &'a Matrix,
    factor: f64,
    y: &'a [f64],
    u: &'a mut [f64],
}

impl WithSimd for AddAtoms<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        /// Atoms at a time.
        const SOME: usize = 32;
        let mut terms: [(f64, &[f64]); SOME] = [(0.0, &[]); SOME];
        let mut count = 0;
        for (w, y) in self.atoms.columns().zip(self.y) {
            terms[count] = (self.factor * y, w); // overwritten unless it counts: no branch to guess wrong
            count += usize::from(*y != 0.0);
            if count == SOME {
                simd::add_all(simd, false, terms.iter().copied(), self.u);
                count = 0;
            }
        }
        simd::add_all(simd, false, terms[..count].iter().copied(), self.u);
    }
}

/// `s = W'v`.
struct Correlate<'a> {
    atoms: &'a Matrix,
    v: &'a [f64],
    s: &'a mut [f64],
}

impl WithSimd for Correlate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (s, w) in self.s.iter_mut().zip(self.atoms.columns()) {
            *s = simd::dot(simd, w, self.v);
        }
    }
}

pub(crate) use proximal_point::{separates, support_within_reach};

/// Starting value of a coefficient: the point of the domain of h that a zero sample gets.
pub(crate) fn start_code(h: &dyn Regularizer) -> f64 {
    h.recover_damped(0.0, 0.0)
}
