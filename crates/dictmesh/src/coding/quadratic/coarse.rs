//! H in single precision: half the bytes to read where the way is looked for and not yet the solution.

use super::active::Active;
use crate::matrix::Matrix;
use crate::simd::Simd;
use crate::work::count;

/// Numbers of a cache line: columns begin with one.
const LINE: usize = 16;

pub struct Coarse {
    /// The Gram matrix over its largest entry, by columns of length `stride`, the first at `begin`.
    gram: Vec<f32>,
    begin: usize,
    stride: usize,
    largest: f64,
    sums: Vec<f32>,
}

impl Coarse {
    /// None if the Gram matrix has nothing in it, or what is not a number.
    pub fn new(gram: &Matrix) -> Option<Self> {
        let n = gram.cols();
        let largest = (0..n).map(|q| gram.get(q, q)).fold(0.0, f64::max);
        if !(largest > 0.0 && largest.is_finite()) {
            return None;
        }
        let stride = n.next_multiple_of(LINE);
        let mut coarse = vec![0.0_f32; stride * n + LINE];
        let begin = coarse.as_ptr().align_offset(64).min(LINE);
        for (q, column) in gram.columns().enumerate() {
            let out = &mut coarse[begin + q * stride..begin + q * stride + n];
            for (out, entry) in out.iter_mut().zip(column) {
                *out = (entry / largest) as f32;
            }
        }
        Some(Coarse {
            gram: coarse,
            begin,
            stride,
            largest,
            sums: vec![0.0; stride],
        })
    }

    /// r = g - H y, about. Returns the size of the numbers that were added up.
    #[inline(always)]
    pub fn refresh<S: Simd>(
        &mut self,
        simd: S,
        active: &Active,
        scale: f64,
        g: &[f64],
        y: &[f64],
        r: &mut [f64],
    ) -> f64 {
        let size = |v: &[f64]| v.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let members = active.members();
        let most = (members.iter()).fold(0.0, |m: f64, c| m.max(y[c.q].abs()));
        if most == 0.0 {
            r.copy_from_slice(g);
            return size(g);
        }
        let columns = (members.iter()).filter(|m| y[m.q] != 0.0).map(|m| {
            let from = self.begin + m.q * self.stride;
            ((y[m.q] / most) as f32, &self.gram[from..from + self.stride])
        });
        let (sums, mut from) = (&mut self.sums, 0);
        while from < self.stride {
            from += match (self.stride - from) / S::F32_LANES {
                8.. => part::<S, 8>(simd, columns.clone(), from, sums),
                4.. => part::<S, 4>(simd, columns.clone(), from, sums),
                _ => part::<S, 1>(simd, columns.clone(), from, sums),
            };
        }
        let factor = scale * most * self.largest;
        for ((r, g), sum) in r.iter_mut().zip(g).zip(&*sums) {
            *r = g - factor * f64::from(*sum);
        }
        size(g) + factor * members.len() as f64
    }
}

/// The sums of the columns for V vectors of rows, which stay in registers; returns how many rows.
#[inline(always)]
fn part<'a, S: Simd, const V: usize>(
    simd: S,
    columns: impl Iterator<Item = (f32, &'a [f32])>,
    from: usize,
    out: &mut [f32],
) -> usize {
    let rows = V * S::F32_LANES;
    let mut sums = [simd.splat_f32s(0.0); V];
    for (y, column) in columns {
        count(rows);
        let y = simd.splat_f32s(y);
        let (column, _) = S::as_simd_f32s(&column[from..from + rows]);
        for i in 0..V {
            sums[i] = simd.mul_add_e_f32s(y, column[i], sums[i]);
        }
    }
    let (out, _) = S::as_mut_simd_f32s(&mut out[from..from + rows]);
    out.copy_from_slice(&sums);
    rows
}
