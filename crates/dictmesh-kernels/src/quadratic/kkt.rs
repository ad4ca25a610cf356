//! KKT scans over all coordinates.

use super::{Quadratic, QUIET};
use crate::simd::{Simd, WithSimd};

/// Whether y meets the KKT conditions for g up to rounding, with r = g - H y. Checks the first
/// `g.len()` coordinates.
pub struct IsSolved<'s, 'a> {
    pub problem: &'s Quadratic<'a>,
    pub g: &'s [f64],
    pub r: &'s [f64],
    pub y: &'s [f64],
}

impl WithSimd for IsSolved<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let p = self.problem;
        let (g, g_rest) = S::as_simd_f64s(self.g);
        let (r, r_rest) = S::as_simd_f64s(self.r);
        let (y, y_rest) = S::as_simd_f64s(self.y);
        let [lo, hi, curvature, total, inverse] =
            [&p.v.lo, &p.v.hi, &p.v.curvature, &p.v.total, &p.v.inverse]
                .map(|v| S::as_simd_f64s(v));
        let zero = simd.splat_f64s(0.0);
        let (mut largest, mut size, mut change) = (zero, zero, zero);
        for i in 0..g.len() {
            largest = simd.max_f64s(largest, simd.abs_f64s(g[i]));
            size = simd.mul_add_e_f64s(curvature.0[i], simd.abs_f64s(y[i]), size);
            // A maximum may drop NaN, 0 * NaN does not.
            size = simd.mul_add_e_f64s(zero, simd.add_f64s(g[i], r[i]), size);
            // The minimiser over this coordinate, all others fixed.
            let s = simd.mul_add_e_f64s(curvature.0[i], y[i], r[i]);
            let above = simd.max_f64s(simd.sub_f64s(s, hi.0[i]), zero);
            let below = simd.min_f64s(simd.sub_f64s(s, lo.0[i]), zero);
            let new = simd.mul_f64s(simd.add_f64s(above, below), inverse.0[i]);
            let moved = simd.mul_f64s(total.0[i], simd.abs_f64s(simd.sub_f64s(new, y[i])));
            change = simd.max_f64s(change, moved);
        }
        let mut size = simd.reduce_sum_f64s(size);
        let mut largest = simd.reduce_max_f64s(largest);
        let mut change = simd.reduce_max_f64s(change);
        for (i, m) in p.coordinates[self.g.len() - g_rest.len()..self.g.len()]
            .iter()
            .enumerate()
        {
            largest = largest.max(g_rest[i].abs());
            size += m.curvature * y_rest[i].abs() + 0.0 * (g_rest[i] + r_rest[i]);
            change = change.max(m.change(y_rest[i], r_rest[i]));
        }
        change <= QUIET * (largest + size)
    }
}

/// Distance of each r from [lo, hi], negative inside; returns the largest.
#[inline(always)]
pub fn distances<S: Simd>(simd: S, r: &[f64], lo: &[f64], hi: &[f64], out: &mut [f64]) -> f64 {
    let n = r.len();
    let whole = n / S::F64_LANES * S::F64_LANES;
    let mut most = simd.splat_f64s(f64::NEG_INFINITY);
    let parts = S::as_mut_simd_f64s(&mut out[..whole])
        .0
        .iter_mut()
        .enumerate();
    let [rs, los, his] = [r, lo, hi].map(|v| S::as_simd_f64s(&v[..whole]).0);
    for (i, out) in parts {
        let (below, above) = (simd.sub_f64s(los[i], rs[i]), simd.sub_f64s(rs[i], his[i]));
        *out = simd.max_f64s(below, above);
        most = simd.max_f64s(most, *out);
    }
    let mut largest = simd.reduce_max_f64s(most);
    for q in whole..n {
        out[q] = f64::max(lo[q] - r[q], r[q] - hi[q]);
        largest = largest.max(out[q]);
    }
    largest
}

/// Calls `found` with the index of each number that is at least `bound`; few are.
#[inline(always)]
pub fn each_from<S: Simd>(simd: S, numbers: &[f64], bound: f64, mut found: impl FnMut(usize)) {
    let (vectors, rest) = S::as_simd_f64s(numbers);
    for (i, vector) in vectors.iter().enumerate() {
        if simd.reduce_max_f64s(*vector) >= bound {
            let from = i * S::F64_LANES;
            let places = from..from + S::F64_LANES;
            places.filter(|q| numbers[*q] >= bound).for_each(&mut found);
        }
    }
    let places = numbers.len() - rest.len()..numbers.len();
    places.filter(|q| numbers[*q] >= bound).for_each(found);
}
