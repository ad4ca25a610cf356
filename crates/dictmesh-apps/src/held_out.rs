//! Prediction of held-out entries: a score to compare values of gamma and numbers of atoms.
//!
//! The cost is not comparable between values of gamma, and the residual always favours the smallest
//! gamma and the most atoms. So a tenth of each sample's entries is hidden. The remaining entries
//! select the active atoms with gamma, and their coefficients are refitted with gamma = 0. The
//! score is the relative error on the hidden entries:
//!
//! ```text
//! score = sum over hidden entries (x - W y)^2 / sum over hidden entries x^2
//! ```
//!
//! 0 is perfect, 1 is as good as predicting 0. Codes that overfit noise, because gamma is too small
//! or there are too many atoms, predict badly. Without the refit, the score would measure gamma's
//! shrinkage: the true atoms with shrunken coefficients would lose to twice as many atoms that
//! share the load. The visible entries carry a tenth less weight against gamma than all entries.
//! This is below the resolution of a grid over gamma.

#[cfg(test)]
mod tests;

use dictmesh::exact::{self, Part};
use dictmesh::mesh::Mesh;
use dictmesh::problem::samples::Samples;
use dictmesh::problem::Block;
use dictmesh::problem::{LocalTask, Registry};
use dictmesh::random::stream;
use dictmesh::{Error, Result, Spec};
use dictmesh_kernels::matrix::Matrix;
use rand::seq::SliceRandom;
use rayon::prelude::*;

/// Number of parts into which the entries are divided; one of them is hidden.
const PARTS: usize = 10;
/// Random stream that selects the hidden entries ("hide" in ASCII).
const HIDE_STREAM: u64 = 0x68_69_64_65;

/// Prediction errors on the hidden entries, per sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Squared error over the hidden entries of each sample.
    pub errors: Vec<f64>,
    /// Sum of squares of the hidden entries of each sample.
    pub sizes: Vec<f64>,
    /// Mean number of nonzero coefficients per sample.
    pub sparsity: f64,
    /// Relative squared residual on the visible entries: the fit, not a prediction.
    pub residual: f64,
}

impl Prediction {
    /// The score: 0 is perfect, 1 is as good as predicting 0.
    pub fn score(&self) -> f64 {
        self.errors.iter().sum::<f64>() / self.size()
    }

    /// The standard error of the score as a ratio of two sums over samples.
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

/// Hides a tenth of each sample's entries (at least one), codes the samples exactly from the rest
/// and predicts the hidden entries. The selection depends on the seed and the shape of `x`, not on
/// the dictionary.
///
/// Errors: samples with fewer than two entries, or of another dimension than the atoms.
pub fn predict(mesh: &Mesh, x: &Samples, seed: u64) -> Result<Prediction> {
    if x.rows() < 2 {
        return Err(Error::Parameter {
            name: "features",
            given: x.rows().to_string(),
            allowed: "hiding entries of a sample needs at least two".into(),
        });
    }
    Error::check_dimension("rows of the samples (the atoms' M)", x.rows(), mesh.rows())?;
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
        // Sample j hides part j mod PARTS, so that all samples of a part share one problem.
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

/// Codes from the visible rows: gamma selects the active atoms, and a refit with gamma = 0 sets
/// their coefficients.
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
    let options = exact::Options::default();
    Ok(exact::solve(mesh.task().residual(), &parts, x, options)?.codes)
}

/// The local task of any number of atoms with gamma = 0, in which every net is a ridge. A
/// regularizer from another crate is left unchanged. The atom set has no effect on codes.
fn without_gamma(task: &LocalTask) -> Result<LocalTask> {
    let h = task.regularizer().spec();
    let ridge = |kind: &str| {
        let delta = h.number("delta").ok().flatten();
        Spec::new(kind).with("gamma", 0.0).with_some("delta", delta)
    };
    let ridge = match (h.kind(), h.get::<bool>("non_negative")?) {
        ("group-elastic-net" | "weighted-elastic-net", None | Some(false)) => ridge("elastic-net"),
        ("group-elastic-net" | "weighted-elastic-net", Some(true)) => {
            ridge("non-negative-elastic-net")
        }
        _ => h.clone().with("gamma", 0.0),
    };
    match Registry::default().regularizers().build(&ridge) {
        Ok(h) => Ok(LocalTask::new(h)),
        Err(Error::UnknownName { .. }) => Ok(task.clone()),
        Err(error) => Err(error),
    }
}

/// The one-standard-error rule (Breiman, Friedman, Olshen and Stone, 1984): the index of the first
/// candidate whose score is within one standard error of the lowest. Candidates are ordered from
/// simplest to most complex; `None` if there are none.
pub fn simplest(candidates: &[Prediction]) -> Option<usize> {
    let scores = candidates.iter().map(Prediction::score);
    let (best, lowest) = scores.enumerate().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let enough = lowest + candidates[best].standard_error();
    candidates.iter().position(|c| c.score() <= enough)
}
