//! What a batch's inference found.

use crate::matrix::{axpy, distance, norm, Matrix};
use crate::samples::Samples;
use crate::task::Task;
use crate::Stop;

/// What every agent found for a batch.
#[derive(Clone, Debug)]
pub struct Inference {
    /// nu_k of each agent, M x B.
    pub duals: Vec<Matrix>,
    /// y_k of each agent, N_k x B, from its own nu_k.
    pub codes: Vec<Matrix>,
    /// J_k(nu_k) of each agent, one number a sample.
    pub local_costs: Vec<Vec<f64>>,
    /// The dual cost of each sample, -sum_k J_k(nu_k); at agreement the cost of the sample.
    pub costs: Vec<f64>,
    /// The largest distance of an agent's nu_k from the mean of all, relative to the latter.
    pub disagreement: f64,
    /// Rounds done.
    pub rounds: usize,
    /// Bytes that would cross links: eight for each number on each directed edge.
    pub bytes: u64,
    /// How it ended.
    pub stop: Stop,
    /// The samples that no code can meet, if it ended so.
    pub infeasible: Vec<usize>,
}

/// The largest distance of an agent's nu_k from the mean of all, relative to the latter.
pub(super) fn disagreement(duals: &[&Matrix]) -> f64 {
    let Some(first) = duals.first() else {
        return 0.0;
    };
    let mut mean = Matrix::zeros(first.rows(), first.cols());
    for nu in duals {
        axpy(1.0 / duals.len() as f64, nu.as_slice(), mean.as_mut_slice());
    }
    let mut largest = 0.0_f64;
    for nu in duals {
        for (nu, mean) in nu.columns().zip(mean.columns()) {
            let apart = distance(nu, mean);
            if apart > 0.0 {
                largest = largest.max(apart / norm(mean).max(f64::MIN_POSITIVE));
            }
        }
    }
    largest
}

/// The mean number of coefficients per sample that are not zero, of all agents together.
pub(super) fn mean_sparsity(codes: &[Matrix]) -> f64 {
    let count: usize = (codes.iter())
        .map(|y| y.as_slice().iter().filter(|y| **y != 0.0).count())
        .sum();
    count as f64 / codes.first().map_or(0, Matrix::cols).max(1) as f64
}

impl Inference {
    /// The mean of the costs.
    pub fn mean_cost(&self) -> f64 {
        self.costs.iter().sum::<f64>() / self.costs.len().max(1) as f64
    }

    /// The mean number of coefficients per sample that are not zero.
    pub fn mean_sparsity(&self) -> f64 {
        mean_sparsity(&self.codes)
    }

    /// All codes one below the other, K x B.
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

    /// The paper's z of each sample as agent `k` recovers it from its own nu_k: x - u, where u is what
    /// f* gives for nu_k. NaN in each entry that nu does not determine (|nu_m| = 1 for Huber and l1).
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
