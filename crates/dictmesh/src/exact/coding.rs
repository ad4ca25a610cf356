//! The coding problem and its solvers.
//!
//! Every argmin is an instance of one pair of problems, for a matrix W, a vector c, a residual f
//! with weight s and a proximal weight q:
//!
//! ```text
//! dual    min_v  s f*(v) + q/2 |v|^2 - c'v + h*(W'v)
//! primal  min_y  e(c - W y) + h(y),    e the conjugate of s f* + q/2 |.|^2,    v = e'(c - W y)
//! ```
//!
//! With s = 1, q = 0 and all atoms it is the paper's inference problem. With s = 1/N, q = rho d_k
//! and one agent's atoms it is the local argmin of the ADMM strategies, the "third time scale" the
//! paper objects to. It is solved in y, which has one entry per atom:
//!
//! - f* quadratic: an active set on the Gram matrix, with coordinate descent and exact solves
//!   ([`quadratic`]);
//! - f* quadratic in a box (Huber): the same with one more coefficient per row, its outlier
//!   ([`outliers`]), or Newton steps if there are many rows or few atoms;
//! - f* piecewise quadratic or a norm: proximal Newton steps, each of which is a quadratic problem
//!   ([`newton`]);
//! - h not separable, or e without closed forms: accelerated proximal gradient steps
//!   ([`accelerated`]);
//! - f* without curvature and q = 0, or e without closed forms and q = 0: the proximal point method
//!   in v, each step of which is one of the above ([`proximal_point`]);
//! - W'W not stored, h separable and e with closed forms: the above on small working sets of atoms,
//!   and KKT scans over all of them ([`working_set`]).

mod accelerated;
mod envelope;
mod infeasible;
mod newton;
mod outliers;
mod parts;
mod penalty;
mod proximal_point;
mod scratch;
mod working_set;

use crate::problem::regularizer::ScalarPenalty;
use crate::problem::residual::Residual;
use crate::Stop;
use dictmesh_kernels::atoms::Atoms;
use dictmesh_kernels::correlate::correlate_columns;
use dictmesh_kernels::loops::Targets;
use dictmesh_kernels::matrix::{dot, norm, Matrix};
use dictmesh_kernels::quadratic::{Batching, Outcome};
pub(crate) use envelope::solve_on_gram;
use faer::{MatMut, MatRef};
pub(crate) use infeasible::{separates, support_within_reach};
pub(crate) use parts::in_parts;
pub(crate) use penalty::{start_codes, CodePenalty};
pub(crate) use scratch::BlockScratch;
use scratch::Scratch;
pub use scratch::ScratchPool;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Problems with fewer atoms are solved on one thread.
const FEW: usize = 16;

/// Relative error up to which y counts as the code of v, if a method ends without convergence.
const CODE_TOLERANCE: f64 = 1e-9;

/// One coding problem without its vector c.
pub(crate) struct Coding<'a> {
    /// f.
    pub residual: &'a dyn Residual,
    /// h: agents may have different ones.
    pub h: CodePenalty<'a>,
    /// W, M x n.
    pub atoms: Atoms<'a>,
    /// W'W, where it is stored.
    pub gram: Option<&'a Matrix>,
    /// The weight s of f*.
    pub s: f64,
    /// The proximal weight q.
    pub q: f64,
    /// Once it is set, samples that are not yet solved keep their current codes.
    pub interrupt: Option<&'a AtomicBool>,
    /// How the samples of a batch are solved.
    pub batching: Batching,
}

impl Coding<'_> {
    /// Solves for one c. `y` holds the start on entry and the code on return; `v` gets the dual
    /// vector.
    fn solve(&self, c: &[f64], y: &mut [f64], v: &mut [f64], scratch_of: &BlockScratch) -> Stop {
        let curvature = match self.residual.envelope() {
            Some(_) => self.s * self.residual.conjugate_curvature() + self.q,
            // e' is then a prox, which needs q.
            None => self.q,
        };
        if curvature <= 0.0 {
            return proximal_point::solve(self, c, y, v, scratch_of);
        }
        if !self.has_closed_forms() {
            let steps =
                |scratch: &mut Scratch| accelerated::solve(self, c, y, v, &mut scratch.accelerated);
            return scratch_of.with(steps);
        }
        let (given, mut stop) = (Targets { c, share: None }, Stop::Converged);
        if self.is_on_demand() {
            working_set::solve(self, given, y, v, None, scratch_of, |ended| stop = ended);
            return stop;
        }
        let Some(envelope) = self.shape() else {
            return scratch_of.with(|scratch| newton::solve(self, c, y, v, &mut scratch.newton));
        };
        scratch_of.with(|scratch| {
            self.solve_enveloped(envelope, given, y, v, scratch, |ended| stop = ended)
        });
        stop
    }

    /// Whether samples are solved on working sets: W'W is not stored, and the problem has curvature
    /// and closed forms.
    fn is_on_demand(&self) -> bool {
        let is_stored = self.gram.is_some() || self.atoms.cols() <= 1;
        let curvature = || self.s * self.residual.conjugate_curvature() + self.q;
        !is_stored && curvature() > 0.0 && self.has_closed_forms()
    }

    /// h, one scalar penalty per atom.
    fn penalties(&self) -> impl Iterator<Item = &dyn ScalarPenalty> {
        self.h.scalars.iter().copied()
    }

    /// Whether h is separable.
    fn is_separable(&self) -> bool {
        self.h.scalars.len() == self.atoms.cols()
    }

    /// Whether h is separable and e has closed forms.
    fn has_closed_forms(&self) -> bool {
        self.is_separable() && self.residual.envelope().is_some()
    }

    fn is_interrupted(&self) -> bool {
        (self.interrupt).is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Solves for each column of C = `c` (+ `share` where given). `y` holds the starts on entry and
    /// the codes on return, `v` gets the dual vectors. Returns the worst [`Stop`] of all columns.
    ///
    /// Columns are solved independently, and W'C is formed in parts of fixed width: no result
    /// depends on the number of threads.
    pub fn solve_batch(
        &self,
        c: &Matrix,
        share: Option<&Matrix>,
        y: &mut Matrix,
        v: &mut Matrix,
        scratch_of: &BlockScratch,
    ) -> Stop {
        let (y, v) = (y.as_mut_slice(), v.as_mut_slice());
        let all = 0..c.cols();
        if self.atoms.cols() < FEW || c.cols() < 2 {
            // Too short for a second thread, and agents already run in parallel.
            return self.solve_part(c, share, all, y, v, scratch_of);
        }
        let solve = |columns: Range<usize>, y: &mut [f64], v: &mut [f64]| {
            self.solve_part(c, share, columns, y, v, scratch_of)
        };
        in_parts(all, c.cols(), y, v, &solve, &Stop::worse)
    }

    /// Solves for these columns of C, on one thread.
    pub fn solve_part(
        &self,
        c: &Matrix,
        share: Option<&Matrix>,
        columns: Range<usize>,
        y: &mut [f64],
        v: &mut [f64],
        scratch_of: &BlockScratch,
    ) -> Stop {
        let range = columns.start * c.rows()..columns.end * c.rows();
        let given = Targets {
            c: &c.as_slice()[range.clone()],
            share: share.map(|b| &b.as_slice()[range]),
        };
        let mut worst = Stop::Converged;
        let ended = |stop| worst = worst.worse(stop);
        match self.shape() {
            _ if self.is_on_demand() => {
                working_set::solve(self, given, y, v, None, scratch_of, ended)
            }
            Some(envelope) => {
                scratch_of
                    .with(|scratch| self.solve_enveloped(envelope, given, y, v, scratch, ended));
            }
            None => self.solve_each(given, y, v, scratch_of, ended),
        }
        worst
    }

    /// Solves for each column of C; `s` gets W'V, and `stops` the [`Stop`] of each. `y` and `v` are
    /// as in [`solve_batch`](Coding::solve_batch), by columns.
    pub fn solve_together(
        &self,
        c: &[f64],
        y: &mut [f64],
        v: &mut [f64],
        s: &mut Vec<f64>,
        stops: &mut Vec<Stop>,
        scratch_of: &BlockScratch,
    ) {
        let (given, ended) = (Targets { c, share: None }, |stop| stops.push(stop));
        if self.is_on_demand() {
            return working_set::solve(self, given, y, v, Some(s), scratch_of, ended);
        }
        let Some(envelope) = self.shape() else {
            self.solve_each(given, y, v, scratch_of, ended);
            return self.correlate_all(v, s, self.atoms.cols());
        };
        scratch_of.with(|scratch| {
            match self.solve_enveloped(envelope, given, y, v, scratch, ended) {
                true => std::mem::swap(s, &mut scratch.after),
                false => self.correlate_all(v, s, self.atoms.cols()),
            }
        });
    }

    /// Solves column by column, if the envelope is not a [`Shape`].
    fn solve_each(
        &self,
        given: Targets,
        y: &mut [f64],
        v: &mut [f64],
        scratch_of: &BlockScratch,
        mut ended: impl FnMut(Stop),
    ) {
        let (m, n) = (self.atoms.rows(), self.atoms.cols());
        let mut total = scratch_of.with(|scratch| std::mem::take(&mut scratch.total));
        total.resize(m, 0.0);
        for j in 0..v.len() / m.max(1) {
            let (y, v) = (&mut y[j * n..(j + 1) * n], &mut v[j * m..(j + 1) * m]);
            if self.is_interrupted() {
                ended(Stop::Interrupted);
                continue;
            }
            given.scaled(1.0, j * m, &mut total);
            ended(self.solve(&total, y, v, scratch_of));
        }
        scratch_of.with(|scratch| scratch.total = total);
    }

    /// e(u) = u'v - s f*(v) - q/2 |v|^2 at its own v.
    fn envelope(&self, u: &[f64], v: &[f64]) -> f64 {
        dot(u, v) - self.s * self.residual.conjugate(v) - 0.5 * self.q * dot(v, v)
    }

    /// v = e'(u).
    fn envelope_gradient(&self, u: &[f64], v: &mut [f64]) {
        match self.residual.envelope() {
            Some(envelope) => envelope.gradient(self.s, self.q, u, v),
            // The argmax of u'v - s f*(v) - q/2 |v|^2 is the prox of (s/q) f* at u/q.
            None => {
                (v.iter_mut().zip(u)).for_each(|(v, u)| *v = u / self.q);
                self.residual.conjugate_prox(self.s / self.q, v);
            }
        }
    }

    /// Upper bound of |W y_0| for y_0 = argmin h.
    fn least(&self) -> f64 {
        let mut start = vec![0.0; self.atoms.cols()];
        self.h.argmax(0.0, &mut start);
        (start.iter().zip(self.atoms.columns()))
            .map(|(y, w)| y.abs() * norm(w))
            .sum()
    }

    /// The largest |w_q|.
    fn longest_atom(&self) -> f64 {
        match self.gram {
            Some(gram) => (0..gram.cols())
                .map(|q| gram.get(q, q))
                .fold(0.0, f64::max)
                .sqrt(),
            None => self.atoms.columns().map(norm).fold(0.0, f64::max),
        }
    }

    /// `u -= W y`.
    pub fn subtract_atoms(&self, y: &[f64], u: &mut [f64]) {
        self.add_atoms(-1.0, y, u);
    }

    /// `u += factor W y`.
    fn add_atoms(&self, factor: f64, y: &[f64], u: &mut [f64]) {
        self.atoms.add(factor, y, u);
    }

    /// `s = W'V` for V by columns; the columns of `s` are `width` apart.
    fn correlate_all(&self, v: &[f64], s: &mut [f64], width: usize) {
        let (m, n) = (self.atoms.rows(), self.atoms.cols());
        let samples = v.len() / m.max(1);
        let v = MatRef::from_column_major_slice(v, m, samples);
        let s = MatMut::from_column_major_slice_mut(s, width, samples).subrows_mut(0, n);
        match self.atoms {
            Atoms::Matrix(w) => correlate_columns(w, v, s),
            Atoms::Blocks(_) => self.atoms.correlate_all(v, s),
        }
    }

    /// `s = W'v`.
    pub fn correlate(&self, v: &[f64], s: &mut [f64]) {
        self.atoms.correlate(v, s);
    }
}

/// The [`Stop`] of a coding problem for the outcome of its quadratic problem.
fn stop_of(outcome: Outcome) -> Stop {
    match outcome {
        Outcome::Converged => Stop::Converged,
        Outcome::TurnLimit => Stop::RoundLimit,
        Outcome::NotFinite => Stop::Diverged,
    }
}
