//! Sparse samples of one agent without neighbours, with the squared residual, on W'W and W'x: K
//! rows in place of M. Neither the cost nor nu y' needs the dense nu:
//!
//! ```text
//! y     = argmin 1/2 y'(W'W)y - (W'x)'y + h(y)
//! cost  = 1/2 |x|^2 - (W'x)'y + 1/2 y'(W'W)y + h(y)
//! nu y' = X Y' - W (Y Y')
//! ```

use crate::accel::alone::{agent_alone, batch_codes, BatchStats};
use crate::accel::{Batch, BatchCodes, Memory, Part};
use crate::exact::coding::{solve_on_gram, start_codes, CodePenalty};
use crate::problem::samples::weights::weigh;
use crate::problem::samples::Samples;
use dictmesh_kernels::matrix::{gemm, gemm_by_rows, Matrix};
use dictmesh_kernels::products::add_products;
use rayon::prelude::*;
use std::ops::Range;

/// The codes of these samples; `None` if they are dense, if there are several agents or W'W is not
/// stored.
pub fn code(batch: &Batch<'_>, range: Range<usize>, memory: &mut Memory) -> Option<BatchCodes> {
    let agent = agent_alone(batch)?;
    let gram = agent.block.gram()?;
    if batch.x.dense_columns().is_some() {
        return None;
    }
    let x = batch.x.range(range);
    let mut y = std::mem::take(&mut memory.y);
    y.reshape(agent.block.len(), x.len());
    let (stats, product) = code_sparse(batch, agent, gram, &x, &mut y);
    let codes = batch_codes(batch, stats, product, &y, x.weights());
    memory.y = y;
    Some(codes)
}

/// The codes; returns their statistics and nu y'.
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
