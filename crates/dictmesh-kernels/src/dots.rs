//! Inner products of some columns of a matrix with one vector or two.

use crate::matrix::Matrix;
use crate::simd::{self, dispatch, Simd, WithSimd};

/// Appends a_q'x to `first` and a_q'y to `second` for these columns a_q of `a`. Each is
/// bit-identical to [`dot`](crate::matrix::dot).
///
/// Panics if a column does not exist.
pub fn two_products(
    a: &Matrix,
    columns: impl Iterator<Item = usize>,
    (x, y): (&[f64], &[f64]),
    (first, second): (&mut Vec<f64>, &mut Vec<f64>),
) {
    struct Products<'a, I> {
        a: &'a Matrix,
        columns: I,
        x: &'a [f64],
        y: &'a [f64],
        first: &'a mut Vec<f64>,
        second: &'a mut Vec<f64>,
    }
    impl<I: Iterator<Item = usize>> WithSimd for Products<'_, I> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            for q in self.columns {
                let (first, second) = simd::two_dots(simd, self.a.column(q), self.x, self.y);
                self.first.push(first);
                self.second.push(second);
            }
        }
    }
    dispatch(Products {
        a,
        columns,
        x,
        y,
        first,
        second,
    });
}

/// Appends a_q'x for these columns a_q of `a`, bit-identical to
/// [`dot`](crate::matrix::dot).
///
/// Panics if a column does not exist.
pub fn products(a: &Matrix, columns: impl Iterator<Item = usize>, x: &[f64], out: &mut Vec<f64>) {
    struct Products<'a, I> {
        a: &'a Matrix,
        columns: I,
        x: &'a [f64],
        out: &'a mut Vec<f64>,
    }
    impl<I: Iterator<Item = usize>> WithSimd for Products<'_, I> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            // Not by `extend`, which is not compiled for this instruction set.
            for q in self.columns {
                self.out.push(simd::dot(simd, self.a.column(q), self.x));
            }
        }
    }
    dispatch(Products { a, columns, x, out });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::dot;
    use crate::test_data::{gaussian, stream};

    #[test]
    fn two_products_are_those_of_dot() {
        for rows in [0, 1, 3, 8, 31, 32, 77, 512] {
            let w = gaussian(rows, 5, &mut stream(1, 0));
            let v = gaussian(rows, 2, &mut stream(2, 0));
            let (mut first, mut second) = (vec![7.0], Vec::new());
            let columns = [4, 0, 2];
            let (x, y) = (v.column(0), v.column(1));
            two_products(&w, columns.into_iter(), (x, y), (&mut first, &mut second));
            let dots = |v: &[f64]| columns.map(|q| dot(w.column(q), v));
            assert_eq!(first[1..], dots(x));
            assert_eq!(second, dots(y));
            products(&w, columns.into_iter(), y, &mut first);
            assert_eq!(first[4..], dots(y));
        }
    }
}
