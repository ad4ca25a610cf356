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
use crate::problem::samples::Samples;
use crate::strategy::Combine;
use crate::Stop;
use dictmesh_kernels::matrix::{gemm, gemm_by_rows, Matrix};
use dictmesh_kernels::products::{self, add_products};
use rayon::prelude::*;
use std::ops::Range;

/// How some samples ended, the sum of their costs, and how many of their coefficients are not zero.
struct BatchStats {
    stop: Stop,
    cost: f64,
    fired: usize,
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
        let samples = batch.len().max(1) as f64;
        let mut y = std::mem::take(&mut kept.y);
        y.reshape(agent.block.len(), batch.len());
        let (told, product) = match (block.dense_columns(), agent.block.gram()) {
            (Some(x), _) => self.code_dense(agent, x, batch, &mut y, &mut kept.nu),
            (None, Some(gram)) => self.code_sparse(agent, gram, &block.range(batch), &mut y),
            (None, None) => {
                let x = block.range(batch).to_dense();
                self.code_dense(agent, &x, 0..x.cols(), &mut y, &mut kept.nu)
            }
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
            sparsity: told.fired as f64 / samples,
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
        y: &mut Matrix,
        nu: &mut Matrix,
    ) -> (BatchStats, Matrix) {
        let (block, h) = (&agent.block, agent.task.regularizer());
        let problem = Coding {
            residual: self.task.residual(),
            regularizers: &vec![h; block.len()],
            atoms: block.atoms().into(),
            gram: block.gram(),
            s: 1.0,
            q: 0.0,
            interrupt: self.interrupt.as_deref(),
            lanes: true,
        };
        nu.reshape(x.rows(), batch.len());
        let scratch_of = self.scratch.of(block.version());
        let solve = |columns: Range<usize>, y: &mut [f64], nu: &mut [f64]| {
            let columns = batch.start + columns.start..batch.start + columns.end;
            y.fill(start_code(h));
            BatchStats {
                stop: problem.solve_part(x, None, columns, y, nu, &scratch_of),
                cost: problem.residual.value(nu) + h.value(y),
                fired: y.iter().filter(|y| **y != 0.0).count(),
            }
        };
        let (all, codes, duals) = (batch.len(), y.as_mut_slice(), nu.as_mut_slice());
        let told = in_parts(0..all, all, codes, duals, &solve, &BatchStats::with);
        (told, products::product_of_fired(nu, y))
    }

    /// The same.
    fn code_sparse(
        &self,
        agent: &Agent,
        gram: &Matrix,
        x: &Samples,
        y: &mut Matrix,
    ) -> (BatchStats, Matrix) {
        let (block, h) = (&agent.block, agent.task.regularizer());
        y.as_mut_slice().fill(start_code(h));
        let g = x.correlations(block.atoms());
        let (scratch_of, interrupt) = (self.scratch.of(block.version()), self.interrupt.as_deref());
        let energies: Vec<f64> = (0..x.len()).map(|j| x.norm(j) * x.norm(j)).collect();
        let stop = solve_on_gram(gram, h, &g, &energies, y, &scratch_of, interrupt, true);
        let costs = (0..x.len()).into_par_iter().map(|j| {
            let fired: Vec<(usize, f64)> = (y.column(j).iter().copied().enumerate())
                .filter(|(_, y)| *y != 0.0)
                .collect();
            let mut cost = 0.5 * energies[j];
            for (q, y) in &fired {
                let column = gram.column(*q);
                let coded: f64 = fired.iter().map(|(p, y)| column[*p] * y).sum();
                cost += y * (0.5 * coded - g.get(*q, j)) + h.value_at(*y);
            }
            (cost, fired.len())
        });
        // Added up in one order, for any number of threads.
        let costs: Vec<(f64, usize)> = costs.collect();
        let told = BatchStats {
            stop,
            cost: costs.iter().map(|(cost, _)| cost).sum(),
            fired: costs.iter().map(|(_, fired)| fired).sum(),
        };
        (told, product(block.atoms(), x, y))
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
