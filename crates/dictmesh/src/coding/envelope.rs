//! Envelopes that make the coding problem a quadratic one: e(u) = |u|^2 / (2 a) for all u, or up to a bound and with
//! slope 1 beyond ([`outliers`](super::outliers)). Then, for g = W'c/a,
//!
//! ```text
//! y = argmin 1/2 y'(G/a)y - g'y + h(y),    v = e'(c - W y) = (c - W y)/a, within +-1 where there is a bound
//! ```
//!
//! and y is right just when it is the code of s = W'v. Several samples are solved at once, and this shows which of
//! them are; the others are solved one after the other.

use super::loops::{scaled_sum, Energies, OneAtom};
use super::quadratic::{Coordinate, Quadratic};
use super::scratch::{Scratch, Scratches};
use super::{newton, outliers, Coding, TOGETHER};
use crate::matrix::Matrix;
use crate::regularizer::Regularizer;
use crate::simd::dispatch;
use crate::Stop;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// e(u) as a number and a shape.
#[derive(Clone, Copy, Debug)]
pub(super) enum Envelope {
    /// |u|^2 / (2 a).
    Quadratic(f64),
    /// The same in each |u_m| <= a, with slope 1 beyond.
    Bounded(f64),
}

/// The vectors C = `c` (+ `share`) of a part of the samples, by columns.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub c: &'a [f64],
    pub share: Option<&'a [f64]>,
}

impl Given<'_> {
    /// `v` = the numbers from `from` on, times `factor`.
    pub fn scaled(&self, factor: f64, from: usize, v: &mut [f64]) {
        let share = self.share.map(|share| &share[from..]);
        scaled_sum(factor, &self.c[from..], share, v);
    }
}

impl Coding<'_> {
    /// The envelope of this problem, where it is one of these.
    pub(super) fn shape(&self) -> Option<Envelope> {
        let quadratic = self.residual.envelope_quadratic(self.s, self.q);
        (quadratic.filter(|a| *a > 0.0).map(Envelope::Quadratic))
            .or_else(|| outliers::bound(self).map(Envelope::Bounded))
    }

    /// Solves for each column of C. `y` and `v` are as in [`solve_batch`](Coding::solve_batch). Tells how each ended;
    /// returns whether W'V is in the scratch.
    pub(super) fn solve_enveloped(
        &self,
        envelope: Envelope,
        given: Given,
        y: &mut [f64],
        v: &mut [f64],
        scratch: &mut Scratch,
        ended: impl FnMut(Stop),
    ) -> bool {
        match envelope {
            Envelope::Quadratic(_) => self.solve_quadratics(
                envelope,
                given,
                self.gram,
                self.regularizers,
                y,
                v,
                scratch,
                ended,
            ),
            Envelope::Bounded(_) => {
                outliers::with(self, y, scratch, |gram, regularizers, codes, scratch| {
                    self.solve_quadratics(
                        envelope,
                        given,
                        gram,
                        regularizers,
                        codes,
                        v,
                        scratch,
                        ended,
                    )
                })
            }
        }
    }

    /// The same with the Gram matrix and the regularizers of all codes, those of outliers behind those of atoms.
    #[allow(clippy::too_many_arguments)] // the problem, where it is given, and where it goes
    fn solve_quadratics(
        &self,
        envelope: Envelope,
        given: Given,
        gram: &Matrix,
        regularizers: &[&dyn Regularizer],
        codes: &mut [f64],
        v: &mut [f64],
        scratch: &mut Scratch,
        mut ended: impl FnMut(Stop),
    ) -> bool {
        let (m, n, width) = (self.atoms.rows(), self.atoms.cols(), gram.cols());
        let (Envelope::Quadratic(a) | Envelope::Bounded(a)) = envelope;
        let (inverse, samples) = (1.0 / a, v.len() / m.max(1));
        // From c/a to v.
        let finish = |code: &[f64], v: &mut [f64]| {
            self.add_atoms(-inverse, &code[..n], v);
            if let Envelope::Bounded(_) = envelope {
                v.iter_mut().for_each(|v| *v = v.clamp(-1.0, 1.0));
            }
        };
        given.scaled(inverse, 0, v);
        let Scratch {
            before,
            after,
            energies,
            total,
            newton,
            quadratic,
            ..
        } = scratch;
        before.resize(width * samples, 0.0);
        self.correlate_all(v, before, width);
        if width > n {
            let columns = before.chunks_exact_mut(width).zip(v.chunks_exact(m.max(1)));
            columns.for_each(|(g, v)| g[n..].copy_from_slice(v));
        }
        let memory = std::mem::take(quadratic);
        let mut problem = Quadratic::new(gram, inverse, regularizers, memory);
        let started = problem.can_start(codes);
        if started {
            dispatch(Energies {
                factor: a,
                m: m.max(1),
                v,
                out: energies,
            });
            problem.start(before, energies, codes);
            let columns = codes.chunks_exact(width).zip(v.chunks_exact_mut(m));
            columns.for_each(|(code, v)| finish(code, v));
            after.resize(n * samples, 0.0);
            self.correlate_all(v, after, n);
        }
        for j in 0..samples {
            let (code, v) = (
                &mut codes[j * width..(j + 1) * width],
                &mut v[j * m..(j + 1) * m],
            );
            let (g, s) = (&before[j * width..(j + 1) * width], j * n..(j + 1) * n);
            if self.is_interrupted() {
                ended(Stop::Interrupted);
                continue;
            }
            if started && problem.is_solved(&g[..n], &after[s.clone()], &code[..n]) {
                ended(Stop::Converged);
                continue;
            }
            if started {
                given.scaled(inverse, j * m, v);
            }
            let mut stop = problem.solve(g, code);
            finish(code, v);
            let solved = stop == Stop::Converged;
            if let (Stop::RoundLimit, Envelope::Bounded(_)) = (stop, envelope) {
                total.resize(m, 0.0);
                given.scaled(1.0, j * m, total);
                stop = newton::solve(self, total, &mut code[..n], v, newton);
            }
            ended(stop);
            match (started, solved) {
                (true, true) => after[s].copy_from_slice(&problem.gradient()[..n]),
                (true, false) => self.correlate(v, &mut after[s]),
                (false, _) => {}
            }
        }
        *quadratic = problem.into_memory();
        started
    }

    /// The same for one atom, as in the paper's own experiments: closed form.
    pub(super) fn solve_one_atom(&self, a: f64, given: Given, y: &mut [f64], v: &mut [f64]) {
        let inverse = 1.0 / a;
        dispatch(OneAtom {
            coordinate: Coordinate::new(0, self.regularizers[0], inverse * self.gram.get(0, 0)),
            w: self.atoms.column(0),
            inverse,
            given,
            y,
            v,
        });
    }
}

/// argmin_y 1/2 y'Gy - g'y + h(y) for each column g, G = W'W: with g = W'x the codes for the squared residual.
/// `energies` are the |x|^2; `y` holds the starts on entry. Each column is solved on its own. Returns the worst way any ended.
pub(crate) fn solve_on_gram(
    gram: &Matrix,
    regularizer: &dyn Regularizer,
    g: &Matrix,
    energies: &[f64],
    y: &mut Matrix,
    scratches: &Scratches,
    interrupt: Option<&AtomicBool>,
) -> Stop {
    let n = gram.cols();
    let regularizers = vec![regularizer; n];
    let interrupted = || interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed));
    let part = (n * TOGETHER).max(1);
    let parts = (y.as_mut_slice().par_chunks_mut(part)).zip(g.as_slice().par_chunks(part));
    let parts = parts.zip(energies.par_chunks(TOGETHER));
    let solve_part = |((y, g), energies): ((&mut [f64], &[f64]), &[f64])| {
        scratches.with(|scratch| {
            let memory = std::mem::take(&mut scratch.quadratic);
            let mut problem = Quadratic::new(gram, 1.0, &regularizers, memory);
            if problem.can_start(y) {
                problem.start(g, energies, y);
            }
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
