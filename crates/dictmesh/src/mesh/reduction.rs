//! Rotation: the same rounds in fewer rows.
//!
//! For residuals that only see lengths (squared l2, ball, equality), every iterate of every strategy
//! lies in span(W, x). With Q an orthonormal basis of span(W) and e the unit vector of x - QQ'x, the
//! problem ([Q'W; 0], [Q'x; e'x]) has at most K + 1 rows and gives the same codes, costs and rounds;
//! nu = Q nu_1 + e nu_2 brings its duals back. One Q serves a whole batch, each sample has its own e.
//!
//! Q = W V Lambda^(-1/2) from W'W = V Lambda V' is never formed: Q'W = Lambda^(1/2) V' and
//! Q'x = Lambda^(-1/2) V'W'x. Directions with an eigenvalue below [`RANK`] of the largest are left out:
//! repeated and zero atoms have such.

use crate::agent::Block;
use crate::matrix::{axpy, dot, gemm, norm, Matrix};
use crate::samples::Samples;
use faer::Side;
use rayon::prelude::*;
use std::sync::Mutex;

/// Relative size of an eigenvalue of W'W that counts as zero; its root, times the rounding of W'W over
/// it, bounds what the rotation does to nu: about 1e-9.
const RANK: f64 = 1e-14;
/// Below this share of |x|^2, the part of x outside span(W) is computed anew instead of by difference.
const CANCEL: f64 = 1e-6;

/// A batch seen in few rows.
#[derive(Debug)]
pub(super) struct Reduction {
    /// The blocks, (r + 1) x N_k.
    pub blocks: Vec<Block>,
    /// The samples, (r + 1) x B.
    pub x: Matrix,
    /// V Lambda^(-1/2), K x r: W times it is Q.
    basis: Matrix,
}

impl Reduction {
    /// The reduced problem, or `None` if it would not be smaller.
    pub fn new(blocks: &[&Block], gram: &Mutex<Gram>, x: &Samples) -> Option<Self> {
        let rows = x.rows();
        let atoms: usize = blocks.iter().map(|b| b.len()).sum();
        // Below that the eigenvectors cost more than they save.
        if rows < 2 * (atoms + 1) {
            return None;
        }
        // A panic elsewhere leaves at worst entries whose version does not match.
        let mut gram = gram.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let eigen = gram
            .of(blocks)
            .view()
            .self_adjoint_eigen(Side::Lower)
            .ok()?;
        let (values, vectors) = (eigen.S().column_vector(), eigen.U());
        let largest = values[atoms - 1];
        let kept: Vec<usize> = (0..atoms)
            .filter(|i| values[*i] > RANK * atoms as f64 * largest)
            .collect();
        let r = kept.len();
        let rotated = Matrix::from_fn(r + 1, atoms, |i, q| match kept.get(i) {
            Some(&at) => values[at].sqrt() * vectors[(q, at)],
            None => 0.0,
        });
        let basis = Matrix::from_fn(atoms, r, |q, i| {
            vectors[(q, kept[i])] / values[kept[i]].sqrt()
        });
        let mut from = 0;
        let reduced_blocks = blocks
            .iter()
            .map(|block| {
                let range = from..from + block.len();
                from += block.len();
                Block::from_finite(rotated.columns_range(range))
            })
            .collect();
        let mut reduction = Reduction {
            blocks: reduced_blocks,
            x: Matrix::zeros(r + 1, x.len()),
            basis,
        };
        for j in 0..x.len() {
            reduction.rotate_sample(blocks, x, j);
        }
        Some(reduction)
    }

    /// Fills column `j` of the reduced samples.
    fn rotate_sample(&mut self, blocks: &[&Block], x: &Samples, j: usize) {
        let correlations: Vec<f64> = blocks
            .iter()
            .flat_map(|block| block.atoms().columns().map(|w| x.dot(j, w)))
            .collect();
        let inside: Vec<f64> = (self.basis.columns())
            .map(|basis| dot(basis, &correlations))
            .collect();
        let size = x.norm(j);
        let outside = size * size - dot(&inside, &inside);
        let outside = if outside > CANCEL * size * size {
            outside.sqrt()
        } else {
            let mut rest = self.lift_inside(blocks, &inside, x.rows());
            rest.iter_mut().for_each(|v| *v = -*v);
            x.add_scaled(j, 1.0, &mut rest);
            norm(&rest)
        };
        let column = self.x.column_mut(j);
        column[..inside.len()].copy_from_slice(&inside);
        column[inside.len()] = outside;
    }

    /// Q z = W (basis z).
    fn lift_inside(&self, blocks: &[&Block], z: &[f64], rows: usize) -> Vec<f64> {
        let mut a = vec![0.0; self.basis.rows()];
        for (z, basis) in z.iter().zip(self.basis.columns()) {
            axpy(*z, basis, &mut a);
        }
        let mut out = vec![0.0; rows];
        let atoms = blocks.iter().flat_map(|b| b.atoms().columns());
        for (a, w) in a.iter().zip(atoms) {
            if *a != 0.0 {
                axpy(*a, w, &mut out);
            }
        }
        out
    }

    /// The duals of the original problem, M x B, of the agents that are `wanted`; the others get a
    /// matrix without rows.
    ///
    /// nu = Q nu_1 + (t/e'x)(x - Q Q'x) = W basis (nu_1 - b Q'x) + b x with b = t / e'x.
    pub fn lift(
        &self,
        blocks: &[&Block],
        x: &Samples,
        reduced: &[Matrix],
        wanted: impl Fn(usize) -> bool,
    ) -> Vec<Matrix> {
        let (r, samples) = (self.basis.cols(), x.len());
        let chosen: Vec<usize> = (0..reduced.len()).filter(|k| wanted(*k)).collect();
        // All of them side by side, so that every atom is read once.
        let mut coordinates = Matrix::zeros(r, chosen.len() * samples);
        let mut along_x = vec![0.0; chosen.len() * samples];
        for (i, (k, j)) in (chosen
            .iter()
            .flat_map(|k| (0..samples).map(move |j| (*k, j))))
        .enumerate()
        {
            let (nu, x) = (reduced[k].column(j), self.x.column(j));
            if x[r] > 0.0 {
                along_x[i] = nu[r] / x[r];
            }
            for (row, out) in coordinates.column_mut(i).iter_mut().enumerate() {
                *out = nu[row] - along_x[i] * x[row];
            }
        }
        let a = self.basis.times(&coordinates);
        let mut all = Matrix::zeros(x.rows(), chosen.len() * samples);
        let mut from = 0;
        for block in blocks.iter().filter(|b| !b.is_empty()) {
            let part = a.view().subrows(from, block.len());
            gemm(all.view_mut(), block.atoms().view(), part, 1.0, true);
            from += block.len();
        }
        let mut out = vec![Matrix::zeros(0, samples); reduced.len()];
        for (i, k) in chosen.into_iter().enumerate() {
            let mut nu = all.columns_range(i * samples..(i + 1) * samples);
            for j in 0..samples {
                x.add_scaled(j, along_x[i * samples + j], nu.column_mut(j));
            }
            out[k] = nu;
        }
        out
    }
}

/// W'W over all blocks, kept current between batches: only blocks that changed are worked on.
#[derive(Debug, Default)]
pub(super) struct Gram {
    gram: Matrix,
    /// The version of the block that each atom's row and column were computed from.
    versions: Vec<u64>,
}

impl Gram {
    /// W'W of these blocks.
    pub fn of(&mut self, blocks: &[&Block]) -> &Matrix {
        let atoms: Vec<&[f64]> = blocks.iter().flat_map(|b| b.atoms().columns()).collect();
        let versions: Vec<u64> = (blocks.iter())
            .flat_map(|b| vec![b.version(); b.len()])
            .collect();
        let n = atoms.len();
        if self.versions.len() != n {
            self.gram = Matrix::zeros(n, n);
            self.versions = vec![0; n]; // no block's version
        }
        let moved: Vec<usize> = (0..n)
            .filter(|q| self.versions[*q] != versions[*q])
            .collect();
        let columns: Vec<Vec<f64>> = moved
            .par_iter()
            .map(|q| atoms.iter().map(|w| dot(w, atoms[*q])).collect())
            .collect();
        for (q, column) in moved.iter().zip(&columns) {
            self.gram.column_mut(*q).copy_from_slice(column);
            for (p, value) in column.iter().enumerate() {
                self.gram.column_mut(p)[*q] = *value;
            }
        }
        self.versions = versions;
        &self.gram
    }
}
