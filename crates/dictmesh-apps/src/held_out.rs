//! How well a dictionary predicts what it has not seen: the score by which gamma and the number of atoms
//! can be compared.
//!
//! The cost itself cannot be compared between two gammas, and the residual always prefers the smallest
//! gamma and the most atoms. So a tenth of the entries of each sample is hidden, the atoms that explain
//! the rest are found with gamma, how much of each is then found without it, and the score is how far
//! W y is from what was hidden:
//!
//! ```text
//! score = sum over hidden entries (x - W y)^2 / sum over hidden entries x^2
//! ```
//!
//! 0 is perfect, 1 is no better than saying 0. Codes that fit noise, for want of gamma or for plenty of
//! atoms, predict badly. Without the second step the score would be that of gamma's shrinkage: the right
//! atoms, all too small, lose against twice as many that share the load. The seen entries alone weigh a tenth less against gamma than all of them, which
//! is far below what a grid of gammas can tell apart.

#[cfg(test)]
mod tests;

use dictmesh::exact::{self, Part};
use dictmesh::mesh::Mesh;
use dictmesh::problem::samples::Samples;
use dictmesh::problem::Block;
use dictmesh::problem::LocalTask;
use dictmesh::random::stream;
use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::Matrix;
use rand::seq::SliceRandom;
use rayon::prelude::*;

/// One entry in this many is hidden.
const PARTS: usize = 10;
/// The stream of a seed that the hidden entries are drawn from ("hide" in ASCII).
const HIDE_STREAM: u64 = 0x68_69_64_65;

/// How hidden entries were predicted, sample by sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The squared error over the hidden entries of each sample.
    pub errors: Vec<f64>,
    /// The squares of what was hidden, of each sample.
    pub sizes: Vec<f64>,
    /// The mean number of coefficients that are not zero.
    pub sparsity: f64,
    /// The squared residual over the squares of the entries that were seen: the fit, not a prediction.
    pub residual: f64,
}

impl Prediction {
    /// The score: 0 is perfect, 1 no better than saying 0.
    pub fn score(&self) -> f64 {
        self.errors.iter().sum::<f64>() / self.size()
    }

    /// The standard error of the score, as a ratio of two sums over the samples.
    pub fn standard_error(&self) -> f64 {
        let (count, score) = (self.errors.len() as f64, self.score());
        let pairs = self.errors.iter().zip(&self.sizes);
        let spread: f64 = pairs.map(|(e, s)| (e - score * s).powi(2)).sum();
        (spread * count / (count - 1.0).max(1.0)).sqrt() / self.size()
    }

    fn size(&self) -> f64 {
        self.sizes.iter().sum::<f64>().max(f64::MIN_POSITIVE)
    }
}

/// Hides a tenth of the entries of each sample (at least one; the same ones for the same seed, samples and
/// dimension, whatever the dictionary), codes the samples exactly from the rest and predicts them.
pub fn predict(mesh: &Mesh, x: &Samples, seed: u64) -> Result<Prediction> {
    if x.rows() < 2 {
        return Err(Error::Parameter {
            name: "features",
            given: x.rows().to_string(),
            allowed: "hiding entries of a sample needs at least two".into(),
        });
    }
    let mut rows: Vec<usize> = (0..x.rows()).collect();
    rows.shuffle(&mut stream(seed, HIDE_STREAM));
    let parts = PARTS.min(x.rows());
    let mut found = Prediction {
        errors: vec![0.0; x.len()],
        sizes: vec![0.0; x.len()],
        sparsity: 0.0,
        residual: 0.0,
    };
    let mut seen_size = 0.0;
    for part in 0..parts {
        // Sample j has the rows of part j mod PARTS hidden, so each part is one problem for many samples.
        let samples: Vec<usize> = (part..x.len()).step_by(parts).collect();
        if samples.is_empty() {
            break;
        }
        let hidden: Vec<usize> = rows.iter().copied().skip(part).step_by(parts).collect();
        let mut is_seen = vec![true; x.rows()];
        hidden.iter().for_each(|i| is_seen[*i] = false);
        let seen: Vec<usize> = (0..x.rows()).filter(|i| is_seen[*i]).collect();
        let all = x.select(&samples);
        let y = code(mesh, &all.select_rows(&seen), &seen)?;
        let restored = mesh.dictionary().times(&y);
        let all = all.to_dense();
        for (c, j) in samples.iter().enumerate() {
            for (i, seen) in is_seen.iter().enumerate() {
                let (value, error) = (all.get(i, c), all.get(i, c) - restored.get(i, c));
                if *seen {
                    found.residual += error * error;
                    seen_size += value * value;
                } else {
                    found.errors[*j] += error * error;
                    found.sizes[*j] += value * value;
                }
            }
        }
        found.sparsity += y.as_slice().iter().filter(|y| **y != 0.0).count() as f64;
    }
    found.sparsity /= x.len() as f64;
    found.residual /= f64::max(seen_size, f64::MIN_POSITIVE);
    Ok(found)
}

/// The codes of samples that are known in some rows only: the exact ones say which atoms are used, and
/// without gamma how much.
fn code(mesh: &Mesh, seen: &Samples, rows: &[usize]) -> Result<Matrix> {
    let agents = 0..mesh.agents();
    let cut = |k: usize| {
        let atoms = mesh.block(k).atoms();
        Matrix::from_fn(rows.len(), atoms.cols(), |i, q| atoms.get(rows[i], q))
    };
    let blocks: Vec<Block> = agents.map(|k| Block::new(cut(k))).collect::<Result<_>>()?;
    let own = |k| mesh.task().local(k).clone();
    let tasks: Vec<LocalTask> = (0..blocks.len()).map(own).collect();
    let mut codes = solve(mesh, &blocks, &tasks, seen)?;
    let tasks: Vec<LocalTask> = tasks.iter().map(without_gamma).collect::<Result<_>>()?;
    let refit: Vec<Vec<f64>> = (0..seen.len())
        .into_par_iter()
        .with_max_len(1)
        .map(|j| {
            let y = codes.column(j);
            let mut from = 0;
            let used: Vec<Block> = blocks
                .iter()
                .map(|block| {
                    let fired = (0..block.len()).filter(|q| y[from + q] != 0.0);
                    let columns: Vec<&[f64]> = fired.map(|q| block.atoms().column(q)).collect();
                    from += block.len();
                    Block::new(Matrix::from_columns(rows.len(), &columns)?)
                })
                .collect::<Result<_>>()?;
            Ok(solve(mesh, &used, &tasks, &seen.range(j..j + 1))?.into_vec())
        })
        .collect::<Result<_>>()?;
    for (j, refit) in refit.into_iter().enumerate() {
        let fired = codes.column_mut(j).iter_mut().filter(|y| **y != 0.0);
        fired.zip(refit).for_each(|(y, new)| *y = new);
    }
    Ok(codes)
}

fn solve(mesh: &Mesh, blocks: &[Block], tasks: &[LocalTask], x: &Samples) -> Result<Matrix> {
    let parts = blocks.iter().zip(tasks);
    let parts: Vec<Part> = parts.map(|(block, task)| Part { block, task }).collect();
    Ok(exact::solve(mesh.task().residual(), &parts, x, exact::TOLERANCE)?.codes)
}

/// The same share of the task with gamma = 0. A regularizer of another crate stays as it is.
fn without_gamma(task: &LocalTask) -> Result<LocalTask> {
    let mut spec = task.spec();
    spec.regularizer = match spec.regularizer.get::<Vec<f64>>("gamma") {
        Ok(Some(list)) => spec.regularizer.with("gamma", vec![0.0; list.len()]),
        _ => spec.regularizer.with("gamma", 0.0),
    };
    match LocalTask::build(&spec) {
        Err(Error::UnknownName { .. }) => Ok(task.clone()),
        built => built,
    }
}

/// The place of the simplest candidate that predicts about as well as the best: the first one, in the
/// order given (simplest first), whose score is within one standard error of the lowest score (the rule
/// of Breiman, Friedman, Olshen and Stone, 1984).
pub fn simplest(candidates: &[Prediction]) -> Option<usize> {
    let scores = candidates.iter().map(Prediction::score);
    let (best, lowest) = scores.enumerate().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let enough = lowest + candidates[best].standard_error();
    candidates.iter().position(|c| c.score() <= enough)
}
