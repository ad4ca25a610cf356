//! Small positive definite systems by Cholesky factors, one system per SIMD lane.

use super::LANES_F64;
use crate::simd::{CacheAligned, Simd};
use crate::work::count;

/// Rows at a time, to hide the latency of dependent multiply-adds.
const ROWS: usize = 4;

/// The Cholesky factors, by rows; each entry of all lanes is contiguous.
pub struct Factor {
    rows: CacheAligned<f64>,
    stride: usize,
    /// 1 over the diagonal.
    inverse: CacheAligned<f64>,
    x: CacheAligned<f64>,
}

impl Factor {
    pub fn new(capacity: usize, stride: usize) -> Self {
        Factor {
            rows: CacheAligned::new(capacity * stride * LANES_F64, 0.0),
            stride,
            inverse: CacheAligned::new(capacity * LANES_F64, 0.0),
            x: CacheAligned::new(capacity * LANES_F64, 0.0),
        }
    }

    /// The solutions of the last solve.
    #[inline(always)]
    pub fn solution(&self) -> &[f64] {
        &self.x
    }

    /// The right sides for [`solve_again`](Factor::solve_again).
    #[inline(always)]
    pub fn solution_mut(&mut self) -> &mut [f64] {
        &mut self.x
    }

    /// Factors n x n matrices, given by their lower triangles. An unknown whose pivot is not
    /// positive will be 0.
    #[inline(always)]
    pub fn make<S: Simd>(&mut self, simd: S, matrix: &[f64], n: usize) {
        count(n * n * n / 6 * S::F64_LANES);
        let stride = self.stride;
        let matrix = S::as_simd_f64s(matrix).0;
        let a = S::as_mut_simd_f64s(&mut self.rows).0;
        let inverse = S::as_mut_simd_f64s(&mut self.inverse).0;
        let [zero, one] = [0.0, 1.0].map(|v| simd.splat_f64s(v));
        for j in 0..n {
            let (above, below) = a.split_at_mut((j + 1) * stride);
            let own = &above[j * stride..j * stride + j];
            let mut pivot = matrix[j * stride + j];
            for l in own {
                pivot = simd.negate_mul_add_e_f64s(*l, *l, pivot);
            }
            let root = simd.div_f64s(one, simd.sqrt_f64s(pivot));
            inverse[j] = simd.select_f64s(simd.greater_than_f64s(pivot, zero), root, zero);
            let (mut i, left) = (j + 1, &matrix[j..]);
            let mut rows = below[..(n - j - 1) * stride].chunks_exact_mut(ROWS * stride);
            for rows in &mut rows {
                column::<S, ROWS>(simd, own, stride, rows, &left[i * stride..], inverse[j]);
                i += ROWS;
            }
            for row in rows.into_remainder().chunks_exact_mut(stride) {
                column::<S, 1>(simd, own, stride, row, &left[i * stride..], inverse[j]);
                i += 1;
            }
        }
    }

    /// Solves for these right sides.
    #[inline(always)]
    pub fn solve<S: Simd>(&mut self, simd: S, right: &[f64], n: usize) {
        self.x[..n * S::F64_LANES].copy_from_slice(&right[..n * S::F64_LANES]);
        self.solve_again(simd, n);
    }

    /// Solves for the right sides in [`solution_mut`](Factor::solution_mut).
    #[inline(always)]
    pub fn solve_again<S: Simd>(&mut self, simd: S, n: usize) {
        count(n * n * S::F64_LANES);
        let stride = self.stride;
        let [a, inverse] = [&self.rows, &self.inverse].map(|v| S::as_simd_f64s(v).0);
        let x = S::as_mut_simd_f64s(&mut self.x).0;
        for j in 0..n {
            let mut sum = x[j];
            for (l, x) in a[j * stride..j * stride + j].iter().zip(&x[..j]) {
                sum = simd.negate_mul_add_e_f64s(*l, *x, sum);
            }
            x[j] = simd.mul_f64s(sum, inverse[j]);
        }
        for j in (0..n).rev() {
            let own = simd.mul_f64s(x[j], inverse[j]);
            for (l, x) in a[j * stride..j * stride + j].iter().zip(&mut x[..j]) {
                *x = simd.negate_mul_add_e_f64s(*l, own, *x);
            }
            x[j] = own;
        }
    }
}

/// Computes column `own.len()` of the factor in R rows. `own` holds the pivot row up to there, and
/// `left` starts at the matrix entry of the first row.
#[inline(always)]
fn column<S: Simd, const R: usize>(
    simd: S,
    own: &[S::f64s],
    stride: usize,
    rows: &mut [S::f64s],
    left: &[S::f64s],
    inverse: S::f64s,
) {
    let mut sums: [S::f64s; R] = std::array::from_fn(|r| left[r * stride]);
    let known: [&[S::f64s]; R] = std::array::from_fn(|r| &rows[r * stride..r * stride + own.len()]);
    for (k, l) in own.iter().enumerate() {
        for r in 0..R {
            sums[r] = simd.negate_mul_add_e_f64s(*l, known[r][k], sums[r]);
        }
    }
    for (r, sum) in sums.iter().enumerate() {
        rows[r * stride + own.len()] = simd.mul_f64s(*sum, inverse);
    }
}
