//! Coordinate descent for few coordinates, as most agents have, with one sample per SIMD lane. An
//! active set or a factorisation would take longer to set up than the arithmetic takes.

use super::{Batching, Quadratic, QUIET};
use crate::simd::{Simd, WithSimd};
use crate::work::count;

/// Largest number of coordinates: their state and H fit in registers and first-level cache.
pub const MOST: usize = 8;
/// Sweeps per turn. Problems that need more have nearly collinear atoms and are solved exactly.
const SWEEPS: usize = 24;
/// Turns of sweeps. Updates of r accumulate rounding errors, so each turn ends by recomputing r.
const TURNS: usize = 2;

/// Coordinate descent for each column of `g` from the start in `y`. Each lane stops by itself: no
/// result depends on the samples in the other lanes.
pub struct SmallCd<'s, 'a> {
    pub problem: &'s Quadratic<'a>,
    pub g: &'s [f64],
    pub y: &'s mut [f64],
    /// Whether each sample converged up to rounding.
    pub solved: &'s mut Vec<bool>,
}

impl WithSimd for SmallCd<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let n = self.problem.coordinates.len();
        let mut h = [[simd.splat_f64s(0.0); MOST]; MOST];
        for (q, column) in h.iter_mut().enumerate().take(n) {
            for (p, entry) in column.iter_mut().enumerate().take(n) {
                *entry = simd.splat_f64s(-self.problem.scale * self.problem.gram.get(p, q));
            }
        }
        self.solved.clear();
        let samples = match self.problem.batching {
            Batching::OneByOne => n,
            Batching::SideBySide => n * S::F64_LANES,
        };
        for (g, y) in self.g.chunks(samples).zip(self.y.chunks_mut(samples)) {
            let mut lanes = Lanes {
                simd,
                problem: self.problem,
                minus_h: &h,
                g: spread(simd, n, g),
                y: spread(simd, n, y),
                r: [simd.splat_f64s(0.0); MOST],
            };
            let apart = lanes.solve();
            // KKT violation of each sample in excess of rounding.
            let apart = pulp::bytemuck::cast_slice::<S::f64s, f64>(std::slice::from_ref(&apart));
            let found = lanes.y;
            let found = pulp::bytemuck::cast_slice::<S::f64s, f64>(&found);
            for (lane, y) in y.chunks_exact_mut(n).enumerate() {
                let solved = apart[lane] <= 0.0;
                self.solved.push(solved);
                if apart[lane].is_finite() {
                    for (q, y) in y.iter_mut().enumerate() {
                        *y = found[q * S::F64_LANES + lane];
                    }
                }
            }
        }
    }
}

/// Transposes the samples: register q holds coordinate q of all of them.
#[inline(always)]
fn spread<S: Simd>(simd: S, n: usize, columns: &[f64]) -> [S::f64s; MOST] {
    let mut out = [simd.splat_f64s(0.0); MOST];
    let numbers = pulp::bytemuck::cast_slice_mut::<S::f64s, f64>(&mut out);
    for (lane, column) in columns.chunks_exact(n).enumerate() {
        for (q, v) in column.iter().enumerate() {
            numbers[q * S::F64_LANES + lane] = *v;
        }
    }
    out
}

struct Lanes<'s, 'a, S: Simd> {
    simd: S,
    problem: &'s Quadratic<'a>,
    /// -H, by columns.
    minus_h: &'s [[S::f64s; MOST]; MOST],
    g: [S::f64s; MOST],
    y: [S::f64s; MOST],
    /// g - H y.
    r: [S::f64s; MOST],
}

impl<S: Simd> Lanes<'_, '_, S> {
    /// Returns the KKT violation of each sample in excess of rounding; NaN if an entry is not
    /// finite.
    #[inline(always)]
    fn solve(&mut self) -> S::f64s {
        let simd = self.simd;
        let zero = simd.splat_f64s(0.0);
        let mut left = self.refresh();
        for _ in 0..TURNS {
            for _ in 0..SWEEPS {
                // Lanes that have converged or hold NaN do not move.
                let moves = simd.less_than_f64s(zero, left);
                if self.none(moves) {
                    break;
                }
                let changed = simd.sub_f64s(self.sweep(moves), self.size());
                left = simd.select_f64s(moves, changed, left);
            }
            left = self.refresh();
            if self.none(simd.less_than_f64s(zero, left)) {
                break;
            }
        }
        left
    }

    #[inline(always)]
    fn none(&self, moves: S::m64s) -> bool {
        let (zero, one) = (self.simd.splat_f64s(0.0), self.simd.splat_f64s(1.0));
        self.simd
            .reduce_max_f64s(self.simd.select_f64s(moves, one, zero))
            == 0.0
    }

    /// One sweep of the lanes in `moves`; returns the largest change of the gradient per lane.
    #[inline(always)]
    fn sweep(&mut self, moves: S::m64s) -> S::f64s {
        let (simd, n) = (self.simd, self.problem.coordinates.len());
        let zero = simd.splat_f64s(0.0);
        let mut largest = zero;
        count(n * n * S::F64_LANES);
        for q in 0..n {
            let step = simd.select_f64s(moves, self.step(q), zero);
            self.y[q] = simd.add_f64s(self.y[q], step);
            for p in 0..n {
                self.r[p] = simd.mul_add_e_f64s(self.minus_h[q][p], step, self.r[p]);
            }
            let total = simd.splat_f64s(self.problem.v.total[q]);
            largest = simd.max_f64s(largest, simd.mul_f64s(total, simd.abs_f64s(step)));
        }
        largest
    }

    /// The step from y_q to its minimiser, all other coordinates fixed.
    #[inline(always)]
    fn step(&self, q: usize) -> S::f64s {
        let (simd, v) = (self.simd, &self.problem.v);
        let [lo, hi, curvature, inverse] =
            [&v.lo, &v.hi, &v.curvature, &v.inverse].map(|v| simd.splat_f64s(v[q]));
        let zero = simd.splat_f64s(0.0);
        let s = simd.mul_add_e_f64s(curvature, self.y[q], self.r[q]);
        let above = simd.max_f64s(simd.sub_f64s(s, hi), zero);
        let below = simd.min_f64s(simd.sub_f64s(s, lo), zero);
        let new = simd.mul_f64s(simd.add_f64s(above, below), inverse);
        simd.sub_f64s(new, self.y[q])
    }

    /// Recomputes r = g - H y. Returns the KKT violation in excess of rounding; NaN if an entry is
    /// not finite.
    #[inline(always)]
    fn refresh(&mut self) -> S::f64s {
        let (simd, n) = (self.simd, self.problem.coordinates.len());
        let zero = simd.splat_f64s(0.0);
        self.r = self.g;
        count(n * n * S::F64_LANES);
        for q in 0..n {
            for p in 0..n {
                self.r[p] = simd.mul_add_e_f64s(self.minus_h[q][p], self.y[q], self.r[p]);
            }
        }
        let (mut change, mut number) = (zero, zero);
        for q in 0..n {
            let total = simd.splat_f64s(self.problem.v.total[q]);
            change = simd.max_f64s(change, simd.mul_f64s(total, simd.abs_f64s(self.step(q))));
            // A maximum may drop NaN, 0 * NaN does not.
            number = simd.mul_add_e_f64s(zero, self.r[q], number);
        }
        simd.add_f64s(simd.sub_f64s(change, self.size()), number)
    }

    /// The KKT violation that counts as rounding: a share of the summed terms.
    #[inline(always)]
    fn size(&self) -> S::f64s {
        let simd = self.simd;
        let (mut largest, mut size) = (simd.splat_f64s(0.0), simd.splat_f64s(0.0));
        for q in 0..self.problem.coordinates.len() {
            let curvature = simd.splat_f64s(self.problem.v.curvature[q]);
            largest = simd.max_f64s(largest, simd.abs_f64s(self.g[q]));
            size = simd.mul_add_e_f64s(curvature, simd.abs_f64s(self.y[q]), size);
        }
        simd.mul_f64s(simd.splat_f64s(QUIET), simd.add_f64s(largest, size))
    }
}
