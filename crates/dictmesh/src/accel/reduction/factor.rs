//! A rank-revealing factor of a Gram matrix: pivoted Cholesky. Zero and repeated atoms, on which
//! plain Cholesky fails, never become pivots.

use dictmesh_kernels::matrix::{axpy, dot, Matrix};

/// G = R'R, with R in the order of the atoms: rank x K, and triangular in the order of the pivots.
#[derive(Debug)]
pub(super) struct Factor {
    r: Matrix,
    pivots: Vec<usize>,
}

impl Factor {
    /// Factors a Gram matrix; pivots that are not above `least` count as zero. `None` if an entry
    /// is not finite.
    pub fn of(gram: &Matrix, least: f64) -> Option<Self> {
        let n = gram.cols();
        if gram.as_slice().iter().any(|v| !v.is_finite()) {
            return None;
        }
        // The squared norm of each atom outside the span of the pivots so far.
        let mut left: Vec<f64> = (0..n).map(|q| gram.get(q, q)).collect();
        let mut open: Vec<usize> = (0..n).collect();
        let (mut r, mut pivots) = (Matrix::zeros(n, n), Vec::new());
        while let Some(at) = largest(&open, &left).filter(|at| left[open[*at]] > least) {
            let (p, i) = (open.swap_remove(at), pivots.len());
            let root = left[p].sqrt();
            r.column_mut(p)[i] = root;
            for &q in &open {
                let known = dot(&r.column(p)[..i], &r.column(q)[..i]);
                let entry = (gram.get(q, p) - known) / root;
                r.column_mut(q)[i] = entry;
                left[q] -= entry * entry;
            }
            pivots.push(p);
        }
        let rank = pivots.len();
        Some(Factor {
            r: Matrix::from_fn(rank, n, |i, q| r.get(i, q)),
            pivots,
        })
    }

    /// The number of rows of R.
    pub fn rank(&self) -> usize {
        self.pivots.len()
    }

    /// The smallest entry on the diagonal of R; infinite without pivots.
    pub fn smallest_pivot(&self) -> f64 {
        let pivots = self.pivots.iter().enumerate();
        pivots.fold(f64::INFINITY, |least, (i, p)| least.min(self.r.get(i, *p)))
    }

    /// The atoms that are not pivots: outside the span of the pivots they count as zero.
    pub fn dependent(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.r.cols()).filter(|q| !self.pivots.contains(q))
    }

    /// R: the atoms in rotated rows.
    pub fn rotated(&self) -> &Matrix {
        &self.r
    }

    /// Coefficients a, one per atom, with W a = Q z for the orthonormal basis Q = W R^(-1).
    pub fn coefficients(&self, z: &[f64]) -> Vec<f64> {
        let (mut z, mut a) = (z.to_vec(), vec![0.0; self.r.cols()]);
        for (i, &p) in self.pivots.iter().enumerate().rev() {
            let column = self.r.column(p);
            a[p] = z[i] / column[i];
            axpy(-a[p], &column[..i], &mut z[..i]);
        }
        a
    }

    /// Q'x for given W'x.
    pub fn rotate(&self, correlations: &[f64]) -> Vec<f64> {
        let mut z = Vec::with_capacity(self.rank());
        for (i, &p) in self.pivots.iter().enumerate() {
            let column = self.r.column(p);
            z.push((correlations[p] - dot(&column[..i], &z)) / column[i]);
        }
        z
    }
}

/// The position in `open` of the atom with the largest `left`; the first of equal ones.
fn largest(open: &[usize], left: &[f64]) -> Option<usize> {
    (0..open.len()).reduce(|best, at| match left[open[at]] > left[open[best]] {
        true => at,
        false => best,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{gaussian, stream};

    /// Eight columns of rank three: repeated, zero and mixed ones.
    fn dependent() -> Matrix {
        let w = gaussian(20, 3, &mut stream(1, 0));
        let mixed = |i: usize, q: usize| match q {
            0..3 => w.get(i, q),
            3 => w.get(i, 1),
            4 => 0.0,
            _ => (0..3).map(|p| w.get(i, p) * (q + p) as f64).sum(),
        };
        Matrix::from_fn(20, 8, mixed)
    }

    #[test]
    fn the_factor_has_the_rank_and_gives_back_the_gram_matrix() {
        let w = dependent();
        let gram = w.transpose_times(&w);
        let factor = Factor::of(&gram, 1e-10).unwrap();
        assert_eq!(factor.rank(), 3);
        let back = factor.rotated().transpose_times(factor.rotated());
        for (a, b) in back.as_slice().iter().zip(gram.as_slice()) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }

    #[test]
    fn what_lies_in_the_span_comes_back() {
        let w = dependent();
        let factor = Factor::of(&w.transpose_times(&w), 1e-10).unwrap();
        let x = w.times(&gaussian(8, 1, &mut stream(2, 0)));
        let z = factor.rotate(w.transpose_times(&x).as_slice());
        let a = factor.coefficients(&z);
        let back = w.times(&Matrix::from_columns(8, &[a]).unwrap());
        for (a, b) in back.as_slice().iter().zip(x.as_slice()) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
        // Q is orthonormal and preserves norms.
        assert!((dot(&z, &z) - dot(x.as_slice(), x.as_slice())).abs() < 1e-8 * dot(&z, &z));
    }

    #[test]
    fn zero_and_non_finite_gram_matrices() {
        assert_eq!(Factor::of(&Matrix::zeros(3, 3), 0.0).unwrap().rank(), 0);
        assert!(Factor::of(&Matrix::from_fn(2, 2, |_, _| f64::NAN), 0.0).is_none());
    }
}
