//! A batch coded by one agent that is alone, with the squared residual: its argmin is the whole problem, and cost =
//! 1/2 |nu|^2 + h(y). Where samples are sparse and nu is not, it is solved on W'W and W'x, and neither the cost nor
//! what the atoms learn from needs a dual vector:
//!
//! ```text
//! y     = argmin 1/2 y'(W'W)y - (W'x)'y + h(y)
//! cost  = 1/2 |x|^2 - (W'x)'y + 1/2 y'(W'W)y + h(y)
//! nu y' = X Y' - W (Y Y')
//! ```

use super::coded::Coded;
use super::found::mean_sparsity;
use super::{Agent, Mesh};
use crate::coding::{solve_on_gram, start_code, Coding, PRODUCTS_TOGETHER};
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
        let start = start_code(agent.task.regularizer());
        let mut y = Matrix::filled(agent.block.len(), x.len(), start);
        let found = match x.dense_columns() {
            Some(x) => self.code_dense(agent, x, &mut y),
            None => self.code_sparse(agent, x, &mut y),
        };
        let (stop, costs, product) = found;
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
            products: vec![product],
            codes: vec![y],
        }
    }

    /// The codes; how they ended, the cost of each sample, and nu y'.
    fn code_dense(&self, agent: &Agent, x: &Matrix, y: &mut Matrix) -> (Stop, Vec<f64>, Matrix) {
        let (block, h) = (&agent.block, agent.task.regularizer());
        let problem = Coding {
            residual: self.task.residual(),
            regularizers: &vec![h; block.len()],
            atoms: block.atoms(),
            gram: block.gram(),
            s: 1.0,
            q: 0.0,
            interrupt: self.interrupt.as_deref(),
        };
        let mut nu = Matrix::zeros(x.rows(), x.cols());
        let scratches = self.memory.of(block.version());
        let stop = problem.solve_batch(x, None, y, &mut nu, &scratches);
        let costs = (0..x.cols())
            .into_par_iter()
            .with_min_len(PRODUCTS_TOGETHER);
        let costs = costs.map(|j| {
            let fired = y.column(j).iter().filter(|y| **y != 0.0);
            problem.residual.value(nu.column(j)) + fired.map(|y| h.value_at(*y)).sum::<f64>()
        });
        (stop, costs.collect(), learning::product(&nu, y))
    }

    /// The same.
    fn code_sparse(&self, agent: &Agent, x: &Samples, y: &mut Matrix) -> (Stop, Vec<f64>, Matrix) {
        let (block, h) = (&agent.block, agent.task.regularizer());
        let g = x.correlations(block.atoms());
        let (scratches, interrupt) = (self.memory.of(block.version()), self.interrupt.as_deref());
        let energies: Vec<f64> = (0..x.len()).map(|j| x.norm(j) * x.norm(j)).collect();
        let stop = solve_on_gram(block.gram(), h, &g, &energies, y, &scratches, interrupt);
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
            cost
        });
        (stop, costs.collect(), product(block.atoms(), x, y))
    }
}

/// nu y' for nu = X - W Y, M x K.
fn product(atoms: &Matrix, x: &Samples, y: &Matrix) -> Matrix {
    let mut fired = Matrix::zeros(y.rows(), y.rows());
    gemm(fired.view_mut(), y.view(), y.view().transpose(), 1.0, false);
    let mut out = Matrix::zeros(atoms.rows(), atoms.cols());
    gemm_by_rows(out.view_mut(), atoms.view(), fired.view(), -1.0, false);
    add_products(y, &mut out, |j, y, w| x.add_scaled(j, y, w));
    out
}
