//! `consensus`: the strategy that the paper compares with diffusion. The step starts at the
//! combination of the neighbours' iterates, but the gradient is evaluated at the agent's own:
//!
//! ```text
//! nu_k <- Proj_{V_f} { sum over l in N_k of a_lk nu_l  -  mu grad J_k(nu_k) }
//! ```
//!
//! Guarantee: for small mu it converges to a point within O(mu) of nu. Its stability bound is
//! smaller than that of diffusion: mu < (1 + lambda_min(A)) / sigma_k.

use super::{
    check_quadratic, diffusion, fill, resolved, step_of, zeros, AgentStrategy, Combine, Exchange,
    Local, Message, SharedConstants, Strategy, Workspace,
};
use crate::error::Result;
use crate::problem::residual::Residual;
use crate::random::Rng;
use crate::spec::Spec;
use dictmesh_kernels::matrix::{axpy, Matrix};
use std::sync::Arc;

/// The stability bound relative to that of diffusion: min(1, 1 + lambda_min(A)).
pub fn stability(shared: &SharedConstants) -> f64 {
    (1.0 + shared.weights_smallest).clamp(f64::EPSILON, 1.0)
}

/// The largest step known to be stable: [`diffusion::step_bound`] scaled by [`stability`].
pub fn step_bound(shared: &SharedConstants) -> f64 {
    stability(shared) * diffusion::step_bound(shared)
}

/// The default step: that of diffusion scaled by [`stability`].
pub fn default_step(shared: &SharedConstants) -> f64 {
    stability(shared) * diffusion::default_step(shared)
}

/// The strategy with its step mu.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Consensus {
    /// mu; `None` is [`default_step`].
    pub mu: Option<f64>,
}

impl Consensus {
    pub(super) fn from_spec(spec: &Spec) -> Result<Self> {
        let mu = step_of(spec)?;
        Ok(Consensus { mu })
    }
}

impl Strategy for Consensus {
    fn spec(&self) -> Spec {
        Spec::new("consensus").with_some_number("mu", self.mu)
    }

    fn check(&self, residual: &dyn Residual, _symmetric_weights: bool) -> Result<()> {
        check_quadratic("consensus", residual)
    }

    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>> {
        let mu = fill("mu", self.mu, || default_step(shared))?;
        Ok(Arc::new(Consensus { mu }))
    }

    fn agent(&self, _own: Rng) -> Result<Box<dyn AgentStrategy>> {
        Ok(Box::new(Iterates {
            mu: resolved("mu", self.mu)?,
            nu: Matrix::default(),
            sent: Matrix::default(),
            gradient: Matrix::default(),
            workspace: Workspace::default(),
        }))
    }

    fn is_biased(&self) -> bool {
        true
    }

    fn step(&self, shared: &SharedConstants) -> Option<(f64, f64)> {
        Some((self.mu?, step_bound(shared)))
    }

    fn stability(&self, shared: &SharedConstants) -> Option<f64> {
        Some(stability(shared))
    }

    fn is_rotation_equivariant(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Iterates {
    mu: f64,
    nu: Matrix,
    /// nu_k before the exchange; it must not change while neighbours read it.
    sent: Matrix,
    gradient: Matrix,
    workspace: Workspace,
}

impl AgentStrategy for Iterates {
    fn start(&mut self, local: &Local) {
        self.nu = zeros(local);
        self.sent = zeros(local);
        self.gradient = zeros(local);
        self.workspace = Workspace::new(local);
    }

    fn adapt(&mut self, local: &Local) -> Exchange {
        (self.sent.as_mut_slice()).copy_from_slice(self.nu.as_slice());
        local.gradient(&self.nu, &mut self.gradient, &mut self.workspace);
        Exchange::Combine(Combine::Weights)
    }

    fn outgoing(&self) -> Message<'_> {
        Message::Array(self.sent.as_slice())
    }

    fn absorb(&mut self, local: &Local, received: Message<'_>) -> bool {
        let received = received.array();
        let nu = self.nu.as_mut_slice();
        nu.copy_from_slice(received);
        axpy(-self.mu, self.gradient.as_slice(), nu);
        for j in 0..self.nu.cols() {
            local.residual.project_dual(self.nu.column_mut(j));
        }
        true
    }

    fn dual(&self) -> &Matrix {
        &self.nu
    }
}
