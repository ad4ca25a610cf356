//! Which atoms can have a code other than 0 along a step.

use crate::strategy::Local;
use dictmesh_kernels::matrix::{gemm, norm, Matrix};
use dictmesh_kernels::simd::{Simd, WithSimd};
use dictmesh_kernels::unit_columns::error_of_products;

/// Agents with fewer atoms than this take products with all of them: nothing is left to be saved.
const FEW: usize = 16;
/// Bytes of an atom and sample while every atom is listed: rough and exact products, its number.
const LISTED: usize = 32;
/// The lists of a batch may take this many bytes at an agent, or this share of its atoms. Above,
/// exact products with all atoms take half of that memory.
const BYTES: usize = 1 << 20;
const SHARE: f64 = 0.3;
/// Covers the rounding of sums in double precision.
pub(super) const ROUNDING: f64 = 1e-12;

/// The intervals of the atoms of an agent in which their codes are 0.
#[derive(Debug)]
pub(super) struct Screen {
    /// The ends for w'nu.
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// The ends for w'nu / |w|, a little inside.
    unit_lo: Vec<f64>,
    unit_hi: Vec<f64>,
    /// 1 / |w|, for products in double precision; 0 for a zero atom.
    inverse: Vec<f64>,
    /// The error of a product of a unit atom and v, relative to |v|.
    pub error: f64,
    /// 1 / delta of each atom.
    flatness: Vec<f64>,
}

/// Step lengths at which slopes are computed together.
pub(super) const MOST_POINTS: usize = 8;

impl Screen {
    /// `None` if the regularizer is not separable or states no interval, for few atoms, or for
    /// more samples than its memory allows.
    pub fn new(local: &Local, samples: usize) -> Option<Self> {
        let (h, atoms) = (local.task.regularizer(), local.block.atoms());
        let lists = LISTED.saturating_mul(samples);
        let is_large = lists.saturating_mul(atoms.cols()) > BYTES;
        if atoms.cols() < FEW || is_large && lists as f64 > SHARE * 8.0 * atoms.rows() as f64 {
            return None;
        }
        let (mut lo, mut hi, mut flatness) = (Vec::new(), Vec::new(), Vec::new());
        for q in 0..atoms.cols() {
            let h = h.scalar(q)?;
            let ends = h.subgradient_at_zero()?;
            lo.push(ends.0);
            hi.push(ends.1);
            flatness.push(1.0 / h.strong_convexity());
        }
        let norms: Vec<f64> = match local.block.unit_atoms() {
            Some(unit) => unit.norms().to_vec(),
            None => atoms.columns().map(norm).collect(),
        };
        // Infinite ends stay. A norm of 0 makes the other ends NaN, which always lists the atom.
        let end = |end: &f64, norm: &f64, inside: f64| match end.is_finite() {
            true => end / norm + inside * ROUNDING * (end / norm).abs(),
            false => *end,
        };
        let ends = |all: &[f64], inside: f64| -> Vec<f64> {
            let each = all.iter().zip(&norms);
            each.map(|(e, norm)| end(e, norm, inside)).collect()
        };
        Some(Screen {
            unit_lo: ends(&lo, 1.0),
            unit_hi: ends(&hi, -1.0),
            inverse: norms
                .iter()
                .map(|norm| if *norm > 0.0 { 1.0 / norm } else { 0.0 })
                .collect(),
            error: error_of_products(atoms.rows()),
            lo,
            hi,
            flatness,
        })
    }

    /// Whether the code of atom q at w'nu = s is 0. Not for NaN.
    #[inline(always)]
    pub fn is_zero(&self, q: usize, s: f64) -> bool {
        self.lo[q] <= s && s <= self.hi[q]
    }

    /// W_k' times these vectors, divided by the norms of the atoms, up to `error`.
    pub fn products(&self, local: &Local, vectors: &[f32], out: &mut Vec<f32>) {
        if let Some(unit) = local.block.unit_atoms() {
            return unit.products(vectors, out);
        }
        let (rows, atoms) = (local.rows(), local.block.atoms());
        let columns = vectors.chunks_exact(rows.max(1));
        let columns = columns.map(|v| v.iter().map(|v| f64::from(*v)));
        let products = multiply(atoms, columns, vectors.len() / rows.max(1));
        out.clear();
        for products in products.columns() {
            let each = products.iter().zip(&self.inverse);
            out.extend(each.map(|(s, inverse)| (s * inverse) as f32));
        }
    }
}

/// Vectors in single precision, each divided by a power of two near its largest entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Singles {
    pub numbers: Vec<f32>,
    /// The power of two of each vector.
    pub units: Vec<f64>,
    rows: usize,
}

impl Singles {
    pub fn push(&mut self, v: &[f64]) {
        let largest = v.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        // Neither the power nor its inverse is subnormal.
        let exponent = super::order::exponent_of(largest).clamp(-1000, 1000);
        let (unit, inverse) = (
            super::order::power(exponent),
            super::order::power(-exponent),
        );
        self.numbers.extend(v.iter().map(|v| (v * inverse) as f32));
        self.units.push(unit);
        self.rows = v.len();
    }

    pub fn column(&self, i: usize) -> &[f32] {
        &self.numbers[i * self.rows..(i + 1) * self.rows]
    }
}

/// W_k' times these columns.
pub(super) fn multiply(
    atoms: &Matrix,
    columns: impl Iterator<Item = impl Iterator<Item = f64>>,
    count: usize,
) -> Matrix {
    let mut right = Matrix::zeros(atoms.rows(), count);
    let mut out = Matrix::zeros(atoms.cols(), count);
    for (j, from) in (0..count).zip(columns) {
        let to = right.column_mut(j).iter_mut();
        to.zip(from).for_each(|(to, from)| *to = from);
    }
    if count > 0 {
        let left = atoms.view().transpose();
        gemm(out.view_mut(), left, right.view(), 1.0, false);
    }
    out
}

/// Adds the last step to w'nu / |w| and lists the atoms that the bound cannot exclude on the way.
pub(super) struct Listing<'a> {
    pub screen: &'a Screen,
    pub s: &'a mut [f64],
    pub step: (f64, &'a [f32]),
    pub way: (f64, &'a [f32]),
    pub margin: f64,
    pub out: &'a mut Vec<u32>,
}

/// Atoms that are compared together.
const TOGETHER: usize = 16;

impl WithSimd for Listing<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (n, margin, (shift, moved), (reach, d)) =
            (self.s.len(), self.margin, self.step, self.way);
        for from in (0..n).step_by(TOGETHER) {
            let range = from..(from + TOGETHER).min(n);
            let s = &mut self.s[range.clone()];
            let (moved, d) = (&moved[range.clone()], &d[range.clone()]);
            let lo = &self.screen.unit_lo[range.clone()];
            let hi = &self.screen.unit_hi[range];
            let mut is_listed = [0_u64; TOGETHER];
            for i in 0..s.len() {
                let base = s[i] + shift * f64::from(moved[i]);
                let end = base + reach * f64::from(d[i]);
                s[i] = base;
                // Not excluded if one of them is NaN.
                let inside = (lo[i] < base - margin)
                    & (lo[i] < end - margin)
                    & (base + margin < hi[i])
                    & (end + margin < hi[i]);
                is_listed[i] = u64::from(!inside);
            }
            if is_listed.iter().sum::<u64>() > 0 {
                let listed = (0..is_listed.len()).filter(|i| is_listed[*i] > 0);
                self.out.extend(listed.map(|i| (from + i) as u32));
            }
        }
    }
}

/// Sums over the listed atoms of the growth of y(s + t d) d, with y(s) = (s - clamp(s, lo, hi)) /
/// delta, at all step lengths side by side.
pub(super) struct Slopes<'a> {
    pub screen: &'a Screen,
    /// The listed atoms; `None` for all.
    pub atoms: Option<&'a [u32]>,
    /// w'nu and w'p of each.
    pub s: &'a [f64],
    pub d: &'a [f64],
    pub points: [f64; MOST_POINTS],
    /// The longest of the step lengths.
    pub last: f64,
}

impl WithSimd for Slopes<'_> {
    type Output = [f64; MOST_POINTS];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [f64; MOST_POINTS] {
        let (screen, points) = (self.screen, &self.points);
        let mut grown = [0.0; MOST_POINTS];
        for (i, (s, d)) in self.s.iter().zip(self.d).enumerate() {
            let q = self.atoms.map_or(i, |atoms| atoms[i] as usize);
            // Outside of the interval for no t if not for the last one.
            if screen.is_zero(q, *s) && screen.is_zero(q, s + self.last * d) {
                continue;
            }
            let (lo, hi) = (screen.lo[q], screen.hi[q]);
            let first = s - s.max(lo).min(hi);
            let weight = d * screen.flatness[q];
            for (grown, t) in grown.iter_mut().zip(points) {
                let at = s + t * d;
                *grown += (at - at.max(lo).min(hi) - first) * weight;
            }
        }
        grown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dictmesh_kernels::simd::dispatch;

    #[test]
    fn atoms_that_a_bound_cannot_exclude_are_listed() {
        let screen = Screen {
            lo: Vec::new(),
            hi: Vec::new(),
            unit_lo: vec![-1.0, f64::NEG_INFINITY, -0.5, -1.0, f64::NAN],
            unit_hi: vec![1.0, 1.0, 0.5, 1.0, f64::NAN],
            inverse: Vec::new(),
            error: 0.0,
            flatness: Vec::new(),
        };
        let listed = |reach: f64, margin: f64| {
            let (mut s, mut out) = ([0.4, -9.0, 0.0, f64::NAN, 0.0], Vec::new());
            dispatch(Listing {
                screen: &screen,
                s: &mut s,
                step: (2.0, &[0.1; 5][..]),
                way: (reach, &[1.0, 1.0, 0.0, 0.0, 0.0][..]),
                margin,
                out: &mut out,
            });
            assert_eq!(
                (s[0], s[2]),
                (0.4 + 2.0 * f64::from(0.1_f32), 2.0 * f64::from(0.1_f32))
            );
            out
        };
        assert_eq!(listed(0.0, 0.25), [3, 4]);
        assert_eq!(listed(0.0, 0.35), [2, 3, 4]);
        assert_eq!(listed(0.0, 0.45), [0, 2, 3, 4]);
        assert_eq!(listed(0.5, 0.25), [0, 3, 4]);
        assert_eq!(listed(20.0, 0.0), [0, 1, 3, 4]);
    }

    #[test]
    fn vectors_of_any_size_have_entries_near_one() {
        let mut singles = Singles::default();
        for size in [1e-300, 1e-20, 1.0, 1e300] {
            singles.push(&[0.7 * size, -size]);
        }
        for (i, size) in [1e-300, 1e-20, 1.0, 1e300].into_iter().enumerate() {
            let found = singles.units[i] * f64::from(singles.column(i)[1]);
            assert!((found / size + 1.0).abs() < 1e-7, "{size:e}");
            assert!(singles.column(i)[1].abs() <= 1.0 && singles.column(i)[1].abs() > 0.4);
        }
    }
}
