//! The problem on a support, one support per SIMD lane. While no coefficient changes its sign it is
//! one linear system, (H + delta I) y = g - z. Here z_q is the end of the subdifferential of h at 0
//! on the side of y_q.

use super::factor::Factor;
use super::{Problem, LANES_F64};
use crate::simd::{CacheAligned, Simd};
use crate::work::count;

/// The linear systems. In the vectors, coordinate i of all lanes is contiguous. Coordinates beyond
/// a lane's own, or dropped to 0, have a 1 on the diagonal and 0 elsewhere.
pub struct Exact {
    supports: Vec<Vec<usize>>,
    n: usize,
    /// The lower triangles, by rows of `stride` entries.
    matrix: CacheAligned<f64>,
    stride: usize,
    right: CacheAligned<f64>,
    y: CacheAligned<f64>,
    factor: Factor,
}

impl Exact {
    pub fn new(capacity: usize) -> Self {
        let stride = capacity | 1; // odd, to avoid conflicts of rows in the cache
        let zeros = || CacheAligned::new(capacity * LANES_F64, 0.0);
        Exact {
            supports: (0..LANES_F64)
                .map(|_| Vec::with_capacity(capacity))
                .collect(),
            n: 0,
            matrix: CacheAligned::new(capacity * stride * LANES_F64, 0.0),
            stride,
            right: zeros(),
            y: zeros(),
            factor: Factor::new(capacity, stride),
        }
    }

    /// Clears the systems.
    #[inline(always)]
    pub fn begin<S: Simd>(&mut self) {
        let used = self.n * S::F64_LANES;
        self.right[..used].fill(0.0);
        self.y[..used].fill(0.0);
        for i in 0..self.n {
            let row = i * self.stride * S::F64_LANES;
            self.matrix[row..row + i * S::F64_LANES].fill(0.0);
        }
        self.n = 0;
        self.supports.iter_mut().for_each(Vec::clear);
    }

    /// Sets up the system of a lane.
    #[inline(always)]
    pub fn take<S: Simd>(
        &mut self,
        lane: usize,
        problem: Problem,
        g: &[f64],
        support: &[(usize, f64)],
    ) {
        let lanes = S::F64_LANES;
        let own = &mut self.supports[lane];
        // Reads the entry above the diagonal of each symmetric pair: half the lines compete for
        // the cache.
        let (n, gram) = (problem.gram.rows(), problem.gram.as_slice());
        for (i, &(q, y)) in support.iter().enumerate() {
            let row = &mut self.matrix[i * self.stride * lanes + lane..];
            for (out, p) in row.chunks_mut(lanes).zip(&*own) {
                out[0] = problem.scale * gram[q.max(*p) * n + q.min(*p)];
            }
            row[i * lanes] = problem.coordinates[q].total;
            let end = if y > 0.0 {
                problem.hi[q]
            } else {
                problem.lo[q]
            };
            self.right[i * lanes + lane] = g[q] - end;
            self.y[i * lanes + lane] = y;
            own.push(q);
        }
        self.n = self.n.max(own.len());
    }

    /// Solves all systems. A coefficient that would change its sign becomes 0, and the rest is
    /// solved again.
    #[inline(always)]
    pub fn solve<S: Simd>(&mut self, simd: S) {
        self.complete::<S>();
        // Each turn drops a coordinate in every unfinished lane.
        let mut live = [1.0; LANES_F64];
        for _ in 0..=self.n {
            self.factor.make(simd, &self.matrix, self.n);
            self.factor.solve(simd, &self.right, self.n);
            if !self.advance(simd, &mut live) {
                break;
            }
        }
        // One step of iterative refinement.
        self.remainder(simd);
        self.factor.solve_again(simd, self.n);
        let correction = S::as_simd_f64s(self.factor.solution()).0;
        let y = S::as_mut_simd_f64s(&mut self.y).0;
        for (y, more) in y[..self.n].iter_mut().zip(correction) {
            *y = simd.add_f64s(*y, *more);
        }
    }

    /// Puts a 1 on the diagonal where a lane has no coordinate.
    #[inline(always)]
    fn complete<S: Simd>(&mut self) {
        for (lane, support) in self.supports.iter().enumerate().take(S::F64_LANES) {
            for i in support.len()..self.n {
                self.matrix[(i * self.stride + i) * S::F64_LANES + lane] = 1.0;
            }
        }
    }

    /// In the lanes where `live` is 1, moves y to the solution, or until the first coefficient
    /// reaches 0. `live` stays 1 where the step was truncated. Returns whether there is such a
    /// lane.
    #[inline(always)]
    fn advance<S: Simd>(&mut self, simd: S, live: &mut [f64; LANES_F64]) -> bool {
        let n = self.n;
        let [zero, one] = [0.0, 1.0].map(|v| simd.splat_f64s(v));
        let is_live = simd.greater_than_f64s(S::as_simd_f64s(live).0[0], zero);
        let y = &mut S::as_mut_simd_f64s(&mut self.y).0[..n];
        let solution = &S::as_simd_f64s(self.factor.solution()).0[..n];
        // The step length at which a coefficient reaches 0; 1 if it keeps its sign.
        let room = |y: S::f64s, end: S::f64s| {
            let crosses = simd.less_than_f64s(simd.mul_f64s(y, end), zero);
            simd.select_f64s(crosses, simd.div_f64s(y, simd.sub_f64s(y, end)), one)
        };
        let mut t = one;
        for (y, end) in y.iter().zip(solution) {
            t = simd.min_f64s(t, room(*y, *end));
        }
        let is_cut = simd.less_than_f64s(t, one);
        let mut dropped = false;
        for (y, end) in y.iter_mut().zip(solution) {
            let partly = simd.mul_add_e_f64s(t, simd.sub_f64s(*end, *y), *y);
            // The first to reach 0 becomes 0; rounding must not carry another beyond.
            let first = simd.less_than_or_equal_f64s(room(*y, *end), t);
            let partly = simd.select_f64s(first, zero, partly);
            let same_sign = simd.greater_than_f64s(simd.mul_f64s(*y, partly), zero);
            let partly = simd.select_f64s(same_sign, partly, zero);
            let new = simd.select_f64s(is_cut, partly, *end);
            *y = simd.select_f64s(is_live, new, *y);
        }
        let cut = simd.select_f64s(is_cut, one, zero);
        S::as_mut_simd_f64s(live).0[0] = simd.select_f64s(is_live, cut, zero);
        for lane in 0..S::F64_LANES {
            if live[lane] > 0.0 {
                dropped = true;
                self.drop_zeros::<S>(lane);
            }
        }
        dropped
    }

    /// Removes the coordinates of a lane that are 0 from its system.
    #[inline(always)]
    fn drop_zeros<S: Simd>(&mut self, lane: usize) {
        let lanes = S::F64_LANES;
        for i in 0..self.supports[lane].len() {
            if self.y[i * lanes + lane] != 0.0 {
                continue;
            }
            self.right[i * lanes + lane] = 0.0;
            for j in 0..i {
                self.matrix[(i * self.stride + j) * lanes + lane] = 0.0;
            }
            self.matrix[(i * self.stride + i) * lanes + lane] = 1.0;
            for j in i + 1..self.n {
                self.matrix[(j * self.stride + i) * lanes + lane] = 0.0;
            }
        }
    }

    /// The residual, right side minus matrix times y, into the right side of the factor.
    #[inline(always)]
    fn remainder<S: Simd>(&mut self, simd: S) {
        let (n, stride) = (self.n, self.stride);
        count(n * n * S::F64_LANES);
        let [matrix, right, y] = [&self.matrix, &self.right, &self.y].map(|v| S::as_simd_f64s(v).0);
        let rest = S::as_mut_simd_f64s(self.factor.solution_mut()).0;
        rest[..n].copy_from_slice(&right[..n]);
        for i in 0..n {
            let row = &matrix[i * stride..i * stride + i];
            let mut own = simd.negate_mul_add_e_f64s(matrix[i * stride + i], y[i], rest[i]);
            for ((entry, rest), y_j) in row.iter().zip(&mut rest[..i]).zip(y) {
                own = simd.negate_mul_add_e_f64s(*entry, *y_j, own);
                *rest = simd.negate_mul_add_e_f64s(*entry, y[i], *rest);
            }
            rest[i] = own;
        }
    }

    /// Writes the coefficients of a lane to `y` of the whole problem; 0 in place of non-finite
    /// ones.
    #[inline(always)]
    pub fn write<S: Simd>(&self, lane: usize, y: &mut [f64]) {
        let own = self.y.iter().skip(lane).step_by(S::F64_LANES);
        for (q, own) in self.supports[lane].iter().zip(own) {
            y[*q] = if own.is_finite() { *own } else { 0.0 };
        }
    }
}
