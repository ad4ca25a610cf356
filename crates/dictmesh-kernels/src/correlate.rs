//! W'V for several columns of V, each of which does not depend on the others.
//!
//! A matrix product selects its method by shape: few numbers, or a single column, are summed in
//! another order than many. Here two columns or more are summed in one order for any number of
//! them, so that a batch and a part of it have bit-identical results. A single column may differ.

use crate::loops::Correlate;
use crate::matrix::{gemm, Matrix};
use crate::simd::dispatch;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{MatMut, MatRef};
use std::cell::Cell;

/// Atoms up to which inner products are used: a matrix product takes longer to set up.
const HANDFUL: usize = 8;
/// Multiply-adds up to which a matrix product is in another order.
const SMALL: usize = 16 * 16 * 16;

/// `s = W'V`. From two columns on, each column of `s` depends on W and its column of V alone.
///
/// Panics if the shapes do not fit, or unless columns are contiguous.
pub fn correlate_columns(w: &Matrix, v: MatRef<'_, f64>, mut s: MatMut<'_, f64>) {
    let (rows, atoms, columns) = (w.rows(), w.cols(), v.ncols());
    assert!(v.nrows() == rows && s.nrows() == atoms && s.ncols() == columns);
    if atoms <= HANDFUL {
        for j in 0..columns {
            let v = v.col(j).try_as_col_major();
            let s = s.rb_mut().col_mut(j).try_as_col_major_mut();
            assert!(v.is_some() && s.is_some(), "columns must be contiguous");
            if let (Some(v), Some(s)) = (v, s) {
                dispatch(Correlate {
                    atoms: w,
                    v: v.as_slice(),
                    s: s.as_slice_mut(),
                });
            }
        }
        return;
    }
    let least = SMALL / (rows * atoms).max(1) + 1;
    if !(2..least).contains(&columns) || rows == 0 {
        return gemm(s, w.view().transpose(), v, 1.0, false);
    }
    // Columns of zeros make it a large product.
    let mut memory = PADDED.take();
    memory.clear();
    memory.resize((rows + atoms) * least, 0.0);
    let (wide, out) = memory.split_at_mut(rows * least);
    let mut wide = MatMut::from_column_major_slice_mut(wide, rows, least);
    let mut out = MatMut::from_column_major_slice_mut(out, atoms, least);
    wide.rb_mut().subcols_mut(0, columns).copy_from(v);
    gemm(out.rb_mut(), w.view().transpose(), wide.rb(), 1.0, false);
    s.copy_from(out.rb().subcols(0, columns));
    PADDED.set(memory);
}

thread_local! {
    /// Padded arrays, so that rounds do not allocate.
    static PADDED: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{gaussian, stream};

    const SIZES: [(usize, usize); 12] = [
        (120, 1),
        (120, 3),
        (5, 9),
        (120, 20),
        (37, 12),
        (100, 9),
        (100, 256),
        (2, 40),
        (700, 20),
        (1300, 41),
        (10, 300),
        (1, 17),
    ];

    #[test]
    fn columns_do_not_depend_on_their_number() {
        for (rows, atoms) in SIZES {
            let w = gaussian(rows, atoms, &mut stream(1, 0));
            let v = gaussian(rows, 150, &mut stream(2, 0));
            let of = |range: std::ops::Range<usize>| {
                let mut s = Matrix::zeros(atoms, range.len());
                let v = v.columns_range(range);
                correlate_columns(&w, v.view(), s.view_mut());
                s
            };
            let all = of(0..150);
            let known = w.transpose_times(&v);
            let mut pairs = all.as_slice().iter().zip(known.as_slice());
            assert!(pairs.all(|(a, b)| (a - b).abs() <= 1e-12 * rows as f64));
            for from in [0, 1, 7, 93] {
                for columns in (2..=40).chain([57]) {
                    let range = from..from + columns;
                    let expected = all.columns_range(range.clone());
                    assert_eq!(of(range), expected, "{rows} {atoms} {from} {columns}");
                }
            }
        }
    }

    /// The same for W Y, which needs no padding: products are added up in the order of the atoms.
    #[test]
    fn columns_of_a_product_do_not_depend_on_their_number() {
        for (rows, atoms) in SIZES {
            let w = gaussian(rows, atoms, &mut stream(1, 0));
            let y = gaussian(atoms, 150, &mut stream(2, 0));
            let b = gaussian(rows, 150, &mut stream(3, 0));
            let of = |range: std::ops::Range<usize>| {
                let mut out = b.columns_range(range.clone());
                let y = y.columns_range(range);
                gemm(out.view_mut(), w.view(), y.view(), 1.0, true);
                out
            };
            let all = of(0..150);
            for from in [0, 1, 7, 93] {
                for columns in (2..=40).chain([57]) {
                    let range = from..from + columns;
                    let expected = all.columns_range(range.clone());
                    assert_eq!(of(range), expected, "{rows} {atoms} {from} {columns}");
                }
            }
        }
    }
}
