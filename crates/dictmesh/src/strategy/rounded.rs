//! Gossip with messages of few bits: a wrapper of any strategy that combines arrays of neighbours.
//!
//! Agent k sends its array psi_k as [`Differences`] to known_k, which it and its neighbours hold,
//! and combines known arrays, its own included:
//!
//! ```text
//! known_k <- known_k + unit round((psi_k - known_k) / unit)
//! ```
//!
//! The unit follows the largest difference, so that rounding errors decrease with the steps of the
//! strategy. Its limit is unchanged if the errors of all rounds do not add up. Strategies that
//! accumulate combinations therefore use known_k where exact messages have psi_k:
//! [`Message::Combined`] has it. Both kinds of ADMM then keep the sum of their memory over all
//! agents, and exact-diffusion adds psi_k - known_k to it.
//!
//! A strategy by name has the wrapper if its parameter `bits` is given.

use super::tree::BITS;
use super::{
    larger, AgentStrategy, Certified, Differences, Exchange, Local, Message, SharedConstants,
    Strategy,
};
use crate::error::{Error, Result};
use crate::problem::residual::Residual;
use crate::random::Rng;
use crate::spec::Spec;
use crate::Stop;
use dictmesh_kernels::matrix::{distance, norm, Matrix};
use std::sync::Arc;

/// A strategy whose arrays are sent as differences of few bits.
///
/// ```
/// use dictmesh::strategy::{self, Diffusion, Rounded, Strategy};
/// use dictmesh::Spec;
/// use std::sync::Arc;
/// let strategy = Rounded::new(Arc::new(Diffusion { mu: Some(0.1) }), 8)?;
/// let spec = Spec::new("diffusion").with("mu", 0.1).with("bits", 8);
/// assert_eq!(strategy.spec(), spec);
/// assert_eq!(strategy::build(&spec)?.spec(), spec);
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rounded {
    exact: Arc<dyn Strategy>,
    bits: u32,
}

impl Rounded {
    /// The strategy `exact` with messages of this number of bits per entry. A custom strategy must
    /// take its own array from [`Message::own`] where its update adds it up over rounds.
    ///
    /// # Errors
    ///
    /// If `bits` is not 4 to 16, or the messages of the strategy are not arrays of doubles.
    pub fn new(exact: Arc<dyn Strategy>, bits: u32) -> Result<Self> {
        if exact.decides() || exact.spec().parameters().contains_key("bits") {
            return Err(Error::Unsupported {
                what: format!("the strategy \"{}\"", exact.name()),
                with: format!("differences of {bits} bits"),
                why: "they replace arrays of doubles, which it does not send".to_string(),
            });
        }
        match BITS.contains(&bits) {
            true => Ok(Rounded { exact, bits }),
            false => Err(refused(bits.into())),
        }
    }

    /// The strategy of a spec whose parameter `bits`, if there is one, is not for `make`.
    pub(super) fn from_spec(
        spec: &Spec,
        make: impl Fn(&Spec) -> Result<Arc<dyn Strategy>>,
    ) -> Result<Arc<dyn Strategy>> {
        let exact = make(&spec.without("bits"))?;
        let Some(bits) = spec.number("bits")? else {
            return Ok(exact);
        };
        match bits.fract() == 0.0 && BITS.contains(&(bits as u32)) {
            true => Ok(Arc::new(Rounded::new(exact, bits as u32)?)),
            false => Err(refused(bits)),
        }
    }
}

fn refused(bits: f64) -> Error {
    let (least, most) = (BITS.start(), BITS.end());
    let allowed =
        format!("must be a whole number from {least} to {most}; leave it out for doubles");
    Error::parameter("bits", bits, allowed)
}

impl Strategy for Rounded {
    fn spec(&self) -> Spec {
        self.exact.spec().with("bits", self.bits)
    }

    fn check(&self, residual: &dyn Residual, symmetric_weights: bool) -> Result<()> {
        self.exact.check(residual, symmetric_weights)
    }

    fn choose(&self, shared: &SharedConstants) -> Result<Option<Arc<dyn Strategy>>> {
        let Some(chosen) = self.exact.choose(shared)? else {
            return Ok(None);
        };
        Ok(Some(Arc::new(Rounded::new(chosen, self.bits)?)))
    }

    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>> {
        let exact = self.exact.resolve(shared)?;
        Ok(Arc::new(Rounded::new(exact, self.bits)?))
    }

    fn agent(&self, own: Rng) -> Result<Box<dyn AgentStrategy>> {
        Ok(Box::new(Iterates {
            exact: self.exact.agent(own)?,
            bits: self.bits,
            is_rounded: false,
            sent: Differences::default(),
            in_full: false,
        }))
    }

    fn is_biased(&self) -> bool {
        self.exact.is_biased()
    }

    fn step(&self, shared: &SharedConstants) -> Option<(f64, f64)> {
        self.exact.step(shared)
    }

    fn stability(&self, shared: &SharedConstants) -> Option<f64> {
        self.exact.stability(shared)
    }

    // Rounding depends on the axes.
    fn is_rotation_equivariant(&self) -> bool {
        false
    }

    fn solves_alone(&self) -> bool {
        self.exact.solves_alone()
    }

    fn adapts(&self) -> bool {
        self.exact.adapts()
    }
}

#[derive(Debug)]
struct Iterates {
    exact: Box<dyn AgentStrategy>,
    bits: u32,
    /// Whether the last exchange has differences.
    is_rounded: bool,
    sent: Differences,
    /// Whether the next message is the whole array.
    in_full: bool,
}

impl Iterates {
    /// What the neighbours hold is 0 again.
    fn reset(&mut self, local: &Local) {
        self.is_rounded = false;
        self.sent = Differences::new(self.bits, local.rows(), local.samples);
        self.in_full = false;
    }
}

impl AgentStrategy for Iterates {
    fn start(&mut self, local: &Local) {
        self.exact.start(local);
        self.reset(local);
    }

    fn resume(&mut self, local: &Local) {
        self.exact.resume(local);
        self.reset(local);
        // A coarse first message would undo what was found before.
        self.in_full = true;
    }

    fn adapt(&mut self, local: &Local) -> Exchange {
        let exchange = self.exact.adapt(local);
        // A single agent sends nothing, and need not round its own array.
        self.is_rounded = matches!(exchange, Exchange::Combine(_)) && local.degree > 0;
        if self.is_rounded {
            let array = self.exact.outgoing().array();
            match std::mem::take(&mut self.in_full) {
                true => self.sent.set_in_full(array),
                false => self.sent.set(array),
            }
        }
        exchange
    }

    fn outgoing(&self) -> Message<'_> {
        match self.is_rounded {
            true => Message::Differences(&self.sent),
            false => self.exact.outgoing(),
        }
    }

    fn absorb(&mut self, local: &Local, received: Message<'_>) -> bool {
        let received = match self.is_rounded {
            true => Message::Combined {
                array: received.array(),
                own: self.sent.known(),
            },
            false => received,
        };
        self.exact.absorb(local, received)
    }

    fn dual(&self) -> &Matrix {
        self.exact.dual()
    }

    fn codes(&self) -> Option<Matrix> {
        self.exact.codes()
    }

    fn scale_penalty(&mut self, local: &Local, scale: f64) {
        self.exact.scale_penalty(local, scale);
    }

    fn lag(&self) -> f64 {
        if !self.is_rounded {
            return self.exact.lag();
        }
        let rows = self.dual().rows().max(1);
        let array = self.exact.outgoing().array().chunks_exact(rows);
        let each = array.zip(self.sent.known().chunks_exact(rows));
        let each = each.zip(self.dual().columns()).map(|((array, known), nu)| {
            let unsent = distance(array, known);
            match unsent == 0.0 {
                true => 0.0,
                false => unsent / norm(nu).max(f64::MIN_POSITIVE),
            }
        });
        each.fold(0.0, larger)
    }

    fn argmin_stop(&self) -> Stop {
        self.exact.argmin_stop()
    }

    fn verdict(&self) -> Option<Stop> {
        self.exact.verdict()
    }

    fn certified(&self) -> Option<&[Certified]> {
        self.exact.certified()
    }

    fn fault(&self) -> Option<&str> {
        self.exact.fault()
    }
}
