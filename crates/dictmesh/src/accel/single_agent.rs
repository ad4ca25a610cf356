//! One agent without neighbours, with the squared residual: its argmin is the whole problem, with
//! cost 1/2 |nu|^2 + h(y). One solve replaces all rounds.

use super::alone::{agent_alone, batch_codes, BatchStats};
use super::{Accel, Batch, BatchCodes, Memory, Part};
use crate::exact::coding::{in_parts, start_codes, CodePenalty, Coding};
use crate::problem::samples::weights::weigh;
use dictmesh_kernels::matrix::Matrix;
use dictmesh_kernels::products;
use std::ops::Range;

/// Codes a batch of an agent without neighbours in one solve. Results are bit-identical to those
/// of the first round of the strategy.
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
        let agent = agent_alone(batch)?;
        let weights = batch.x.weights().map(|weights| &weights[range.clone()]);
        let mut y = std::mem::take(&mut memory.y);
        y.reshape(agent.block.len(), range.len());
        let (stats, product) = match batch.x.dense_columns() {
            Some(x) => code_dense(batch, agent, x, range, weights, &mut y, &mut memory.nu),
            None => {
                let x = batch.x.range(range).to_dense();
                let all = 0..x.cols();
                code_dense(batch, agent, &x, all, weights, &mut y, &mut memory.nu)
            }
        };
        let codes = batch_codes(batch, stats, product, &y, weights);
        memory.y = y;
        Some(codes)
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
