//! One agent without neighbours, with the squared residual: its argmin is the whole problem, with
//! cost 1/2 |nu|^2 + h(y). If samples are sparse and W'W is stored, it is solved on W'W and W'x.
//! Neither the cost nor nu y' then needs the dense nu:
//!
//! ```text
//! y     = argmin 1/2 y'(W'W)y - (W'x)'y + h(y)
//! cost  = 1/2 |x|^2 - (W'x)'y + 1/2 y'(W'W)y + h(y)
//! nu y' = X Y' - W (Y Y')
//! ```
//!
//! Dense samples: bit-identical to the first round of the strategy. Sparse samples: within 1e-9, as
//! sums run over W'x in place of x.

use super::{Accel, Batch, BatchCodes, Memory, Part};
use crate::exact::coding::{in_parts, solve_on_gram, start_codes, CodePenalty, Coding};
use crate::problem::samples::weights::weigh;
use crate::problem::samples::Samples;
use crate::Stop;
use dictmesh_kernels::matrix::{gemm, gemm_by_rows, Matrix};
use dictmesh_kernels::products::{self, add_products, Firing};
use rayon::prelude::*;
use std::ops::Range;

/// Codes a batch of an agent without neighbours in one solve. Dense samples: bit-identical to the
/// first round of the strategy. Sparse samples: within 1e-9.
#[derive(Clone, Copy, Debug, Default)]
pub struct SingleAgent;

impl Accel for SingleAgent {
    fn name(&self) -> &'static str {
        "single-agent"
    }

    fn code(
        &self,
        batch: &Batch<'_>,
        range: Range<usize>,
        memory: &mut Memory,
    ) -> Option<BatchCodes> {
        let [agent] = batch.agents.as_slice() else {
            return None;
        };
        let envelope = batch.residual.envelope();
        let squared = envelope.and_then(|e| e.quadratic(1.0, 0.0)) == Some(1.0);
        let separable = agent.task.regularizer().scalar(0).is_some();
        if !(squared && separable && batch.strategy.solves_alone()) {
            return None;
        }
        let weights = batch.x.weights().map(|weights| &weights[range.clone()]);
        let samples = weights.map_or(range.len() as f64, |weights| weights.iter().sum());
        let samples = if samples > 0.0 { samples } else { 1.0 };
        let mut y = std::mem::take(&mut memory.y);
        y.reshape(agent.block.len(), range.len());
        let (stats, product) = match (batch.x.dense_columns(), agent.block.gram()) {
            (Some(x), _) => code_dense(batch, agent, x, range, weights, &mut y, &mut memory.nu),
            (None, Some(gram)) => code_sparse(batch, agent, gram, &batch.x.range(range), &mut y),
            (None, None) => {
                let x = batch.x.range(range).to_dense();
                let all = 0..x.cols();
                code_dense(batch, agent, &x, all, weights, &mut y, &mut memory.nu)
            }
        };
        let stop = match (stats.stop, batch.tolerance) {
            _ if !stats.cost.is_finite() => stats.stop.worse(Stop::Diverged),
            (Stop::Converged, None) => Stop::RoundLimit,
            (stop, _) => stop,
        };
        let firing = Firing::of(&y, weights);
        memory.y = y;
        Some(BatchCodes {
            // Later rounds would change nothing.
            rounds: batch.tolerance.map_or(batch.rounds, |_| 1),
            bytes: 0,
            stop: Some(stop),
            infeasible: None,
            cost: stats.cost / samples,
            sparsity: stats.fired / samples,
            products: vec![product],
            firing: vec![firing],
        })
    }
}

/// The worst stop, the total cost and the number of non-zero coefficients of some samples, weighted
/// by sample.
struct BatchStats {
    stop: Stop,
    cost: f64,
    fired: f64,
}

impl BatchStats {
    fn with(self, other: BatchStats) -> BatchStats {
        BatchStats {
            stop: self.stop.worse(other.stop),
            cost: self.cost + other.cost,
            fired: self.fired + other.fired,
        }
    }
}

/// The codes and nu of dense samples; returns their statistics and nu y'.
fn code_dense(
    batch: &Batch<'_>,
    agent: &Part<'_>,
    x: &Matrix,
    range: Range<usize>,
    weights: Option<&[f64]>,
    y: &mut Matrix,
    nu: &mut Matrix,
) -> (BatchStats, Matrix) {
    let (block, h) = (agent.block, agent.task.regularizer());
    let (blocks, mut scalars) = ([(block.len(), h)], Vec::new());
    CodePenalty::collect_scalars(&blocks, &mut scalars);
    let n = block.len().max(1);
    let problem = Coding {
        residual: batch.residual,
        h: CodePenalty {
            blocks: &blocks,
            scalars: &scalars,
        },
        atoms: block.atoms().into(),
        gram: block.gram(),
        s: 1.0,
        q: 0.0,
        interrupt: batch.interrupt,
        batching: batch.batching,
    };
    nu.reshape(x.rows(), range.len());
    let scratch_of = batch.scratch.of(block.version());
    let solve = |columns: Range<usize>, y: &mut [f64], nu: &mut [f64]| {
        let part = range.start + columns.start..range.start + columns.end;
        (y.chunks_exact_mut(n)).for_each(|y| start_codes(h, y));
        let stop = problem.solve_part(x, None, part, y, nu, &scratch_of);
        let of = |nu: &[f64], y: &[f64]| {
            let fired = y.iter().filter(|y| **y != 0.0).count();
            let penalty: f64 = y.chunks_exact(n).map(|y| h.value(y)).sum();
            (problem.residual.value(nu) + penalty, fired as f64)
        };
        let Some(weights) = weights else {
            let (cost, fired) = of(nu, y);
            return BatchStats { stop, cost, fired };
        };
        let (m, n) = (x.rows(), block.len());
        let (mut cost, mut fired) = (0.0, 0.0);
        for (j, weight) in weights[columns].iter().enumerate() {
            let one = of(&nu[j * m..(j + 1) * m], &y[j * n..(j + 1) * n]);
            cost += weight * one.0;
            fired += weight * one.1;
        }
        BatchStats { stop, cost, fired }
    };
    let (all, codes, duals) = (range.len(), y.as_mut_slice(), nu.as_mut_slice());
    let stats = in_parts(0..all, all, codes, duals, &solve, &BatchStats::with);
    let product = match weights {
        None => products::product_of_fired(nu, y),
        Some(weights) => products::product_of_fired(nu, &weigh(y, weights)),
    };
    (stats, product)
}

/// The same for sparse samples, without nu.
fn code_sparse(
    batch: &Batch<'_>,
    agent: &Part<'_>,
    gram: &Matrix,
    x: &Samples,
    y: &mut Matrix,
) -> (BatchStats, Matrix) {
    let (block, h) = (agent.block, agent.task.regularizer());
    (y.as_mut_slice().chunks_exact_mut(block.len().max(1))).for_each(|y| start_codes(h, y));
    let (blocks, mut scalars) = ([(block.len(), h)], Vec::new());
    CodePenalty::collect_scalars(&blocks, &mut scalars);
    let g = x.correlations(block.atoms());
    let (scratch_of, interrupt) = (batch.scratch.of(block.version()), batch.interrupt);
    let energies = (0..x.len()).into_par_iter().map(|j| x.norm(j).powi(2));
    let energies: Vec<f64> = energies.collect();
    let stop = solve_on_gram(
        gram,
        &scalars,
        &g,
        &energies,
        y,
        &scratch_of,
        interrupt,
        batch.batching,
    );
    let costs = (0..x.len()).into_par_iter().map(|j| {
        let fired: Vec<(usize, f64)> = (y.column(j).iter().copied().enumerate())
            .filter(|(_, y)| *y != 0.0)
            .collect();
        let mut cost = 0.5 * energies[j];
        for (q, y) in &fired {
            let column = gram.column(*q);
            let coded: f64 = fired.iter().map(|(p, y)| column[*p] * y).sum();
            cost += y * (0.5 * coded - g.get(*q, j)) + scalars[*q].value_at(*y);
        }
        (x.weight(j) * cost, x.weight(j) * fired.len() as f64)
    });
    // Summed in a fixed order, for any number of threads.
    let costs: Vec<(f64, f64)> = costs.collect();
    let stats = BatchStats {
        stop,
        cost: costs.iter().map(|(cost, _)| cost).sum(),
        fired: costs.iter().map(|(_, fired)| fired).sum(),
    };
    let product = match x.weights() {
        None => product(block.atoms(), x, y, y),
        Some(weights) => product(block.atoms(), x, y, &weigh(y, weights)),
    };
    (stats, product)
}

/// nu y' for nu = X - W Y, M x K. `weighed` is y, or w_j y_j for samples with weights.
fn product(atoms: &Matrix, x: &Samples, y: &Matrix, weighed: &Matrix) -> Matrix {
    let mut fired = Matrix::zeros(y.rows(), y.rows());
    let transposed = weighed.view().transpose();
    gemm(fired.view_mut(), y.view(), transposed, 1.0, false);
    let mut out = Matrix::zeros(atoms.rows(), atoms.cols());
    gemm_by_rows(out.view_mut(), atoms.view(), fired.view(), -1.0, false);
    add_products(weighed, &mut out, |j, y, w| x.add_scaled(j, y, w));
    out
}
