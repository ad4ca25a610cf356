//! `auto`, the default: [`Tree`] or [`RelaxedAdmm`], whichever is predicted to code a batch sooner.
//!
//! ```text
//! seconds = rounds (hops latency + bytes / bandwidth)        bytes: at the busiest agent
//!
//! tree          hops = 2 depth     bytes = links of the tree x M B (b + ceil(log2 N) + 7) / 8
//! relaxed-admm  hops = 1           bytes = 2 links of the graph x 8 M B
//! ```
//!
//! The prediction depends on sizes, the graph and the two constants alone, never on measured time.
//! Every carrier therefore takes the same strategy. A mesh makes the choice once, when it is built;
//! models and mesh files store the chosen strategy.
//!
//! With `one_process`, messages take no time and the arithmetic decides (`auto/work.rs`). It is the
//! default of applications, which run in one process. A mesh in one process takes it only if asked
//! to: its model may run on a network later.
//!
//! A single agent takes [`RelaxedAdmm`], which solves alone. So do a residual whose gap [`Tree`]
//! cannot bound, and a delta below [`tree::LEAST_DELTA`].

mod work;

use super::{tree, AgentStrategy, RelaxedAdmm, SharedConstants, Strategy, Tree};
use crate::error::{Error, Result};
use crate::problem::residual::Residual;
use crate::random::Rng;
use crate::spec::Spec;
use std::sync::Arc;

/// The default latency of a hop, in seconds: a message between two processes at one site or in one
/// city. A machine or rack has a fifth of it, a continent fifty times as much.
pub const DEFAULT_LATENCY: f64 = 5e-4;
/// The default bandwidth of an agent, in bytes per second, both directions together: 100 Mbit/s,
/// the uplink of an office, or a tenth of a shared local network.
pub const DEFAULT_BANDWIDTH: f64 = 12.5e6;

/// Rounds of [`Tree`] are about 14.5 (c delta)^(-1/3), with c the curvature of f*. `bench/run
/// mesh-cost` has 49 to 60 rounds for delta = .02 (here 53).
const TREE_ROUNDS: f64 = 14.5;
/// Residuals without curvature take this many times more rounds of [`Tree`]: l1, ball and equality
/// against squared l2 in `docs/reference/strategies.md`.
const TREE_WITHOUT_CURVATURE: f64 = 4.0;
/// Rounds of [`RelaxedAdmm`] are about 4 sqrt(kappa) (d / lambda_2)^.3, with kappa = N (1 +
/// sqrt(N_max/M))^2 / (c delta), the condition of one agent's problem, d the mean degree and
/// lambda_2 the algebraic connectivity. Within 2 times of `bench/run mesh-cost`, of the rounds in
/// `docs/reference/strategies.md` and of `tests/strategies/auto.rs` on rings, complete and random
/// graphs of 4 to 64 agents; 2 times too few for 2,000.
const GOSSIP_ROUNDS: f64 = 4.0;
/// The exponent of d / lambda_2.
const GOSSIP_GRAPH: f64 = 0.3;
/// Bytes of a number in a message of gossip.
const NUMBER: f64 = 8.0;

/// The strategy that chooses another one.
///
/// ```
/// use dictmesh::{strategy, AtomInit, Mesh, Spec, Topology};
/// use dictmesh::problem::Task;
///
/// let kind = |latency: f64| {
///     let auto = Spec::new("auto").with("latency", latency);
///     let mesh = Mesh::builder(Task::sparse_svd(0.1, 0.1)?, Topology::ring(60)?)
///         .strategy(strategy::build(&auto)?)
///         .batch(32)
///         .build(64, &[2; 60], AtomInit::Random)?;
///     Ok::<_, dictmesh::Error>(mesh.strategy().name())
/// };
/// assert_eq!(kind(1e-4)?, "tree");
/// assert_eq!(kind(0.1)?, "relaxed-admm"); // a sum would wait for 30 hops
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Auto {
    /// Seconds of a hop, 0 or above; `None` is [`DEFAULT_LATENCY`].
    pub latency: Option<f64>,
    /// Bytes per second that an agent sends and receives; `None` is [`DEFAULT_BANDWIDTH`].
    pub bandwidth: Option<f64>,
    /// Whether all agents run in one process, so that arithmetic alone takes time.
    pub one_process: bool,
}

impl Auto {
    /// For a mesh whose agents run in one process, for good: the arithmetic decides.
    ///
    /// ```
    /// use dictmesh::{strategy::Auto, AtomInit, Mesh, Topology};
    /// use dictmesh::problem::Task;
    /// use std::sync::Arc;
    ///
    /// let kind = |agents: usize, atoms: usize, rows: usize| {
    ///     let mesh = Mesh::builder(Task::sparse_svd(0.1, 0.1)?, Topology::ring(agents)?)
    ///         .strategy(Arc::new(Auto::in_one_process()))
    ///         .batch(32)
    ///         .build(rows, &vec![atoms; agents], AtomInit::Random)?;
    ///     Ok::<_, dictmesh::Error>(mesh.strategy().name())
    /// };
    /// assert_eq!(kind(4, 1, 1000)?, "relaxed-admm"); // four atoms: nearly nothing to compute
    /// assert_eq!(kind(16, 64, 256)?, "tree"); // a tenth of the rounds
    /// # Ok::<(), dictmesh::Error>(())
    /// ```
    pub fn in_one_process() -> Self {
        Auto {
            one_process: true,
            ..Auto::default()
        }
    }

    pub(super) fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&["latency", "bandwidth", "one_process"])?;
        let auto = Auto {
            latency: spec.number("latency")?,
            bandwidth: spec.number("bandwidth")?,
            one_process: spec.get("one_process")?.unwrap_or(false),
        };
        auto.checked()?;
        Ok(auto)
    }

    /// Latency and bandwidth.
    fn checked(&self) -> Result<(f64, f64)> {
        let given = [("latency", self.latency), ("bandwidth", self.bandwidth)];
        if let Some((name, Some(given))) = given
            .into_iter()
            .find(|(_, given)| given.is_some() && self.one_process)
        {
            let allowed = "has no effect in one process: leave it out, or one_process";
            return Err(Error::parameter(name, given, allowed));
        }
        let latency = self.latency.unwrap_or(DEFAULT_LATENCY);
        let bandwidth = self.bandwidth.unwrap_or(DEFAULT_BANDWIDTH);
        if !(latency >= 0.0 && latency.is_finite()) {
            let allowed = "must be 0 or above, in seconds per hop, such as 0.001";
            return Err(Error::parameter("latency", latency, allowed));
        }
        if !(bandwidth > 0.0 && bandwidth.is_finite()) {
            let allowed = "must be above 0, in bytes per second, such as 12.5e6 for 100 Mbit/s";
            return Err(Error::parameter("bandwidth", bandwidth, allowed));
        }
        Ok((latency, bandwidth))
    }
}

impl Strategy for Auto {
    fn spec(&self) -> Spec {
        Spec::new("auto")
            .with_some_number("latency", self.latency)
            .with_some_number("bandwidth", self.bandwidth)
            .with_some("one_process", self.one_process.then_some(true))
    }

    /// `relaxed-admm` supports every residual.
    fn check(&self, residual: &dyn Residual, symmetric_weights: bool) -> Result<()> {
        RelaxedAdmm::default().check(residual, symmetric_weights)
    }

    fn choose(&self, shared: &SharedConstants) -> Result<Option<Arc<dyn Strategy>>> {
        let (latency, bandwidth) = self.checked()?;
        let seconds = |cost: Cost| cost.rounds * (cost.hops * latency + cost.bytes / bandwidth);
        let is_faster = || match self.one_process {
            true => work::tree_is_less(shared),
            false => seconds(Cost::of_tree(shared)) < seconds(Cost::of_gossip(shared)),
        };
        let converges = shared.bounds_gap && shared.delta >= tree::LEAST_DELTA;
        let sums = shared.agents > 1 && converges && is_faster();
        Ok(Some(match sums {
            true => Arc::new(Tree::default()),
            false => Arc::new(RelaxedAdmm::default()),
        }))
    }

    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>> {
        match self.choose(shared)? {
            Some(chosen) => chosen.resolve(shared),
            None => RelaxedAdmm::default().resolve(shared),
        }
    }

    fn agent(&self, _own: Rng) -> Result<Box<dyn AgentStrategy>> {
        let why = "resolve the strategy first: auto stands for another one";
        Err(Error::parameter("strategy", "auto", why))
    }
}

/// The predicted cost of a batch.
#[derive(Clone, Copy, Debug)]
struct Cost {
    rounds: f64,
    /// Sequential messages of a round.
    hops: f64,
    /// Bytes that the busiest agent sends and receives in a round.
    bytes: f64,
}

impl Cost {
    fn of_tree(shared: &SharedConstants) -> Cost {
        let bits = tree::DEFAULT_BITS + tree::DIRECTION_BITS;
        let carry = (shared.agents as f64).log2().ceil();
        Cost {
            rounds: tree_rounds(shared),
            hops: (tree::PASSES * shared.shape.tree_depth) as f64,
            bytes: shared.shape.tree_degree as f64 * entries(shared) * (f64::from(bits) + carry)
                / 8.0,
        }
    }

    fn of_gossip(shared: &SharedConstants) -> Cost {
        Cost {
            rounds: gossip_rounds(shared),
            hops: 1.0,
            bytes: 2.0 * shared.shape.max_degree as f64 * entries(shared) * NUMBER,
        }
    }
}

/// The rounds of [`Tree`] for a batch.
fn tree_rounds(shared: &SharedConstants) -> f64 {
    let curvature = match shared.curvature > 0.0 {
        true => 1.0,
        false => TREE_WITHOUT_CURVATURE,
    };
    curvature * TREE_ROUNDS * ridge(shared).min(1.0).powf(-1.0 / 3.0)
}

/// The rounds of [`RelaxedAdmm`] for a batch.
fn gossip_rounds(shared: &SharedConstants) -> f64 {
    let w = 1.0 + (shared.atoms_max as f64 / shared.rows as f64).sqrt();
    let kappa = 1.0 + shared.agents as f64 * w * w / ridge(shared);
    let graph = shared.mean_degree / shared.spectrum.laplacian_second;
    GOSSIP_ROUNDS * kappa.sqrt() * graph.powf(GOSSIP_GRAPH)
}

/// c delta, with c = 1 if f* has no curvature.
fn ridge(shared: &SharedConstants) -> f64 {
    super::relaxed_admm::curvature_or_one(shared) * shared.delta
}

/// The numbers of an M x B array.
fn entries(shared: &SharedConstants) -> f64 {
    shared.rows as f64 * shared.batch as f64
}
