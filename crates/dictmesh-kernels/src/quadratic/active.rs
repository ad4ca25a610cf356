//! The problem on the active set. Its part of H is contiguous, so that coordinate descent and exact
//! solves run in cache.

use crate::cholesky;
use crate::matrix::Matrix;
use crate::penalty::ScalarPenalty;
use crate::pool::recycle;
use crate::simd::{add, add_all, padded, Simd};

/// Sweeps of coordinate descent before an exact solve.
const SWEEPS: usize = 2;

/// One coordinate of the problem.
#[derive(Clone, Copy)]
pub struct Coordinate<'a> {
    /// Its index in the whole problem.
    pub q: usize,
    /// [`ScalarPenalty::subgradient_at_zero`].
    pub subgradient_at_zero: Option<(f64, f64)>,
    /// The entry of H on the diagonal.
    pub curvature: f64,
    /// `curvature` plus the strong convexity of h.
    pub total: f64,
    /// 1 / `total`.
    pub inverse: f64,
    h: &'a dyn ScalarPenalty,
}

impl<'a> Coordinate<'a> {
    /// Coordinate q with penalty h and diagonal entry `curvature` of H.
    #[inline]
    pub fn new(q: usize, h: &'a dyn ScalarPenalty, curvature: f64) -> Self {
        let total = curvature + h.strong_convexity();
        Coordinate {
            q,
            subgradient_at_zero: h.subgradient_at_zero(),
            curvature,
            total,
            inverse: 1.0 / total,
            h,
        }
    }

    /// The minimiser over this coordinate, all others fixed, for s = (g - H y)_q + `curvature` y_q.
    #[inline(always)]
    pub fn recover(&self, s: f64) -> f64 {
        match self.subgradient_at_zero {
            Some((lo, hi)) => (f64::max(s - hi, 0.0) + f64::min(s - lo, 0.0)) * self.inverse,
            None => self.h.coordinate_argmax(s, self.curvature),
        }
    }

    /// KKT violation: the change of the gradient if y moved to its minimiser; r is (g - H y)_q.
    #[inline(always)]
    pub fn change(&self, y: f64, r: f64) -> f64 {
        self.total * (self.recover(r + self.curvature * y) - y).abs()
    }
}

#[derive(Default)]
pub struct Active<'a> {
    members: Vec<Coordinate<'a>>,
    /// Number of members that `hessian` holds; it is filled on demand.
    filled: usize,
    /// Which coordinates of the whole problem are members.
    is_member: Vec<bool>,
    /// H without its diagonal, by columns of length `stride`, padded as by [`padded`].
    hessian: Vec<f64>,
    stride: usize,
    g: Vec<f64>,
    /// g - H y without each coordinate's own term: the argument of its minimiser.
    s: Vec<f64>,
    y: Vec<f64>,
    /// Members whose coefficients lie inside a quadratic piece of h.
    free: Vec<Free>,
    factor: Vec<f64>,
    step: Vec<f64>,
}

struct Free {
    i: usize,
    /// Minus the derivative of the cost.
    slope: f64,
    lo: f64,
    hi: f64,
}

impl<'a> Active<'a> {
    /// An empty active set for n coordinates.
    pub fn new(n: usize, scratch: Active<'static>) -> Self {
        let mut active = scratch;
        active.is_member.resize(n, false);
        active
    }

    /// Releases the scratch memory for another problem.
    pub fn into_scratch(mut self) -> Active<'static> {
        self.clear();
        Active {
            members: recycle(self.members),
            filled: 0,
            is_member: self.is_member,
            hessian: self.hessian,
            stride: self.stride,
            g: self.g,
            s: self.s,
            y: self.y,
            free: self.free,
            factor: self.factor,
            step: self.step,
        }
    }

    pub fn clear(&mut self) {
        for m in self.members.drain(..) {
            self.is_member[m.q] = false;
        }
        self.filled = 0;
    }

    #[inline(always)]
    pub fn members(&self) -> &[Coordinate<'a>] {
        &self.members
    }

    #[inline(always)]
    pub fn has(&self, q: usize) -> bool {
        self.is_member[q]
    }

    /// Adds a coordinate.
    #[inline(always)]
    pub fn join(&mut self, member: Coordinate<'a>, g: f64, y: f64) {
        let i = self.members.len();
        if i == self.stride {
            self.widen();
        }
        self.members.push(member);
        self.is_member[member.q] = true;
        (self.g[i], self.y[i]) = (g, y);
    }

    /// Fills `hessian` for all members.
    #[inline(always)]
    pub fn fill(&mut self, gram: &Matrix, scale: f64) {
        for i in self.filled..self.members.len() {
            let column = gram.column(self.members[i].q);
            for (j, m) in self.members[..i].iter().enumerate() {
                let entry = scale * column[m.q];
                self.hessian[i * self.stride + j] = entry;
                self.hessian[j * self.stride + i] = entry;
            }
            self.hessian[i * self.stride + i] = 0.0;
        }
        self.filled = self.members.len();
    }

    /// Doubles the capacity.
    #[cold]
    fn widen(&mut self) {
        let most = padded(self.is_member.len());
        let (old, new) = (self.stride, (2 * self.stride).max(32).min(most));
        let mut hessian = vec![0.0; new * new];
        for j in 0..old {
            hessian[j * new..j * new + old].copy_from_slice(&self.hessian[j * old..(j + 1) * old]);
        }
        (self.hessian, self.stride) = (hessian, new);
        for v in [&mut self.g, &mut self.s, &mut self.y, &mut self.step] {
            v.resize(cholesky::width(new), 0.0);
        }
    }

    /// Writes the coefficients to `y` of the whole problem.
    #[inline(always)]
    pub fn write(&self, y: &mut [f64]) {
        for (m, value) in self.members.iter().zip(&self.y) {
            y[m.q] = *value;
        }
    }

    /// Sweeps over the active set, then solves the problem on it if `exact`. `r` is g - H y of the
    /// whole problem; changes of the gradient up to `quiet` count as rounding.
    #[inline(always)]
    pub fn settle<S: Simd>(&mut self, simd: S, r: &[f64], exact: bool, quiet: f64) {
        for (i, m) in self.members.iter().enumerate() {
            self.s[i] = r[m.q] + m.curvature * self.y[i];
        }
        for _ in 0..SWEEPS {
            if self.sweep(simd) <= quiet {
                return;
            }
        }
        // Each truncated step leaves one free coordinate fewer, so the loop ends.
        while exact && self.newton(simd) {
            self.refresh(simd);
        }
    }

    /// Recomputes s from g and y.
    #[inline(always)]
    fn refresh<S: Simd>(&mut self, simd: S) {
        let width = padded(self.members.len());
        let pairs = (self.y[..self.members.len()].iter().enumerate())
            .filter(|(_, y)| **y != 0.0)
            .map(|(i, y)| (-y, &self.hessian[i * self.stride..i * self.stride + width]));
        self.s[..width].copy_from_slice(&self.g[..width]);
        add_all(simd, false, pairs, &mut self.s[..width]);
    }

    /// One exact minimisation over each coordinate in turn; returns the largest change of the
    /// gradient.
    #[inline(always)]
    fn sweep<S: Simd>(&mut self, simd: S) -> f64 {
        let width = padded(self.members.len());
        let (s, hessian) = (&mut self.s[..width], &self.hessian[..]);
        let mut largest = 0.0_f64;
        for (i, (m, y)) in self.members.iter().zip(&mut self.y).enumerate() {
            let new = m.recover(s[i]);
            if new != *y {
                let column = &hessian[i * self.stride..i * self.stride + width];
                add(simd, *y - new, column, s);
                largest = largest.max(m.total * (new - *y).abs());
                *y = new;
            }
        }
        largest
    }

    /// The Newton step on the coordinates inside a quadratic piece of h, truncated where the first
    /// of them would leave its piece. Returns whether it was truncated. The cost is one quadratic
    /// on the pieces, so the step lowers it either way.
    #[inline(always)]
    fn newton<S: Simd>(&mut self, simd: S) -> bool {
        self.gather_free();
        let n = self.free.len();
        if n == 0 {
            return false;
        }
        if !cholesky::solve(simd, &mut self.factor, &mut self.step, n) {
            return false; // too ill-conditioned: only sweeps continue
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
            // Several may reach their ends at once; rounding must not carry one beyond.
            self.y[free.i] = (self.y[free.i] + t * d).clamp(free.lo, free.hi);
        }
        match first {
            Some((i, end)) => {
                self.y[i] = end;
                true
            }
            None => false,
        }
    }

    /// Collects the coordinates inside a quadratic piece of h, and the system of their Newton step.
    #[inline(always)]
    fn gather_free(&mut self) {
        self.free.clear();
        for (i, m) in self.members.iter().enumerate() {
            if let Some(piece) = m.h.quadratic_piece(self.y[i]) {
                let slope = self.s[i] - m.curvature * self.y[i] - piece.slope;
                let (lo, hi) = (piece.lo, piece.hi);
                self.free.push(Free { i, slope, lo, hi });
            }
        }
        let width = cholesky::width(self.free.len());
        self.factor.resize(width * self.free.len(), 0.0);
        for (j, b) in self.free.iter().enumerate() {
            let column = &self.hessian[b.i * self.stride..(b.i + 1) * self.stride];
            let out = &mut self.factor[j * width..(j + 1) * width];
            for (out, a) in out.iter_mut().zip(&self.free) {
                *out = column[a.i];
            }
            out[j] = self.members[b.i].total;
            out[self.free.len()] = b.slope;
            out[self.free.len() + 1..].fill(0.0);
        }
    }
}
