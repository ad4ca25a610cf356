//! One batch coded by all agents in lock-step.

use super::reduction::Reduction;
use super::Mesh;
use crate::agent::Local;
use crate::coding::support_within_reach;
use crate::error::{Error, Result};
use crate::inference::{Combine, Strategy};
use crate::matrix::{axpy, dot, norm, Matrix};
use crate::samples::Samples;
use crate::task::Task;
use crate::Stop;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// When the rounds of one batch end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stopping {
    /// The relative error of nu to stop at, estimated; `None` does all rounds.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// The most rounds to do.
    pub rounds: usize,
}

impl Stopping {
    /// Exactly this many rounds.
    pub fn rounds(rounds: usize) -> Self {
        Stopping {
            tolerance: None,
            rounds,
        }
    }

    /// When the estimated relative error of nu is at most `tolerance`, or after 100,000 rounds.
    ///
    /// Each agent measures by how much its nu_k changed in a round, relative to its size, and how far
    /// it is from its neighbours; the agents flood the largest such number for as many rounds as the
    /// graph has diameter, so that all know it and stop together. The rate at which it falls from one
    /// flood to the next turns it into an estimate of the remaining error. It is an estimate, not a
    /// certificate: that is [`Mesh::exact`]'s.
    pub fn tolerance(tolerance: f64) -> Self {
        Stopping {
            tolerance: Some(tolerance),
            rounds: 100_000,
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        if let Some(tolerance) = self.tolerance {
            Error::check_positive("tolerance", tolerance)?;
        }
        if self.rounds == 0 {
            return Err(Error::parameter("rounds", 0, "must be 1 or more"));
        }
        Ok(())
    }
}

impl Default for Stopping {
    /// A relative error of 1e-4.
    fn default() -> Self {
        Stopping::tolerance(1e-4)
    }
}

/// Rounds between two floods, at least: one flood's worth of rounds is too short to see a rate.
const WINDOW: usize = 5;
/// Relative changes below this are rounding, which goes on for ever at a rate of 1.
const ROUNDING: f64 = 1e-14;
/// A coefficient of more than this many times |x| over the longest atom counts as out of reach.
const REACH: f64 = 1e4;
/// nu longer than this many times |x| has left all bounds.
const RUNAWAY: f64 = 1e12;
/// Below this many numbers in a round, threads cost more than they bring.
const PARALLEL: usize = 1 << 14;

/// All agents of a mesh at work on one batch, to be stepped round by round.
#[derive(Debug)]
pub struct Run<'m> {
    mesh: &'m Mesh,
    x: &'m Samples,
    strategies: Vec<Box<dyn Strategy>>,
    combined: Vec<Matrix>,
    /// b = x/|N_I|, the same at every informed agent; reduced where the run is.
    share: Matrix,
    /// |x| of each sample.
    sizes: Vec<f64>,
    reduction: Option<Reduction>,
    combine: Combine,
    rounds: usize,
    bytes: u64,
    infeasible: Vec<usize>,
}

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

impl<'m> Run<'m> {
    /// At nu = 0, in the rows of the samples.
    pub(super) fn start(mesh: &'m Mesh, x: &'m Samples) -> Result<Self> {
        Run::build(mesh, x, None, None)
    }

    /// At nu = 0, in fewer rows where that gives the same.
    pub(super) fn start_reduced(mesh: &'m Mesh, x: &'m Samples) -> Result<Self> {
        mesh.check_samples(x)?;
        let invariant = mesh.task.residual().is_rotation_invariant();
        let reduction = (mesh.reduction && invariant)
            .then(|| Reduction::new(&mesh.blocks(), &mesh.gram, x))
            .flatten();
        Run::build(mesh, x, reduction, None)
    }

    /// Where strategies of an earlier batch of the same size ended (at nu = 0 if the size differs).
    pub(super) fn start_warm(
        mesh: &'m Mesh,
        x: &'m Samples,
        strategies: Vec<Box<dyn Strategy>>,
    ) -> Result<Self> {
        let fits = |s: &dyn Strategy| s.dual().cols() == x.len() && s.dual().rows() == x.rows();
        let all = strategies.len() == mesh.agents.len() && strategies.iter().all(|s| fits(&**s));
        Run::build(mesh, x, None, all.then_some(strategies))
    }

    fn build(
        mesh: &'m Mesh,
        x: &'m Samples,
        reduction: Option<Reduction>,
        strategies: Option<Vec<Box<dyn Strategy>>>,
    ) -> Result<Self> {
        mesh.check_samples(x)?;
        let informed = mesh.agents.iter().filter(|a| a.informed).count();
        let mut share = match &reduction {
            Some(reduction) => reduction.x.clone(),
            None => x.to_dense(),
        };
        let weight = 1.0 / informed as f64;
        share.as_mut_slice().iter_mut().for_each(|v| *v *= weight);
        let mut run = Run {
            mesh,
            x,
            strategies: Vec::new(),
            combined: vec![Matrix::zeros(share.rows(), share.cols()); mesh.agents.len()],
            sizes: (0..x.len()).map(|j| x.norm(j)).collect(),
            share,
            reduction,
            combine: mesh.strategy.combine(),
            rounds: 0,
            bytes: 0,
            infeasible: Vec::new(),
        };
        run.strategies = match strategies {
            Some(strategies) => strategies,
            None => {
                let spec = mesh.strategy.resolve(&mesh.common())?;
                (0..mesh.agents.len())
                    .map(|k| {
                        let mut strategy = spec.build()?;
                        strategy.start(&run.local(k));
                        Ok(strategy)
                    })
                    .collect::<Result<_>>()?
            }
        };
        Ok(run)
    }

    /// What agent `k` knows of the batch.
    fn local(&self, k: usize) -> Local<'_> {
        let local = self.mesh.local(k, Some(&self.share), self.share.cols());
        match &self.reduction {
            Some(reduction) => Local {
                block: &reduction.blocks[k],
                ..local
            },
            None => local,
        }
    }

    /// One round: adapt, exchange, combine, absorb.
    pub fn round(&mut self) {
        let numbers = self.share.as_slice().len();
        let parallel = numbers * self.strategies.len() >= PARALLEL;
        let mut strategies = std::mem::take(&mut self.strategies);
        self.each(parallel, &mut strategies, |local, _, strategy| {
            strategy.adapt(&local);
        });
        let sent: Vec<&Matrix> = strategies.iter().map(|s| s.outgoing()).collect();
        let (mesh, combine) = (self.mesh, self.combine);
        let into = |(k, out): (usize, &mut Matrix)| combine_into(mesh, combine, k, &sent, out);
        if parallel {
            self.combined.par_iter_mut().enumerate().for_each(into);
        } else {
            self.combined.iter_mut().enumerate().for_each(into);
        }
        self.each(parallel, &mut strategies, |local, combined, strategy| {
            strategy.absorb(&local, combined);
        });
        self.strategies = strategies;
        self.rounds += 1;
        // Rotation is ours alone: agents on a network would send all M rows.
        self.bytes += self.links() * 8 * (self.x.rows() * self.x.len()) as u64;
    }

    /// Every agent does its part, knowing its own things only.
    fn each(
        &self,
        parallel: bool,
        strategies: &mut [Box<dyn Strategy>],
        work: impl Fn(Local<'_>, &Matrix, &mut dyn Strategy) + Sync,
    ) {
        let work = |(k, s): (usize, &mut Box<dyn Strategy>)| {
            work(self.local(k), &self.combined[k], &mut **s);
        };
        if parallel {
            strategies.par_iter_mut().enumerate().for_each(work);
        } else {
            strategies.iter_mut().enumerate().for_each(work);
        }
    }

    /// Rounds until the stopping rule ends them.
    pub fn until(&mut self, stopping: &Stopping) -> Stop {
        let diameter = self.mesh.topology.diameter();
        let window = if self.is_alone() {
            1
        } else {
            diameter.max(WINDOW)
        };
        let constraint = self.mesh.task.residual().can_be_infeasible();
        let mut last: Option<f64> = None;
        let mut decided: Option<(usize, Stop)> = None;
        while self.rounds < stopping.rounds {
            // Agents measure in the last round of each window, then flood what they measured.
            let measure = stopping
                .tolerance
                .filter(|_| (self.rounds + 1).is_multiple_of(window));
            let last_round = self.rounds + 1 == stopping.rounds;
            let keep = measure.is_some() || (last_round && constraint);
            let before: Vec<Matrix> = self.duals().filter(|_| keep).cloned().collect();
            self.round();
            match decided {
                Some((due, stop)) if self.rounds >= due => return stop,
                _ => {}
            }
            if let Some(tolerance) = measure {
                let residual = self.largest_residual(&before);
                self.bytes += self.links() * 8 * diameter as u64;
                let verdict = self.judge(&before, residual, last, window, tolerance);
                match verdict {
                    Some(stop) if diameter == 0 => return stop,
                    Some(stop) => decided = Some((self.rounds + diameter, stop)),
                    None => {}
                }
                last = Some(residual);
            } else if keep && self.find_infeasible(&before) {
                return Stop::Infeasible;
            }
        }
        match decided {
            Some((_, stop)) if stop != Stop::Converged => stop,
            _ if self.has_run_away() => Stop::Diverged,
            _ => Stop::RoundLimit,
        }
    }

    /// Whether one agent's own argmin is the whole problem: it is solved in one round, and solving it
    /// again would show rounding only, in which there is no rate to be seen.
    fn is_alone(&self) -> bool {
        self.strategies.len() == 1 && self.combine == Combine::NeighbourSum
    }

    /// What a flooded residual means, if it means the end.
    fn judge(
        &mut self,
        before: &[Matrix],
        residual: f64,
        last: Option<f64>,
        window: usize,
        tolerance: f64,
    ) -> Option<Stop> {
        if !residual.is_finite() || self.has_run_away() {
            return Some(Stop::Diverged);
        }
        if self.find_infeasible(before) {
            return Some(Stop::Infeasible);
        }
        if residual <= ROUNDING || self.is_alone() {
            return Some(Stop::Converged);
        }
        let rate = (residual / last?).powf(1.0 / window as f64);
        // What remains of a geometric series with this rate.
        (rate < 1.0 && residual / (1.0 - rate) <= tolerance).then_some(Stop::Converged)
    }

    /// The largest relative change of any agent's nu for any sample, and its distance from its
    /// neighbours where the strategy sends nu itself.
    fn largest_residual(&self, before: &[Matrix]) -> f64 {
        let mut largest = 0.0_f64;
        for (k, strategy) in self.strategies.iter().enumerate() {
            let nu = strategy.dual();
            let degree = self.mesh.topology.degree(k) as f64;
            let apart = self.combine == Combine::NeighbourSum && degree > 0.0;
            for j in 0..nu.cols() {
                let (new, old) = (nu.column(j), before[k].column(j));
                let mut distance = distance(new, old);
                if apart {
                    let sum = self.combined[k].column(j);
                    let squared: f64 = new
                        .iter()
                        .zip(sum)
                        .map(|(v, s)| (v - s / degree) * (v - s / degree))
                        .sum();
                    distance = distance.max(squared.sqrt());
                }
                if distance.is_nan() {
                    return f64::NAN;
                }
                if distance > 0.0 {
                    largest = largest.max(distance / norm(new).max(f64::MIN_POSITIVE));
                }
            }
        }
        largest
    }

    fn has_run_away(&self) -> bool {
        let delta = self.mesh.common().delta;
        self.duals().any(|nu| {
            nu.columns().zip(&self.sizes).any(|(nu, x)| {
                // nu scales with |x|, and where the residual is an equality with delta too.
                let bound = RUNAWAY * x.max(f64::MIN_POSITIVE.sqrt()) * (1.0 + 1.0 / delta);
                let size = norm(nu);
                !(size <= bound || size == 0.0)
            })
        })
    }

    /// Where the residual is a constraint: whether the way nu moves proves that some sample cannot be
    /// met. The nu of such a sample drifts for ever in a direction d that separates x from all that
    /// codes can reach, d'x > f*(d) + sup over codes of d'W y. The first informed agent proposes its
    /// own drift; every agent adds its part of the inequality. It is a proof, whatever d is.
    fn find_infeasible(&mut self, before: &[Matrix]) -> bool {
        if !self.mesh.task.residual().can_be_infeasible() {
            return false;
        }
        if self.is_alone() {
            // No drift from round to round; but its argmin looks for such a d on its own way.
            self.infeasible = (0..self.share.cols())
                .filter(|j| self.argmin_is_infeasible(*j))
                .collect();
            return !self.infeasible.is_empty();
        }
        let proposer = self.mesh.agents.iter().position(|agent| agent.informed);
        let k = proposer.unwrap_or(0);
        let mut drift = self.strategies[k].dual().clone();
        axpy(-1.0, before[k].as_slice(), drift.as_mut_slice());
        self.infeasible = (0..self.share.cols())
            .filter(|j| self.proves_infeasible(drift.column(*j), *j))
            .collect();
        !self.infeasible.is_empty()
    }

    /// Whether the argmin of an agent that is alone finds that sample `j` cannot be met.
    fn argmin_is_infeasible(&self, j: usize) -> bool {
        let share = self.share.columns_range(j..j + 1);
        let local = Local {
            share: Some(&share),
            samples: 1,
            ..self.local(0)
        };
        let nothing = Matrix::zeros(share.rows(), 1);
        let (mut y, mut v) = (local.start_codes(), nothing.clone());
        local.argmin(0.0, &nothing, &mut y, &mut v) == Stop::Infeasible
    }

    fn proves_infeasible(&self, d: &[f64], j: usize) -> bool {
        let size = self.sizes[j];
        let mut excess = -self.mesh.task.residual().conjugate(d);
        let mut support = 0.0;
        for k in 0..self.strategies.len() {
            let local = self.local(k);
            if let Some(share) = local.share {
                excess += dot(share.column(j), d);
            }
            let atoms = local.block.atoms();
            let s: Vec<f64> = atoms.columns().map(|w| dot(w, d)).collect();
            let longest = atoms.columns().map(norm).fold(0.0, f64::max);
            let regularizers = vec![local.task.regularizer(); s.len()];
            support += support_within_reach(&regularizers, &s, REACH * size, longest);
        }
        excess > support && excess > 1e-9 * size * norm(d)
    }

    pub(super) fn into_strategies(self) -> Vec<Box<dyn Strategy>> {
        self.strategies
    }

    /// Every agent's own nu_k, M x B (in the rows of the run).
    pub fn duals(&self) -> impl Iterator<Item = &Matrix> {
        self.strategies.iter().map(|s| s.dual())
    }

    /// Rounds done.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// Bytes that crossed links so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Directed edges: what each round's arrays cross.
    fn links(&self) -> u64 {
        let topology = &self.mesh.topology;
        (0..topology.agents())
            .map(|k| topology.degree(k) as u64)
            .sum()
    }

    /// J_k(nu_k) of each agent, one number a sample.
    pub(super) fn local_costs(&self) -> Vec<Vec<f64>> {
        (0..self.strategies.len())
            .map(|k| self.local(k).cost(self.strategies[k].dual()))
            .collect()
    }

    /// What the agents have found so far.
    pub fn finish(self, stop: Stop) -> Inference {
        self.finish_keeping(stop, Duals::All).0
    }

    pub(super) fn finish_keeping(
        self,
        stop: Stop,
        duals: Duals,
    ) -> (Inference, Vec<Box<dyn Strategy>>) {
        let reduced: Vec<Matrix> = self.duals().cloned().collect();
        let codes: Vec<Matrix> = (reduced.iter().enumerate())
            .map(|(k, nu)| self.local(k).codes(nu))
            .collect();
        let local_costs = self.local_costs();
        let costs = (0..self.x.len())
            .map(|j| -local_costs.iter().map(|c| c[j]).sum::<f64>())
            .collect();
        let disagreement = disagreement(&reduced);
        let duals = match &self.reduction {
            None => reduced,
            Some(reduction) => reduction.lift(&self.mesh.blocks(), self.x, &reduced, |k| {
                duals == Duals::All || has_fired(&codes[k])
            }),
        };
        let inference = Inference {
            disagreement,
            duals,
            codes,
            local_costs,
            costs,
            rounds: self.rounds,
            bytes: self.bytes,
            stop,
            infeasible: self.infeasible,
        };
        (inference, self.strategies)
    }
}

/// Which duals are brought back from a rotation.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Duals {
    /// Every agent's.
    All,
    /// Those of agents with a code that is not zero: the others have nothing to learn, and their
    /// matrices are left without rows.
    OfAgentsThatFired,
}

fn has_fired(codes: &Matrix) -> bool {
    codes.as_slice().iter().any(|y| *y != 0.0)
}

/// What agent k gets: the combination, in AgentId order, of what it and its neighbours sent.
fn combine_into(mesh: &Mesh, combine: Combine, k: usize, sent: &[&Matrix], out: &mut Matrix) {
    let out = out.as_mut_slice();
    out.fill(0.0);
    match combine {
        Combine::Weights => {
            for (l, a) in mesh.weights.column(k) {
                axpy(*a, sent[*l].as_slice(), out);
            }
        }
        Combine::LazyWeights => {
            for (l, a) in mesh.lazy.column(k) {
                axpy(*a, sent[*l].as_slice(), out);
            }
        }
        Combine::NeighbourSum => {
            for l in mesh.topology.neighbours(k) {
                axpy(1.0, sent[*l].as_slice(), out);
            }
        }
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squared: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
    squared.sqrt()
}

fn disagreement(duals: &[Matrix]) -> f64 {
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

impl Inference {
    /// The mean of the costs.
    pub fn mean_cost(&self) -> f64 {
        self.costs.iter().sum::<f64>() / self.costs.len().max(1) as f64
    }

    /// The mean number of coefficients per sample that are not zero.
    pub fn mean_sparsity(&self) -> f64 {
        let count: usize = self
            .codes
            .iter()
            .map(|y| y.as_slice().iter().filter(|y| **y != 0.0).count())
            .sum();
        count as f64 / self.costs.len().max(1) as f64
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
