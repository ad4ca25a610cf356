//! Small positive definite systems, as the support of a sparse code gives them.

/// Solves `a x = b` for a symmetric positive definite `a`, n x n by columns, of which only the lower half
/// is read; both are overwritten, `b` by x. False, and nothing of use in either, if a pivot is not positive.
///
/// A library's factorisation is faster from some dozens of unknowns on; below, setting it up costs more
/// than the whole solution.
pub(super) fn solve(a: &mut [f64], b: &mut [f64]) -> bool {
    let n = b.len();
    for j in 0..n {
        for k in 0..j {
            let l = a[k * n + j];
            let (before, own) = a.split_at_mut(j * n);
            let left = &before[k * n + j..(k + 1) * n];
            for (a, w) in own[j..n].iter_mut().zip(left) {
                *a -= l * w;
            }
        }
        let pivot = a[j * n + j];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let scale = 1.0 / pivot.sqrt();
        a[j * n + j..(j + 1) * n]
            .iter_mut()
            .for_each(|a| *a *= scale);
    }
    for j in 0..n {
        b[j] /= a[j * n + j];
        let (x, below) = (b[j], &a[j * n + j + 1..(j + 1) * n]);
        for (b, a) in b[j + 1..].iter_mut().zip(below) {
            *b -= a * x;
        }
    }
    for j in (0..n).rev() {
        let below = &a[j * n + j + 1..(j + 1) * n];
        let sum: f64 = below.iter().zip(&b[j + 1..]).map(|(a, x)| a * x).sum();
        b[j] = (b[j] - sum) / a[j * n + j];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{gaussian, stream};

    #[test]
    fn the_solution_solves_and_a_bad_pivot_is_told() {
        for n in 0..9 {
            let root = gaussian(n + 2, n, &mut stream(n as u64, 0));
            let a = root.transpose_times(&root);
            let b: Vec<f64> = (0..n).map(|i| i as f64 - 1.5).collect();
            let (mut work, mut x) = (a.clone(), b.clone());
            assert!(solve(work.as_mut_slice(), &mut x));
            for i in 0..n {
                let row: f64 = (0..n).map(|j| a.get(i, j) * x[j]).sum();
                assert!((row - b[i]).abs() < 1e-9, "n = {n}: {row} is not {}", b[i]);
            }
        }
        let mut singular = [1.0, 1.0, 1.0, 1.0];
        assert!(!solve(&mut singular, &mut [1.0, 2.0]));
        assert!(!solve(&mut [f64::NAN], &mut [1.0]));
    }
}
