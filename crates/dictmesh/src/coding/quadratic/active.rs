//! The problem on the active set: its part of H lies side by side, so that coordinate descent and exact
//! solves run in the nearest cache.

use crate::coding::cholesky::{self, padded};
use crate::regularizer::Regularizer;
use crate::simd::{add, Simd};

/// Sweeps of coordinate descent between two exact solves.
const SWEEPS: usize = 3;
/// How often sweeps and exact solves take turns before the rest of H is asked again.
const TURNS: usize = 8;

/// One coordinate.
#[derive(Clone, Copy)]
pub struct Coordinate<'a> {
    /// Its place in the whole problem.
    pub q: usize,
    /// [`Regularizer::zone`].
    pub zone: Option<(f64, f64)>,
    /// The entry of H on the diagonal.
    pub curvature: f64,
    /// The same with the curvature of h, and its inverse.
    total: f64,
    inverse: f64,
    h: &'a dyn Regularizer,
}

impl<'a> Coordinate<'a> {
    pub fn new(q: usize, h: &'a dyn Regularizer, curvature: f64) -> Self {
        let total = curvature + h.strong_convexity();
        Coordinate {
            q,
            zone: h.zone(),
            curvature,
            total,
            inverse: 1.0 / total,
            h,
        }
    }

    /// The minimiser if all other coordinates stay, for a gradient s without this one's own part.
    #[inline(always)]
    pub fn recover(&self, s: f64) -> f64 {
        match self.zone {
            Some((lo, hi)) => (f64::max(s - hi, 0.0) + f64::min(s - lo, 0.0)) * self.inverse,
            None => self.h.recover_damped(s, self.curvature),
        }
    }

    /// The change of the gradient if the coordinate went to its minimiser.
    #[inline(always)]
    pub fn change(&self, y: f64, r: f64) -> f64 {
        self.total * (self.recover(r + self.curvature * y) - y).abs()
    }
}

#[derive(Default)]
pub struct Active<'a> {
    members: Vec<Coordinate<'a>>,
    /// Which coordinates of the whole problem are members.
    is_member: Vec<bool>,
    /// H by columns of length `stride`, a multiple of what [`padded`] gives.
    hessian: Vec<f64>,
    stride: usize,
    g: Vec<f64>,
    r: Vec<f64>,
    y: Vec<f64>,
    /// Members whose coefficients lie inside a quadratic piece of h.
    free: Vec<Free>,
    factor: Vec<f64>,
    step: Vec<f64>,
}

struct Free {
    i: usize,
    lo: f64,
    hi: f64,
}

impl<'a> Active<'a> {
    pub fn new(n: usize) -> Self {
        Active {
            is_member: vec![false; n],
            ..Active::default()
        }
    }

    pub fn clear(&mut self) {
        for m in self.members.drain(..) {
            self.is_member[m.q] = false;
        }
    }

    #[inline(always)]
    pub fn members(&self) -> &[Coordinate<'a>] {
        &self.members
    }

    #[inline(always)]
    pub fn has(&self, q: usize) -> bool {
        self.is_member[q]
    }

    /// Takes a coordinate in; `column` is its column of the Gram matrix.
    #[inline(always)]
    pub fn join(&mut self, member: Coordinate<'a>, g: f64, y: f64, column: &[f64], scale: f64) {
        let i = self.members.len();
        if i == self.stride {
            self.widen();
        }
        self.members.push(member);
        self.is_member[member.q] = true;
        (self.g[i], self.y[i]) = (g, y);
        for (j, m) in self.members.iter().enumerate() {
            let entry = scale * column[m.q];
            self.hessian[i * self.stride + j] = entry;
            self.hessian[j * self.stride + i] = entry;
        }
    }

    /// Makes room for twice as many.
    #[cold]
    fn widen(&mut self) {
        let (old, new) = (self.stride, (2 * self.stride).max(32));
        let mut hessian = vec![0.0; new * new];
        for j in 0..old {
            hessian[j * new..j * new + old].copy_from_slice(&self.hessian[j * old..(j + 1) * old]);
        }
        (self.hessian, self.stride) = (hessian, new);
        for v in [&mut self.g, &mut self.r, &mut self.y, &mut self.step] {
            v.resize(new, 0.0);
        }
    }

    /// The coefficients, to where they belong in the whole problem.
    #[inline(always)]
    pub fn write(&self, y: &mut [f64]) {
        for (m, value) in self.members.iter().zip(&self.y) {
            y[m.q] = *value;
        }
    }

    /// Sweeps over the active set, or solves the problem on it; changes of the gradient up to `quiet` are
    /// rounding.
    #[inline(always)]
    pub fn settle<S: Simd>(&mut self, simd: S, exact: bool, quiet: f64) {
        self.refresh(simd);
        for _ in 0..TURNS {
            let mut change = 0.0;
            for _ in 0..SWEEPS {
                change = self.sweep(simd);
                if change <= quiet {
                    break;
                }
            }
            if !exact || change <= quiet {
                return;
            }
            // Each step that is cut leaves one coordinate fewer free, so this ends.
            while self.newton(simd) {
                self.refresh(simd);
            }
            self.refresh(simd);
            let mut at_zero = (0..self.members.len()).filter(|i| self.y[*i] == 0.0);
            if at_zero.all(|i| self.members[i].recover(self.r[i]) == 0.0) {
                return;
            }
        }
    }

    /// r = g - H y.
    #[inline(always)]
    fn refresh<S: Simd>(&mut self, simd: S) {
        let (n, width) = (self.members.len(), padded(self.members.len()));
        self.r[..width].copy_from_slice(&self.g[..width]);
        for i in 0..n {
            if self.y[i] != 0.0 {
                let column = &self.hessian[i * self.stride..i * self.stride + width];
                add(simd, -self.y[i], column, &mut self.r[..width]);
            }
        }
    }

    /// One exact minimisation over each of the coordinates in turn; returns the largest change of the
    /// gradient.
    #[inline(always)]
    fn sweep<S: Simd>(&mut self, simd: S) -> f64 {
        let (n, width) = (self.members.len(), padded(self.members.len()));
        let mut largest = 0.0_f64;
        for i in 0..n {
            let m = &self.members[i];
            let (y, r) = (self.y[i], self.r[i]);
            let new = m.recover(r + m.curvature * y);
            if new != y {
                self.y[i] = new;
                let column = &self.hessian[i * self.stride..i * self.stride + width];
                add(simd, y - new, column, &mut self.r[..width]);
                largest = largest.max(m.total * (new - y).abs());
            }
        }
        largest
    }

    /// The Newton step on the coordinates that lie inside a quadratic piece of h, cut where the first of
    /// them would leave its piece; returns whether it was cut. Within the pieces the cost is one
    /// quadratic, so the step, cut or not, lowers it.
    #[inline(always)]
    fn newton<S: Simd>(&mut self, simd: S) -> bool {
        self.free.clear();
        for (i, m) in self.members.iter().enumerate() {
            if let Some(piece) = m.h.piece(self.y[i]) {
                self.step[self.free.len()] = self.r[i] - piece.slope;
                let (lo, hi) = (piece.lo, piece.hi);
                self.free.push(Free { i, lo, hi });
            }
        }
        let n = self.free.len();
        if n == 0 {
            return false;
        }
        let width = padded(n);
        self.factor.resize(width * n, 0.0);
        for (j, b) in self.free.iter().enumerate() {
            let column = &self.hessian[b.i * self.stride..(b.i + 1) * self.stride];
            let out = &mut self.factor[j * width..j * width + n];
            for (out, a) in out.iter_mut().zip(&self.free) {
                *out = column[a.i];
            }
            out[j] += self.members[b.i].h.strong_convexity();
        }
        if !cholesky::solve(
            simd,
            &mut self.factor[..width * n],
            &mut self.step[..width],
            n,
        ) {
            return false; // too ill-conditioned for an exact solve: the sweeps go on alone
        }
        let (mut t, mut first) = (1.0_f64, None);
        for (free, d) in self.free.iter().zip(&self.step) {
            let end = if *d < 0.0 { free.lo } else { free.hi };
            let room = (end - self.y[free.i]) / d;
            if room < t {
                t = room;
                first = Some((free.i, end));
            }
        }
        if !t.is_finite() {
            return false;
        }
        for (free, d) in self.free.iter().zip(&self.step) {
            self.y[free.i] += t * d;
        }
        match first {
            Some((i, end)) => {
                self.y[i] = end;
                true
            }
            None => false,
        }
    }
}
