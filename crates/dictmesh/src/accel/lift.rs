//! Dual vectors of reduced problems as combinations in all rows.

use crate::problem::block::Block;
use crate::problem::samples::Samples;
use dictmesh_kernels::matrix::{axpy, Matrix};
use rayon::prelude::*;

/// nu = W a + b x + c, in all rows.
#[derive(Clone, Debug, Default)]
pub struct Lift {
    /// a, one number per atom of all agents, in order.
    pub a: Vec<f64>,
    /// b.
    pub b: f64,
    /// (row, value) of c.
    pub c: Vec<(usize, f64)>,
}

/// One term of a sum of lifted duals: `scale` times the [`Lift`] of `sample`, added to a column.
#[derive(Debug)]
pub struct Term {
    /// The column it is added to.
    pub column: usize,
    /// The factor.
    pub scale: f64,
    /// The sample's index in the batch.
    pub sample: usize,
    /// The dual vector.
    pub lift: Lift,
}

/// The sums of all terms in all rows, M x `columns`. Every atom is read once.
pub fn lift_all(blocks: &[&Block], x: &Samples, columns: usize, terms: &[Term]) -> Matrix {
    let atoms: Vec<&[f64]> = blocks.iter().flat_map(|b| b.atoms().columns()).collect();
    let mut a = Matrix::zeros(atoms.len(), columns);
    for term in terms {
        axpy(term.scale, &term.lift.a, a.column_mut(term.column));
    }
    let mut out = times(&atoms, &a, x.rows());
    for term in terms {
        let column = out.column_mut(term.column);
        x.add_scaled(term.sample, term.scale * term.lift.b, column);
        for (row, value) in &term.lift.c {
            column[*row] += term.scale * value;
        }
    }
    out
}

/// Rows per tile: the tile of every atom fits in cache.
const TILE: usize = 512;

/// W a for atoms that are not contiguous, tile by tile of rows.
pub(super) fn times(atoms: &[&[f64]], a: &Matrix, rows: usize) -> Matrix {
    // Atoms whose coefficients are all 0 are not read.
    let used: Vec<usize> = (0..atoms.len())
        .filter(|q| (0..a.cols()).any(|j| a.get(*q, j) != 0.0))
        .collect();
    let a = Matrix::from_fn(used.len(), a.cols(), |i, j| a.get(used[i], j));
    let tiles: Vec<usize> = (0..rows).step_by(TILE).collect();
    let parts: Vec<Matrix> = (tiles.par_iter())
        .map(|from| {
            let height = TILE.min(rows - from);
            let mut tile = Matrix::zeros(height, used.len());
            for (i, q) in used.iter().enumerate() {
                tile.column_mut(i)
                    .copy_from_slice(&atoms[*q][*from..from + height]);
            }
            tile.times(&a)
        })
        .collect();
    let mut out = Matrix::zeros(rows, a.cols());
    for (from, part) in tiles.iter().zip(&parts) {
        for (j, column) in part.columns().enumerate() {
            out.column_mut(j)[*from..*from + column.len()].copy_from_slice(column);
        }
    }
    out
}
