//! Speed-ups. Each can be switched off, and none changes a result: bit-identical, or within the bound that
//! its own file states.
//!
//! | name | what it does |
//! |---|---|
//! | `single-agent` | codes a batch of an agent without neighbours in one solve ([`SingleAgent`]) |
//! | `reduction` | rotates samples and atoms into fewer rows ([`Reduction`]) |
//! | `chunks` | cuts a batch so that the arrays of a chunk stay in the cache ([`Chunks`]) |
//! | `neighbour-sums` | sums over many neighbours by total minus own, subset sums or products ([`NeighbourSums`]) |
//! | `lanes` | solves one sample in each SIMD lane ([`Lanes`]) |
//!
//! A speed-up is an [`Accel`]: it answers for a [`Batch`] where it applies, and [`Accels`] asks them in turn.
//! One of your own is handed to [`MeshBuilder::accel`](crate::mesh::MeshBuilder::accel).

mod chunks;
mod lanes;
mod neighbour_sums;
mod reduction;
mod single_agent;

pub use chunks::Chunks;
pub use lanes::Lanes;
pub use neighbour_sums::NeighbourSums;
pub use reduction::Reduction;
pub use single_agent::SingleAgent;

use crate::error::{Error, Result};
use crate::problem::block::Block;
use crate::problem::residual::Residual;
use crate::problem::samples::Samples;
use crate::problem::task::LocalTask;
use crate::strategy::{ScratchPool, Strategy};
use crate::Stop;
use dictmesh_kernels::matrix::axpy;
pub use dictmesh_kernels::quadratic::Batching;
use dictmesh_kernels::Matrix;
use faer::MatMut;
use rayon::prelude::*;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// A batch of samples and the agents that code it.
#[derive(Clone, Debug)]
pub struct Batch<'m> {
    /// f.
    pub residual: &'m dyn Residual,
    /// Each agent's share of the task and its atoms.
    pub agents: Vec<AgentView<'m>>,
    /// The samples.
    pub x: &'m Samples,
    /// How the agents find nu.
    pub strategy: &'m dyn Strategy,
    /// The tolerance of the stopping rule, if it has one.
    pub tolerance: Option<f64>,
    /// The most rounds.
    pub rounds: usize,
    /// What argmins compute in.
    pub scratch: &'m ScratchPool,
    /// Set from outside to end the batch early.
    pub interrupt: Option<&'m AtomicBool>,
    /// How argmins solve the samples of a batch.
    pub batching: Batching,
}

/// One agent as a speed-up sees it.
#[derive(Clone, Copy, Debug)]
pub struct AgentView<'m> {
    /// h_y, h_W and the set.
    pub task: &'m LocalTask,
    /// W_k.
    pub block: &'m Block,
}

impl<'m> Batch<'m> {
    /// W_k of every agent.
    pub fn blocks(&self) -> Vec<&'m Block> {
        self.agents.iter().map(|agent| agent.block).collect()
    }

    /// K, the number of atoms over all agents.
    pub fn atoms(&self) -> usize {
        self.agents.iter().map(|agent| agent.block.len()).sum()
    }
}

/// A speed-up. Every method may decline; the default of each does.
pub trait Accel: fmt::Debug + Send + Sync {
    /// Its name, for flags and files.
    fn name(&self) -> &'static str;

    /// The codes of a whole batch without rounds.
    fn code(
        &self,
        _batch: &Batch<'_>,
        _range: Range<usize>,
        _memory: &mut Memory,
    ) -> Option<BatchCodes> {
        None
    }

    /// The batch in chunks, in order, each as it is or in fewer rows.
    fn chunks(&self, _batch: &Batch<'_>) -> Option<Vec<Chunk>> {
        None
    }

    /// Sums over neighbours for these weights: for each agent k its senders l, rising, with a_lk.
    fn combiner(&self, _weights: &[Vec<(usize, f64)>]) -> Option<Box<dyn Combiner>> {
        None
    }

    /// How argmins solve the samples of a batch.
    fn batching(&self) -> Option<Batching> {
        None
    }
}

/// Some samples of a batch.
#[derive(Debug)]
pub struct Chunk {
    /// Which samples.
    pub samples: Range<usize>,
    /// The same samples in fewer rows, where there is such a form.
    pub reduced: Option<Box<dyn Reduced>>,
}

/// A chunk in fewer rows: a smaller problem with the same codes, costs and rounds, and the way back.
pub trait Reduced: fmt::Debug + Send + Sync {
    /// The samples in these rows.
    fn x(&self) -> &Matrix;

    /// W_k in these rows.
    fn block(&self, k: usize) -> &Block;

    /// The residual for these rows, where it is not the task's own.
    fn residual(&self) -> Option<&dyn Residual> {
        None
    }

    /// Whether the duals of a round are those of the plain problem; called after every round. `first` is
    /// the number of the chunk's first sample in the batch, `dual(k)` the dual of agent k.
    fn still_holds<'d>(
        &self,
        _batch: &Batch<'_>,
        _first: usize,
        _dual: &dyn Fn(usize) -> &'d Matrix,
    ) -> bool {
        true
    }

    /// The same chunk in more rows, after [`still_holds`](Reduced::still_holds) failed; `None`: all rows.
    fn enlarged(&self, _batch: &Batch<'_>, _first: usize) -> Option<Box<dyn Reduced>> {
        None
    }

    /// nu of sample `at` of the chunk, given in these rows, as a combination in all rows.
    fn lift(&self, at: usize, nu: &[f64]) -> Lift;
}

/// nu = W a + b x + c, in all rows.
#[derive(Clone, Debug, Default)]
pub struct Lift {
    /// a, one number per atom of all agents, in order.
    pub a: Vec<f64>,
    /// b.
    pub b: f64,
    /// (row, value) of c.
    pub c: Vec<(usize, f64)>,
}

/// One term of a sum of lifted duals: `scale` times a [`Lift`] of sample `sample`, added to a column.
#[derive(Debug)]
pub struct Term {
    /// The column it is added to.
    pub column: usize,
    /// The factor.
    pub scale: f64,
    /// The sample's number in the batch.
    pub sample: usize,
    /// The dual vector.
    pub lift: Lift,
}

/// The sums of all terms in all rows, M x `columns`. Every atom is read once.
pub fn lift_all(blocks: &[&Block], x: &Samples, columns: usize, terms: &[Term]) -> Matrix {
    let atoms: Vec<&[f64]> = blocks.iter().flat_map(|b| b.atoms().columns()).collect();
    let mut a = Matrix::zeros(atoms.len(), columns);
    for term in terms {
        axpy(term.scale, &term.lift.a, a.column_mut(term.column));
    }
    let mut out = times(&atoms, &a, x.rows());
    for term in terms {
        let column = out.column_mut(term.column);
        x.add_scaled(term.sample, term.scale * term.lift.b, column);
        for (row, value) in &term.lift.c {
            column[*row] += term.scale * value;
        }
    }
    out
}

/// Rows of a tile: a piece of every atom fits the cache.
const TILE: usize = 512;

/// W a for atoms that are not contiguous, tile by tile of rows.
fn times(atoms: &[&[f64]], a: &Matrix, rows: usize) -> Matrix {
    // Atoms with coefficients 0 throughout need not be read.
    let used: Vec<usize> = (0..atoms.len())
        .filter(|q| (0..a.cols()).any(|j| a.get(*q, j) != 0.0))
        .collect();
    let a = Matrix::from_fn(used.len(), a.cols(), |i, j| a.get(used[i], j));
    let tiles: Vec<usize> = (0..rows).step_by(TILE).collect();
    let parts: Vec<Matrix> = (tiles.par_iter())
        .map(|from| {
            let height = TILE.min(rows - from);
            let mut tile = Matrix::zeros(height, used.len());
            for (i, q) in used.iter().enumerate() {
                tile.column_mut(i)
                    .copy_from_slice(&atoms[*q][*from..from + height]);
            }
            tile.times(&a)
        })
        .collect();
    let mut out = Matrix::zeros(rows, a.cols());
    for (from, part) in tiles.iter().zip(&parts) {
        for (j, column) in part.columns().enumerate() {
            out.column_mut(j)[*from..*from + column.len()].copy_from_slice(column);
        }
    }
    out
}

/// Sums over neighbours for some rows of what every agent sent.
pub trait Combiner: fmt::Debug + Send + Sync {
    /// Column k of `out` becomes sum over l of a_lk (what l sent) in the rows `from..from + out.nrows()`;
    /// `sent(l)` is the whole array of agent l.
    fn combine<'s>(
        &self,
        sent: &(dyn Fn(usize) -> &'s [f64] + Sync),
        from: usize,
        out: MatMut<'_, f64>,
    );
}

/// What was found for a batch, as learning needs it.
#[derive(Debug, Default)]
pub struct BatchCodes {
    /// Rounds done.
    pub rounds: usize,
    /// Bytes that crossed links.
    pub bytes: u64,
    /// How it ended.
    pub stop: Option<Stop>,
    /// The first sample that no code can meet, if it ended so.
    pub infeasible: Option<usize>,
    /// Mean cost of a sample.
    pub cost: f64,
    /// Mean number of coefficients that are not zero.
    pub sparsity: f64,
    /// y_k of each agent, N_k x B; of no use where the batch was interrupted.
    pub codes: Vec<Matrix>,
    /// nu_k y_k' of each agent, with a column for each atom or only for those that fired, from left to right;
    /// likewise. With weights w_j of the samples, the sum of w_j nu_j y_j'; an atom fired if w_j y_qj is not 0
    /// for some j.
    pub products: Vec<Matrix>,
}

/// Memory that one batch leaves to the next.
#[derive(Debug, Default)]
pub struct Memory {
    /// Codes.
    pub y: Matrix,
    /// Dual vectors.
    pub nu: Matrix,
}

/// The speed-ups of a mesh, asked in turn.
///
/// ```
/// use dictmesh::accel::Accels;
/// assert_eq!(Accels::none().to_string(), "none");
/// assert_eq!(Accels::parse("lanes,chunks")?.to_string(), "chunks,lanes");
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Accels {
    all: Vec<Arc<dyn Accel>>,
}

impl Default for Accels {
    fn default() -> Self {
        Accels::all()
    }
}

impl Accels {
    /// All built-in speed-ups, in the order in which they are asked.
    pub fn all() -> Self {
        let all: [Arc<dyn Accel>; 5] = [
            Arc::new(SingleAgent),
            Arc::new(Reduction::default()),
            Arc::new(Chunks),
            Arc::new(NeighbourSums),
            Arc::new(Lanes),
        ];
        Accels { all: all.into() }
    }

    /// No speed-up. Agents of a network solve in lanes: [`Lanes`] alone gives their results.
    pub fn none() -> Self {
        Accels { all: Vec::new() }
    }

    /// `all`, `none`, or built-in names separated by commas.
    pub fn parse(names: &str) -> Result<Self> {
        let all = Accels::all();
        match names.trim() {
            "all" => return Ok(all),
            "none" => return Ok(Accels::none()),
            _ => {}
        }
        let wanted: Vec<&str> = names.split(',').map(str::trim).collect();
        let known: Vec<&str> = all.names().collect();
        if let Some(bad) = wanted.iter().find(|name| !known.contains(*name)) {
            return Err(Error::UnknownName {
                kind: "speed-up",
                given: bad.to_string(),
                known: format!("all, none, {}", known.join(", ")),
            });
        }
        Ok(Accels {
            all: (all.all.into_iter())
                .filter(|accel| wanted.contains(&accel.name()))
                .collect(),
        })
    }

    /// The same with one more, asked before the others.
    pub fn with(mut self, accel: Arc<dyn Accel>) -> Self {
        self.all.insert(0, accel);
        self
    }

    /// The same without the one of this name.
    pub fn without(mut self, name: &str) -> Self {
        self.all.retain(|accel| accel.name() != name);
        self
    }

    /// Their names, in the order in which they are asked.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.all.iter().map(|accel| accel.name())
    }

    /// The first answer to [`Accel::code`].
    pub fn code(
        &self,
        batch: &Batch<'_>,
        range: Range<usize>,
        memory: &mut Memory,
    ) -> Option<BatchCodes> {
        (self.all.iter()).find_map(|accel| accel.code(batch, range.clone(), memory))
    }

    /// The first answer to [`Accel::chunks`], or the whole batch.
    pub fn chunks(&self, batch: &Batch<'_>) -> Vec<Chunk> {
        let chunks = self.all.iter().find_map(|accel| accel.chunks(batch));
        chunks.unwrap_or_else(|| {
            vec![Chunk {
                samples: 0..batch.x.len(),
                reduced: None,
            }]
        })
    }

    /// The first answer to [`Accel::combiner`].
    pub fn combiner(&self, weights: &[Vec<(usize, f64)>]) -> Option<Box<dyn Combiner>> {
        self.all.iter().find_map(|accel| accel.combiner(weights))
    }

    /// The first answer to [`Accel::batching`], or one sample after the other.
    pub fn batching(&self) -> Batching {
        let first = self.all.iter().find_map(|accel| accel.batching());
        first.unwrap_or(Batching::OneByOne)
    }
}

/// Equal if the names are.
impl PartialEq for Accels {
    fn eq(&self, other: &Self) -> bool {
        self.names().eq(other.names())
    }
}

impl fmt::Display for Accels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.all.as_slice() {
            [] => f.write_str("none"),
            _ if *self == Accels::all() => f.write_str("all"),
            _ => f.write_str(&self.names().collect::<Vec<_>>().join(",")),
        }
    }
}
