//! Small positive definite systems, as the support of a sparse code gives them.

use crate::matrix::Matrix;
use crate::simd::{add, Simd, LANES};
use faer::linalg::solvers::Solve;
use faer::Side;

/// Unknowns up to which a plain factorisation is faster than a library's, which takes longer to set up
/// than these take to solve.
const SMALL: usize = 64;

/// The length of a column with room for `n` numbers.
#[inline(always)]
pub(super) fn padded(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

/// Solves `a x = b` for a symmetric positive definite `a`, n x n by columns of padded length, of which
/// only the lower half is read; both are overwritten, `b` by x. False, and nothing of use in either, if a
/// pivot is not positive.
#[inline(always)]
pub(super) fn solve<S: Simd>(simd: S, a: &mut [f64], b: &mut [f64], n: usize) -> bool {
    if n > SMALL {
        return solve_large(a, b, n);
    }
    let width = padded(n);
    for j in 0..n {
        // Rows above j in the same chunk are computed with it, and are not read by anyone.
        let top = j / LANES * LANES;
        let (before, own) = a.split_at_mut(j * width);
        let own = &mut own[top..width];
        for k in 0..j {
            let left = &before[k * width + top..(k + 1) * width];
            add(simd, -left[j - top], left, own);
        }
        let pivot = own[j - top];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let scale = 1.0 / pivot.sqrt();
        own.iter_mut().for_each(|a| *a *= scale);
    }
    for j in 0..n {
        b[j] /= a[j * width + j];
        let (x, below) = (b[j], &a[j * width + j + 1..j * width + n]);
        for (b, a) in b[j + 1..n].iter_mut().zip(below) {
            *b -= a * x;
        }
    }
    for j in (0..n).rev() {
        let below = &a[j * width + j + 1..j * width + n];
        let sum: f64 = below.iter().zip(&b[j + 1..n]).map(|(a, x)| a * x).sum();
        b[j] = (b[j] - sum) / a[j * width + j];
    }
    true
}

#[cold]
fn solve_large(a: &mut [f64], b: &mut [f64], n: usize) -> bool {
    let width = padded(n);
    let dense = Matrix::from_fn(n, n, |i, j| a[j * width + i]);
    let Ok(factor) = dense.view().llt(Side::Lower) else {
        return false;
    };
    let x = factor.solve(Matrix::from_fn(n, 1, |i, _| b[i]).view());
    b[..n]
        .iter_mut()
        .enumerate()
        .for_each(|(i, b)| *b = x[(i, 0)]);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{gaussian, stream};

    fn pad(a: &Matrix) -> Vec<f64> {
        let width = padded(a.rows());
        let mut out = vec![f64::NAN; width * a.cols()];
        for (j, column) in a.columns().enumerate() {
            out[j * width..j * width + a.rows()].copy_from_slice(column);
        }
        out
    }

    #[test]
    fn the_solution_solves_and_a_bad_pivot_is_told() {
        for n in [0, 1, 2, 3, 7, 8, 9, 17, 64, 65, 80] {
            let root = gaussian(n + 2, n, &mut stream(n as u64, 0));
            let a = root.transpose_times(&root);
            let b: Vec<f64> = (0..n).map(|i| i as f64 - 1.5).collect();
            let mut x = b.clone();
            x.resize(padded(n), f64::NAN);
            assert!(solve(pulp::Scalar::new(), &mut pad(&a), &mut x, n));
            for i in 0..n {
                let row: f64 = (0..n).map(|j| a.get(i, j) * x[j]).sum();
                assert!((row - b[i]).abs() < 1e-7, "n = {n}: {row} is not {}", b[i]);
            }
        }
        let singular = Matrix::from_fn(2, 2, |_, _| 1.0);
        assert!(!solve(
            pulp::Scalar::new(),
            &mut pad(&singular),
            &mut [1.0; 8],
            2
        ));
        assert!(!solve(
            pulp::Scalar::new(),
            &mut [f64::NAN; 8],
            &mut [1.0; 8],
            1
        ));
    }
}
