//! One batch coded by all agents, in parts or as a whole.

use super::exchange::Exchange;
use super::part::Part;
use super::reduction;
use super::Mesh;
use crate::error::{Error, Result};
use crate::problem::samples::Samples;
use crate::strategy::{Strategy, StrategySpec};
use dictmesh_kernels::matrix::Matrix;
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

/// All agents of a mesh at work on one batch, to be stepped round by round.
///
/// A batch that the mesh itself codes is cut into parts where it can be rotated: what the agents do to one sample
/// does not depend on the others, but that all stop together.
#[derive(Debug)]
pub struct Run<'m> {
    pub(super) mesh: &'m Mesh,
    pub(super) x: &'m Samples,
    pub(super) parts: Vec<Part<'m>>,
    /// What was sent to find out when to stop.
    pub(super) flooded: u64,
}

impl<'m> Run<'m> {
    /// At nu = 0, in the rows of the samples.
    pub(super) fn start(mesh: &'m Mesh, x: &'m Samples) -> Result<Self> {
        Run::whole(mesh, x, None)
    }

    /// At nu = 0, in fewer rows where that gives the same.
    pub(super) fn start_reduced(mesh: &'m Mesh, x: &'m Samples) -> Result<Self> {
        mesh.check_samples(x)?;
        // A random start does not lie in the span of atoms and samples.
        if !mesh.reduction || mesh.strategy.random_start().is_some() {
            return Run::start(mesh, x);
        }
        let blocks = mesh.blocks();
        let parts = reduction::parts(mesh.task.residual(), &blocks, &mesh.gram, x);
        let alone = parts.len() == 1;
        let exchange = Arc::new(Exchange::new(mesh));
        let parts = parts.into_par_iter().map(|(range, reduction)| {
            let x = match alone {
                true => Cow::Borrowed(x),
                false => Cow::Owned(x.range(range)),
            };
            Part::build(mesh, x, exchange.clone(), alone, reduction, None)
        });
        Ok(Run {
            mesh,
            x,
            parts: parts.collect::<Result<_>>()?,
            flooded: 0,
        })
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
        Run::whole(mesh, x, Some(state.strategies))
    }

    fn whole(
        mesh: &'m Mesh,
        x: &'m Samples,
        strategies: Option<Vec<Box<dyn Strategy>>>,
    ) -> Result<Self> {
        mesh.check_samples(x)?;
        let exchange = Arc::new(Exchange::new(mesh));
        let part = Part::build(mesh, Cow::Borrowed(x), exchange, true, None, strategies)?;
        Ok(Run {
            mesh,
            x,
            parts: vec![part],
            flooded: 0,
        })
    }

    /// One round: adapt, exchange, combine, absorb.
    pub fn round(&mut self) {
        self.parts.iter_mut().for_each(Part::round);
    }

    /// Rounds until so many are done, each part for itself; the duals of each part before the last one, if they
    /// are to be kept.
    pub(super) fn advance(&mut self, to: usize, keep: bool) -> Vec<Vec<Matrix>> {
        match &mut self.parts[..] {
            [part] => vec![part.advance(to, keep)],
            parts => (parts.par_iter_mut())
                .with_max_len(1)
                .map(|part| part.advance(to, keep))
                .collect(),
        }
    }

    /// What a later run can go on from.
    pub(super) fn into_state(self) -> Result<State> {
        let mut state = State::shape(self.mesh, self.x.rows(), self.x.len())?;
        let strategies = self.parts.into_iter().flat_map(|part| part.strategies);
        state.strategies = strategies.collect();
        Ok(state)
    }

    /// What every agent sent to its neighbours in the last round, M x B, after at least one.
    pub fn sent(&self) -> impl Iterator<Item = &Matrix> {
        (self.parts.iter()).flat_map(|part| part.strategies.iter().map(|s| s.outgoing()))
    }

    /// Every agent's own nu_k, M x B.
    pub fn duals(&self) -> impl Iterator<Item = &Matrix> {
        // Runs that can be asked for it have one part, in all rows.
        self.parts.iter().flat_map(|part| part.duals())
    }

    /// Every agent's own y_k, N_k x B, recovered from its nu_k.
    pub fn codes(&self) -> Vec<Matrix> {
        let each: Vec<Vec<Matrix>> = self.parts.par_iter().map(|part| part.codes()).collect();
        let agents = (0..self.mesh.agents.len()).into_par_iter();
        let joined = agents.map(|k| side_by_side(each.iter().map(|codes| &codes[k])));
        joined.collect()
    }

    /// Rounds done.
    pub fn rounds(&self) -> usize {
        self.parts.first().map_or(0, |part| part.rounds)
    }

    /// Bytes that crossed links so far.
    pub fn bytes(&self) -> u64 {
        // Rotation is ours alone: agents on a network would send all M rows.
        let array = 8 * (self.x.rows() * self.x.len()) as u64;
        self.links() * array * self.rounds() as u64 + self.flooded
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
        let each: Vec<_> = self.parts.par_iter().map(|p| p.local_costs()).collect();
        (0..self.mesh.agents.len())
            .map(|k| each.iter().flat_map(|costs| &costs[k]).copied().collect())
            .collect()
    }

    /// Each part and the number of its first sample.
    pub(super) fn parts_and_firsts(&self) -> impl Iterator<Item = (&Part<'m>, usize)> {
        self.parts.iter().scan(0, |next, part| {
            let first = *next;
            *next += part.x.len();
            Some((part, first))
        })
    }
}

/// Matrices of as many rows, one beside the other.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Stopping;
    use crate::problem::task::Task;
    use crate::random::{gaussian, stream};
    use crate::{AtomInit, Topology};
    use dictmesh_kernels::matrix::norm;

    /// 400 rows of which x has the first 40; the atoms have weight in all others, too little to reach the box in
    /// any of them, but |nu| there is above 1. The run must stay rotated: the length alone proves nothing, and
    /// no rotated row may be cut. Few and many atoms at an agent, whose argmins go different ways.
    #[test]
    fn many_small_rows_stay_rotated_though_they_are_long_together() {
        for sizes in [vec![1; 6], vec![20, 20]] {
            let (agents, atoms) = (sizes.len(), sizes.iter().sum());
            let drawn = gaussian(400, atoms, &mut stream(1, 0));
            let w = Matrix::from_fn(400, atoms, |i, q| 0.03 + 0.02 * drawn.get(i, q).abs());
            let x = Matrix::from_fn(400, 2, |i, j| match i {
                0..40 => 0.5 + 0.2 * j as f64,
                _ => 0.0,
            });
            let x = Samples::dense(x).unwrap();
            let task = Task::nmf_huber(0.01, 0.1, 0.2).unwrap();
            let mesh = Mesh::builder(task, Topology::ring(agents).unwrap())
                .build(400, &sizes, AtomInit::Given(&w))
                .unwrap();
            let mut run = Run::start_reduced(&mesh, &x).unwrap();
            assert_eq!(run.parts.len(), 2);
            let stop = run.until(&Stopping::tolerance(1e-6));
            assert!(run.parts.iter().all(|part| part.reduction.is_some()));
            let found = run.found(stop);
            let nu = &found.duals[1].column(1)[40..];
            assert!(norm(nu) > 1.0 && nu.iter().all(|v| v.abs() < 1.0));
            let mut plain = Run::start(&mesh, &x).unwrap();
            assert_eq!(plain.until(&Stopping::tolerance(1e-6)), stop);
            let (a, b) = (&found.duals[1], plain.duals().nth(1).unwrap());
            let mut apart = a.as_slice().iter().zip(b.as_slice());
            assert!(apart.all(|(a, b)| (a - b).abs() < 1e-9));
        }
    }
}
