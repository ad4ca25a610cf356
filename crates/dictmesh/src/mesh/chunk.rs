//! A chunk of samples (or a whole batch) that all agents code in lock-step.

use super::exchange::{InProcess, Links};
use super::rounds::{round, Received};
use super::stopping::{has_diverged, max_or_nan, relative_change, Stopping};
use super::Mesh;
use crate::accel::{Batch, Chunk, Reduced};
use crate::error::Result;
use crate::exact::coding::start_codes;
use crate::graph::AgentId;
use crate::problem::samples::Samples;
use crate::strategy::infeasible::{parts, proven};
use crate::strategy::{AgentStrategy, Certified, Combine, Exchange, Local, Workspace};
use crate::Stop;
use dictmesh_kernels::matrix::{axpy, norm, Matrix};
use dictmesh_kernels::pool::recycle;
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Minimum number of array entries per round for which agents run in parallel.
const PARALLEL: usize = 1 << 16;

/// All agents' iterates for some samples.
#[derive(Debug)]
pub(super) struct SampleChunk<'m> {
    mesh: &'m Mesh,
    links: Arc<Links<'m>>,
    batch: Arc<Batch<'m>>,
    /// The range of samples in the batch.
    pub samples: Range<usize>,
    pub agents: Vec<Box<dyn AgentStrategy>>,
    /// Empty between rounds.
    locals: Vec<Local<'static>>,
    /// nu_k of every agent, after the run has ended and its iterates are freed.
    ended: Vec<Matrix>,
    /// y_k of every agent that solved the problem alone, after the run has ended.
    ended_codes: Vec<Option<Matrix>>,
    /// The results of the samples, if the strategy certifies them.
    pub certified: Vec<Certified>,
    /// The results of the last exchange.
    received: Received,
    /// b = x/|N_I|, the same for all informed agents; in the rows of the reduced chunk, if
    /// there is one.
    share: Matrix,
    /// |x| + |W y_0| of each sample, an upper bound; y_0 is the feasible code nearest to 0. Sets
    /// the scale of nu.
    sizes: Vec<f64>,
    pub reduced: Option<Box<dyn Reduced>>,
    /// For strategies that decide themselves.
    pub stopping: Stopping,
    /// Whether agents run in parallel; otherwise chunks do.
    parallel: bool,
    is_whole_batch: bool,
    pub rounds: usize,
    /// Number of arrays sent over an edge so far.
    pub arrays_sent: u64,
    /// Number of bytes of other messages sent over an edge so far, in the rows of the chunk.
    bytes_sent: u64,
    /// Number of messages so far that follow one another.
    pub hops: u64,
    /// The last exchange, and nu_k of every agent before the last round if requested.
    exchange: Option<Exchange>,
    before: Vec<Matrix>,
    /// The infeasible samples of the chunk.
    pub infeasible: Vec<usize>,
}

impl<'m> SampleChunk<'m> {
    /// A chunk at nu = 0, or with the iterates `agents`.
    pub fn build(
        mesh: &'m Mesh,
        links: Arc<Links<'m>>,
        batch: Arc<Batch<'m>>,
        chunk: Chunk,
        agents: Option<Vec<Box<dyn AgentStrategy>>>,
    ) -> Result<Self> {
        let least: f64 = mesh
            .agents
            .iter()
            .map(|agent| agent.least_code_norm())
            .sum();
        let sizes = chunk.samples.clone().map(|j| batch.x.norm(j) + least);
        let started = agents.is_some();
        let agents = match agents {
            Some(agents) => agents,
            None => {
                let strategy = mesh.strategy.resolve(&mesh.shared_constants())?;
                let each = (0..mesh.agents.len()).map(|k| strategy.agent(mesh.own(k)));
                each.collect::<Result<_>>()?
            }
        };
        let mut chunk = SampleChunk {
            mesh,
            links,
            sizes: sizes.collect(),
            is_whole_batch: chunk.samples.len() == batch.x.len(),
            samples: chunk.samples,
            reduced: chunk.reduced,
            batch,
            agents,
            locals: Vec::new(),
            ended: Vec::new(),
            ended_codes: Vec::new(),
            certified: Vec::new(),
            received: Received::default(),
            share: Matrix::default(),
            stopping: mesh.stopping,
            parallel: false,
            rounds: 0,
            arrays_sent: 0,
            bytes_sent: 0,
            hops: 0,
            exchange: None,
            before: Vec::new(),
            infeasible: Vec::new(),
        };
        chunk.allocate();
        chunk.start(started);
        Ok(chunk)
    }

    /// The bytes of messages other than arrays, scaled from the rows of the chunk to all rows.
    pub fn bytes_in_all_rows(&self) -> u64 {
        let (all, here) = (self.batch.x.rows() as u128, self.share.rows() as u128);
        let scaled = u128::from(self.bytes_sent) * all / here.max(1);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    /// The samples of the chunk.
    pub fn x(&self) -> Cow<'m, Samples> {
        match self.is_whole_batch {
            true => Cow::Borrowed(self.batch.x),
            false => Cow::Owned(self.batch.x.range(self.samples.clone())),
        }
    }

    /// Allocates arrays for the rows of the reduced chunk, or for all rows.
    fn allocate(&mut self) {
        let informed = self.mesh.agents.iter().filter(|a| a.informed).count();
        let mut share = match &self.reduced {
            Some(reduced) => reduced.x().clone(),
            None => self.x().to_dense(),
        };
        let weight = 1.0 / informed as f64;
        share.as_mut_slice().iter_mut().for_each(|v| *v *= weight);
        let entries = share.as_slice().len();
        self.parallel = (self.is_whole_batch || self.reduced.is_none())
            && entries * self.agents.len() >= PARALLEL;
        self.share = share;
    }

    /// Resets to nu = 0, or begins at the nu of the last batch.
    fn start(&mut self, is_warm: bool) {
        let mut agents = std::mem::take(&mut self.agents);
        let start = |(k, agent): (usize, &mut Box<dyn AgentStrategy>)| match is_warm {
            true => agent.resume(&self.local(k)),
            false => agent.start(&self.local(k)),
        };
        match self.parallel {
            true => agents.par_iter_mut().enumerate().for_each(start),
            false => agents.iter_mut().enumerate().for_each(start),
        }
        self.agents = agents;
        (self.rounds, self.hops) = (0, 0);
        (self.arrays_sent, self.bytes_sent) = (0, 0);
    }

    /// Multiplies the penalty of every agent's strategy by `scale`.
    pub fn scale_penalty(&mut self, scale: f64) {
        let mut agents = std::mem::take(&mut self.agents);
        for (k, agent) in agents.iter_mut().enumerate() {
            agent.scale_penalty(&self.local(k), scale);
        }
        self.agents = agents;
    }

    /// The data of agent `k` for these samples.
    pub fn local(&self, k: usize) -> Local<'_> {
        let local = Local {
            tolerance: self.stopping.tolerance,
            rounds: self.stopping.rounds,
            ..self.mesh.local(k, Some(&self.share), self.share.cols())
        };
        match &self.reduced {
            Some(reduced) => Local {
                block: reduced.block(k),
                residual: reduced.residual().unwrap_or(local.residual),
                ..local
            },
            None => local,
        }
    }

    /// Runs rounds until `to` are done. If a reduction is no longer proven to give the same
    /// iterates, all rounds are repeated with more rows.
    pub fn advance(&mut self, to: usize, keep: bool) {
        while self.rounds < to && !self.mesh.is_interrupted() && self.verdict().is_none() {
            if !self.rounds_until(to, keep) {
                let reduced = self.reduced.take();
                self.reduced = reduced.and_then(|r| r.enlarged(&self.batch, self.samples.start));
                self.allocate();
                self.start(false);
            }
        }
    }

    /// One round: adapt, exchange, absorb.
    pub fn round(&mut self) {
        self.rounds_until(self.rounds + 1, false);
    }

    /// Runs rounds until `to` are done or the caller interrupts; `false` if the reduced chunk no
    /// longer holds.
    fn rounds_until(&mut self, to: usize, keep: bool) -> bool {
        let mut agents = std::mem::take(&mut self.agents);
        let mut received = std::mem::take(&mut self.received);
        let mut locals: Vec<Local<'_>> = recycle(std::mem::take(&mut self.locals));
        locals.extend((0..agents.len()).map(|k| self.local(k)));
        let mut carrier = InProcess {
            links: &self.links,
            parallel: self.parallel,
            arrays_sent: 0,
            bytes_sent: 0,
            hops: 0,
        };
        let (mut rounds, mut exchange, mut holds) = (self.rounds, self.exchange, true);
        let mut before = Vec::new();
        while rounds < to && holds && !self.mesh.is_interrupted() && verdict(&agents).is_none() {
            if keep && rounds + 1 == to {
                before = agents.iter().map(|agent| agent.dual().clone()).collect();
            }
            let Ok(last) = round(
                &mut agents,
                &locals,
                &mut carrier,
                &mut received,
                self.parallel,
            );
            exchange = Some(last);
            rounds += 1;
            holds = self.reduced.as_ref().is_none_or(|reduced| {
                let duals = |k: usize| agents[k].dual();
                reduced.still_holds(&self.batch, self.samples.start, &duals)
            });
        }
        let locals = recycle(locals);
        self.arrays_sent += carrier.arrays_sent;
        self.bytes_sent += carrier.bytes_sent;
        self.hops += carrier.hops;
        self.locals = locals;
        (self.agents, self.received, self.before) = (agents, received, before);
        (self.rounds, self.exchange) = (rounds, exchange);
        if let Some(certified) = self.agents.first().and_then(|agent| agent.certified()) {
            self.certified = certified.to_vec();
            let infeasible = |c: &Certified| c.stop == Stop::Infeasible;
            self.infeasible = (0..certified.len())
                .filter(|j| infeasible(&certified[*j]))
                .collect();
        }
        holds
    }

    /// The outcome that the strategy decided on; `None` while rounds continue.
    pub fn verdict(&self) -> Option<Stop> {
        verdict(&self.agents)
    }

    /// Every agent's nu_k, in the rows of the chunk.
    pub fn duals(&self) -> impl Iterator<Item = &Matrix> {
        let agents = self.agents.iter().map(|agent| agent.dual());
        self.ended.iter().chain(agents)
    }

    /// y_k of agent k, N_k x B: its own, or recovered from its nu_k.
    pub fn codes_of(&self, k: AgentId) -> Matrix {
        let (nu, codes) = match self.ended.get(k) {
            Some(nu) => (nu, self.ended_codes[k].clone()),
            None => (self.agents[k].dual(), self.agents[k].codes()),
        };
        codes.unwrap_or_else(|| self.local(k).codes(nu))
    }

    /// Frees all iterates but nu_k: no round can follow.
    pub fn keep_duals(&mut self) {
        (self.received, self.before) = Default::default();
        let agents = std::mem::take(&mut self.agents).into_iter();
        (self.ended, self.ended_codes) = agents
            .map(|agent| (agent.dual().clone(), agent.codes()))
            .unzip();
    }

    /// nu_k, after [`keep_duals`](SampleChunk::keep_duals).
    pub fn take_dual(&mut self, k: AgentId) -> Matrix {
        std::mem::take(&mut self.ended[k])
    }

    /// J_k(nu_k) of each agent, one value per sample.
    pub fn local_costs(&self) -> Vec<Vec<f64>> {
        (self.duals().enumerate())
            .map(|(k, nu)| self.local(k).cost(nu))
            .collect()
    }

    /// The largest relative change of nu over all agents and samples, and what neighbours lack of
    /// their arrays; where a plain neighbour sum is exchanged, also its distance from the
    /// neighbours' mean.
    pub fn largest_residual(&self) -> f64 {
        let sums = self.exchange == Some(Exchange::Combine(Combine::NeighbourSum));
        let each = self.agents.iter().zip(&self.before).enumerate();
        each.fold(0.0, |largest, (k, (agent, before))| {
            let degree = self.mesh.topology().degree(k);
            let sum = sums.then(|| (degree, self.received.arrays.column(k)));
            let change = relative_change(agent.dual(), before, sum);
            max_or_nan(largest, max_or_nan(change, agent.lag()))
        })
    }

    pub fn has_diverged(&self) -> bool {
        let delta = self.mesh.shared_constants().delta;
        self.duals().any(|nu| has_diverged(nu, &self.sizes, delta))
    }

    /// The worst outcome of the agents' last argmins.
    pub fn argmin_stop(&self) -> Stop {
        let stops = self.agents.iter().map(|agent| agent.argmin_stop());
        stops.fold(Stop::Converged, Stop::worse)
    }

    /// Whether the change of nu in the last round certifies some samples as infeasible. `single`:
    /// one agent, whose argmin searches for such a direction itself.
    pub fn find_infeasible(&mut self, single: bool) -> bool {
        let samples = 0..self.share.cols();
        self.infeasible = match single {
            true => samples
                .filter(|j| self.argmin_stop_of(*j) == Stop::Infeasible)
                .collect(),
            false => {
                let informed = (0..self.agents.len()).find(|k| self.mesh.is_informed(*k));
                let proposer = informed.unwrap_or(0);
                let mut drift = self.agents[proposer].dual().clone();
                if let Some(before) = self.before.get(proposer) {
                    axpy(-1.0, before.as_slice(), drift.as_mut_slice());
                }
                samples
                    .filter(|j| self.proves_infeasible(drift.column(*j), *j))
                    .collect()
            }
        };
        !self.infeasible.is_empty()
    }

    fn proves_infeasible(&self, d: &[f64], j: usize) -> bool {
        let size = self.sizes[j];
        let each = (0..self.agents.len()).map(|k| parts(&self.local(k), d, j, size));
        let (seen, support) = each.fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        proven(self.mesh.task().residual(), d, size, seen, support)
    }

    /// The outcome of the argmin for one sample, for an agent without neighbours.
    fn argmin_stop_of(&self, j: usize) -> Stop {
        let share = self.share.columns_range(j..j + 1);
        let local = Local {
            share: Some(&share),
            samples: 1,
            ..self.local(0)
        };
        let nothing = Matrix::zeros(share.rows(), 1);
        let mut v = nothing.clone();
        local.argmin(0.0, &nothing, &mut v, &mut Workspace::new(&local))
    }
}

/// All agents decide on the same outcome.
fn verdict(agents: &[Box<dyn AgentStrategy>]) -> Option<Stop> {
    agents.first().and_then(|agent| agent.verdict())
}

impl super::Agent {
    /// An upper bound of |W_k y_0|, with y_0 the feasible code nearest to 0.
    fn least_code_norm(&self) -> f64 {
        let mut y = vec![0.0; self.block.len()];
        start_codes(self.task.regularizer(), &mut y);
        // y_0 is mostly zero, and the atoms need not be read.
        let reached = y.iter().enumerate().filter(|(_, y)| **y != 0.0);
        reached
            .map(|(q, y)| y.abs() * norm(self.block.atoms().column(q)))
            .sum::<f64>()
    }
}
