//! nu y', the sum over the samples of a batch, for codes that are mostly 0.

use crate::matrix::Matrix;
use crate::simd::{self, dispatch, Simd, WithSimd};
use rayon::prelude::*;

/// Samples per tile.
pub const SAMPLES_TOGETHER: usize = 64;

/// nu y', M x N_k: the sum over the samples of a batch.
///
/// Panics if `y` has more columns than `nu`.
pub fn product(nu: &Matrix, y: &Matrix) -> Matrix {
    let mut out = Matrix::zeros(nu.rows(), y.rows());
    sum_products(nu, y, true, &mut out);
    out
}

/// `out += nu y'`, sample by sample: the sum over two batches is bit-identical to that over both at
/// once.
///
/// Panics if `y` has more columns than `nu`.
pub fn add_product(nu: &Matrix, y: &Matrix, out: &mut Matrix) {
    sum_products(nu, y, false, out);
}

fn sum_products(nu: &Matrix, y: &Matrix, anew: bool, out: &mut Matrix) {
    let parts = (out.as_mut_slice()).par_chunks_mut((nu.rows() * ATOMS).max(1));
    parts.enumerate().with_max_len(1).for_each(|(part, out)| {
        let first = part * ATOMS;
        dispatch(Products {
            nu,
            y,
            first,
            anew,
            out,
        });
    });
}

/// Numbers of nu y' up to which computing zero columns is cheaper than finding them: 8 MB.
const WHOLE: usize = 1 << 20;

/// nu y' with columns only for the atoms that fired, in order, if it is large and at most half of
/// the atoms fired; otherwise [`product`]. Columns are bit-identical in both.
pub fn product_of_fired(nu: &Matrix, y: &Matrix) -> Matrix {
    if nu.rows() * y.rows() <= WHOLE {
        return product(nu, y);
    }
    let fired = fired(y);
    match 2 * fired.len() <= y.rows() {
        true => product(nu, &rows_of(y, &fired)),
        false => product(nu, y),
    }
}

/// The atoms that fired: rows of y with an entry that is not 0, ascending.
pub fn fired(y: &Matrix) -> Vec<usize> {
    let mut fired = vec![false; y.rows()];
    for column in y.columns() {
        (fired.iter_mut().zip(column)).for_each(|(fired, y)| *fired |= *y != 0.0);
    }
    (0..y.rows()).filter(|q| fired[*q]).collect()
}

/// These rows of y.
///
/// Panics if a row is not there.
pub fn rows_of(y: &Matrix, rows: &[usize]) -> Matrix {
    Matrix::from_fn(rows.len(), y.cols(), |i, j| y.get(rows[i], j))
}

/// How often, and how strongly, the atoms of a block fired in a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Firing {
    /// The number of samples, or the sum of their weights.
    pub weight: f64,
    /// Per atom, the number of samples of positive weight in which it fired.
    pub samples: Vec<u64>,
    /// Per atom, the (weighted) sum of y_q^2.
    pub energy: Vec<f64>,
    /// The (weighted) number of coefficients that are not 0.
    pub nonzeros: f64,
}

impl Firing {
    /// Of the codes y of a batch. The sums run in tiles of fixed width, so that they do not depend
    /// on the number of threads.
    ///
    /// Panics if there are fewer weights than samples.
    pub fn of(y: &Matrix, weights: Option<&[f64]>) -> Self {
        let n = y.rows().max(1);
        let tiles = y.as_slice().par_chunks(n * SAMPLES_TOGETHER).enumerate();
        let tiles = tiles.map(|(tile, codes)| {
            let mut firing = Firing::none(y.rows());
            for (j, column) in codes.chunks_exact(n).enumerate() {
                let weight = weights.map_or(1.0, |weights| weights[tile * SAMPLES_TOGETHER + j]);
                let atoms = firing.samples.iter_mut().zip(&mut firing.energy);
                let mut fired = 0;
                for ((samples, energy), y) in atoms.zip(column) {
                    *samples += u64::from(weight * *y != 0.0);
                    *energy += weight * y * y;
                    fired += usize::from(*y != 0.0);
                }
                firing.nonzeros += weight * fired as f64;
            }
            firing
        });
        let mut total = Firing::none(y.rows());
        for tile in tiles.collect::<Vec<_>>() {
            (total.samples.iter_mut().zip(tile.samples)).for_each(|(total, tile)| *total += tile);
            (total.energy.iter_mut().zip(tile.energy)).for_each(|(total, tile)| *total += tile);
            total.nonzeros += tile.nonzeros;
        }
        total.weight = weights.map_or(y.cols() as f64, |weights| weights.iter().sum());
        total
    }

    fn none(atoms: usize) -> Self {
        Firing {
            samples: vec![0; atoms],
            energy: vec![0.0; atoms],
            ..Firing::default()
        }
    }
}

/// Atoms per parallel task.
pub const ATOMS: usize = 16;

/// The columns of nu y' from `first` on, at most [`ATOMS`], into `out`. Few codes are not 0: for
/// each atom those of a tile of samples are listed without an unpredictable branch, and their dual
/// vectors are added in registers.
struct Products<'a> {
    nu: &'a Matrix,
    y: &'a Matrix,
    first: usize,
    /// Whether `out` is overwritten, not added to.
    anew: bool,
    out: &'a mut [f64],
}

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Products {
            nu,
            y,
            first,
            anew,
            out,
        } = self;
        let mut fired = [[(0, 0.0); SAMPLES_TOGETHER]; ATOMS];
        for from in (0..y.cols()).step_by(SAMPLES_TOGETHER) {
            let mut counts = [0; ATOMS];
            for j in from..(from + SAMPLES_TOGETHER).min(y.cols()) {
                let codes = y.column(j)[first..].iter();
                for ((fired, count), y) in fired.iter_mut().zip(&mut counts).zip(codes) {
                    fired[*count] = (j, *y);
                    *count += usize::from(*y != 0.0);
                }
            }
            for ((w, fired), count) in (out.chunks_exact_mut(nu.rows()).zip(&fired)).zip(counts) {
                let pairs = fired[..count].iter().map(|(j, y)| (*y, nu.column(*j)));
                simd::add_all(simd, anew && from == 0, pairs, w);
            }
        }
    }
}

/// Calls `add(j, y_qj, column q of out)` for each y_qj that is not 0, with ascending j for each
/// atom q.
pub fn add_products(y: &Matrix, out: &mut Matrix, add: impl Fn(usize, f64, &mut [f64]) + Sync) {
    let rows = out.rows().max(1);
    let parts = out.as_mut_slice().par_chunks_mut(rows * ATOMS);
    parts.enumerate().with_max_len(1).for_each(|(part, out)| {
        for (j, y) in y.columns().enumerate() {
            let y = y.iter().skip(part * ATOMS);
            for (w, y) in out.chunks_exact_mut(rows).zip(y) {
                if *y != 0.0 {
                    add(j, *y, w);
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{gaussian, stream};

    #[test]
    fn products_of_two_batches_add_up_to_that_of_both() {
        let (rows, atoms, samples) = (37, 21, 150);
        let nu = gaussian(rows, samples, &mut stream(1, 0));
        let y = gaussian(atoms, samples, &mut stream(2, 0));
        for cut in [1, 64, 70, 149] {
            let part = |range: std::ops::Range<usize>| {
                (nu.columns_range(range.clone()), y.columns_range(range))
            };
            let ((nu_1, y_1), (nu_2, y_2)) = (part(0..cut), part(cut..samples));
            let mut sum = product(&nu_1, &y_1);
            add_product(&nu_2, &y_2, &mut sum);
            assert!(sum == product(&nu, &y), "{cut}");
        }
    }

    #[test]
    fn columns_of_fired_atoms_are_those_of_the_whole_product() {
        let (rows, atoms, samples) = (70, WHOLE / 70 + 1, 5);
        let nu = gaussian(rows, samples, &mut stream(1, 0));
        for every in [1, 3, 100] {
            let drawn = gaussian(atoms, samples, &mut stream(2, 0));
            let y = Matrix::from_fn(atoms, samples, |q, j| match (q + j) % every {
                0 => drawn.get(q, j),
                _ => 0.0,
            });
            let (whole, found, fired) = (product(&nu, &y), product_of_fired(&nu, &y), fired(&y));
            match 2 * fired.len() <= atoms {
                true => {
                    assert!(every == 100 && found.cols() == fired.len());
                    for (q, column) in fired.into_iter().zip(found.columns()) {
                        assert_eq!(column, whole.column(q));
                    }
                }
                false => assert!(found == whole),
            }
        }
    }
}
