//! Small positive definite systems, such as those on the support of a sparse code.

use crate::matrix::Matrix;
use crate::simd::{dot, padded, Simd};
use crate::work;
use faer::linalg::solvers::Solve;
use faer::Side;

/// Unknowns up to which this factorisation is faster than faer's, which has more set-up.
const SMALL: usize = 64;

/// The length of the columns for [`solve`]: n rows of the matrix, the right side, and padding.
#[inline(always)]
pub fn width(n: usize) -> usize {
    padded(n + 1)
}

/// Solves A x = b for a symmetric positive definite A. `a` has n columns of length [`width`]: a
/// column of A, its entry of b, and finite padding; it is overwritten. `x` has at least [`width`]
/// entries. Returns false if a pivot is not positive; `a` and `x` are then unspecified.
///
/// With b as one more row of A, factoring A = L L' leaves L^-1 b there.
#[inline(always)]
pub fn solve<S: Simd>(simd: S, a: &mut [f64], x: &mut [f64], n: usize) -> bool {
    work::count(work::cholesky(n));
    if n > SMALL {
        return solve_large(a, x, n);
    }
    let width = width(n);
    for j in 0..n {
        // Rows above j in the same vector are computed too, but never read.
        let top = j / S::F64_LANES * S::F64_LANES;
        let (left, own) = a.split_at_mut(j * width);
        eliminate(simd, left, width, j, top, &mut own[top..width]);
        let pivot = own[j];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let inverse = 1.0 / pivot.sqrt();
        let scale = simd.splat_f64s(inverse);
        for v in S::as_mut_simd_f64s(&mut own[top..width]).0 {
            *v = simd.mul_f64s(*v, scale);
        }
        own[j] = inverse; // the diagonal of L is not read again, its inverse is
    }
    x[..width].fill(0.0);
    for j in (0..n).rev() {
        let top = j / S::F64_LANES * S::F64_LANES;
        let column = &a[j * width..(j + 1) * width];
        // x is still 0 in all rows that are not below the diagonal of L.
        let known = dot(simd, &column[top..], &x[top..width]);
        x[j] = (column[n] - known) * column[j];
    }
    true
}

/// Subtracts the contributions of the columns left of column j from it, from row `top` on.
#[inline(always)]
fn eliminate<S: Simd>(simd: S, left: &[f64], width: usize, j: usize, top: usize, own: &mut [f64]) {
    /// V vectors of the column stay in registers while the loop runs over the columns left of it.
    #[inline(always)]
    fn some<S: Simd, const V: usize>(
        simd: S,
        columns: impl Iterator<Item = (f64, usize)>,
        left: &[f64],
        own: &mut [S::f64s],
    ) {
        let mut sums = [simd.splat_f64s(0.0); V];
        sums.copy_from_slice(own);
        for (l, at) in columns {
            let minus = simd.splat_f64s(-l);
            let (w, _) = S::as_simd_f64s(&left[at..at + V * S::F64_LANES]);
            for i in 0..V {
                sums[i] = simd.mul_add_e_f64s(minus, w[i], sums[i]);
            }
        }
        own.copy_from_slice(&sums);
    }
    let (own, _) = S::as_mut_simd_f64s(own);
    let mut from = top;
    for own in own.chunks_mut(4) {
        let columns = (0..j).map(|k| (left[k * width + j], k * width + from));
        match own.len() {
            4 => some::<S, 4>(simd, columns, left, own),
            3 => some::<S, 3>(simd, columns, left, own),
            2 => some::<S, 2>(simd, columns, left, own),
            _ => some::<S, 1>(simd, columns, left, own),
        }
        from += 4 * S::F64_LANES;
    }
}

#[cold]
fn solve_large(a: &[f64], x: &mut [f64], n: usize) -> bool {
    let width = width(n);
    let dense = Matrix::from_fn(n, n, |i, j| a[j * width + i]);
    let Ok(factor) = dense.view().llt(Side::Lower) else {
        return false;
    };
    let solution = factor.solve(Matrix::from_fn(n, 1, |i, _| a[i * width + n]).view());
    (0..n).for_each(|i| x[i] = solution[(i, 0)]);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{dispatch, WithSimd};
    use crate::test_data::{gaussian, stream};

    /// A and b in the layout of `solve`.
    fn system(a: &Matrix, b: &[f64]) -> Vec<f64> {
        let width = width(b.len());
        let mut out = vec![0.0; width * b.len()];
        for (j, column) in a.columns().enumerate() {
            out[j * width..j * width + b.len()].copy_from_slice(column);
            out[j * width + b.len()] = b[j];
        }
        out
    }

    /// `solve` for the instruction set of this CPU.
    struct Here<'a>(&'a mut [f64], &'a mut [f64], usize);

    impl WithSimd for Here<'_> {
        type Output = bool;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> bool {
            solve(simd, self.0, self.1, self.2)
        }
    }

    fn solved(a: &Matrix, b: &[f64], x: &mut [f64]) -> bool {
        let here = dispatch(Here(&mut system(a, b), x, b.len()));
        let mut plain = x.to_vec();
        let scalar = solve(pulp::Scalar::new(), &mut system(a, b), &mut plain, b.len());
        assert_eq!(here, scalar);
        if here {
            for (x, plain) in x.iter().zip(plain).take(b.len()) {
                assert!((x - plain).abs() <= 1e-7 * (1.0 + x.abs()), "{x} {plain}");
            }
        }
        here
    }

    #[test]
    fn the_solution_solves_and_a_bad_pivot_returns_false() {
        for n in [0, 1, 2, 3, 7, 8, 9, 17, 64, 65, 80] {
            let root = gaussian(n + 2, n, &mut stream(n as u64, 0));
            let a = root.transpose_times(&root);
            let b: Vec<f64> = (0..n).map(|i| i as f64 - 1.5).collect();
            let mut x = vec![f64::NAN; width(n)];
            assert!(solved(&a, &b, &mut x));
            for i in 0..n {
                let row: f64 = (0..n).map(|j| a.get(i, j) * x[j]).sum();
                assert!((row - b[i]).abs() < 1e-7, "n = {n}: {row} is not {}", b[i]);
            }
        }
        let singular = Matrix::from_fn(2, 2, |_, _| 1.0);
        assert!(!solved(&singular, &[1.0, 2.0], &mut [0.0; 8]));
        let nothing = Matrix::from_fn(1, 1, |_, _| f64::NAN);
        assert!(!solved(&nothing, &[1.0], &mut [0.0; 8]));
    }
}
