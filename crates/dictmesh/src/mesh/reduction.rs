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
use crate::matrix::{axpy, dot, norm, Matrix};
use crate::samples::Samples;
use crate::work;
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
        work::count(work::eigenvectors(atoms));
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

    /// nu in the basis: nu = W basis c + b x, with b = t / e'x and c = nu_1 - b Q'x.
    fn coordinates(&self, nu: &[f64], j: usize) -> (Vec<f64>, f64) {
        let (r, x) = (self.basis.cols(), self.x.column(j));
        let b = if x[r] > 0.0 { nu[r] / x[r] } else { 0.0 };
        let c = (0..r).map(|i| nu[i] - b * x[i]);
        (c.collect(), b)
    }

    /// The duals of the original problem, M x B, of all agents.
    pub fn lift(&self, blocks: &[&Block], x: &Samples, reduced: &[Matrix]) -> Vec<Matrix> {
        let samples = x.len();
        // All of them side by side, so that every atom is read once.
        let mut inside = Matrix::zeros(self.basis.cols(), reduced.len() * samples);
        let mut along = Vec::with_capacity(reduced.len() * samples);
        for (nu, j) in reduced
            .iter()
            .flat_map(|nu| (0..samples).map(move |j| (nu, j)))
        {
            let (c, b) = self.coordinates(nu.column(j), j);
            inside.column_mut(along.len()).copy_from_slice(&c);
            along.push(b);
        }
        let mut all = times(&atoms_of(blocks), &self.basis.times(&inside), x.rows());
        for (i, b) in along.into_iter().enumerate() {
            x.add_scaled(i % samples, b, all.column_mut(i));
        }
        (0..reduced.len())
            .map(|k| all.columns_range(k * samples..(k + 1) * samples))
            .collect()
    }

    /// nu_k y_k' of each agent, M x N_k, without lifting any nu_k: one column for each atom that fired,
    /// whatever the batch. Columns of the others stay zero; agents of which none fired get no rows.
    pub fn products(
        &self,
        blocks: &[&Block],
        x: &Samples,
        reduced: &[&Matrix],
        codes: &[Matrix],
    ) -> Vec<Matrix> {
        // The (agent, atom) that fired, its column in the basis and its share of each sample.
        let (mut fired, mut inside, mut along) = (Vec::new(), Vec::new(), Vec::new());
        for (k, (nu, y)) in reduced.iter().zip(codes).enumerate() {
            for q in (0..y.rows()).filter(|q| (0..y.cols()).any(|j| y.get(*q, j) != 0.0)) {
                let mut c = vec![0.0; self.basis.cols()];
                let mut shares = Vec::new();
                for j in (0..y.cols()).filter(|j| y.get(q, *j) != 0.0) {
                    let (part, b) = self.coordinates(nu.column(j), j);
                    axpy(y.get(q, j), &part, &mut c);
                    shares.push((j, b * y.get(q, j)));
                }
                fired.push((k, q));
                inside.push(c);
                along.push(shares);
            }
        }
        let mut inside_all = Matrix::zeros(self.basis.cols(), fired.len());
        for (i, c) in inside.iter().enumerate() {
            inside_all.column_mut(i).copy_from_slice(c);
        }
        let all = times(&atoms_of(blocks), &self.basis.times(&inside_all), x.rows());
        let mut out: Vec<Matrix> = codes.iter().map(|y| Matrix::zeros(0, y.rows())).collect();
        for (i, (k, q)) in fired.into_iter().enumerate() {
            if out[k].rows() == 0 {
                out[k] = Matrix::zeros(x.rows(), codes[k].rows());
            }
            let column = out[k].column_mut(q);
            column.copy_from_slice(all.column(i));
            for (j, share) in &along[i] {
                x.add_scaled(*j, *share, column);
            }
        }
        out
    }
}

fn atoms_of<'a>(blocks: &[&'a Block]) -> Vec<&'a [f64]> {
    blocks.iter().flat_map(|b| b.atoms().columns()).collect()
}

/// Rows worked on at a time: atoms lie apart, and a piece of each of them fits into the cache.
const TILE: usize = 512;

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
fn times(atoms: &[&[f64]], a: &Matrix, rows: usize) -> Matrix {
    let parts: Vec<(usize, Matrix)> = tiles(rows)
        .into_par_iter()
        .map(|(from, height)| (from, tile(atoms, from, height).times(a)))
        .collect();
    let mut out = Matrix::zeros(rows, a.cols());
    for (from, part) in &parts {
        for (j, column) in part.columns().enumerate() {
            out.column_mut(j)[*from..*from + column.len()].copy_from_slice(column);
        }
    }
    out
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
        let atoms = atoms_of(blocks);
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
        let renewed: Vec<&[f64]> = moved.iter().map(|q| atoms[*q]).collect();
        let parts: Vec<Matrix> = tiles(atoms.first().map_or(0, |w| w.len()))
            .into_par_iter()
            .map(|(from, rows)| {
                tile(&atoms, from, rows).transpose_times(&tile(&renewed, from, rows))
            })
            .collect();
        // Added up in order, so that the sums do not depend on the threads.
        let mut columns = Matrix::zeros(n, moved.len());
        for part in &parts {
            axpy(1.0, part.as_slice(), columns.as_mut_slice());
        }
        for (q, column) in moved.iter().zip(columns.columns()) {
            self.gram.column_mut(*q).copy_from_slice(column);
            for (p, value) in column.iter().enumerate() {
                self.gram.column_mut(p)[*q] = *value;
            }
        }
        self.versions = versions;
        &self.gram
    }
}
