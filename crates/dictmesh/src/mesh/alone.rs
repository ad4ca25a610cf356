//! A batch coded by one agent that is alone, with the squared residual: its argmin is the whole problem, and cost =
//! 1/2 |nu|^2 + h(y). Where samples are sparse and nu is not, it is solved on W'W and W'x, and neither the cost nor
//! what the atoms learn from needs a dual vector:
//!
//! ```text
//! y     = argmin 1/2 y'(W'W)y - (W'x)'y + h(y)
//! cost  = 1/2 |x|^2 - (W'x)'y + 1/2 y'(W'W)y + h(y)
//! nu y' = X Y' - W (Y Y')
//! ```

use super::coded::{BatchCarry, BatchCodes};
use super::{Agent, Mesh};
use crate::exact::coding::{in_parts, solve_on_gram, start_code, Coding};
use crate::problem::samples::weights::weigh;
use crate::problem::samples::Samples;
use crate::strategy::Combine;
use crate::Stop;
use dictmesh_kernels::matrix::{gemm, gemm_by_rows, Matrix};
use dictmesh_kernels::products::{self, add_products};
use rayon::prelude::*;
use std::ops::Range;

/// How some samples ended, the sum of their costs, and the number of their coefficients that are not zero,
/// each sample by its weight.
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

impl Mesh {
    /// The agent, if it is alone with the squared residual and codes as well as it can. Without reduction it goes
    /// through rounds as an agent on a network would.
    pub(super) fn alone(&self) -> Option<&Agent> {
        let [agent] = self.agents.as_slice() else {
            return None;
        };
        let solves =
            self.strategy.combine() == Combine::NeighbourSum && self.stopping.tolerance.is_some();
        let squared = self.task.residual().envelope_quadratic(1.0, 0.0) == Some(1.0);
        (self.reduction && solves && squared).then_some(agent)
    }

    /// What the agent that is alone finds for a batch.
    pub(super) fn code_alone(
        &self,
        agent: &Agent,
        block: &Samples,
        batch: Range<usize>,
        kept: &mut BatchCarry,
    ) -> BatchCodes {
        let weights = block.weights().map(|weights| &weights[batch.clone()]);
        let samples = weights.map_or(batch.len() as f64, |weights| weights.iter().sum());
        let samples = if samples > 0.0 { samples } else { 1.0 };
        let mut y = std::mem::take(&mut kept.y);
        y.reshape(agent.block.len(), batch.len());
        let (told, product) = match block.dense_columns() {
            Some(x) => self.code_dense(agent, x, batch, weights, &mut y, &mut kept.nu),
            None => self.code_sparse(agent, &block.range(batch), &mut y),
        };
        BatchCodes {
            rounds: 1,
            bytes: 0,
            stop: match told.cost.is_finite() {
                true => told.stop,
                false => told.stop.worse(Stop::Diverged),
            },
            infeasible: None,
            cost: told.cost / samples,
            sparsity: told.fired / samples,
            products: vec![product],
            codes: vec![y],
        }
    }

    /// The codes and nu; what is told of them, and nu y'.
    fn code_dense(
        &self,
        agent: &Agent,
        x: &Matrix,
        batch: Range<usize>,
        weights: Option<&[f64]>,
        y: &mut Matrix,
        nu: &mut Matrix,
    ) -> (BatchStats, Matrix) {
        let (block, h) = (&agent.block, agent.task.regularizer());
        let problem = Coding {
            residual: self.task.residual(),
            regularizers: &vec![h; block.len()],
            atoms: block.atoms(),
            gram: block.gram(),
            s: 1.0,
            q: 0.0,
            interrupt: self.interrupt.as_deref(),
            lanes: true,
        };
        nu.reshape(x.rows(), batch.len());
        let scratch_of = self.scratch.of(block.version());
        let solve = |columns: Range<usize>, y: &mut [f64], nu: &mut [f64]| {
            let part = batch.start + columns.start..batch.start + columns.end;
            y.fill(start_code(h));
            let stop = problem.solve_part(x, None, part, y, nu, &scratch_of);
            let of = |nu: &[f64], y: &[f64]| {
                let fired = y.iter().filter(|y| **y != 0.0).count();
                (problem.residual.value(nu) + h.value(y), fired as f64)
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
        let (all, codes, duals) = (batch.len(), y.as_mut_slice(), nu.as_mut_slice());
        let told = in_parts(0..all, all, codes, duals, &solve, &BatchStats::with);
        let product = match weights {
            None => products::product(nu, y),
            Some(weights) => products::product(nu, &weigh(y, weights)),
        };
        (told, product)
    }

    /// The same.
    fn code_sparse(&self, agent: &Agent, x: &Samples, y: &mut Matrix) -> (BatchStats, Matrix) {
        let (block, h) = (&agent.block, agent.task.regularizer());
        y.as_mut_slice().fill(start_code(h));
        let g = x.correlations(block.atoms());
        let (scratch_of, interrupt) = (self.scratch.of(block.version()), self.interrupt.as_deref());
        let energies: Vec<f64> = (0..x.len()).map(|j| x.norm(j) * x.norm(j)).collect();
        let stop = solve_on_gram(
            block.gram(),
            h,
            &g,
            &energies,
            y,
            &scratch_of,
            interrupt,
            true,
        );
        let costs = (0..x.len()).into_par_iter().map(|j| {
            let fired: Vec<(usize, f64)> = (y.column(j).iter().copied().enumerate())
                .filter(|(_, y)| *y != 0.0)
                .collect();
            let mut cost = 0.5 * energies[j];
            for (q, y) in &fired {
                let column = block.gram().column(*q);
                let coded: f64 = fired.iter().map(|(p, y)| column[*p] * y).sum();
                cost += y * (0.5 * coded - g.get(*q, j)) + h.value_at(*y);
            }
            (x.weight(j) * cost, x.weight(j) * fired.len() as f64)
        });
        // Added up in one order, for any number of threads.
        let costs: Vec<(f64, f64)> = costs.collect();
        let told = BatchStats {
            stop,
            cost: costs.iter().map(|(cost, _)| cost).sum(),
            fired: costs.iter().map(|(_, fired)| fired).sum(),
        };
        let product = match x.weights() {
            None => product(block.atoms(), x, y, y),
            Some(weights) => product(block.atoms(), x, y, &weigh(y, weights)),
        };
        (told, product)
    }
}

/// nu y' for nu = X - W Y, M x K, where `weighed` is y, or w_j y_j for samples with weights.
fn product(atoms: &Matrix, x: &Samples, y: &Matrix, weighed: &Matrix) -> Matrix {
    let mut fired = Matrix::zeros(y.rows(), y.rows());
    let transposed = weighed.view().transpose();
    gemm(fired.view_mut(), y.view(), transposed, 1.0, false);
    let mut out = Matrix::zeros(atoms.rows(), atoms.cols());
    gemm_by_rows(out.view_mut(), atoms.view(), fired.view(), -1.0, false);
    add_products(weighed, &mut out, |j, y, w| x.add_scaled(j, y, w));
    out
}
