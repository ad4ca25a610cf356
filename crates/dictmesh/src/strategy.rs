//! Distributed inference: the strategies that compute the dual vector nu of each sample.
//!
//! | strategy | exchanges | needs | converges to |
//! |---|---|---|---|
//! | [`diffusion`] | psi_k with neighbours | quadratic f* | within O(mu) of nu |
//! | [`consensus`] | nu_k with neighbours | quadratic f* | within O(mu) of nu, less stable |
//! | [`jacobi_admm`] | nu_k with neighbours | a graph that is not bipartite | nu |
//! | [`exact_diffusion`] | phi_k with neighbours | symmetric weights | nu |
//! | [`relaxed_admm`] | nu_k with neighbours | | nu, in the fewest rounds of gossip |
//! | [`tree`] | sums of W_k y_k - b_k to a root, steps of nu back | | nu, with a certificate |
//! | [`auto`], the default | | | `tree` or `relaxed_admm`, whichever is predicted to be faster |
//!
//! [`Rounded`] sends the arrays of the first five as differences of few bits.
//!
//! A [`Strategy`] holds the constants and creates one [`AgentStrategy`] per agent, which holds that
//! agent's iterates. Neither performs I/O, starts threads or reads a clock. The mesh in one process
//! and agents on a network run the same objects.
//!
//! A custom strategy implements both traits;
//! [`MeshBuilder::strategy`](crate::mesh::MeshBuilder::strategy) takes it as a value. [`names`]
//! maps names to the built-in strategies, for files and flags.

pub mod auto;
pub mod consensus;
pub mod differences;
pub mod diffusion;
pub(crate) mod divergence;
pub mod exact_diffusion;
pub(crate) mod infeasible;
pub mod integers;
pub mod jacobi_admm;
pub mod local;
mod message;
pub mod penalty_rule;
mod registry;
pub mod relaxed_admm;
pub mod rounded;
mod sparse_codes;
pub mod tree;

pub use auto::Auto;
pub use consensus::Consensus;
pub use differences::Differences;
pub use diffusion::Diffusion;
pub use exact_diffusion::ExactDiffusion;
pub use integers::Integers;
pub use jacobi_admm::JacobiAdmm;
pub use local::{Local, ScratchPool, Workspace};
pub use message::{Combine, Delivered, Exchange, Message};
pub use penalty_rule::PenaltyRule;
pub use registry::{build, default, named, names, ALL, DEFAULT, GOSSIP, NAMES};
pub use relaxed_admm::RelaxedAdmm;
pub use rounded::Rounded;
pub use tree::Tree;

use crate::error::{Error, Result};
use crate::graph::{Shape, Spectrum};
use crate::problem::residual::Residual;
use crate::random::Rng;
use crate::spec::Spec;
use crate::Stop;
use dictmesh_kernels::Matrix;
use std::fmt;
use std::sync::Arc;

/// A strategy with its constants.
pub trait Strategy: fmt::Debug + Send + Sync {
    /// Name and constants. [`resolve`](Strategy::resolve) fills in omitted constants.
    fn spec(&self) -> Spec;

    /// The name.
    fn name(&self) -> String {
        self.spec().kind().to_string()
    }

    /// `Ok` if the strategy supports this residual with these weights. Default: `Ok`.
    fn check(&self, _residual: &dyn Residual, _symmetric_weights: bool) -> Result<()> {
        Ok(())
    }

    /// The strategy that a mesh with these constants runs in place of this one. A mesh calls it
    /// once, when it is built or the strategy is set, and stores the result. Default: `None`, this
    /// strategy itself.
    fn choose(&self, _shared: &SharedConstants) -> Result<Option<Arc<dyn Strategy>>> {
        Ok(None)
    }

    /// The strategy with every omitted constant replaced by a default, computed from shared
    /// constants.
    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>>;

    /// The state of one agent, before any batch. `own` generates the agent's random numbers, which
    /// are not shared with other agents.
    ///
    /// # Errors
    ///
    /// If a constant is missing, see [`resolve`](Strategy::resolve).
    fn agent(&self, own: Rng) -> Result<Box<dyn AgentStrategy>>;

    /// Whether the limit has a bias proportional to the step. Default: no.
    fn is_biased(&self) -> bool {
        false
    }

    /// The step and the largest step known to be stable. `None` (the default) if every step is
    /// stable or the step is not resolved.
    fn step(&self, _shared: &SharedConstants) -> Option<(f64, f64)> {
        None
    }

    /// The largest stable step in units of min_k 1/sigma_k, the bound of diffusion computed from
    /// the agents' own atoms. `None` (the default) if that bound does not apply.
    fn stability(&self, _shared: &SharedConstants) -> Option<f64> {
        None
    }

    /// Whether the iterates from nu = 0 stay in the span of the atoms and the sample, and rotate
    /// with them. Speed-ups that rotate rows require it. Default: no.
    fn is_rotation_equivariant(&self) -> bool {
        false
    }

    /// Whether [`AgentStrategy::certified`] bounds the gap of every result. Speed-ups may then
    /// change the iterates: results with and without them differ by their gaps at most. Default:
    /// no.
    fn is_certified(&self) -> bool {
        false
    }

    /// Whether an agent without neighbours solves its whole problem in the first round. Default:
    /// no.
    fn solves_alone(&self) -> bool {
        false
    }

    /// Whether learning adapts its penalty by a [`PenaltyRule`], with
    /// [`AgentStrategy::scale_penalty`]. Default: no.
    fn adapts(&self) -> bool {
        false
    }

    /// Whether [`AgentStrategy::verdict`] ends a batch, in place of the stopping rule. Default: no.
    fn decides(&self) -> bool {
        false
    }
}

/// Strategies are equal if their names and constants are.
impl PartialEq for dyn Strategy {
    fn eq(&self, other: &Self) -> bool {
        self.spec() == other.spec()
    }
}

/// The iterates of one agent for a batch. All arrays are M x B.
///
/// In one exchange, every agent calls [`adapt`](AgentStrategy::adapt). Its
/// [`outgoing`](AgentStrategy::outgoing) message takes part in the [`Exchange`] that `adapt`
/// returned, and [`absorb`](AgentStrategy::absorb) receives the result.
pub trait AgentStrategy: Send + Sync + fmt::Debug {
    /// Resets all iterates: nu = 0.
    fn start(&mut self, local: &Local);

    /// Begins a batch at the nu_k of the last one: a warm start. The default keeps all iterates.
    fn resume(&mut self, _local: &Local) {}

    /// Multiplies the penalty of the strategy by `scale` from the next round on; an earlier scale
    /// is replaced. Iterates continue to the same limit. The default has no penalty.
    fn scale_penalty(&mut self, _local: &Local, _scale: f64) {}

    /// The local computation. Returns the next exchange, which is the same for all agents of a
    /// mesh.
    fn adapt(&mut self, local: &Local) -> Exchange;

    /// The message for the exchange that [`adapt`](AgentStrategy::adapt) returned. It does not
    /// change until the next call.
    fn outgoing(&self) -> Message<'_>;

    /// Processes the result of the exchange. Returns whether this completes a round, that is,
    /// whether nu_k has its next value.
    fn absorb(&mut self, local: &Local, received: Message<'_>) -> bool;

    /// The agent's estimate nu_k.
    fn dual(&self) -> &Matrix;

    /// y_k, N_k x B, if the agent solved the whole problem alone. Otherwise `None`, the default:
    /// y_k is then recovered from nu_k, which divides its rounding errors by delta.
    fn codes(&self) -> Option<Matrix> {
        None
    }

    /// The largest distance, over the samples, of the agent's array from what its neighbours hold
    /// of it after the last exchange, relative to nu_k. Default: 0. The stopping rule counts it as
    /// a change of nu_k.
    fn lag(&self) -> f64 {
        0.0
    }

    /// The outcome of the argmin in the last [`adapt`](AgentStrategy::adapt), if the strategy
    /// solves one.
    fn argmin_stop(&self) -> Stop {
        Stop::Converged
    }

    /// The outcome of the batch, if the strategy [decides](Strategy::decides) itself: the same for
    /// all agents after the same round. `None` while rounds continue.
    fn verdict(&self) -> Option<Stop> {
        None
    }

    /// The cost and the certified gap of each sample, if the strategy computes them. Valid once
    /// there is a verdict.
    fn certified(&self) -> Option<&[Certified]> {
        None
    }

    /// The reason why the last message was not understood, if so. The carrier of a network ends the
    /// attempt with this error; in one process it does not occur.
    fn fault(&self) -> Option<&str> {
        None
    }
}

/// The result for one sample, as a root with the sums over all agents computes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certified {
    /// The dual cost of the sample, a lower bound of its cost up to rounding.
    pub cost: f64,
    /// An upper bound of the duality gap.
    pub gap: f64,
    /// The distance of x - W y from the domain of f (0 for the finite residuals), as an upper
    /// bound.
    pub violation: f64,
    /// Why the rounds of this sample ended.
    pub stop: Stop,
}

impl Certified {
    /// The gap relative to the cost, as [`exact`](crate::exact) has it.
    pub fn relative_gap(&self) -> f64 {
        self.gap / self.cost.abs().max(f64::MIN_POSITIVE)
    }

    /// The largest relative gap of these samples; `None` if there are none. NaN if one is.
    pub fn largest_gap(certified: &[Certified]) -> Option<f64> {
        certified.iter().map(Certified::relative_gap).reduce(larger)
    }
}

/// The larger of two numbers; NaN propagates.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a >= b {
        a
    } else {
        b
    }
}

/// Sizes and constants shared by all agents, without atoms. Default steps depend on these alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedConstants {
    /// N, the number of agents.
    pub agents: usize,
    /// M, the dimension of a sample.
    pub rows: usize,
    /// K, the number of atoms over all agents.
    pub atoms: usize,
    /// N_max, the largest number of atoms at one agent.
    pub atoms_max: usize,
    /// The smallest delta over all agents' regularizers.
    pub delta: f64,
    /// The strong convexity constant of f*: 1 for the squared residual, eta for Huber, otherwise 0.
    pub curvature: f64,
    /// Whether all atoms are non-negative, and therefore likely to be correlated.
    pub non_negative: bool,
    /// Whether the gap of the residual can be bounded, as [`Tree`] requires.
    pub bounds_gap: bool,
    /// B, the number of samples per update.
    pub batch: usize,
    /// The mean degree of the graph.
    pub mean_degree: f64,
    /// The depth of the spanning tree and the largest degrees.
    pub shape: Shape,
    /// The smallest eigenvalue of the combination matrix A, or a lower bound of it.
    pub weights_smallest: f64,
    /// Extreme eigenvalues of the graph's Laplacians.
    pub spectrum: Spectrum,
}

/// `Ok` if the constant is omitted, or positive, finite and not subnormal.
fn check_constant(name: &'static str, value: Option<f64>) -> Result<()> {
    match value {
        Some(v) if v.is_subnormal() => Err(Error::parameter(
            name,
            format!("{v:e}"),
            "is too small to change anything; leave it out for a default",
        )),
        Some(v) => Error::check_positive(name, v),
        None => Ok(()),
    }
}

/// The step mu of a description that has no other constant. [`Rounded`] has taken `bits` out.
fn step_of(spec: &Spec) -> Result<Option<f64>> {
    spec.allow(&["mu", "bits"])?;
    let mu = spec.number("mu")?;
    check_constant("mu", mu)?;
    Ok(mu)
}

/// The constant as given, or its default. The given one is checked first, so that the error does
/// not name a default that follows from it.
fn fill(
    name: &'static str,
    given: Option<f64>,
    default: impl FnOnce() -> f64,
) -> Result<Option<f64>> {
    check_constant(name, given)?;
    let value = Some(given.unwrap_or_else(default));
    check_constant(name, value)?;
    Ok(value)
}

/// The value of a resolved constant; an error if it is missing.
fn resolved(name: &'static str, value: Option<f64>) -> Result<f64> {
    value.ok_or_else(|| Error::parameter(name, "none", "resolve the strategy first"))
}

/// `Ok` if f* is quadratic on its domain, as gradient strategies require.
fn check_quadratic(strategy: &str, residual: &dyn Residual) -> Result<()> {
    if residual.conjugate_quadratic().is_some() {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: format!("the strategy \"{strategy}\""),
        with: format!("the residual \"{}\"", residual.name()),
        why: "it follows the gradient of f*, which this residual's conjugate does not have at 0; \
              use relaxed-admm, exact-diffusion or jacobi-admm"
            .to_string(),
    })
}

/// Initial iterates: M x B zeros.
fn zeros(local: &Local) -> Matrix {
    Matrix::zeros(local.rows(), local.samples)
}
