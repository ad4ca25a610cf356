//! One batch coded by all agents in lock-step.

use super::exchange::Exchange;
use super::found::{disagreement, Inference};
use super::reduction::Reduction;
use super::Mesh;
use crate::agent::Local;
use crate::coding::start_code;
use crate::error::{Error, Result};
use crate::inference::{Combine, Strategy, StrategySpec};
use crate::learning::product;
use crate::matrix::{norm, Matrix};
use crate::samples::Samples;
use crate::Stop;
use rayon::prelude::*;

/// Below this many numbers in a round, threads cost more than they bring.
const PARALLEL: usize = 1 << 14;

/// All agents of a mesh at work on one batch, to be stepped round by round.
#[derive(Debug)]
pub struct Run<'m> {
    pub(super) mesh: &'m Mesh,
    x: &'m Samples,
    pub(super) strategies: Vec<Box<dyn Strategy>>,
    /// What each agent gets in a round, M x B in a column.
    pub(super) combined: Matrix,
    exchange: Exchange,
    /// b = x/|N_I|, the same at every informed agent; reduced where the run is.
    pub(super) share: Matrix,
    /// |x| + |W y_0| of each sample, with y_0 the code nearest to 0 that is allowed: what numbers scale
    /// with.
    pub(super) sizes: Vec<f64>,
    reduction: Option<Reduction>,
    pub(super) combine: Combine,
    pub(super) rounds: usize,
    pub(super) bytes: u64,
    pub(super) infeasible: Vec<usize>,
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

    /// Where the strategies of an earlier run ended. They must be of this mesh's strategy, for as many
    /// samples of the same dimension and for blocks of the same sizes.
    pub(super) fn start_warm(mesh: &'m Mesh, x: &'m Samples, state: State) -> Result<Self> {
        let now = State::shape(mesh, x.rows(), x.len())?;
        let differs = |what: &str, given: String, expected: String| {
            Err(Error::Unsupported {
                what: format!("a run with {what} {given}"),
                with: format!("{what} {expected}"),
                why: "its state does not fit; start a new run".to_string(),
            })
        };
        let shape = |s: &State| (s.rows, s.samples);
        if state.spec != now.spec {
            return differs(
                "the strategy",
                format!("{:?}", state.spec),
                format!("{:?}", now.spec),
            );
        }
        if shape(&state) != shape(&now) {
            let say = |(rows, samples)| format!("{rows} x {samples}");
            return differs("batches of", say(shape(&state)), say(shape(&now)));
        }
        if state.sizes != now.sizes {
            return differs(
                "blocks of",
                format!("{:?}", state.sizes),
                format!("{:?}", now.sizes),
            );
        }
        Run::build(mesh, x, None, Some(state.strategies))
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
        let least: f64 = (mesh.agents.iter())
            .map(|agent| {
                let y = start_code(agent.task.regularizer()).abs();
                y * agent.block.atoms().columns().map(norm).sum::<f64>()
            })
            .sum();
        let mut run = Run {
            mesh,
            x,
            strategies: Vec::new(),
            combined: Matrix::zeros(share.as_slice().len(), mesh.agents.len()),
            exchange: Exchange::new(mesh, share.as_slice().len()),
            sizes: (0..x.len()).map(|j| x.norm(j) + least).collect(),
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
    pub(super) fn local(&self, k: usize) -> Local<'_> {
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
        (self.exchange).exchange(&strategies, &mut self.combined, parallel);
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
        work: impl Fn(Local<'_>, &[f64], &mut dyn Strategy) + Sync,
    ) {
        let work = |(k, s): (usize, &mut Box<dyn Strategy>)| {
            work(self.local(k), self.combined.column(k), &mut **s);
        };
        if parallel {
            strategies.par_iter_mut().enumerate().for_each(work);
        } else {
            strategies.iter_mut().enumerate().for_each(work);
        }
    }

    /// What a later run can go on from.
    pub(super) fn into_state(self) -> Result<State> {
        let mut state = State::shape(self.mesh, self.share.rows(), self.share.cols())?;
        state.strategies = self.strategies;
        Ok(state)
    }

    /// Every agent's own nu_k, M x B (in the rows of the run).
    pub fn duals(&self) -> impl Iterator<Item = &Matrix> {
        self.strategies.iter().map(|s| s.dual())
    }

    /// Every agent's own y_k, N_k x B, recovered from its nu_k.
    pub fn codes(&self) -> Vec<Matrix> {
        let duals = self.duals().enumerate();
        duals.map(|(k, nu)| self.local(k).codes(nu)).collect()
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
    pub(super) fn links(&self) -> u64 {
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

    /// What the agents have found so far; `stop` says how it came to an end.
    pub fn found(&self, stop: Stop) -> Inference {
        let reduced: Vec<Matrix> = self.duals().cloned().collect();
        Inference {
            duals: match &self.reduction {
                None => reduced,
                Some(reduction) => reduction.lift(&self.mesh.blocks(), self.x, &reduced),
            },
            ..self.found_without_duals(stop)
        }
    }

    /// The same, with no duals in it.
    pub(super) fn found_without_duals(&self, stop: Stop) -> Inference {
        let local_costs = self.local_costs();
        let costs = (0..self.x.len())
            .map(|j| -local_costs.iter().map(|c| c[j]).sum::<f64>())
            .collect();
        let duals: Vec<&Matrix> = self.duals().collect();
        Inference {
            disagreement: disagreement(&duals),
            duals: Vec::new(),
            codes: self.codes(),
            stop: settled(stop, &local_costs),
            local_costs,
            costs,
            rounds: self.rounds,
            bytes: self.bytes,
            infeasible: self.infeasible.clone(),
        }
    }

    /// nu_k y_k' of each agent, M x N_k: what it learns from. Columns of atoms that did not fire are
    /// left zero, and a matrix may have no rows where none did.
    pub(super) fn products(&self, codes: &[Matrix]) -> Vec<Matrix> {
        match &self.reduction {
            None => (self.strategies.par_iter().zip(codes))
                .map(|(strategy, y)| product(strategy.dual(), y))
                .collect(),
            Some(reduction) => {
                let duals: Vec<&Matrix> = self.duals().collect();
                reduction.products(&self.mesh.blocks(), self.x, &duals, codes)
            }
        }
    }
}

/// An ending that costs beyond all numbers cannot be: then nothing was found.
pub(super) fn settled(stop: Stop, local_costs: &[Vec<f64>]) -> Stop {
    if local_costs.iter().flatten().all(|cost| cost.is_finite()) {
        stop
    } else {
        stop.worse(Stop::Diverged)
    }
}

/// The strategies of a run, and what they belong to.
#[derive(Debug)]
pub(super) struct State {
    spec: StrategySpec,
    rows: usize,
    pub samples: usize,
    sizes: Vec<usize>,
    strategies: Vec<Box<dyn Strategy>>,
}

impl State {
    fn shape(mesh: &Mesh, rows: usize, samples: usize) -> Result<Self> {
        Ok(State {
            spec: mesh.strategy.resolve(&mesh.common())?,
            rows,
            samples,
            sizes: mesh.agents.iter().map(|a| a.block.len()).collect(),
            strategies: Vec::new(),
        })
    }
}
