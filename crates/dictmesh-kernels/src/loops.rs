//! Loops over the entries of one sample, compiled for each SIMD instruction set.

use crate::matrix::Matrix;
use crate::quadratic::Coordinate;
use crate::simd::{self, dispatch, Simd, WithSimd};

/// The vectors C = `c` (+ `share`) of some samples, by columns.
#[derive(Clone, Copy, Debug)]
pub struct Targets<'a> {
    /// The vectors c.
    pub c: &'a [f64],
    /// Added to each c, if given.
    pub share: Option<&'a [f64]>,
}

impl Targets<'_> {
    /// `v` = the entries from `from` on, times `factor`.
    #[inline(always)]
    pub fn scaled(&self, factor: f64, from: usize, v: &mut [f64]) {
        let share = self.share.map(|share| &share[from..]);
        scaled_sum(factor, &self.c[from..], share, v);
    }
}

/// `v = factor (c + share)`.
#[inline(always)]
pub fn scaled_sum(factor: f64, c: &[f64], share: Option<&[f64]>, v: &mut [f64]) {
    match share {
        Some(share) => {
            (v.iter_mut().zip(c.iter().zip(share))).for_each(|(v, (c, b))| *v = (c + b) * factor)
        }
        None => (v.iter_mut().zip(c)).for_each(|(v, c)| *v = c * factor),
    }
}

/// factor |v|^2 of each column v of length m, into `out`.
pub struct Energies<'a> {
    /// The factor.
    pub factor: f64,
    /// The length of a column.
    pub m: usize,
    /// The columns.
    pub v: &'a [f64],
    /// One number per column.
    pub out: &'a mut Vec<f64>,
}

impl WithSimd for Energies<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.out.clear();
        for v in self.v.chunks_exact(self.m) {
            self.out.push(self.factor * simd::dot(simd, v, v));
        }
    }
}

/// The codes and dual vectors of all samples for a single atom, in closed form.
pub struct OneAtom<'a> {
    /// The coordinate of the atom.
    pub coordinate: Coordinate<'a>,
    /// The atom.
    pub w: &'a [f64],
    /// 1/a for the envelope |u|^2 / (2 a).
    pub inverse: f64,
    /// The vectors c.
    pub given: Targets<'a>,
    /// One code per sample.
    pub y: &'a mut [f64],
    /// One dual vector per sample, by columns.
    pub v: &'a mut [f64],
}

impl WithSimd for OneAtom<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let m = self.w.len();
        for (j, y) in self.y.iter_mut().enumerate() {
            let range = j * m..(j + 1) * m;
            let v = &mut self.v[range.clone()];
            self.given.scaled(self.inverse, range.start, v);
            *y = self.coordinate.recover(simd::dot(simd, self.w, v));
            simd::add(simd, -self.inverse * *y, self.w, v);
        }
    }
}

/// `u += factor W y`, for a y that is mostly 0.
pub fn add_atoms(atoms: &Matrix, factor: f64, y: &[f64], u: &mut [f64]) {
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
            terms[count] = (self.factor * y, w); // overwritten if y is 0: no unpredictable branch
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
pub struct Correlate<'a> {
    /// W.
    pub atoms: &'a Matrix,
    /// v.
    pub v: &'a [f64],
    /// W'v on return.
    pub s: &'a mut [f64],
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
