//! Distributed inference: the strategies by which agents find the dual vector nu of each sample.
//!
//! | strategy | exchanges | needs | converges to |
//! |---|---|---|---|
//! | [`diffusion`] | psi_k with neighbours | quadratic f* | within O(mu) of nu |
//! | [`consensus`] | nu_k with neighbours | quadratic f* | within O(mu) of nu, less stable |
//! | [`jacobi_admm`] | nu_k with neighbours | a graph that is not bipartite | nu |
//! | [`exact_diffusion`] | phi_k with neighbours | symmetric weights | nu |
//! | [`relaxed_admm`] | nu_k with neighbours | | nu, in the fewest rounds; the default |
//! | [`gradient_sums`] | W_k y_k - b_k to a root, nu back | | nu |
//!
//! A [`Strategy`] describes a strategy and makes one [`AgentStrategy`] per agent, which holds that agent's
//! iterates. Neither does input or output, starts threads or reads a clock. The mesh in one process and
//! agents on a network run the same objects.
//!
//! A strategy of your own implements both traits and is handed to
//! [`MeshBuilder::strategy`](crate::mesh::MeshBuilder::strategy). [`names`] maps names to strategies, for
//! files and flags.

pub mod consensus;
pub mod diffusion;
pub mod exact_diffusion;
pub mod gradient_sums;
pub mod infeasible;
pub mod jacobi_admm;
pub mod local;
pub mod relaxed_admm;

pub use consensus::Consensus;
pub use diffusion::Diffusion;
pub use exact_diffusion::ExactDiffusion;
pub use gradient_sums::GradientSums;
pub use jacobi_admm::JacobiAdmm;
pub use local::{Local, ScratchPool, Workspace};
pub use relaxed_admm::RelaxedAdmm;

use crate::error::{Error, Result};
use crate::graph::Spectrum;
use crate::problem::residual::Residual;
use crate::random::Rng;
use crate::spec::{Names, Spec};
use crate::Stop;
use dictmesh_kernels::Matrix;
use std::fmt;
use std::sync::Arc;

/// A strategy with its constants, as a user chooses it.
pub trait Strategy: fmt::Debug + Send + Sync {
    /// Its name and constants, for files; constants left out get defaults by
    /// [`resolve`](Strategy::resolve).
    fn spec(&self) -> Spec;

    /// Its name alone.
    fn name(&self) -> String {
        self.spec().kind().to_string()
    }

    /// Whether the strategy can solve for this residual with these weights. Default: yes.
    fn check(&self, _residual: &dyn Residual, _symmetric_weights: bool) -> Result<()> {
        Ok(())
    }

    /// The same with every constant filled in, from constants that all agents share.
    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>>;

    /// One agent's part, before any batch. `own` makes the random numbers of the agent, which no other
    /// agent may know. Errors: a constant is missing, see [`resolve`](Strategy::resolve).
    fn agent(&self, own: Rng) -> Result<Box<dyn AgentStrategy>>;

    /// Whether its limit is off the solution by a bias in proportion to its step. Default: no.
    fn is_biased(&self) -> bool {
        false
    }

    /// The step and the largest that is known to be stable on such a mesh; `None` (the default) where every
    /// step is stable or the step has no value yet.
    fn step(&self, _shared: &SharedConstants) -> Option<(f64, f64)> {
        None
    }

    /// The largest stable step in multiples of min_k 1/sigma_k, diffusion's bound from the agents' own
    /// atoms; `None` (the default) where that bound does not apply.
    fn stability(&self, _shared: &SharedConstants) -> Option<f64> {
        None
    }

    /// Whether its iterates, started at 0, stay in the span of the atoms and the sample and turn with both.
    /// Speed-ups that rotate rows need it. Default: not known, so no.
    fn is_rotation_equivariant(&self) -> bool {
        false
    }

    /// Whether one agent without neighbours solves its whole problem in the first round. Default: no.
    fn solves_alone(&self) -> bool {
        false
    }
}

/// Two strategies are equal if their names and constants are.
impl PartialEq for dyn Strategy {
    fn eq(&self, other: &Self) -> bool {
        self.spec() == other.spec()
    }
}

/// One agent's part of a strategy: its iterates for a batch. All arrays are M x B.
///
/// One exchange is: every agent [`adapt`](AgentStrategy::adapt)s, its
/// [`outgoing`](AgentStrategy::outgoing) array takes the way that `adapt` returned, and every agent
/// [`absorb`](AgentStrategy::absorb)s the result.
pub trait AgentStrategy: Send + Sync + fmt::Debug {
    /// Discards all iterates: nu = 0.
    fn start(&mut self, local: &Local);

    /// The agent's own computation, and what is to be exchanged next. All agents of a mesh return the same.
    fn adapt(&mut self, local: &Local) -> Exchange;

    /// The array to exchange after [`adapt`](AgentStrategy::adapt). It is unchanged until the next one.
    fn outgoing(&self) -> &Matrix;

    /// Takes in the result of the exchange, M x B by columns. Returns whether this completes a round, that
    /// is, whether nu_k has its next value.
    fn absorb(&mut self, local: &Local, heard: &[f64]) -> bool;

    /// The agent's own estimate nu_k.
    fn dual(&self) -> &Matrix;

    /// How the argmin of the last [`adapt`](AgentStrategy::adapt) ended, where the strategy solves one.
    fn argmin_stop(&self) -> Stop {
        Stop::Converged
    }
}

/// What the agents exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// Each agent gets a combination of what its neighbours sent: the paper's exchange.
    Combine(Combine),
    /// The root of a spanning tree gets the sum over all agents; the others get zeros.
    SumToRoot,
    /// Every agent gets the array of the root.
    Broadcast,
}

/// How an agent combines what its neighbours sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// sum over l in N_k of a_lk (what l sent), k itself included.
    Weights,
    /// The same with (I + A)/2 in place of A.
    LazyWeights,
    /// The plain sum over the neighbours, k itself not included.
    NeighbourSum,
}

/// Sizes and constants that all agents share, no atoms. Default steps follow from these alone.
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
    /// The smallest delta of any agent's regularizer.
    pub delta: f64,
    /// The curvature of f*: 1 for the squared residual, eta for Huber, otherwise 0.
    pub curvature: f64,
    /// Whether all atoms are non-negative, and so are likely to be correlated.
    pub non_negative: bool,
    /// The mean degree of the graph.
    pub mean_degree: f64,
    /// The smallest eigenvalue of the combination matrix A, or a bound of it.
    pub weights_smallest: f64,
    /// The graph's extreme eigenvalues.
    pub spectrum: Spectrum,
}

/// Makes a strategy from its description.
type Maker = fn(&Spec) -> Result<Arc<dyn Strategy>>;

/// The built-in strategies: a new one adds its line here.
const BUILT_IN: [(&str, Maker); 6] = [
    ("diffusion", |spec| {
        Ok(Arc::new(Diffusion::from_spec(spec)?))
    }),
    ("consensus", |spec| {
        Ok(Arc::new(Consensus::from_spec(spec)?))
    }),
    ("jacobi-admm", |spec| {
        Ok(Arc::new(JacobiAdmm::from_spec(spec)?))
    }),
    ("exact-diffusion", |spec| {
        Ok(Arc::new(ExactDiffusion::from_spec(spec)?))
    }),
    ("relaxed-admm", |spec| {
        Ok(Arc::new(RelaxedAdmm::from_spec(spec)?))
    }),
    ("gradient-sums", |spec| {
        Ok(Arc::new(GradientSums::from_spec(spec)?))
    }),
];

/// The names of the built-in strategies.
pub const NAMES: [&str; BUILT_IN.len()] = {
    let mut names = [""; BUILT_IN.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = BUILT_IN[i].0;
        i += 1;
    }
    names
};

/// Those of them that exchange arrays with neighbours alone: the paper's and its successors.
pub const GOSSIP: [&str; 5] = [
    "diffusion",
    "consensus",
    "jacobi-admm",
    "exact-diffusion",
    "relaxed-admm",
];

/// The built-in strategies by name; [`Names::with`] adds one of your own.
pub fn names() -> Names<dyn Strategy> {
    let none = Names::<dyn Strategy>::new("strategy");
    (BUILT_IN.iter()).fold(none, |names, (name, maker)| names.with(name, *maker))
}

/// The built-in strategy of a description.
pub fn build(spec: &Spec) -> Result<Arc<dyn Strategy>> {
    names().build(spec)
}

/// The built-in strategy of this name, with default constants.
pub fn named(name: &str) -> Result<Arc<dyn Strategy>> {
    build(&Spec::new(name))
}

/// The default strategy, [`RelaxedAdmm`] with default constants.
pub fn default() -> Arc<dyn Strategy> {
    Arc::new(RelaxedAdmm::default())
}

/// `Ok` if the constant, where given, is positive and large enough to change a double.
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

/// The step mu of a description that has no other constant.
fn step_of(spec: &Spec) -> Result<Option<f64>> {
    spec.allow(&["mu"])?;
    let mu = spec.number("mu")?;
    check_constant("mu", mu)?;
    Ok(mu)
}

/// The constant as given, or its default. Both are checked, the given one first: a default that follows
/// from a bad constant must not get the blame.
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

/// A constant that must have a value by now.
fn resolved(name: &'static str, value: Option<f64>) -> Result<f64> {
    value.ok_or_else(|| Error::parameter(name, "none", "resolve the strategy first"))
}

/// `Ok` if f* is quadratic where it is finite, as strategies that follow its gradient need.
fn check_quadratic(strategy: &str, residual: &dyn Residual) -> Result<()> {
    if residual.conjugate_quadratic().is_some() {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: format!("the strategy \"{strategy}\""),
        with: format!("the residual \"{}\"", residual.name()),
        why: "it follows the gradient of f*, which this residual's conjugate does not have at 0; use \
              relaxed-admm, exact-diffusion or jacobi-admm"
            .to_string(),
    })
}

/// The iterates of every strategy have this shape at the start.
fn zeros(local: &Local) -> Matrix {
    Matrix::zeros(local.rows(), local.samples)
}
