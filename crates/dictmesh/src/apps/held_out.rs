//! How well a dictionary predicts what it has not seen: the score by which gamma and the number of atoms
//! can be compared.
//!
//! The cost itself cannot be compared between two gammas, and the residual always prefers the smallest
//! gamma and the most atoms. So a tenth of the entries of each sample is hidden, y is found from the
//! rest, and the score is how far W y is from what was hidden:
//!
//! ```text
//! score = sum over hidden entries (x - W y)^2 / sum over hidden entries x^2
//! ```
//!
//! 0 is perfect, 1 is no better than saying 0. Codes that fit noise, for want of gamma or for plenty of
//! atoms, predict badly. The seen entries alone weigh a tenth less against gamma than all of them, which
//! is far below what a grid of gammas can tell apart.

#[cfg(test)]
mod tests;

use crate::agent::Block;
use crate::error::{Error, Result};
use crate::inference::exact::{self, Part};
use crate::matrix::Matrix;
use crate::mesh::Mesh;
use crate::random::stream;
use crate::samples::Samples;
use rand::seq::SliceRandom;

/// One entry in so many is hidden.
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

    /// The standard error of the score's distance from that of `other`, for the same samples with the
    /// same entries hidden. The samples that are hard for one are hard for the other too, so this is
    /// much smaller than the standard error of either.
    pub fn standard_error(&self, other: &Prediction) -> f64 {
        let count = self.errors.len() as f64;
        let pairs = self.errors.iter().zip(&other.errors);
        let apart: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
        let mean = apart.iter().sum::<f64>() / count;
        let spread: f64 = apart.iter().map(|d| (d - mean).powi(2)).sum();
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

/// The exact codes of samples that are known in some rows only.
fn code(mesh: &Mesh, seen: &Samples, rows: &[usize]) -> Result<Matrix> {
    let cut = |k: usize| {
        let atoms = mesh.block(k).atoms();
        Block::new(Matrix::from_fn(rows.len(), atoms.cols(), |i, q| {
            atoms.get(rows[i], q)
        }))
    };
    let blocks: Vec<Block> = (0..mesh.agents()).map(cut).collect::<Result<_>>()?;
    let parts: Vec<Part> = blocks
        .iter()
        .enumerate()
        .map(|(k, block)| Part {
            block,
            task: mesh.task().local(k),
        })
        .collect();
    Ok(exact::solve(mesh.task().residual(), &parts, seen, exact::TOLERANCE)?.codes)
}

/// The place of the simplest candidate that predicts about as well as the best: the first one, in the
/// order given (simplest first), whose score is within one standard error of the lowest.
pub fn simplest(candidates: &[Prediction]) -> Option<usize> {
    let best = candidates
        .iter()
        .min_by(|a, b| a.score().total_cmp(&b.score()))?;
    candidates
        .iter()
        .position(|c| c.score() <= best.score() + c.standard_error(best))
}
