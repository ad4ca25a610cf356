//! A batch coded by one agent that is alone, with the squared residual: its argmin is the whole problem. It is solved
//! on W'W and W'x, and what the atoms learn from needs no dual vector where samples are sparse and nu is not:
//!
//! ```text
//! y     = argmin 1/2 y'(W'W)y - (W'x)'y + h(y)
//! cost  = 1/2 |x|^2 - (W'x)'y + 1/2 y'(W'W)y + h(y)
//! nu y' = X Y' - W (Y Y')
//! ```

use super::coded::Coded;
use super::found::mean_sparsity;
use super::{Agent, Mesh};
use crate::coding::{add_atoms, solve_on_gram, start_code};
use crate::inference::Combine;
use crate::learning::{self, add_products};
use crate::matrix::{gemm, gemm_by_rows, Matrix};
use crate::samples::Samples;
use crate::Stop;
use rayon::prelude::*;

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
    pub(super) fn code_alone(&self, agent: &Agent, x: &Samples) -> Coded {
        let (block, h) = (&agent.block, agent.task.regularizer());
        let g = x.correlations(block.atoms());
        let start = start_code(h);
        let mut y = Matrix::from_fn(block.len(), x.len(), |_, _| start);
        let (scratches, interrupt) = (self.memory.of(block.version()), self.interrupt.as_deref());
        let stop = solve_on_gram(block.gram(), h, &g, &mut y, &scratches, interrupt);
        let costs = (0..x.len()).into_par_iter().map(|j| {
            let fired: Vec<(usize, f64)> = (y.column(j).iter().copied().enumerate())
                .filter(|(_, y)| *y != 0.0)
                .collect();
            let mut cost = 0.5 * x.norm(j) * x.norm(j);
            for (q, y) in &fired {
                let column = block.gram().column(*q);
                let coded: f64 = fired.iter().map(|(p, y)| column[*p] * y).sum();
                cost += y * (0.5 * coded - g.get(*q, j)) + h.value_at(*y);
            }
            cost
        });
        let costs: Vec<f64> = costs.collect();
        let cost = costs.iter().sum::<f64>() / costs.len().max(1) as f64;
        Coded {
            rounds: 1,
            bytes: 0,
            stop: if cost.is_finite() {
                stop
            } else {
                stop.worse(Stop::Diverged)
            },
            infeasible: None,
            cost,
            sparsity: mean_sparsity(std::slice::from_ref(&y)),
            products: vec![product(block.atoms(), x, &y)],
            codes: vec![y],
        }
    }
}

/// nu y' for nu = X - W Y, M x K.
fn product(atoms: &Matrix, x: &Samples, y: &Matrix) -> Matrix {
    if !x.is_sparse() {
        let mut nu = x.to_dense();
        let columns = nu.as_mut_slice().par_chunks_mut(atoms.rows()).enumerate();
        columns.for_each(|(j, nu)| add_atoms(atoms, -1.0, y.column(j), nu));
        return learning::product(&nu, y);
    }
    let mut fired = Matrix::zeros(y.rows(), y.rows());
    gemm(fired.view_mut(), y.view(), y.view().transpose(), 1.0, false);
    let mut out = Matrix::zeros(atoms.rows(), atoms.cols());
    gemm_by_rows(out.view_mut(), atoms.view(), fired.view(), -1.0, false);
    add_products(y, &mut out, |j, y, w| x.add_scaled(j, y, w));
    out
}
