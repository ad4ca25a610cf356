//! H in single precision: half the memory traffic while active sets grow. Units are such that the
//! largest |g| and the largest diagonal entry of H are 1.

use crate::matrix::Matrix;
use crate::simd::{bits, Simd};
use crate::work::count;

/// Numbers per cache line; columns start on one.
const LINE: usize = 16;
/// Bound on the relative error of a KKT scan.
const ROUGH: f32 = 1e-5;
/// Coordinates whose violation is below this share of the largest do not join yet: the first to
/// join often remove it.
const SHARE: f32 = super::super::SHARE as f32;

/// H, and scratch memory for one KKT scan.
#[derive(Default)]
pub struct Coarse {
    /// By columns of length `stride`, the first at `begin`.
    hessian: Vec<f32>,
    begin: usize,
    stride: usize,
    /// The largest diagonal entry of the cached Gram matrix; 0 if none is cached.
    largest: f64,
    /// Members that are not 0: minus the coefficient, and the offset of the column.
    terms: Vec<(f32, usize)>,
    /// g - H y in the last scan, and its distance from [lo, hi] of each coordinate, negative
    /// inside.
    r: Vec<f32>,
    outside: Vec<f32>,
    /// Violating coordinates: the index in the lower half of a number, the violation in the upper
    /// half. Such numbers sort faster than indices by key.
    wrong: Vec<u64>,
}

/// Input of a KKT scan for one g.
#[derive(Default)]
pub struct ScanState {
    g: Vec<f32>,
    /// The subdifferentials at 0; the whole line for members, so that they never count as
    /// violating.
    lo: Vec<f32>,
    hi: Vec<f32>,
    /// The unit of g: its largest absolute entry.
    pub unit: f64,
}

impl ScanState {
    /// Initialises for one g and the subdifferentials [lo, hi] of all coordinates.
    #[inline(always)]
    pub fn begin(&mut self, coarse: &Coarse, g: &[f64], lo: &[f64], hi: &[f64]) {
        self.unit = g.iter().fold(f64::MIN_POSITIVE, |m: f64, g| m.max(g.abs()));
        let inverse = 1.0 / self.unit;
        let line = (f32::NEG_INFINITY, f32::INFINITY);
        for (own, all, padding) in [
            (&mut self.g, g, 0.0),
            (&mut self.lo, lo, line.0),
            (&mut self.hi, hi, line.1),
        ] {
            own.resize(coarse.stride, padding);
            for (own, v) in own.iter_mut().zip(all) {
                *own = (v * inverse) as f32;
            }
        }
    }

    /// Makes coordinate q a member; returns its subdifferential.
    #[inline(always)]
    pub fn join(&mut self, q: usize) -> (f32, f32) {
        let lo = std::mem::replace(&mut self.lo[q], f32::NEG_INFINITY);
        let hi = std::mem::replace(&mut self.hi[q], f32::INFINITY);
        (lo, hi)
    }
}

impl Coarse {
    /// Caches the Gram matrix, unless one is cached. Returns false if its diagonal is 0 or not
    /// finite.
    pub fn cache_gram(&mut self, gram: &Matrix) -> bool {
        if self.largest > 0.0 {
            return true;
        }
        let n = gram.cols();
        let largest = (0..n).map(|q| gram.get(q, q)).fold(0.0, f64::max);
        if !(largest > 0.0 && largest.is_finite()) {
            return false;
        }
        let stride = n.next_multiple_of(LINE);
        self.hessian.resize(stride * n + LINE, 0.0);
        self.begin = self.hessian.as_ptr().align_offset(64).min(LINE);
        let inverse = 1.0 / largest;
        let columns = self.hessian[self.begin..].chunks_exact_mut(stride);
        for (out, column) in columns.zip(gram.columns()) {
            for (out, entry) in out.iter_mut().zip(column) {
                *out = (entry * inverse) as f32;
            }
            out[n..].fill(0.0);
        }
        (self.largest, self.stride) = (largest, stride);
        self.terms.resize(stride, (0.0, 0));
        self.r.resize(stride, 0.0);
        self.outside.resize(stride, 0.0);
        self.wrong.resize(stride, 0);
        true
    }

    /// Drops the cached Gram matrix. Must be called before another one is used.
    pub fn invalidate(&mut self) {
        self.largest = 0.0;
    }

    /// The unit of H: its largest diagonal entry.
    #[inline(always)]
    pub fn unit(&self, scale: f64) -> f64 {
        scale * self.largest
    }

    /// (g - H y)_q in the last scan.
    #[inline(always)]
    pub fn r(&self, q: usize) -> f32 {
        self.r[q]
    }

    /// Column q of H.
    #[inline(always)]
    pub fn column(&self, q: usize) -> &[f32] {
        &self.hessian[self.begin + q * self.stride..self.begin + (q + 1) * self.stride]
    }

    /// KKT scan of y, given by its members (q, y_q). `wrong` gets the coordinates with the largest
    /// violations, at most `room`. It stays empty if all violations are within the rounding of
    /// single precision.
    #[inline(always)]
    pub fn kkt_scan<S: Simd>(
        &mut self,
        simd: S,
        scan: &ScanState,
        members: impl Iterator<Item = (usize, f32)>,
        room: usize,
        wrong: &mut Vec<usize>,
    ) {
        wrong.clear();
        let (mut size, mut terms) = (1.0, 0);
        for (q, y) in members {
            size += y.abs();
            // Listed without a branch: which are 0 is unpredictable.
            self.terms[terms] = (-y, self.begin + q * self.stride);
            terms += usize::from(y != 0.0);
        }
        let mut worst = simd.splat_f32s(0.0);
        let mut from = 0;
        while from < self.stride {
            (from, worst) = match (self.stride - from) / S::F32_LANES {
                8.. => self.part::<S, 8>(simd, scan, terms, from, worst),
                4.. => self.part::<S, 4>(simd, scan, terms, from, worst),
                2.. => self.part::<S, 2>(simd, scan, terms, from, worst),
                _ => self.part::<S, 1>(simd, scan, terms, from, worst),
            };
        }
        let (largest, least) = (simd.reduce_max_f32s(worst), ROUGH * size);
        if largest.is_nan() || largest <= least {
            return;
        }
        let bound = f32::max(SHARE * largest, least);
        let count = self.note(simd, bound);
        let mut found = &mut self.wrong[..count];
        if count > room {
            found = found.select_nth_unstable(count - room - 1).2;
        }
        wrong.extend(found.iter().map(|one| (one & u64::from(u32::MAX)) as usize));
    }

    /// Collects in `wrong` the coordinates whose violation is at least `bound`; returns their
    /// number.
    #[inline(always)]
    fn note<S: Simd>(&mut self, simd: S, bound: f32) -> usize {
        let (mut count, bound) = (0, simd.splat_f32s(bound));
        let some = 64 / S::F32_LANES; // vectors whose masks fit in 64 bits
        let vectors = S::as_simd_f32s(&self.outside).0;
        for (from, vectors) in (0..).step_by(64).zip(vectors.chunks(some)) {
            let is_outside = |v: &S::f32s| bits::<S>(simd.greater_than_or_equal_f32s(*v, bound));
            let masks = (0..).step_by(S::F32_LANES).zip(vectors);
            let mut left = masks.fold(0, |all, (at, vector)| all | is_outside(vector) << at);
            while left != 0 {
                let q = from + left.trailing_zeros() as usize;
                // The bit patterns of positive floats are ordered like the floats.
                self.wrong[count] = u64::from(self.outside[q].to_bits()) << 32 | q as u64;
                count += 1;
                left &= left - 1;
            }
        }
        count
    }

    /// `r` and `outside` for V vectors of rows, which stay in registers while the loop runs over
    /// the columns. Returns the row after them, and the largest violation so far.
    #[inline(always)]
    fn part<S: Simd, const V: usize>(
        &mut self,
        simd: S,
        scan: &ScanState,
        terms: usize,
        from: usize,
        mut worst: S::f32s,
    ) -> (usize, S::f32s) {
        let to = from + V * S::F32_LANES;
        let mut r = [simd.splat_f32s(0.0); V];
        // Element-wise: a slice copy is a call, which would spill the registers.
        let (g, _) = S::as_simd_f32s(&scan.g[from..to]);
        r.iter_mut().zip(g).for_each(|(r, g)| *r = *g);
        for (minus, at) in &self.terms[..terms] {
            count(to - from);
            let minus = simd.splat_f32s(*minus);
            let (column, _) = S::as_simd_f32s(&self.hessian[at + from..at + to]);
            for i in 0..V {
                r[i] = simd.mul_add_e_f32s(minus, column[i], r[i]);
            }
        }
        let (lo, _) = S::as_simd_f32s(&scan.lo[from..to]);
        let (hi, _) = S::as_simd_f32s(&scan.hi[from..to]);
        let (own, _) = S::as_mut_simd_f32s(&mut self.r[from..to]);
        let (out, _) = S::as_mut_simd_f32s(&mut self.outside[from..to]);
        for i in 0..V {
            own[i] = r[i];
            out[i] = simd.max_f32s(simd.sub_f32s(lo[i], r[i]), simd.sub_f32s(r[i], hi[i]));
            worst = simd.max_f32s(worst, out[i]);
        }
        (to, worst)
    }
}
