//! Samples coded by all agents in lock-step: a whole batch, or a part of one.

use super::exchange::Exchange;
use super::reduction::Reduction;
use super::Mesh;
use crate::error::Result;
use crate::exact::coding::start_codes;
use crate::problem::samples::Samples;
use crate::strategy::Local;
use crate::strategy::{Combine, Strategy};
use dictmesh_kernels::matrix::{norm, Matrix};
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

/// Below this many numbers in a round, threads cost more than they bring.
const PARALLEL: usize = 1 << 16;

/// All agents of a mesh at work on some samples.
#[derive(Debug)]
pub(super) struct Part<'m> {
    pub mesh: &'m Mesh,
    pub x: Cow<'m, Samples>,
    pub strategies: Vec<Box<dyn Strategy>>,
    /// What each agent gets in a round, M x B in a column.
    pub combined: Matrix,
    pub exchange: Arc<Exchange>,
    /// b = x/|N_I|, the same at every informed agent; reduced where the part is.
    pub share: Matrix,
    /// |x| + |W y_0| of each sample, with y_0 the code nearest to 0 that is allowed: what numbers scale
    /// with.
    pub sizes: Vec<f64>,
    pub reduction: Option<Reduction>,
    pub combine: Combine,
    /// Whether agents work side by side; otherwise whole parts do.
    parallel: bool,
    /// Whether it is the whole batch.
    pub alone: bool,
    pub rounds: usize,
    /// The samples that no code can meet.
    pub infeasible: Vec<usize>,
}

impl<'m> Part<'m> {
    /// At nu = 0, or where `strategies` are. `alone` if it is the whole batch.
    pub fn build(
        mesh: &'m Mesh,
        x: Cow<'m, Samples>,
        exchange: Arc<Exchange>,
        alone: bool,
        reduction: Option<Reduction>,
        strategies: Option<Vec<Box<dyn Strategy>>>,
    ) -> Result<Self> {
        let least: f64 = (mesh.agents.iter())
            .map(|agent| {
                let mut y = vec![0.0; agent.block.len()];
                start_codes(agent.task.regularizer(), &mut y);
                // Mostly all are 0, and the atoms need not be read.
                let reached = y.iter().enumerate().filter(|(_, y)| **y != 0.0);
                reached
                    .map(|(q, y)| y.abs() * norm(agent.block.atoms().column(q)))
                    .sum::<f64>()
            })
            .sum();
        let started = strategies.is_some();
        let strategies = match strategies {
            Some(strategies) => strategies,
            None => {
                let spec = mesh.strategy.resolve(&mesh.common())?;
                let each = (0..mesh.agents.len()).map(|k| spec.build_private(mesh.own(k)));
                each.collect::<Result<_>>()?
            }
        };
        let mut part = Part {
            mesh,
            sizes: (0..x.len()).map(|j| x.norm(j) + least).collect(),
            x,
            strategies,
            combined: Matrix::zeros(0, 0),
            exchange,
            share: Matrix::zeros(0, 0),
            reduction,
            combine: mesh.strategy.combine(),
            parallel: false,
            alone,
            rounds: 0,
            infeasible: Vec::new(),
        };
        part.make_room();
        if !started {
            part.start();
        }
        Ok(part)
    }

    /// Room for the rows of the reduction, or all of them.
    fn make_room(&mut self) {
        let informed = self.mesh.agents.iter().filter(|a| a.informed).count();
        let mut share = match &self.reduction {
            Some(reduction) => reduction.x.clone(),
            None => self.x.to_dense(),
        };
        let weight = 1.0 / informed as f64;
        share.as_mut_slice().iter_mut().for_each(|v| *v *= weight);
        let numbers = share.as_slice().len();
        self.combined = Matrix::zeros(numbers, self.strategies.len());
        self.parallel =
            (self.alone || self.reduction.is_none()) && numbers * self.strategies.len() >= PARALLEL;
        self.share = share;
    }

    /// nu = 0.
    fn start(&mut self) {
        let mut strategies = std::mem::take(&mut self.strategies);
        for (k, strategy) in strategies.iter_mut().enumerate() {
            strategy.start(&self.local(k));
        }
        self.strategies = strategies;
        self.rounds = 0;
    }

    /// What agent `k` knows of the samples.
    pub fn local(&self, k: usize) -> Local<'_> {
        let local = self.mesh.local(k, Some(&self.share), self.share.cols());
        match &self.reduction {
            Some(reduction) => Local {
                block: reduction.block(k),
                residual: reduction.residual().unwrap_or(local.residual),
                ..local
            },
            None => local,
        }
    }

    /// Rounds until so many are done; the duals before the last one, if they are to be kept. Where rotated rows cannot be shown to be the
    /// plain ones any more, all rounds are done again in more rows.
    pub fn advance(&mut self, to: usize, keep: bool) -> Vec<Matrix> {
        loop {
            let (mut before, mut inside) = (Vec::new(), true);
            let looked_at = self.reduction.as_ref().is_some_and(Reduction::is_boxed);
            while inside && self.rounds < to && !self.local(0).is_interrupted() {
                let left = to - self.rounds;
                if keep && left == 1 {
                    before = self.duals().cloned().collect();
                }
                self.do_rounds(match (looked_at, keep) {
                    (true, _) => 1,
                    (false, true) => (left - 1).max(1),
                    (false, false) => left,
                });
                inside = self.is_inside();
            }
            if inside {
                return before;
            }
            self.reduction =
                (self.reduction.take()).and_then(|reduction| reduction.larger(self.mesh, &self.x));
            self.make_room();
            self.start();
        }
    }

    /// Whether the rounds so far are those of the plain problem.
    fn is_inside(&mut self) -> bool {
        match &mut self.reduction {
            Some(reduction) => reduction.is_inside(self.mesh, &self.x, &self.strategies),
            None => true,
        }
    }

    /// One round: adapt, exchange, combine, absorb.
    pub fn round(&mut self) {
        self.do_rounds(1);
    }

    /// So many rounds, or fewer if they are interrupted. What was combined in a single one is kept.
    fn do_rounds(&mut self, count: usize) {
        self.adapt_all();
        let mut strategies = std::mem::take(&mut self.strategies);
        for left in (0..count).rev() {
            let last = left == 0 || self.local(0).is_interrupted();
            (self.exchange).exchange(&strategies, &mut self.combined, self.parallel);
            self.each(&mut strategies, |local, combined, strategy| {
                strategy.absorb(&local, combined);
                // The next round, while the agent's arrays are at hand.
                if !last {
                    strategy.adapt(&local);
                }
            });
            self.rounds += 1;
            if last {
                break;
            }
        }
        self.strategies = strategies;
    }

    pub fn adapt_all(&mut self) {
        let mut strategies = std::mem::take(&mut self.strategies);
        self.each(&mut strategies, |local, _, strategy| {
            strategy.adapt(&local);
        });
        self.strategies = strategies;
    }

    /// Every agent does its part, knowing its own things only.
    fn each(
        &self,
        strategies: &mut [Box<dyn Strategy>],
        work: impl Fn(Local<'_>, &[f64], &mut dyn Strategy) + Sync,
    ) {
        let work = |(k, s): (usize, &mut Box<dyn Strategy>)| {
            work(self.local(k), self.combined.column(k), &mut **s);
        };
        if self.parallel {
            strategies.par_iter_mut().enumerate().for_each(work);
        } else {
            strategies.iter_mut().enumerate().for_each(work);
        }
    }

    /// Every agent's own nu_k (in the rows of the part).
    pub fn duals(&self) -> impl Iterator<Item = &Matrix> {
        self.strategies.iter().map(|s| s.dual())
    }

    /// Every agent's own y_k, N_k x B, recovered from its nu_k.
    pub fn codes(&self) -> Vec<Matrix> {
        let duals = self.duals().enumerate();
        duals.map(|(k, nu)| self.local(k).codes(nu)).collect()
    }

    /// J_k(nu_k) of each agent, one number a sample.
    pub fn local_costs(&self) -> Vec<Vec<f64>> {
        (0..self.strategies.len())
            .map(|k| self.local(k).cost(self.strategies[k].dual()))
            .collect()
    }
}
