//! Products of unit columns with vectors in single precision, with a bound of their error.
//!
//! They take half the time of products in double precision. They serve to find the few columns whose
//! product can exceed a threshold.

use crate::matrix::{norm, Matrix};
use crate::work::count;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// The columns of a matrix, each divided by its norm, in single precision. A column of zeros stays
/// one.
///
/// ```
/// use dictmesh_kernels::{unit_columns::UnitColumns, Matrix};
/// let w = UnitColumns::of(&Matrix::from_columns(2, &[[3.0, 4.0]])?);
/// let mut products = Vec::new();
/// w.products(&[1.0, 0.0], &mut products);
/// assert_eq!(products, [0.6]);
/// # Ok::<(), dictmesh_kernels::ShapeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct UnitColumns {
    rows: usize,
    /// Row by row, as a product with the transpose reads them.
    numbers: Vec<f32>,
    norms: Vec<f64>,
}

/// Columns that are transposed together: sixteen single-precision numbers fill a cache line.
const TOGETHER: usize = 16;

impl UnitColumns {
    /// Those of `w`.
    pub fn of(w: &Matrix) -> Self {
        let norms: Vec<f64> = w.columns().map(norm).collect();
        let inverse: Vec<f64> = norms.iter().map(|norm| inverse_or_zero(*norm)).collect();
        let (rows, columns) = (w.rows(), w.cols());
        let mut numbers = vec![0.0; rows * columns];
        for first in (0..columns).step_by(TOGETHER) {
            let together = first..(first + TOGETHER).min(columns);
            for row in 0..rows {
                let to = &mut numbers[row * columns..][together.clone()];
                for (to, q) in to.iter_mut().zip(together.clone()) {
                    *to = match inverse[q].is_finite() {
                        true => (w.get(row, q) * inverse[q]) as f32,
                        false => (w.get(row, q) / norms[q]) as f32,
                    };
                }
            }
        }
        UnitColumns {
            rows: w.rows(),
            numbers,
            norms,
        }
    }

    /// The norms of the columns.
    pub fn norms(&self) -> &[f64] {
        &self.norms
    }

    /// The product of each unit column with each of these vectors, which follow one another; vector
    /// by vector. The largest entry of a vector should be near 1, so that none underflows.
    ///
    /// Panics unless `vectors` are whole columns of the matrix's number of rows.
    pub fn products(&self, vectors: &[f32], out: &mut Vec<f32>) {
        let (rows, columns) = (self.rows, self.norms.len());
        let right = vectors.len() / rows.max(1);
        out.clear();
        out.resize(columns * right, 0.0);
        if out.is_empty() {
            return;
        }
        count(rows * columns * right);
        matmul(
            MatMut::from_column_major_slice_mut(out, columns, right),
            Accum::Replace,
            MatRef::from_column_major_slice(&self.numbers, columns, rows),
            MatRef::from_column_major_slice(vectors, rows, right),
            1.0,
            Par::Seq,
        );
    }
}

/// 1/norm; 0 for a column of zeros.
fn inverse_or_zero(norm: f64) -> f64 {
    match norm > 0.0 {
        true => 1.0 / norm,
        false => 0.0,
    }
}

/// A bound of the error of a product of a unit column with a vector v of `rows` entries, both
/// rounded to single precision, relative to |v|: twice the bound (rows + 4) u, with u the unit
/// roundoff. For sums in any order, with or without fused multiply-adds.
pub fn error_of_products(rows: usize) -> f64 {
    (rows as f64 + 4.0) * f64::from(f32::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{gaussian, stream};

    #[test]
    fn errors_are_within_their_bound() {
        for (rows, columns) in [(1, 3), (7, 20), (512, 40), (3000, 5)] {
            let w = gaussian(rows, columns, &mut stream(1, 0));
            let v = gaussian(rows, 9, &mut stream(2, 0));
            for size in [1.0, 1e-160, 1e150] {
                let mut scaled = w.clone();
                scaled.as_mut_slice().iter_mut().for_each(|w| *w *= size);
                let unit = UnitColumns::of(&scaled);
                let vectors: Vec<f32> = v.as_slice().iter().map(|v| *v as f32).collect();
                let mut found = Vec::new();
                unit.products(&vectors, &mut found);
                let exact = w.transpose_times(&v);
                for (j, v) in v.columns().enumerate() {
                    let bound = error_of_products(rows) * norm(v);
                    for (q, w) in w.columns().enumerate() {
                        let off = f64::from(found[j * columns + q]) - exact.get(q, j) / norm(w);
                        assert!(off.abs() <= bound, "{rows} {size}: {off:e} {bound:e}");
                    }
                }
            }
        }
    }

    #[test]
    fn zero_columns_and_no_vectors_are_allowed() {
        let unit = UnitColumns::of(&Matrix::zeros(3, 2));
        let mut out = vec![7.0];
        unit.products(&[1.0, 2.0, 3.0], &mut out);
        assert_eq!(out, [0.0, 0.0]);
        unit.products(&[], &mut out);
        assert!(out.is_empty());
    }
}
