//! Envelopes that make the coding problem quadratic: e(u) = |u|^2 / (2 a) for all u, or up to a
//! threshold and with slope 1 beyond ([`outliers`](super::outliers)). Then, for g = W'c/a,
//!
//! ```text
//! y = argmin 1/2 y'(G/a)y - g'y + h(y),  v = e'(c - W y) = (c - W y)/a, clamped to +-1 if bounded
//! ```
//!
//! and y is optimal if and only if it is the code of s = W'v. Several samples are solved at once
//! and checked by this condition; those that fail it are solved one by one.

use super::outliers::{self, Augmented};
use super::scratch::{BlockScratch, Scratch};
use super::{newton, stop_of, Coding};
use crate::problem::regularizer::ScalarPenalty;
use crate::Stop;
use dictmesh_kernels::loops::{Energies, Targets};
use dictmesh_kernels::matrix::{dot, Matrix};
use dictmesh_kernels::products::SAMPLES_TOGETHER;
use dictmesh_kernels::quadratic::{Batching, Quadratic};
use dictmesh_kernels::simd::dispatch;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// The form of e(u).
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// |u|^2 / (2 a).
    Quadratic(f64),
    /// The same while |u_m| <= a, with slope 1 beyond, in each row.
    Bounded(f64),
}

impl Coding<'_> {
    /// The form of the envelope, if it is one of [`Shape`].
    pub(super) fn shape(&self) -> Option<Shape> {
        let closed = self.residual.envelope().filter(|_| self.is_separable())?;
        let quadratic = closed.quadratic(self.s, self.q);
        (quadratic.filter(|a| *a > 0.0).map(Shape::Quadratic))
            .or_else(|| outliers::bound(self).map(Shape::Bounded))
    }

    /// Solves for each column of C. `y` and `v` are as in [`solve_batch`](Coding::solve_batch).
    /// Calls `ended` with the [`Stop`] of each; returns whether `scratch.after` holds W'V.
    pub(super) fn solve_enveloped(
        &self,
        envelope: Shape,
        given: Targets,
        y: &mut [f64],
        v: &mut [f64],
        scratch: &mut Scratch,
        ended: impl FnMut(Stop),
    ) -> bool {
        let Some(gram) = self.gram else {
            // One atom, whose Gram matrix is a scalar.
            let gram = self.atoms.columns().map(|w| dot(w, w)).collect();
            let gram = Matrix::from_vec(self.atoms.cols(), self.atoms.cols(), gram);
            let gram = gram.unwrap_or_default();
            let own = Coding {
                gram: Some(&gram),
                ..*self
            };
            return own.solve_enveloped(envelope, given, y, v, scratch, ended);
        };
        let own = Augmented { gram, outliers: 0 };
        match envelope {
            Shape::Quadratic(_) => {
                self.solve_quadratics(envelope, given, own, y, v, scratch, ended)
            }
            Shape::Bounded(_) => outliers::with(self, gram, y, scratch, |wide, codes, scratch| {
                self.solve_quadratics(envelope, given, wide, codes, v, scratch, ended)
            }),
        }
    }

    /// The same, with coefficients of outliers after those of the atoms if there is a threshold.
    #[allow(clippy::too_many_arguments)] // problem, inputs and outputs
    fn solve_quadratics(
        &self,
        envelope: Shape,
        given: Targets,
        wide: Augmented,
        codes: &mut [f64],
        v: &mut [f64],
        scratch: &mut Scratch,
        mut ended: impl FnMut(Stop),
    ) -> bool {
        let (m, n, width) = (self.atoms.rows(), self.atoms.cols(), wide.gram.cols());
        let (Shape::Quadratic(a) | Shape::Bounded(a)) = envelope;
        let (inverse, samples) = (1.0 / a, v.len() / m.max(1));
        let mut before = std::mem::take(&mut scratch.before);
        before.resize(width * samples, 0.0);
        given.scaled(inverse, 0, v);
        self.correlate_all(v, &mut before, width);
        if width > n {
            let columns = before.chunks_exact_mut(width).zip(v.chunks_exact(m.max(1)));
            columns.for_each(|(g, v)| g[n..].copy_from_slice(v));
        }
        let quadratic = std::mem::take(&mut scratch.quadratic);
        let outliers = std::iter::repeat_n(outliers::ABSOLUTE, wide.outliers);
        let penalties = self.penalties().chain(outliers);
        let mut problem = Quadratic::new(wide.gram, inverse, penalties, quadratic, self.batching);
        let mut cold = std::mem::take(&mut scratch.cold);
        let started = problem.find_cold(&before, codes, &mut cold);
        if started {
            self.start(envelope, &mut problem, &before, &cold, codes, v, scratch);
        }
        let mut solved = std::mem::take(&mut scratch.solved);
        problem.solve_few(&before, codes, &mut solved);
        for j in 0..samples {
            let code = &mut codes[j * width..(j + 1) * width];
            let (v, s) = (&mut v[j * m..(j + 1) * m], j * n..(j + 1) * n);
            let g = &before[j * width..(j + 1) * width];
            if self.is_interrupted() {
                ended(Stop::Interrupted);
                continue;
            }
            if cold.get(j) == Some(&true) {
                if problem.is_solved(&g[..n], &scratch.after[s.clone()], &code[..n]) {
                    ended(Stop::Converged);
                    continue;
                }
                given.scaled(inverse, j * m, v);
            }
            let mut stop = match solved.get(j) {
                Some(true) => Stop::Converged,
                _ => stop_of(problem.solve(g, code)),
            };
            self.finish(envelope, code, v);
            let converged = stop == Stop::Converged;
            if let (Stop::RoundLimit, Shape::Bounded(_)) = (stop, envelope) {
                stop = self.by_newton(given, j, &mut code[..n], v, scratch);
            }
            match (started, converged) {
                (true, true) => scratch.after[s].copy_from_slice(&problem.gradient()[..n]),
                (true, false) => self.correlate(v, &mut scratch.after[s]),
                (false, _) => {}
            }
            ended(stop);
        }
        (scratch.quadratic, scratch.solved) = (problem.into_scratch(), solved);
        (scratch.before, scratch.cold) = (before, cold);
        started
    }

    /// Starting codes of all cold samples, from g. Their columns of `v` hold c/a on entry and the
    /// dual vectors on return; `scratch.after` gets their W'V, for the KKT check.
    #[allow(clippy::too_many_arguments)] // problem, inputs and outputs
    fn start(
        &self,
        envelope: Shape,
        problem: &mut Quadratic,
        g: &[f64],
        cold: &[bool],
        codes: &mut [f64],
        v: &mut [f64],
        scratch: &mut Scratch,
    ) {
        let (m, n, width) = (self.atoms.rows(), self.atoms.cols(), problem.width());
        let (Shape::Quadratic(factor) | Shape::Bounded(factor)) = envelope;
        let Scratch {
            after,
            energies,
            gathered: [open_v, open_s],
            ..
        } = scratch;
        dispatch(Energies {
            factor,
            m: m.max(1),
            v,
            out: energies,
        });
        problem.start(g, energies, cold, codes);
        let columns = codes.chunks_exact(width).zip(v.chunks_exact_mut(m));
        let columns = columns.zip(cold).filter(|(_, cold)| **cold);
        columns.for_each(|((code, v), _)| self.finish(envelope, code, v));
        after.resize(cold.len() * n, 0.0);
        // Reserved at once: later rounds do not allocate.
        open_v.clear();
        open_v.reserve(v.len().max(2 * m));
        open_s.clear();
        open_s.reserve(after.len().max(2 * n));
        if cold.iter().all(|cold| *cold) {
            return self.correlate_all(v, after, n);
        }
        let is_cold = |j: &usize| cold[*j];
        for j in (0..cold.len()).filter(is_cold) {
            open_v.extend_from_slice(&v[j * m..(j + 1) * m]);
        }
        // Two columns at least: a single one would be summed in another order.
        open_v.resize(open_v.len().max(2 * m), 0.0);
        open_s.resize(open_v.len() / m * n, 0.0);
        self.correlate_all(open_v, open_s, n);
        for (j, s) in (0..cold.len()).filter(is_cold).zip(open_s.chunks_exact(n)) {
            after[j * n..(j + 1) * n].copy_from_slice(s);
        }
    }

    /// Proximal Newton for sample `j`, from its current code.
    fn by_newton(
        &self,
        given: Targets,
        j: usize,
        y: &mut [f64],
        v: &mut [f64],
        scratch: &mut Scratch,
    ) -> Stop {
        let Scratch { total, newton, .. } = scratch;
        total.resize(v.len(), 0.0);
        given.scaled(1.0, j * v.len(), total);
        newton::solve(self, total, y, v, newton)
    }

    /// Turns c/a into v.
    fn finish(&self, envelope: Shape, code: &[f64], v: &mut [f64]) {
        let (Shape::Quadratic(a) | Shape::Bounded(a)) = envelope;
        self.add_atoms(-1.0 / a, &code[..self.atoms.cols()], v);
        if let Shape::Bounded(_) = envelope {
            v.iter_mut().for_each(|v| *v = v.clamp(-1.0, 1.0));
        }
    }
}

/// argmin_y 1/2 y'Gy - g'y + h(y) for each column g, G = W'W: with g = W'x the codes for the
/// squared residual. `energies` are the |x|^2; `y` holds the starts on entry. Columns are solved
/// independently. Returns the worst [`Stop`].
#[allow(clippy::too_many_arguments)] // one per symbol of the problem, and how it is solved
pub(crate) fn solve_on_gram(
    gram: &Matrix,
    penalties: &[&dyn ScalarPenalty],
    g: &Matrix,
    energies: &[f64],
    y: &mut Matrix,
    scratch_of: &BlockScratch,
    interrupt: Option<&AtomicBool>,
    batching: Batching,
) -> Stop {
    let n = gram.cols();
    let penalties = || penalties.iter().copied();
    let interrupted = || interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed));
    let part = (n * SAMPLES_TOGETHER).max(1);
    let parts = (y.as_mut_slice().par_chunks_mut(part)).zip(g.as_slice().par_chunks(part));
    let parts = parts.zip(energies.par_chunks(SAMPLES_TOGETHER));
    let solve_part = |((y, g), energies): ((&mut [f64], &[f64]), &[f64])| {
        scratch_of.with(|scratch| {
            let quadratic = std::mem::take(&mut scratch.quadratic);
            let mut problem = Quadratic::new(gram, 1.0, penalties(), quadratic, batching);
            let mut cold = std::mem::take(&mut scratch.cold);
            if problem.find_cold(g, y, &mut cold) {
                problem.start(g, energies, &cold, y);
            }
            scratch.cold = cold;
            let mut worst = Stop::Converged;
            for (g, y) in g.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
                worst = worst.worse(match interrupted() {
                    true => Stop::Interrupted,
                    false => stop_of(problem.solve(g, y)),
                });
            }
            scratch.quadratic = problem.into_scratch();
            worst
        })
    };
    parts
        .with_max_len(1)
        .map(solve_part)
        .reduce(|| Stop::Converged, Stop::worse)
}
