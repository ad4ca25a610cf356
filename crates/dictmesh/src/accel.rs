//! Speed-ups. Each can be switched off. Results are bit-identical to those without it, but for
//! `reduction`: its results are within 1e-9, or within the certified gaps for a strategy that
//! rounds its messages to integers.
//!
//! | name | what it does |
//! |---|---|
//! | `reduction` | codes in fewer rows: rotated, or on W'W for one agent ([`Reduction`]) |
//! | `single-agent` | codes a batch of an agent without neighbours in one solve ([`SingleAgent`]) |
//! | `chunks` | cuts a batch so that the arrays of a chunk stay in the cache ([`Chunks`]) |
//! | `neighbour-sums` | faster sums over many neighbours on dense graphs ([`NeighbourSums`]) |
//! | `lanes` | solves one sample in each SIMD lane ([`Lanes`]) |
//!
//! A speed-up is an [`Accel`]: each method returns a result for a [`Batch`] or declines, and
//! [`Accels`] tries them in order. [`MeshBuilder::accel`](crate::mesh::MeshBuilder::accel) adds a
//! custom one.

mod alone;
mod chunks;
mod lanes;
mod lift;
mod neighbour_sums;
mod reduction;
mod single_agent;

pub use chunks::Chunks;
pub use lanes::Lanes;
pub use lift::{lift_all, Lift, Term};
pub use neighbour_sums::NeighbourSums;
pub use reduction::Reduction;
pub use single_agent::SingleAgent;

use crate::error::{Error, Result};
use crate::exact::Part;
use crate::problem::block::Block;
use crate::problem::residual::Residual;
use crate::problem::samples::Samples;
use crate::strategy::{ScratchPool, Strategy};
use crate::Stop;
use dictmesh_kernels::products::Firing;
pub use dictmesh_kernels::quadratic::Batching;
use dictmesh_kernels::Matrix;
use faer::MatMut;
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
    pub agents: Vec<Part<'m>>,
    /// The samples.
    pub x: &'m Samples,
    /// The strategy by which agents compute nu.
    pub strategy: &'m dyn Strategy,
    /// The tolerance of the stopping rule, if it has one.
    pub tolerance: Option<f64>,
    /// The limit of rounds.
    pub rounds: usize,
    /// Scratch memory of the argmins.
    pub scratch: &'m ScratchPool,
    /// Ends the batch early once it is set.
    pub interrupt: Option<&'m AtomicBool>,
    /// How argmins solve the samples of a batch.
    pub batching: Batching,
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

/// A speed-up. Every method may decline, and the defaults do.
pub trait Accel: fmt::Debug + Send + Sync {
    /// Its name, for flags and files.
    fn name(&self) -> &'static str;

    /// Codes the samples `range` of a batch without rounds.
    fn code(
        &self,
        _batch: &Batch<'_>,
        _range: Range<usize>,
        _memory: &mut Memory,
    ) -> Option<BatchCodes> {
        None
    }

    /// Splits the batch into chunks, each with all rows or with fewer. Their ranges must cover the
    /// batch in order, without gaps.
    fn chunks(&self, _batch: &Batch<'_>) -> Option<Vec<Chunk>> {
        None
    }

    /// Sums over neighbours for these weights: for each agent k its senders l, ascending, with
    /// a_lk.
    fn combiner(&self, _weights: &[Vec<(usize, f64)>]) -> Option<Box<dyn Combiner>> {
        None
    }

    /// How argmins solve the samples of a batch.
    fn batching(&self) -> Option<Batching> {
        None
    }

    /// Whether agents of a network may combine over a complete graph by the sum over all agents, if
    /// their links provide it. All agents must agree. Default: no.
    fn sums_on_links(&self) -> bool {
        false
    }
}

/// A range of samples of a batch.
#[derive(Debug)]
pub struct Chunk {
    /// Which samples.
    pub samples: Range<usize>,
    /// The same samples in fewer rows, if there is such a form.
    pub reduced: Option<Box<dyn Reduced>>,
}

/// A chunk in fewer rows: a smaller problem with the same codes, costs and rounds, and the map of
/// its duals back to all rows. Strategies that are certified but not equivariant may take other
/// rounds to codes within their gaps.
pub trait Reduced: fmt::Debug + Send + Sync {
    /// The samples in the reduced rows.
    fn x(&self) -> &Matrix;

    /// W_k in the reduced rows.
    fn block(&self, k: usize) -> &Block;

    /// The residual for the reduced rows, if it differs from the task's own.
    fn residual(&self) -> Option<&dyn Residual> {
        None
    }

    /// Whether the duals of a round are those of the plain problem; called after every round.
    /// `first` is the index of the chunk's first sample in the batch, `dual(k)` the dual of agent
    /// k.
    fn still_holds<'d>(
        &self,
        _batch: &Batch<'_>,
        _first: usize,
        _dual: &dyn Fn(usize) -> &'d Matrix,
    ) -> bool {
        true
    }

    /// The same chunk in more rows, after [`still_holds`](Reduced::still_holds) failed; `None` for
    /// all rows.
    fn enlarged(&self, _batch: &Batch<'_>, _first: usize) -> Option<Box<dyn Reduced>> {
        None
    }

    /// Maps nu of sample `at` of the chunk from the reduced rows to all rows.
    fn lift(&self, at: usize, nu: &[f64]) -> Lift;
}

/// Weighted sums over neighbours.
pub trait Combiner: fmt::Debug + Send + Sync {
    /// Sets column k of `out` to the sum over l of a_lk sent(l), in the rows `from..from +
    /// out.nrows()`; `sent(l)` is the whole array of agent l.
    fn combine<'s>(
        &self,
        sent: &(dyn Fn(usize) -> &'s [f64] + Sync),
        from: usize,
        out: MatMut<'_, f64>,
    );
}

/// The result of coding a batch, as learning needs it.
#[derive(Debug, Default)]
pub struct BatchCodes {
    /// Rounds done.
    pub rounds: usize,
    /// Bytes sent over links.
    pub bytes: u64,
    /// Why it stopped.
    pub stop: Option<Stop>,
    /// The first sample that no code can represent, if it stopped as infeasible.
    pub infeasible: Option<usize>,
    /// Mean cost of a sample.
    pub cost: f64,
    /// Mean number of coefficients that are not zero.
    pub sparsity: f64,
    /// How the atoms of each agent fired; empty where the batch was interrupted.
    pub firing: Vec<Firing>,
    /// nu_k y_k' of each agent, with a column for each atom or only for those that fired, in order;
    /// unspecified if the batch was interrupted. With sample weights w_j, it is the sum of w_j nu_j
    /// y_j', and an atom fired if w_j y_qj is not 0 for some j.
    pub products: Vec<Matrix>,
}

/// Scratch memory reused by the next batch.
#[derive(Debug, Default)]
pub struct Memory {
    /// Codes.
    pub y: Matrix,
    /// Dual vectors.
    pub nu: Matrix,
}

/// The speed-ups of a mesh, tried in order.
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
    /// All built-in speed-ups, in the order in which they are tried.
    pub fn all() -> Self {
        let all: [Arc<dyn Accel>; 5] = [
            Arc::new(Reduction::default()),
            Arc::new(SingleAgent),
            Arc::new(Chunks),
            Arc::new(NeighbourSums),
            Arc::new(Lanes),
        ];
        Accels { all: all.into() }
    }

    /// No speed-up.
    pub fn none() -> Self {
        Accels { all: Vec::new() }
    }

    /// `all`, `none`, or built-in names separated by commas.
    pub fn parse(names: &str) -> Result<Self> {
        Accels::all().select(names)
    }

    /// Those of this list: `all` (the built-in ones), `none`, or names separated by commas.
    pub(crate) fn select(&self, names: &str) -> Result<Self> {
        match names.trim() {
            "all" => return Ok(Accels::all()),
            "none" => return Ok(Accels::none()),
            _ => {}
        }
        let wanted: Vec<&str> = names.split(',').map(str::trim).collect();
        let known: Vec<&str> = self.names().collect();
        if let Some(bad) = wanted.iter().find(|name| !known.contains(*name)) {
            return Err(Error::UnknownName {
                kind: "speed-up",
                given: bad.to_string(),
                known: format!("all, none, {}", known.join(", ")),
            });
        }
        let is_wanted = |accel: &&Arc<dyn Accel>| wanted.contains(&accel.name());
        Ok(Accels {
            all: self.all.iter().filter(is_wanted).cloned().collect(),
        })
    }

    /// Adds a speed-up, which is tried before the others.
    pub fn with(mut self, accel: Arc<dyn Accel>) -> Self {
        self.all.insert(0, accel);
        self
    }

    /// Removes the speed-up of this name.
    pub fn without(mut self, name: &str) -> Self {
        self.all.retain(|accel| accel.name() != name);
        self
    }

    /// Their names, in the order in which they are tried.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.all.iter().map(|accel| accel.name())
    }

    /// The first result of [`Accel::code`].
    pub fn code(
        &self,
        batch: &Batch<'_>,
        range: Range<usize>,
        memory: &mut Memory,
    ) -> Option<BatchCodes> {
        (self.all.iter()).find_map(|accel| accel.code(batch, range.clone(), memory))
    }

    /// The first result of [`Accel::chunks`], or the whole batch.
    pub fn chunks(&self, batch: &Batch<'_>) -> Vec<Chunk> {
        let chunks = self.all.iter().find_map(|accel| accel.chunks(batch));
        debug_assert!(
            chunks.iter().all(|chunks| covers(chunks, batch.x.len())),
            "chunks of a speed-up must cover the batch in order"
        );
        chunks.unwrap_or_else(|| {
            vec![Chunk {
                samples: 0..batch.x.len(),
                reduced: None,
            }]
        })
    }

    /// The first result of [`Accel::combiner`].
    pub fn combiner(&self, weights: &[Vec<(usize, f64)>]) -> Option<Box<dyn Combiner>> {
        self.all.iter().find_map(|accel| accel.combiner(weights))
    }

    /// The first result of [`Accel::batching`], or one sample after the other.
    pub fn batching(&self) -> Batching {
        let first = self.all.iter().find_map(|accel| accel.batching());
        first.unwrap_or(Batching::OneByOne)
    }

    /// Whether one of them allows [`Accel::sums_on_links`].
    pub fn sums_on_links(&self) -> bool {
        self.all.iter().any(|accel| accel.sums_on_links())
    }
}

/// Whether the ranges are 0..a, a..b, ..., to `samples`.
fn covers(chunks: &[Chunk], samples: usize) -> bool {
    let mut at = 0;
    let in_order = chunks.iter().all(|chunk| {
        let follows = chunk.samples.start == at;
        at = chunk.samples.end;
        follows
    });
    in_order && at == samples
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
