//! Gossip with messages of few bits: a wrapper of any strategy that combines arrays of neighbours.
//!
//! Agent k sends its array psi_k as [`Differences`] to known_k, which it and its neighbours hold.
//! The combination of the known arrays is corrected by the agent's own rounding error:
//!
//! ```text
//! known_k <- known_k + unit round((psi_k - known_k) / unit)
//! sum over l of a_lk known_l + (psi_k - known_k)              for weights a_lk with column sum 1
//! sum over neighbours known_l + d_k (psi_k - known_k)         for the neighbour sum
//! ```
//!
//! Equivalently, agent k combines psi_k + known_l - known_k in place of psi_l. The sum of the
//! results over all agents is that of exact messages for symmetric weights. Without the correction,
//! strategies that accumulate combinations (exact-diffusion and both kinds of ADMM) would add up
//! the rounding errors of all rounds. The unit follows the largest difference, so that errors
//! decrease with the steps of the strategy and its limit is unchanged.
//!
//! A strategy by name has the wrapper if its parameter `bits` is given.

use super::tree::BITS;
use super::{
    AgentStrategy, Certified, Combine, Differences, Exchange, Local, Message, SharedConstants,
    Strategy,
};
use crate::error::{Error, Result};
use crate::problem::residual::Residual;
use crate::random::Rng;
use crate::spec::Spec;
use crate::Stop;
use dictmesh_kernels::matrix::{distance, norm, Matrix};
use dictmesh_kernels::simd::{dispatch, Simd, WithSimd};
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
    /// The strategy `exact` with messages of this number of bits per entry.
    ///
    /// # Errors
    ///
    /// If `bits` is not 4 to 16, or the strategy has messages other than arrays.
    pub fn new(exact: Arc<dyn Strategy>, bits: u32) -> Result<Self> {
        if exact.decides() {
            return Err(Error::Unsupported {
                what: format!("the strategy \"{}\"", exact.name()),
                with: format!("differences of {bits} bits"),
                why: "only strategies that combine arrays of neighbours have them".to_string(),
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
        self.exact.spec().with_number("bits", self.bits.into())
    }

    fn check(&self, residual: &dyn Residual, symmetric_weights: bool) -> Result<()> {
        self.exact.check(residual, symmetric_weights)
    }

    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>> {
        Ok(Arc::new(Rounded {
            exact: self.exact.resolve(shared)?,
            bits: self.bits,
        }))
    }

    fn agent(&self, own: Rng) -> Result<Box<dyn AgentStrategy>> {
        Ok(Box::new(Iterates {
            exact: self.exact.agent(own)?,
            bits: self.bits,
            exchange: None,
            sent: Differences::default(),
            corrected: Vec::new(),
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
}

#[derive(Debug)]
struct Iterates {
    exact: Box<dyn AgentStrategy>,
    bits: u32,
    /// The exchange of the last [`adapt`](AgentStrategy::adapt).
    exchange: Option<Exchange>,
    sent: Differences,
    /// The combination that the strategy receives.
    corrected: Vec<f64>,
}

impl Iterates {
    /// What the neighbours hold is 0 again.
    fn reset(&mut self, local: &Local) {
        self.exchange = None;
        self.sent = Differences::new(self.bits, local.rows(), local.samples);
        self.corrected = vec![0.0; local.rows() * local.samples];
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
    }

    fn adapt(&mut self, local: &Local) -> Exchange {
        let exchange = self.exact.adapt(local);
        if let Exchange::Combine(_) = exchange {
            self.sent.set(self.exact.outgoing().array());
        }
        self.exchange = Some(exchange);
        exchange
    }

    fn outgoing(&self) -> Message<'_> {
        match self.exchange {
            Some(Exchange::Combine(_)) => Message::Differences(&self.sent),
            _ => self.exact.outgoing(),
        }
    }

    fn absorb(&mut self, local: &Local, received: Message<'_>) -> bool {
        let Some(Exchange::Combine(rule)) = self.exchange else {
            return self.exact.absorb(local, received);
        };
        dispatch(Correct {
            weight: match rule {
                Combine::Weights | Combine::LazyWeights => 1.0,
                Combine::NeighbourSum => local.degree as f64,
            },
            array: self.exact.outgoing().array(),
            known: self.sent.known(),
            received: received.array(),
            corrected: &mut self.corrected,
        });
        self.exact.absorb(local, Message::Array(&self.corrected))
    }

    fn dual(&self) -> &Matrix {
        self.exact.dual()
    }

    fn lag(&self) -> f64 {
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
        each.fold(0.0, crate::mesh::stopping::max_or_nan)
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

/// `corrected = received + weight (array - known)`.
struct Correct<'a> {
    weight: f64,
    array: &'a [f64],
    known: &'a [f64],
    received: &'a [f64],
    corrected: &'a mut [f64],
}

impl WithSimd for Correct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let own = self.array.iter().zip(self.known);
        let each = self.corrected.iter_mut().zip(self.received).zip(own);
        for ((corrected, received), (array, known)) in each {
            *corrected = received + self.weight * (array - known);
        }
    }
}
