//! The result of the inference of a batch.

use super::stopping::max_or_nan;
use crate::problem::samples::weights::mean;
use crate::problem::samples::Samples;
use crate::problem::task::Task;
use crate::strategy::Certified;
use crate::Stop;
use dictmesh_kernels::matrix::{axpy, distance, norm, Matrix};
use rayon::prelude::*;

/// The result of every agent for a batch.
#[derive(Clone, Debug)]
pub struct Inference {
    /// nu_k of each agent, M x B.
    pub duals: Vec<Matrix>,
    /// y_k of each agent, N_k x B, from its own nu_k.
    pub codes: Vec<Matrix>,
    /// J_k(nu_k) of each agent, one value per sample.
    pub local_costs: Vec<Vec<f64>>,
    /// The dual cost of each sample, -sum_k J_k(nu_k); at agreement it is the cost of the sample.
    /// Not multiplied by the sample's weight.
    pub costs: Vec<f64>,
    /// The weights of the samples; `None` if all are 1.
    pub weights: Option<Vec<f64>>,
    /// The largest distance of an agent's nu_k from the mean over agents, relative to the norm of
    /// the mean. NaN if the duals have non-finite entries.
    pub disagreement: f64,
    /// Rounds done.
    pub rounds: usize,
    /// Messages that follow one another: 1 per exchange with neighbours, the depth of the tree per
    /// sum and per broadcast. Without those of the stopping rule.
    pub hops: u64,
    /// Bytes that a network would send, without frames: eight per number of an array on each
    /// directed edge; integers and broadcasts as packed ([`Run::bytes`](super::Run::bytes)).
    pub bytes: u64,
    /// The outcome.
    pub stop: Stop,
    /// The infeasible samples, if any.
    pub infeasible: Vec<usize>,
    /// The cost and the certified gap of each sample, if the strategy computes them; otherwise
    /// empty.
    pub certified: Vec<Certified>,
}

/// The largest distance of an agent's nu_k from the mean over agents, relative to the norm of the
/// mean; NaN if an entry is not finite.
pub(super) fn disagreement(duals: &[&Matrix]) -> f64 {
    let Some(first) = duals.first() else {
        return 0.0;
    };
    let mut mean = Matrix::zeros(first.rows(), first.cols());
    for nu in duals {
        axpy(1.0 / duals.len() as f64, nu.as_slice(), mean.as_mut_slice());
    }
    let mut most = 0.0;
    for nu in duals {
        for (nu, mean) in nu.columns().zip(mean.columns()) {
            let apart = distance(nu, mean);
            if apart != 0.0 {
                most = max_or_nan(most, apart / norm(mean).max(f64::MIN_POSITIVE));
            }
        }
    }
    most
}

/// The mean number of nonzero coefficients per sample, over all agents.
pub(super) fn mean_sparsity(codes: &[Matrix]) -> f64 {
    let count: usize = (codes.iter())
        .map(|y| {
            let parts = y.as_slice().par_chunks(1 << 14);
            let fired = |part: &[f64]| part.iter().filter(|y| **y != 0.0).count();
            parts.map(fired).sum::<usize>()
        })
        .sum();
    count as f64 / codes.first().map_or(0, Matrix::cols).max(1) as f64
}

impl Inference {
    /// The weighted mean of the costs.
    pub fn mean_cost(&self) -> f64 {
        mean(self.costs.iter().copied(), self.weights.as_deref())
    }

    /// The weighted mean of the number of nonzero coefficients per sample.
    pub fn mean_sparsity(&self) -> f64 {
        let Some(weights) = &self.weights else {
            return mean_sparsity(&self.codes);
        };
        let fired = |j: usize| {
            let codes = self.codes.iter().flat_map(|y| y.column(j));
            codes.filter(|y| **y != 0.0).count() as f64
        };
        mean((0..weights.len()).map(fired), Some(weights))
    }

    /// The codes of all agents stacked by rows, K x B.
    pub fn stacked_codes(&self) -> Matrix {
        let total: usize = self.codes.iter().map(Matrix::rows).sum();
        let mut out = Matrix::zeros(total, self.costs.len());
        for j in 0..self.costs.len() {
            let column = out.column_mut(j);
            let mut at = 0;
            for y in &self.codes {
                column[at..at + y.rows()].copy_from_slice(y.column(j));
                at += y.rows();
            }
        }
        out
    }

    /// The paper's z = x - u of each sample, with u recovered from agent `k`'s nu_k. NaN in each
    /// entry that nu_k does not determine (|nu_m| = 1 for Huber and l1).
    ///
    /// Panics unless this result has duals, there is an agent `k`, and `x` are its samples.
    pub fn z(&self, task: &Task, x: &Samples, k: usize) -> Matrix {
        let nu = &self.duals[k];
        let mut z = Matrix::zeros(nu.rows(), nu.cols());
        for j in 0..nu.cols() {
            let column = z.column_mut(j);
            task.residual().recover(nu.column(j), column);
            column.iter_mut().for_each(|u| *u = -*u);
            x.add_scaled(j, 1.0, column);
        }
        z
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_disagreement_of_duals_that_are_not_finite_is_not_zero() {
        let zero = Matrix::zeros(2, 1);
        for bad in [f64::NAN, f64::INFINITY] {
            let diverged = Matrix::from_columns(2, &[[bad, 0.0]]).unwrap();
            for duals in [[&diverged, &zero], [&zero, &diverged], [&diverged; 2]] {
                assert!(disagreement(&duals).is_nan(), "{duals:?}");
            }
        }
        assert_eq!(disagreement(&[&zero, &zero]), 0.0);
        // NaN propagates, in either order.
        assert!(max_or_nan(f64::NAN, 1.0).is_nan() && max_or_nan(1.0, f64::NAN).is_nan());
        assert_eq!(max_or_nan(1.0, 2.0), 2.0);
    }
}
