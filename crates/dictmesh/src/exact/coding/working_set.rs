//! Coding without W'W, for many atoms: problems on small sets of atoms, and KKT scans over all.
//!
//! ```text
//! A    = the support of y
//! y_A <- argmin e(c - W_R y_R - W_A y_A) + h(y_A)      R: all other atoms, whose codes stay
//! s    = W'v,  v = e'(c - W y)                         the scan: one product for all open samples
//! A   <- A and the atoms with the largest KKT violation delta |argmax_y (s_q y - h(y)) - y_q|
//! ```
//!
//! until violations are rounding. The problem on A has a Gram matrix of side |A|, and is solved by
//! the methods for stored ones, for any residual. Memory: |A|^2 and some vectors of n numbers.
//!
//! Codes with more than [`MOST`] entries are found by block coordinate descent: A is then the
//! [`MOST`] atoms with the largest violations, and R has non-zero codes. Each step still lowers the
//! cost, but more of them are needed.

use super::scratch::BlockScratch;
use super::{CodePenalty, Coding, CODE_TOLERANCE};
use crate::problem::regularizer::ScalarPenalty;
use crate::Stop;
use dictmesh_kernels::gram::gram;
use dictmesh_kernels::loops::Targets;
use dictmesh_kernels::matrix::{norm, Matrix};
use dictmesh_kernels::quadratic::Batching;
use faer::{MatMut, MatRef};

/// Largest set, in atoms: its Gram matrix and the two copies that a solve makes take 100 MB.
const MOST: usize = 2048;
/// Atoms that may join a set per scan, if it has no more than that; a larger one may double.
const JOIN: usize = 64;
/// Limit of scans, after which a sample ends with `RoundLimit`. Sets double, so about 10 are usual.
const TURNS: usize = 1000;
/// KKT violation, relative to the summed terms, that counts as rounding ...
const QUIET: f64 = 4.0 * f64::EPSILON;
/// ... and the same by blocks.
const QUIET_BY_BLOCKS: f64 = 1e-13;
/// By blocks the method stops if this many turns did not halve the largest violation, and y is the
/// code of v.
const IDLE: usize = 8;

/// The state of one sample.
struct Sample {
    /// Largest size of A.
    most: usize,
    /// A, ascending.
    set: Vec<usize>,
    /// Whether A includes the support of y.
    covers: bool,
    /// Scale of the rounding errors of s, from the last solve.
    size: f64,
    /// The smallest of the largest violations so far, and the turns that did not halve it.
    smallest: f64,
    idle: usize,
    stop: Stop,
    open: bool,
}

/// Scratch memory, for one sample after the other.
#[derive(Default)]
struct Restricted {
    atoms: Matrix,
    c: Vec<f64>,
    y: Vec<f64>,
    is_member: Vec<bool>,
    wrong: Vec<(f64, usize)>,
}

/// Solves for each column of C, for an e with curvature. `y` holds the starts on entry; `v` gets
/// the dual vectors and `s`, if given, W'V. Calls `ended` with the [`Stop`] of each sample, in
/// order.
pub(super) fn solve(
    problem: &Coding,
    given: Targets,
    y: &mut [f64],
    v: &mut [f64],
    s: Option<&mut [f64]>,
    scratch_of: &BlockScratch,
    ended: impl FnMut(Stop),
) {
    solve_within(MOST, problem, given, y, v, s, scratch_of, ended);
}

/// The same with at most `most` atoms in a set.
#[allow(clippy::too_many_arguments)] // problem, inputs and outputs
fn solve_within(
    most: usize,
    problem: &Coding,
    given: Targets,
    y: &mut [f64],
    v: &mut [f64],
    mut s: Option<&mut [f64]>,
    scratch_of: &BlockScratch,
    ended: impl FnMut(Stop),
) {
    let (m, n) = (problem.atoms.rows(), problem.atoms.cols());
    let count = v.len() / m.max(1);
    let mut memory = Restricted::default();
    let mut samples: Vec<Sample> = (0..count)
        .map(|j| Sample::new(most, &y[j * n..][..n]))
        .collect();
    let (mut open_v, mut open_s) = (Vec::new(), Vec::new());
    for turn in 0..=TURNS {
        let mut open: Vec<usize> = (0..count).filter(|j| samples[*j].open).collect();
        for &j in &open {
            let (y, v) = (&mut y[j * n..][..n], &mut v[j * m..][..m]);
            memory.c.resize(m, 0.0);
            given.scaled(1.0, j * m, &mut memory.c);
            samples[j].solve(problem, y, v, &mut memory, scratch_of);
        }
        open.retain(|j| samples[*j].open);
        if open.is_empty() {
            break;
        }
        open_v.clear();
        open.iter()
            .for_each(|j| open_v.extend_from_slice(&v[j * m..][..m]));
        open_s.resize(n * open.len(), 0.0);
        problem.atoms.correlate_all(
            MatRef::from_column_major_slice(&open_v, m, open.len()),
            MatMut::from_column_major_slice_mut(&mut open_s, n, open.len()),
        );
        for (&j, own) in open.iter().zip(open_s.chunks_exact(n)) {
            let sample = &mut samples[j];
            sample.grow(problem, own, &y[j * n..][..n], &mut memory);
            if sample.open && turn == TURNS {
                (sample.open, sample.stop) = (false, Stop::RoundLimit);
            }
            if let (false, Some(s)) = (sample.open, &mut s) {
                s[j * n..][..n].copy_from_slice(own);
            }
        }
    }
    samples.iter().map(|sample| sample.stop).for_each(ended);
}

impl Sample {
    fn new(most: usize, y: &[f64]) -> Self {
        let mut set: Vec<usize> = (0..y.len()).filter(|q| y[*q] != 0.0).collect();
        let covers = set.len() <= most;
        if !covers {
            set.clear();
        }
        Sample {
            most,
            set,
            covers,
            size: 0.0,
            smallest: f64::INFINITY,
            idle: 0,
            stop: Stop::Converged,
            open: true,
        }
    }

    /// Solves the problem on A. `memory.c` holds c.
    fn solve(
        &mut self,
        problem: &Coding,
        y: &mut [f64],
        v: &mut [f64],
        memory: &mut Restricted,
        scratch_of: &BlockScratch,
    ) {
        if problem.is_interrupted() {
            (self.open, self.stop) = (false, Stop::Interrupted);
            return;
        }
        let Restricted {
            atoms, c, y: own, ..
        } = memory;
        let size = norm(c);
        if !self.covers {
            problem.subtract_atoms(y, c);
        }
        if self.set.is_empty() {
            problem.envelope_gradient(c, v);
            self.size = 0.0;
            return;
        }
        atoms.reshape(c.len(), self.set.len());
        own.clear();
        for (to, q) in self.set.iter().enumerate() {
            atoms
                .column_mut(to)
                .copy_from_slice(problem.atoms.column(*q));
            own.push(y[*q]);
        }
        if !self.covers {
            // The coefficients in A are variables again.
            dictmesh_kernels::loops::add_atoms(atoms, 1.0, own, c);
        }
        let scalars: Vec<&dyn ScalarPenalty> =
            self.set.iter().map(|q| problem.h.scalars[*q]).collect();
        let products = gram(&atoms.columns().collect::<Vec<_>>());
        let restricted = Coding {
            atoms: (&*atoms).into(),
            gram: Some(&products),
            // With curvature and closed forms, solvers use the scalar penalties alone.
            h: CodePenalty {
                blocks: &[],
                scalars: &scalars,
            },
            batching: Batching::OneByOne,
            ..*problem
        };
        self.stop = restricted.solve(c, own, v, &scratch_of.without_cache());
        let (mut longest, mut terms) = (0.0_f64, 0.0);
        for (i, (q, value)) in self.set.iter().zip(own.iter()).enumerate() {
            y[*q] = *value;
            let length = products.get(i, i).sqrt();
            longest = longest.max(length);
            terms += length * value.abs();
        }
        let curvature = problem.s * problem.residual.conjugate_curvature() + problem.q;
        self.size = longest * (size + terms) / curvature;
        self.open = !matches!(self.stop, Stop::Interrupted | Stop::Diverged);
    }

    /// Whether recent turns did not halve the largest violation.
    fn is_idle(&mut self, wrong: &[(f64, usize)]) -> bool {
        let worst = wrong.iter().fold(0.0, |worst: f64, (w, _)| worst.max(*w));
        self.idle = match worst < 0.5 * self.smallest {
            true => 0,
            false => self.idle + 1,
        };
        self.smallest = self.smallest.min(worst);
        self.idle >= IDLE
    }

    /// KKT scan: adds the atoms with the largest violations to A, or closes the sample if there is
    /// none. `s` is W'v.
    fn grow(&mut self, problem: &Coding, s: &[f64], y: &[f64], memory: &mut Restricted) {
        let Restricted {
            is_member, wrong, ..
        } = memory;
        let largest = s.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
        // A maximum drops NaN, a sum does not.
        if !s.iter().sum::<f64>().is_finite() {
            (self.open, self.stop) = (false, Stop::Diverged);
            return;
        }
        let share = if self.covers { QUIET } else { QUIET_BY_BLOCKS };
        let quiet = share * (largest + self.size);
        is_member.clear();
        is_member.resize(s.len(), false);
        self.set.iter().for_each(|q| is_member[*q] = true);
        wrong.clear();
        for (q, (h, (s, y))) in (problem.h.scalars.iter().zip(s.iter().zip(y))).enumerate() {
            let violation = h.strong_convexity() * (h.coordinate_argmax(*s, 0.0) - y).abs();
            if violation > quiet && !is_member[q] {
                wrong.push((violation, q));
            }
        }
        if wrong.is_empty() {
            self.open = false;
            return;
        }
        if !self.covers && self.is_idle(wrong) && problem.h.is_code(s, y, CODE_TOLERANCE) {
            (self.open, self.stop) = (false, Stop::Converged);
            return;
        }
        self.covers &= self.set.len() < self.most;
        let most = match self.covers {
            true => JOIN.max(self.set.len()).min(self.most - self.set.len()),
            false => {
                self.set.clear();
                self.most
            }
        };
        if wrong.len() > most {
            wrong.select_nth_unstable_by(most, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            wrong.truncate(most);
        }
        self.set.extend(wrong.iter().map(|(_, q)| *q));
        // Sorted, so that the code does not depend on the order in which atoms joined.
        self.set.sort_unstable();
    }
}

#[cfg(test)]
mod tests;
