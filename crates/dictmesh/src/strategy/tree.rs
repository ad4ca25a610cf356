//! `tree`: L-BFGS on the dual at the root of a spanning tree, by exact sums of small integers.
//!
//! ```text
//! g(nu) = f*'(nu) - x + sum over all agents k of W_k y_k(nu)         one sum to the root
//! p     = -H g                                                       at the root, to every agent
//! nu    = nu + p, where the next g is evaluated                      at every agent
//! ```
//!
//! H is the quasi-Newton approximation of the inverse Hessian by the last steps of the sample. A
//! round is one broadcast and one sum. With g(nu + p), agents send their slopes along p: if the
//! step is far too long, the root interpolates a better one, which takes another round. A sum takes
//! one message on each edge of the tree, whatever the graph, and the number of sums does not grow
//! with N. Every agent holds the same nu, bit-identical.
//!
//! The first informed agent alone subtracts x: the equal shares b_k of all informed ones would be
//! rounded one by one.
//!
//! Agents send the difference of their part to what the root has of it, in units that the root
//! chooses, as integers of few bits. Integers add up exactly in any order, so that
//! results do not depend on the tree, on threads or on the carrier.
//!
//! Guarantee: [`certified`](super::AgentStrategy::certified) bounds the duality gap of each sample.
//! A tolerance t is met by a certified relative gap of at most t^2.

mod broadcast;
mod certificate;
mod common;
mod gradient;
mod near;
mod order;
mod pairs;
mod part;
mod proximal;
mod reply;
mod root;
mod sample;
mod screen;
mod search;
mod send;

use super::{
    AgentStrategy, Certified, Exchange, Integers, Local, Message, SharedConstants, Strategy,
};
use crate::error::{Error, Result};
use crate::problem::residual::Residual;
use crate::random::Rng;
use crate::spec::Spec;
use crate::Stop;
pub use broadcast::Broadcast;
use common::{Common, Next};
use dictmesh_kernels::matrix::Matrix;
use order::{encode, Task};
use part::Part;
use reply::Reply;
use root::{capacity, Root};
use std::sync::Arc;

/// Bits of the entries of a part: fewer take more sums, more take more bytes.
pub const DEFAULT_BITS: u32 = 8;
/// The allowed numbers of bits.
pub const BITS: std::ops::RangeInclusive<u32> = 4..=16;
/// The least strong convexity delta of a regularizer, for unit atoms. The curvature of the dual cost
/// reaches |W|^2 / delta: below this limit, thousands of rounds leave relative errors of the cost
/// above 1e-4 (`tests/strategies/tree.rs`).
pub const LEAST_DELTA: f64 = 1e-4;
/// Bits of the entries of a direction.
pub(super) const DIRECTION_BITS: u32 = 7;

/// Sequential passes over the spanning tree in a round, each of its depth in hops: a broadcast from
/// the root and a sum to it.
pub const PASSES: usize = 2;

/// The strategy with the number of bits that an agent sends per entry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tree {
    /// 4 to 16; `None` is [`DEFAULT_BITS`].
    pub bits: Option<u32>,
}

impl Tree {
    pub(super) fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&["bits"])?;
        let bits = spec.number("bits")?;
        let is_allowed = |bits: &f64| bits.fract() == 0.0 && BITS.contains(&(*bits as u32));
        match bits {
            Some(bits) if !is_allowed(&bits) => Err(refused_bits(bits)),
            bits => Ok(Tree {
                bits: bits.map(|bits| bits as u32),
            }),
        }
    }
}

/// Whether the root can bound the gap of a sample.
pub fn bounds_gap(residual: &dyn Residual) -> bool {
    residual.conjugate_curvature() > 0.0
        || residual.can_be_infeasible()
        || residual.lipschitz(1).is_finite()
}

fn refused_bits(bits: f64) -> Error {
    let (least, most) = (BITS.start(), BITS.end());
    let allowed =
        format!("must be a whole number from {least} to {most}; {DEFAULT_BITS} suits most");
    Error::parameter("bits", bits, allowed)
}

impl Strategy for Tree {
    fn spec(&self) -> Spec {
        Spec::new("tree").with_some("bits", self.bits)
    }

    fn check(&self, residual: &dyn Residual, _symmetric_weights: bool) -> Result<()> {
        match bounds_gap(residual) {
            true => Ok(()),
            false => Err(Error::Unsupported {
                what: "the strategy \"tree\"".to_string(),
                with: format!("the residual \"{}\"", residual.name()),
                why: "neither conjugate_curvature nor lipschitz bounds its gap, so no tolerance \
                      could be certified; implement one of them, or use relaxed-admm"
                    .to_string(),
            }),
        }
    }

    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>> {
        if shared.delta < LEAST_DELTA {
            let allowed = format!(
                "must be {LEAST_DELTA} or above for the strategy \"tree\", whose rounds grow without \
                 bound as delta falls; use relaxed-admm"
            );
            return Err(Error::parameter("delta", shared.delta, allowed));
        }
        let bits = self.bits.unwrap_or(DEFAULT_BITS);
        match BITS.contains(&bits) {
            true => Ok(Arc::new(Tree { bits: Some(bits) })),
            false => Err(refused_bits(bits.into())),
        }
    }

    fn agent(&self, _own: Rng) -> Result<Box<dyn AgentStrategy>> {
        let missing = || Error::parameter("bits", "none", "resolve the strategy first");
        Ok(Box::new(Iterates {
            bits: self.bits.ok_or_else(missing)?,
            ..Iterates::default()
        }))
    }

    fn decides(&self) -> bool {
        true
    }

    fn is_certified(&self) -> bool {
        true
    }
}

/// The next step of every agent. Sums and broadcasts alternate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Sum the magnitudes of the samples.
    #[default]
    Sizes,
    /// Perform the tasks of the samples and sum the replies.
    Work,
    /// Receive the next tasks.
    Order,
    Ended,
}

/// The state of one agent. At the root it includes that of the method.
#[derive(Debug, Default)]
struct Iterates {
    bits: u32,
    stage: Stage,
    /// What all agents hold alike.
    common: Arc<Common>,
    part: Part,
    sum: Integers,
    fault: Option<String>,
    root: Option<Root>,
    /// At the root: magnitudes of all samples, and the next broadcast.
    sizes: Vec<Option<i32>>,
    broadcast: Vec<u8>,
}

impl Iterates {
    /// Begins a batch at this nu.
    fn begin(&mut self, local: &Local, nu: Arc<Matrix>) {
        let common = Common::begin(local, nu);
        *self = Iterates {
            bits: self.bits,
            part: Part::new(local, &common.nu, &common.samples),
            common: Arc::new(common),
            ..Iterates::default()
        };
    }

    /// The first tasks of the samples just begun, at the root.
    fn first_tasks(&mut self, local: &Local) -> Vec<Task> {
        let (samples, nu) = (&self.common.samples, &self.common.nu);
        let (_, pairs) = capacity(local.rows(), local.samples);
        let sizes: Vec<_> = samples.iter().map(|j| self.sizes[*j]).collect();
        let mut root = Root::new(local, (self.bits, pairs), &sizes, nu, samples);
        let tasks = root.evaluate();
        self.root = Some(root);
        tasks
    }

    /// The root takes a total and decides on the next tasks.
    fn decide(&mut self, local: &Local, total: &Integers) {
        let (total, common) = (total.values(), Arc::clone(&self.common));
        let last = common.rounds + 1 >= local.rounds;
        let tasks = match (self.stage, self.root.as_mut()) {
            (Stage::Work, Some(root)) => {
                let at = (&*common.nu, &common.samples[..]);
                root.next(local, at, (&common.tasks, total), last)
            }
            _ => {
                self.sizes = Part::sizes_from(total, local.samples);
                self.first_tasks(local)
            }
        };
        self.broadcast = encode(&tasks, DIRECTION_BITS);
    }

    /// Takes the tasks of the root. Returns whether they complete a round.
    fn follow(&mut self, local: &Local, common: Arc<Common>) -> bool {
        self.common = common;
        let common = &*self.common;
        if let Some(kept) = &common.kept {
            self.part.retain(kept);
        }
        self.stage = match common.next {
            Next::Work => Stage::Work,
            Next::Begin => Stage::Order,
            Next::End => Stage::Ended,
        };
        if common.next == Next::Begin {
            self.part = Part::new(local, &common.nu, &common.samples);
            if local.is_root {
                self.broadcast = encode(&self.first_tasks(local), DIRECTION_BITS);
            }
        }
        self.common.is_round
    }
}

impl AgentStrategy for Iterates {
    fn start(&mut self, local: &Local) {
        self.begin(local, Arc::new(Matrix::zeros(local.rows(), local.samples)));
    }

    fn resume(&mut self, local: &Local) {
        self.begin(local, Arc::clone(&self.common.nu));
    }

    fn adapt(&mut self, local: &Local) -> Exchange {
        match self.stage {
            Stage::Sizes => Part::sizes(local, &mut self.sum),
            Stage::Work => {
                let (common, widths) = (&*self.common, (self.bits, local.agents));
                let mut reply = Reply::new(&common.tasks, local.rows(), widths, &mut self.sum);
                self.part.work(local, common, (self.bits, &mut reply));
            }
            Stage::Order | Stage::Ended => return Exchange::Broadcast,
        }
        Exchange::SumToRoot
    }

    fn outgoing(&self) -> Message<'_> {
        match self.stage {
            Stage::Order | Stage::Ended => Message::Bytes(&self.broadcast),
            _ => Message::Integers(&self.sum),
        }
    }

    fn absorb(&mut self, local: &Local, received: Message<'_>) -> bool {
        let delivered = match received {
            Message::Integers(total) => {
                self.decide(local, total);
                self.stage = Stage::Order;
                return false;
            }
            Message::Delivered(delivered) => delivered,
            _ => {
                self.stage = Stage::Order;
                return false;
            }
        };
        let follow = |bytes: &[u8]| self.common.follow(local, bytes).map(Arc::new);
        match &*delivered.decode_once(follow) {
            Some(common) => self.follow(local, Arc::clone(common)),
            None => {
                let (bytes, samples) = (delivered.bytes().len(), self.common.samples.len());
                let rows = local.rows();
                self.fault = Some(format!(
                    "the root sent {bytes} bytes that are no tasks for {samples} samples of {rows} \
                     rows"
                ));
                self.stage = Stage::Ended;
                true
            }
        }
    }

    fn dual(&self) -> &Matrix {
        &self.common.nu
    }

    fn verdict(&self) -> Option<Stop> {
        match self.fault {
            Some(_) => Some(Stop::Diverged),
            None => self.common.verdict(),
        }
    }

    fn certified(&self) -> Option<&[Certified]> {
        self.verdict().map(|_| &self.common.certified[..])
    }

    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}
