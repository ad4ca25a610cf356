//! W'W and W a for atoms that lie apart, each at its agent.

use super::Rotation;
use crate::problem::block::Block;
use dictmesh_kernels::gram::renew;
use dictmesh_kernels::matrix::Matrix;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// Rows worked on at a time: atoms lie apart, and a piece of each of them fits into the cache.
const TILE: usize = 512;

pub(super) fn atoms_of<'a>(blocks: &[&'a Block]) -> Vec<&'a [f64]> {
    blocks.iter().flat_map(|b| b.atoms().columns()).collect()
}

/// The rows `from..` of all atoms, gathered.
fn tile(atoms: &[&[f64]], from: usize, rows: usize) -> Matrix {
    let mut out = Matrix::zeros(rows, atoms.len());
    for (q, w) in atoms.iter().enumerate() {
        out.column_mut(q).copy_from_slice(&w[from..from + rows]);
    }
    out
}

/// The first row and the height of each tile.
fn tiles(rows: usize) -> Vec<(usize, usize)> {
    (0..rows)
        .step_by(TILE)
        .map(|from| (from, TILE.min(rows - from)))
        .collect()
}

/// W a for atoms that lie apart.
pub(super) fn times(atoms: &[&[f64]], a: &Matrix, rows: usize) -> Matrix {
    // Atoms that nothing is taken of need not be read.
    let taken: Vec<usize> = (0..atoms.len())
        .filter(|q| (0..a.cols()).any(|j| a.get(*q, j) != 0.0))
        .collect();
    let atoms: Vec<&[f64]> = taken.iter().map(|q| atoms[*q]).collect();
    let a = Matrix::from_fn(taken.len(), a.cols(), |i, j| a.get(taken[i], j));
    let parts: Vec<(usize, Matrix)> = tiles(rows)
        .into_par_iter()
        .map(|(from, height)| (from, tile(&atoms, from, height).times(&a)))
        .collect();
    let mut out = Matrix::zeros(rows, a.cols());
    for (from, part) in &parts {
        for (j, column) in part.columns().enumerate() {
            out.column_mut(j)[*from..*from + column.len()].copy_from_slice(column);
        }
    }
    out
}

/// The products of the atoms as they were last, kept between batches.
#[derive(Debug, Default)]
pub(in crate::mesh) struct Gram {
    last: Mutex<Arc<Products>>,
}

/// W'W over all blocks.
#[derive(Debug, Default)]
pub(super) struct Products {
    pub gram: Matrix,
    /// The version of the block that each atom's row and column were computed from.
    versions: Vec<u64>,
    /// The rotation of all rows that belongs to it, once somebody asked for it.
    pub rotation: OnceLock<Option<Arc<Rotation>>>,
}

impl Gram {
    /// W'W of these blocks: only blocks that changed are worked on.
    pub(super) fn of(&self, blocks: &[&Block]) -> Arc<Products> {
        let versions: Vec<u64> = (blocks.iter())
            .flat_map(|b| vec![b.version(); b.len()])
            .collect();
        let last = self.locked().clone();
        if last.versions == versions && !versions.is_empty() {
            return last;
        }
        // Not under the lock: a thread that waits for tiles may take up work that asks for it too.
        let new = Arc::new(last.renewed(&atoms_of(blocks), versions));
        *self.locked() = new.clone();
        new
    }

    fn locked(&self) -> MutexGuard<'_, Arc<Products>> {
        // Whatever panicked while it was held, what it holds is whole.
        let last = self.last.lock();
        last.unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Products {
    fn renewed(&self, atoms: &[&[f64]], versions: Vec<u64>) -> Products {
        let n = atoms.len();
        let (mut gram, known) = match self.versions.len() == n {
            true => (self.gram.clone(), self.versions.clone()),
            false => (Matrix::zeros(n, n), vec![0; n]), // no block's version
        };
        let moved: Vec<usize> = (0..n).filter(|q| known[*q] != versions[*q]).collect();
        renew(atoms, &moved, &mut gram);
        Products {
            gram,
            versions,
            rotation: OnceLock::new(),
        }
    }
}
