//! Dictionary update: `min_W |X - W Y|_1` over the atom set for given codes Y, by linearised ADMM.
//!
//! In the published form, with residual Gamma, multiplier Delta and `R = X - W Y`:
//! ```text
//! Gamma = soft(R + Delta/beta, 1/beta);  G = -(Delta/beta + R - Gamma) Y';  W = project(W - tau G)
//! Delta += beta (X - W Y - Gamma);       tau = 1 / (2 lambda_max(Y Y'))
//! ```
//! As in coding, `C = clip(R + Delta/beta, 1/beta)` gives the same W from one array and one
//! product:
//! ```text
//! C = clip(X + C - Wbar Y, 1/beta);  W_new = project(W + tau C Y');  Wbar = 2 W_new - W
//! ```
//! starting from `C = Delta/beta, Wbar = W`. At the end, `Delta/beta = C - (W_new - W) Y`.

use super::coding::rows_with_entries;
use super::{L1Admm, ATOMS};
use dictmesh::problem::samples::Samples;
use dictmesh::problem::AtomSet;
use dictmesh_kernels::matrix::{gemm, Matrix};
use faer::{MatMut, MatRef};
use rayon::prelude::*;

/// Rows per chunk.
const CHUNK: usize = 32;

/// A block of samples and its multiplier, stored by rows so that a chunk of rows is contiguous.
pub(super) struct Block {
    /// Indices of the rows used by samples or atoms; all others are zero and stay zero.
    rows: Vec<usize>,
    /// (sample, value) of the nonzero entries in each of these rows.
    entries: Vec<Vec<(usize, f64)>>,
    /// Delta / beta, transposed: B x rows.
    delta: Matrix,
}

impl Block {
    /// A block with zero multiplier. Only this block may update `w` afterwards.
    pub fn new(x: &Samples, w: &Matrix) -> Self {
        let mut by_row = vec![Vec::new(); x.rows()];
        for j in 0..x.len() {
            for (i, v) in x.entries(j).filter(|(_, v)| *v != 0.0) {
                by_row[i].push((j, v));
            }
        }
        let mut used: Vec<bool> = by_row.iter().map(|r| !r.is_empty()).collect();
        for i in rows_with_entries(w) {
            used[i] = true;
        }
        let rows: Vec<usize> = (0..x.rows()).filter(|i| used[*i]).collect();
        Block {
            entries: rows
                .iter()
                .map(|i| std::mem::take(&mut by_row[*i]))
                .collect(),
            delta: Matrix::zeros(x.len(), rows.len()),
            rows,
        }
    }

    /// Runs `update_iterations` on `w` for the codes `y` (K x B).
    pub fn update(&mut self, settings: &L1Admm, w: &mut Matrix, y: &Matrix) {
        let largest = y.spectral_norm_squared();
        // All codes are zero, or there is no sample or row: the gradient is zero.
        if largest == 0.0 || self.rows.is_empty() {
            return;
        }
        let tau = 0.5 / largest;
        let bound = 1.0 / settings.beta;
        let (samples, atoms) = (self.delta.rows(), w.cols());
        let yt = y.transpose();
        let rows = &self.rows;
        let mut wt = Matrix::from_fn(atoms, rows.len(), |k, i| w.get(rows[i], k));
        let mut bar = wt.clone();
        let mut step = wt.clone();
        for _ in 0..settings.update_iterations {
            let old = wt.clone();
            self.delta
                .as_mut_slice()
                .par_chunks_mut(samples * CHUNK)
                .zip(wt.as_mut_slice().par_chunks_mut(atoms * CHUNK))
                .zip(bar.as_slice().par_chunks(atoms * CHUNK))
                .zip(self.entries.par_chunks(CHUNK))
                .for_each(|(((c, wt), bar), entries)| {
                    let n = entries.len();
                    subtract_product(c, yt.view(), bar, n);
                    for (c, row) in c.chunks_exact_mut(samples).zip(entries) {
                        row.iter().for_each(|(j, v)| c[*j] += v);
                    }
                    c.iter_mut().for_each(|c| *c = c.clamp(-bound, bound));
                    let c = MatRef::from_column_major_slice(c, samples, n);
                    let wt = MatMut::from_column_major_slice_mut(wt, atoms, n);
                    gemm(wt, y.view(), c, tau, true);
                });
            let mut columns = wt.transpose();
            (0..atoms).for_each(|k| ATOMS.project(columns.column_mut(k)));
            wt = columns.transpose();
            for i in 0..old.as_slice().len() {
                let moved = wt.as_slice()[i] - old.as_slice()[i];
                step.as_mut_slice()[i] = moved;
                bar.as_mut_slice()[i] = wt.as_slice()[i] + moved;
            }
        }
        self.delta
            .as_mut_slice()
            .par_chunks_mut(samples * CHUNK)
            .zip(step.as_slice().par_chunks(atoms * CHUNK))
            .for_each(|(c, step)| subtract_product(c, yt.view(), step, c.len() / samples));
        for (i, row) in self.rows.iter().enumerate() {
            for k in 0..atoms {
                w.column_mut(k)[*row] = wt.get(k, i);
            }
        }
    }
}

/// `c -= Y' b`, for `n` columns.
fn subtract_product(c: &mut [f64], yt: MatRef<'_, f64>, b: &[f64], n: usize) {
    let c = MatMut::from_column_major_slice_mut(c, yt.nrows(), n);
    let b = MatRef::from_column_major_slice(b, yt.ncols(), n);
    gemm(c, yt, b, -1.0, true);
}
