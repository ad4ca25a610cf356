//! W'W, with incremental updates for the atoms that changed.
//!
//! Each inner product is summed in one order, for any positions of the atoms and any set of changed
//! ones. W'W thus depends on W alone: learning resumed from stored atoms is bit-identical to an
//! uninterrupted run.

use crate::matrix::Matrix;
use crate::simd::{dispatch, Simd, WithSimd};
use crate::work::count;
use rayon::prelude::*;
use std::array;
use std::ops::Range;

/// Rows per tile: the tile of an atom stays in cache.
const ROWS: usize = 512;
/// Register tile: `LEFT` x `RIGHT` inner products are accumulated at once.
const LEFT: usize = 4;
const RIGHT: usize = 3;
/// Side of the tiles that `mirror` copies, in entries: they fit in the first-level cache.
const SQUARE: usize = 16;

/// W'W of these atoms.
pub fn gram(atoms: &[&[f64]]) -> Matrix {
    let mut out = Matrix::zeros(atoms.len(), atoms.len());
    add_products(atoms, 0, &mut out);
    mirror(&mut out);
    out
}

/// Recomputes the rows and columns of `gram` that belong to the `changed` atoms.
///
/// Panics unless `gram` is n x n for n atoms of equal length and `changed` lists atoms below n.
pub fn renew(atoms: &[&[f64]], changed: &[usize], gram: &mut Matrix) {
    let n = atoms.len();
    if changed.len() == n {
        gram.as_mut_slice().fill(0.0);
        add_products(atoms, 0, gram);
        return mirror(gram);
    }
    // Changed atoms come last, each paired with all atoms before it: of the products among them
    // only one triangle is computed.
    let mut is_changed = vec![false; n];
    changed.iter().for_each(|q| is_changed[*q] = true);
    let others = (0..n).filter(|q| !is_changed[*q]);
    let order: Vec<usize> = others.chain(changed.iter().copied()).collect();
    let ordered: Vec<&[f64]> = order.iter().map(|q| atoms[*q]).collect();
    let mut columns = Matrix::zeros(n, changed.len());
    add_products(&ordered, n - changed.len(), &mut columns);
    for (q, column) in changed.iter().zip(columns.columns()) {
        // Entries beyond the atom itself are not computed.
        for (p, value) in order.iter().zip(column) {
            gram.column_mut(*q)[*p] = *value;
            gram.column_mut(*p)[*q] = *value;
            if p == q {
                break;
            }
        }
    }
}

/// Adds to column j of `out` the inner products of atom `first + j` with all atoms up to itself.
fn add_products(atoms: &[&[f64]], first: usize, out: &mut Matrix) {
    let rows = atoms.first().map_or(0, |w| w.len());
    let size = atoms.len() * RIGHT;
    for from in (0..rows).step_by(ROWS) {
        let add = |(part, out): (usize, &mut [f64])| {
            let begin = first + part * RIGHT;
            dispatch(Products {
                atoms,
                right: begin..(begin + RIGHT).min(atoms.len()),
                rows: from..(from + ROWS).min(rows),
                out,
            });
        };
        // Outside of a pool, run on this thread: after a fork the global pool has no threads.
        match rayon::current_thread_index() {
            Some(_) => (out.as_mut_slice().par_chunks_mut(size))
                .enumerate()
                .with_max_len(4) // later columns take more work
                .for_each(add),
            None => (out.as_mut_slice().chunks_mut(size))
                .enumerate()
                .for_each(add),
        }
    }
}

/// Copies the upper triangle to the lower one.
fn mirror(gram: &mut Matrix) {
    let n = gram.cols();
    let entries = gram.as_mut_slice();
    for right in (0..n).step_by(SQUARE) {
        for low in (right..n).step_by(SQUARE) {
            for q in right..(right + SQUARE).min(n) {
                for p in low.max(q + 1)..(low + SQUARE).min(n) {
                    entries[q * n + p] = entries[p * n + q];
                }
            }
        }
    }
}

/// The contribution of `rows` to the inner products of the atoms `right` with all up to them.
struct Products<'a> {
    atoms: &'a [&'a [f64]],
    right: Range<usize>,
    rows: Range<usize>,
    /// One column per atom of `right`.
    out: &'a mut [f64],
}

impl WithSimd for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (n, Range { start, end }) = (self.atoms.len(), self.right.clone());
        let piece = |q: usize| &self.atoms[q][self.rows.clone()];
        if end - start == RIGHT {
            let right = array::from_fn::<_, RIGHT, _>(|i| piece(start + i));
            return add_columns(simd, piece, end, right, n, self.out);
        }
        for (q, out) in self.right.zip(self.out.chunks_exact_mut(n)) {
            add_columns(simd, piece, q + 1, [piece(q)], n, out);
        }
    }
}

/// Adds the inner products of the first `count` atoms with those of `right`.
#[inline(always)]
fn add_columns<'a, S: Simd, const Q: usize>(
    simd: S,
    piece: impl Fn(usize) -> &'a [f64],
    count: usize,
    right: [&[f64]; Q],
    n: usize,
    out: &mut [f64],
) {
    let whole = count / LEFT * LEFT;
    for p in (0..whole).step_by(LEFT) {
        let left = array::from_fn::<_, LEFT, _>(|i| piece(p + i));
        add_square(simd, left, right, n, &mut out[p..]);
    }
    for p in whole..count {
        add_square(simd, [piece(p)], right, n, &mut out[p..]);
    }
}

/// Adds P x Q inner products. The order of each sum over the rows is the same for all P and Q.
#[inline(always)]
fn add_square<S: Simd, const P: usize, const Q: usize>(
    simd: S,
    left: [&[f64]; P],
    right: [&[f64]; Q],
    n: usize,
    out: &mut [f64],
) {
    let rows = right[0].len();
    count(P * Q * rows);
    let left = left.map(|w| S::as_simd_f64s(&w[..rows]));
    let right = right.map(|w| S::as_simd_f64s(&w[..rows]));
    let mut sums = [[simd.splat_f64s(0.0); P]; Q];
    let mut add = |left: [S::f64s; P], right: [S::f64s; Q]| {
        for q in 0..Q {
            for p in 0..P {
                sums[q][p] = simd.mul_add_e_f64s(left[p], right[q], sums[q][p]);
            }
        }
    };
    for i in 0..right[0].0.len() {
        add(left.map(|(w, _)| w[i]), right.map(|(w, _)| w[i]));
    }
    if !right[0].1.is_empty() {
        let rest = |(_, w): (&[S::f64s], &[f64])| simd.partial_load_f64s(w);
        add(left.map(rest), right.map(rest));
    }
    for q in 0..Q {
        for p in 0..P {
            out[q * n + p] += simd.reduce_sum_f64s(sums[q][p]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{gaussian, stream};

    /// Matches faer's product, and each entry is bit-identical for any set of changed atoms.
    #[test]
    fn products_do_not_depend_on_what_was_renewed_with_them() {
        for (rows, n) in [(1, 1), (3, 2), (12, 4), (100, 37), (513, 8), (1500, 23)] {
            let w = gaussian(rows, n, &mut stream(rows as u64, 0));
            let atoms: Vec<&[f64]> = w.columns().collect();
            let whole = gram(&atoms);
            let known = w.transpose_times(&w);
            let mut apart = whole.as_slice().iter().zip(known.as_slice());
            assert!(apart.all(|(a, b)| (a - b).abs() <= 1e-12 * rows as f64));
            for step in 1..=n {
                for changed in [
                    (0..n).step_by(step).collect::<Vec<_>>(),
                    (0..n).filter(|q| q % step != 0).collect(),
                    (n - step..n).collect(),
                ] {
                    let mut renewed = whole.clone();
                    for q in &changed {
                        for p in 0..n {
                            renewed.column_mut(*q)[p] = f64::NAN;
                            renewed.column_mut(p)[*q] = f64::NAN;
                        }
                    }
                    renew(&atoms, &changed, &mut renewed);
                    assert_eq!(renewed, whole, "{rows} rows, of {n} atoms {changed:?}");
                }
            }
        }
    }

    #[test]
    fn no_atoms_and_no_rows() {
        assert_eq!(gram(&[]), Matrix::zeros(0, 0));
        renew(&[], &[], &mut Matrix::zeros(0, 0));
        assert_eq!(gram(&[&[], &[]]), Matrix::zeros(2, 2));
    }
}
