//! The inference of one batch by all agents, in chunks or as a whole.

use super::chunk::SampleChunk;
use super::exchange::Links;
use super::rounds::infer;
use super::stopping::{max_or_nan, Flood, Rounds, Stopping, StoppingRule};
use super::Mesh;
use crate::accel::{lift_all, Accels, Batch, BatchCodes, Chunk, Term};
use crate::error::{Error, Result};
use crate::graph::AgentId;
use crate::problem::samples::weights::{mean, weigh};
use crate::problem::samples::Samples;
use crate::strategy::{AgentStrategy, Certified, Message};
use crate::Stop;
use dictmesh_kernels::products::{add_product, fired, product, rows_of, Firing};
use dictmesh_kernels::Matrix;
use rayon::prelude::*;
use std::convert::Infallible;
use std::sync::Arc;

/// The inference of one batch by all agents, which can be stepped round by round.
#[derive(Debug)]
pub struct Run<'m> {
    pub(super) mesh: &'m Mesh,
    pub(super) x: &'m Samples,
    pub(super) chunks: Vec<SampleChunk<'m>>,
    flood: Flood,
    /// Bytes sent over links for the stopping rule.
    flooded: u64,
}

impl<'m> Run<'m> {
    /// A run at nu = 0, with all rows and in one chunk, so that its arrays are readable.
    pub(super) fn start(mesh: &'m Mesh, x: &'m Samples) -> Result<Self> {
        Run::new(mesh, x, &Accels::none(), None)
    }

    /// A run at nu = 0, with the chunks and rows of the mesh's speed-ups.
    pub(super) fn start_accelerated(mesh: &'m Mesh, x: &'m Samples) -> Result<Self> {
        Run::new(mesh, x, &mesh.accels, None)
    }

    pub(super) fn new(
        mesh: &'m Mesh,
        x: &'m Samples,
        accels: &Accels,
        mut agents: Option<Vec<Box<dyn AgentStrategy>>>,
    ) -> Result<Self> {
        mesh.check_samples(x)?;
        let links = Arc::new(Links::new(&mesh.topology, &mesh.weights, &mesh.accels));
        let batch: Arc<Batch<'m>> = Arc::new(mesh.batch_of(x));
        let chunks = accels.chunks(&batch);
        check_arrays(mesh.agents.len(), x, &chunks)?;
        let chunks: Vec<SampleChunk<'m>> = match agents.take() {
            Some(agents) => (chunks.into_iter().zip([agents]))
                .map(|(chunk, agents)| {
                    SampleChunk::build(mesh, links.clone(), batch.clone(), chunk, Some(agents))
                })
                .collect::<Result<_>>()?,
            None => (chunks.into_par_iter())
                .map(|chunk| SampleChunk::build(mesh, links.clone(), batch.clone(), chunk, None))
                .collect::<Result<_>>()?,
        };
        Ok(Run {
            mesh,
            x,
            chunks,
            flood: Flood::default(),
            flooded: 0,
        })
    }

    /// Multiplies the penalty of every agent's strategy by `scale`.
    pub(super) fn scale_penalty(&mut self, scale: f64) {
        (self.chunks.iter_mut()).for_each(|chunk| chunk.scale_penalty(scale));
    }

    /// One round: adapt, exchange, absorb. No round follows once a strategy that
    /// [decides](crate::strategy::Strategy::decides) itself has ended the batch.
    pub fn round(&mut self) {
        self.chunks.iter_mut().for_each(SampleChunk::round);
    }

    /// Runs rounds until the stopping rule ends them.
    pub fn until(&mut self, stopping: &Stopping) -> Stop {
        let constrained = self.mesh.task().residual().can_be_infeasible();
        let diameter = self.mesh.topology().diameter();
        let mut rule = StoppingRule::new(*stopping, diameter, self.is_single(), constrained)
            .decided_by(&*self.mesh.strategy);
        self.flood = Flood::default();
        self.chunks
            .iter_mut()
            .for_each(|chunk| chunk.stopping = *stopping);
        let Ok(stop) = infer(self, &mut rule);
        let links = (0..self.mesh.agents.len()).map(|k| self.mesh.topology().degree(k));
        // One number crosses every link in each of `diameter` rounds.
        self.flooded += (8 * rule.measurements() * diameter * links.sum::<usize>()) as u64;
        stop
    }

    fn is_single(&self) -> bool {
        self.mesh.agents.len() == 1 && self.mesh.strategy.solves_alone()
    }

    /// The message of every agent in the last exchange. Requires at least one round.
    pub fn sent(&self) -> impl Iterator<Item = Message<'_>> {
        (self.chunks.iter()).flat_map(|chunk| chunk.agents.iter().map(|agent| agent.outgoing()))
    }

    /// Every agent's nu_k, M x B.
    pub fn duals(&self) -> impl Iterator<Item = &Matrix> {
        // Public runs have one chunk with all rows.
        self.chunks.iter().flat_map(|chunk| chunk.duals())
    }

    /// Every agent's y_k, N_k x B, recovered from its nu_k.
    pub fn codes(&self) -> Vec<Matrix> {
        let agents = (0..self.mesh.agents.len()).into_par_iter();
        agents.map(|k| self.codes_of(k)).collect()
    }

    /// y_k of agent k, N_k x B.
    fn codes_of(&self, k: AgentId) -> Matrix {
        let mut each = self.chunks.iter().map(|chunk| chunk.codes_of(k));
        match &self.chunks[..] {
            [_] => each.next().unwrap_or_default(),
            _ => side_by_side(each.collect::<Vec<_>>().iter()),
        }
    }

    /// Rounds done; the most of any chunk.
    pub fn rounds(&self) -> usize {
        let each = self.chunks.iter().map(|chunk| chunk.rounds);
        each.max().unwrap_or(0)
    }

    /// Messages so far that follow one another: 1 per exchange with neighbours, the depth of the
    /// tree per sum and per broadcast. Without those of the stopping rule.
    pub fn hops(&self) -> u64 {
        let each = self.chunks.iter().map(|chunk| chunk.hops);
        each.max().unwrap_or(0)
    }

    /// Bytes sent over links so far, counted with all M rows as on a network, even if a speed-up
    /// removes rows. Arrays are counted exactly. Integers and broadcasts of R rows are an estimate:
    /// their bytes times M/R.
    pub fn bytes(&self) -> u64 {
        let array = |chunk: &SampleChunk| 8 * (self.x.rows() * chunk.samples.len()) as u64;
        let arrays = self
            .chunks
            .iter()
            .map(|chunk| chunk.arrays_sent * array(chunk) + chunk.bytes_in_all_rows());
        arrays.sum::<u64>() + self.flooded
    }

    /// J_k(nu_k) of each agent, one value per sample.
    pub(super) fn local_costs(&self) -> Vec<Vec<f64>> {
        let each: Vec<_> = self
            .chunks
            .par_iter()
            .map(|chunk| chunk.local_costs())
            .collect();
        (0..self.mesh.agents.len())
            .map(|k| each.iter().flat_map(|costs| &costs[k]).copied().collect())
            .collect()
    }

    /// The infeasible samples, by their index in the batch.
    pub(super) fn infeasible(&self) -> Vec<usize> {
        let each = self.chunks.iter();
        each.flat_map(|chunk| chunk.infeasible.iter().map(|j| chunk.samples.start + j))
            .collect()
    }

    /// The cost and the certified gap of each sample, if the strategy computes them and has ended;
    /// otherwise empty.
    pub fn certified(&self) -> Vec<Certified> {
        let each = self.chunks.iter();
        each.flat_map(|chunk| chunk.certified.iter().copied())
            .collect()
    }

    /// What learning needs of a batch.
    pub(super) fn batch_codes(&self, stop: Stop) -> BatchCodes {
        let local_costs = self.local_costs();
        let weights = self.x.weights();
        let (firing, products) = match stop {
            Stop::Interrupted => Default::default(),
            _ => self.products(),
        };
        let nonzeros: f64 = firing.iter().map(|firing| firing.nonzeros).sum();
        let weight = firing.first().map_or(0.0, |firing| firing.weight);
        BatchCodes {
            rounds: self.rounds(),
            bytes: self.bytes(),
            stop: Some(demote_if_nonfinite(stop, &local_costs)),
            infeasible: self.infeasible().first().copied(),
            cost: mean(sum_costs(&local_costs).into_iter(), weights),
            sparsity: if weight > 0.0 { nonzeros / weight } else { 0.0 },
            firing,
            products,
        }
    }

    /// How the atoms of each agent fired, and nu_k y_k' with one column per atom that fired (has a
    /// non-zero code); a matrix may have no rows if none did. With weights of samples, y_j counts
    /// w_j times. Codes are recovered agent by agent, and only rows of atoms that fired are kept.
    /// Reduced chunks are lifted in the product, not per nu_k.
    fn products(&self) -> (Vec<Firing>, Vec<Matrix>) {
        let weights = self.x.weights();
        let agents = (0..self.mesh.agents.len()).into_par_iter();
        let each: Vec<(Firing, Vec<usize>, Matrix)> = agents
            .map(|k| {
                let y = self.codes_of(k);
                let firing = Firing::of(&y, weights);
                let y = match weights {
                    Some(weights) => weigh(&y, weights),
                    None => y,
                };
                let fired = fired(&y);
                let codes = rows_of(&y, &fired);
                (firing, fired, codes)
            })
            .collect();
        // Codes of the atoms that fired, as (agent, row); each is a column of the product.
        let fired: Vec<(usize, usize)> = (each.iter().enumerate())
            .flat_map(|(k, (_, fired, _))| (0..fired.len()).map(move |i| (k, i)))
            .collect();
        let mut terms = Vec::new();
        for chunk in &self.chunks {
            let Some(reduced) = &chunk.reduced else {
                continue;
            };
            for (column, (k, i)) in fired.iter().enumerate() {
                for at in 0..chunk.samples.len() {
                    let sample = chunk.samples.start + at;
                    let scale = each[*k].2.get(*i, sample);
                    if scale != 0.0 {
                        terms.push(Term {
                            column,
                            scale,
                            sample,
                            lift: reduced.lift(at, chunk.agents[*k].dual().column(at)),
                        });
                    }
                }
            }
        }
        let none = |(_, fired, _): &(_, Vec<usize>, _)| Matrix::zeros(0, fired.len());
        let mut out: Vec<Matrix> = each.iter().map(none).collect();
        if !terms.is_empty() {
            let all = lift_all(&self.mesh.blocks(), self.x, fired.len(), &terms);
            let mut from = 0;
            for out in &mut out {
                let count = out.cols();
                *out = all.columns_range(from..from + count);
                from += count;
            }
        }
        let (firing, codes): (Vec<Firing>, Vec<Matrix>) = each
            .into_iter()
            .map(|(firing, _, codes)| (firing, codes))
            .unzip();
        for chunk in self.chunks.iter().filter(|chunk| chunk.reduced.is_none()) {
            add_products(chunk, &codes, &mut out);
        }
        (firing, out)
    }
}

/// All agents run in this process, so a flood reaches every agent at once.
impl Rounds for Run<'_> {
    type Error = Infallible;

    fn rounds(&self) -> usize {
        Run::rounds(self)
    }

    fn advance(&mut self, to: usize, keep: bool) -> std::result::Result<(), Infallible> {
        match &mut self.chunks[..] {
            [chunk] => chunk.advance(to, keep),
            chunks => (chunks.par_iter_mut().with_max_len(1)).for_each(|c| c.advance(to, keep)),
        }
        Ok(())
    }

    fn is_interrupted(&self) -> bool {
        self.mesh.is_interrupted()
    }

    fn verdict(&self) -> Option<Stop> {
        let mut each = self.chunks.iter().map(SampleChunk::verdict);
        each.try_fold(Stop::Converged, |worst, stop| Some(worst.worse(stop?)))
    }

    fn flood(&mut self) -> &mut Flood {
        &mut self.flood
    }

    fn measure(&self) -> Option<f64> {
        let each: Vec<f64> = self
            .chunks
            .par_iter()
            .map(|c| c.largest_residual())
            .collect();
        let residual = each.into_iter().fold(0.0, max_or_nan);
        (residual.is_finite() && !Rounds::has_diverged(self)).then_some(residual)
    }

    fn argmin_stop(&self) -> Stop {
        let stops = self.chunks.iter().map(SampleChunk::argmin_stop);
        stops.fold(Stop::Converged, Stop::worse)
    }

    fn has_diverged(&self) -> bool {
        self.chunks.iter().any(|chunk| chunk.has_diverged())
    }

    fn proves_infeasible(&mut self) -> std::result::Result<bool, Infallible> {
        let single = self.is_single();
        let mut found = false;
        for chunk in &mut self.chunks {
            found |= chunk.find_infeasible(single); // in every chunk: each lists its own samples
        }
        Ok(found)
    }
}

/// Horizontal concatenation of matrices with the same number of rows.
pub(super) fn side_by_side<'a>(parts: impl Iterator<Item = &'a Matrix> + Clone) -> Matrix {
    let rows = parts.clone().next().map_or(0, Matrix::rows);
    let cols = parts.clone().map(Matrix::cols).sum();
    let mut out = Matrix::zeros(rows, cols);
    let mut rest = out.as_mut_slice();
    for part in parts {
        let (here, after) = rest.split_at_mut(part.as_slice().len());
        here.copy_from_slice(part.as_slice());
        rest = after;
    }
    out
}

/// Arrays per agent: nu_k, two more of a strategy, what it receives, nu_k before a round.
const ARRAYS: usize = 5;

/// `Ok` if the arrays of all agents fit into memory.
fn check_arrays(agents: usize, x: &Samples, chunks: &[Chunk]) -> Result<()> {
    let entries = |chunk: &Chunk| match &chunk.reduced {
        Some(reduced) => Some(reduced.x().as_slice().len()),
        None => x.rows().checked_mul(chunk.samples.len()),
    };
    let arrays = agents * ARRAYS;
    let numbers = chunks.iter().try_fold(0_usize, |sum, chunk| {
        sum.checked_add(entries(chunk)?.checked_mul(arrays)?)
    });
    let given = format!(
        "{} samples of dimension {} at {agents} agents",
        x.len(),
        x.rows()
    );
    Error::check_room("batch", given, numbers)
}

/// The cost of each sample, -sum_k J_k(nu_k).
pub(super) fn sum_costs(local_costs: &[Vec<f64>]) -> Vec<f64> {
    let samples = local_costs.first().map_or(0, Vec::len);
    (0..samples)
        .map(|j| 0.0 - local_costs.iter().map(|c| c[j]).sum::<f64>()) // no -0
        .collect()
}

/// Adds nu_k y_k' of a chunk with all rows; `codes` have the rows of the atoms that fired. Samples
/// are added in order, so the sum does not depend on the chunks.
fn add_products(chunk: &SampleChunk, codes: &[Matrix], out: &mut [Matrix]) {
    let each = chunk.agents.par_iter().zip(codes).zip(out);
    each.for_each(|((agent, y), out)| {
        let (first, samples) = (chunk.samples.start, chunk.samples.len());
        let y = y.columns_range(first..first + samples);
        match out.rows() {
            0 => *out = product(agent.dual(), &y),
            _ => add_product(agent.dual(), &y, out),
        }
    });
}

/// The outcome, demoted to `Diverged` if a local cost is not finite.
pub(super) fn demote_if_nonfinite(stop: Stop, local_costs: &[Vec<f64>]) -> Stop {
    if local_costs.iter().flatten().all(|cost| cost.is_finite()) {
        stop
    } else {
        stop.worse(Stop::Diverged)
    }
}
