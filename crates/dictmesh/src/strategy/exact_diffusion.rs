//! `exact-diffusion`: proximal exact diffusion. A correction term removes the bias of diffusion. f*
//! enters through its prox, so all five residuals are supported:
//!
//! ```text
//! psi_k = nu_k - mu g_k(nu_k),   g_k the gradient of J_k without f*
//! phi_k = psi_k + z_k - psi_k(of the round before)
//! z_k   = sum over l in N_k of abar_lk phi_l,   Abar = (I + A)/2
//! nu_k  = prox of (mu/N) f* at z_k
//! ```
//!
//! Guarantee: for symmetric A and a step up to 2/L, L the largest |W_k|^2/delta_k, every nu_k
//! converges to nu, linearly if f* is strongly convex (Alghunaim, Yuan, Sayed 2019, for the
//! proximal form).

use super::{
    fill, resolved, step_of, zeros, AgentStrategy, Combine, Exchange, Local, Message,
    SharedConstants, Strategy, Workspace,
};
use crate::error::{Error, Result};
use crate::problem::residual::Residual;
use crate::random::Rng;
use crate::spec::Spec;
use dictmesh_kernels::matrix::Matrix;
use std::sync::Arc;

/// The largest step known to be stable, 2/L. L = N_max/delta holds for atoms in the unit ball.
pub fn step_bound(shared: &SharedConstants) -> f64 {
    2.0 * shared.delta / shared.atoms_max.max(1) as f64
}

/// The default step, as a share of [`step_bound`].
const DEFAULT_SHARE: f64 = 0.75;

/// The default step 1.5/L, with L as in [`step_bound`].
pub fn default_step(shared: &SharedConstants) -> f64 {
    DEFAULT_SHARE * step_bound(shared)
}

/// The strategy with its step mu.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExactDiffusion {
    /// mu; `None` is [`default_step`].
    pub mu: Option<f64>,
}

impl ExactDiffusion {
    pub(super) fn from_spec(spec: &Spec) -> Result<Self> {
        let mu = step_of(spec)?;
        Ok(ExactDiffusion { mu })
    }
}

impl Strategy for ExactDiffusion {
    fn spec(&self) -> Spec {
        Spec::new("exact-diffusion").with_some_number("mu", self.mu)
    }

    fn check(&self, _residual: &dyn Residual, symmetric_weights: bool) -> Result<()> {
        if symmetric_weights {
            return Ok(());
        }
        Err(Error::Unsupported {
            what: "the strategy \"exact-diffusion\"".to_string(),
            with: "a combination matrix that is not symmetric".to_string(),
            why: "its correction converges only for symmetric weights; use Metropolis or uniform \
                  weights, or relaxed-admm, which needs none"
                .to_string(),
        })
    }

    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>> {
        let mu = fill("mu", self.mu, || default_step(shared))?;
        Ok(Arc::new(ExactDiffusion { mu }))
    }

    fn agent(&self, _own: Rng) -> Result<Box<dyn AgentStrategy>> {
        Ok(Box::new(Iterates {
            mu: resolved("mu", self.mu)?,
            nu: Matrix::default(),
            z: Matrix::default(),
            psi: Matrix::default(),
            phi: Matrix::default(),
            workspace: Workspace::default(),
        }))
    }

    fn step(&self, shared: &SharedConstants) -> Option<(f64, f64)> {
        Some((self.mu?, step_bound(shared)))
    }

    fn stability(&self, _shared: &SharedConstants) -> Option<f64> {
        Some(2.0)
    }

    fn is_rotation_equivariant(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Iterates {
    mu: f64,
    nu: Matrix,
    z: Matrix,
    psi: Matrix,
    phi: Matrix,
    workspace: Workspace,
}

impl AgentStrategy for Iterates {
    fn start(&mut self, local: &Local) {
        self.nu = zeros(local);
        self.z = zeros(local);
        self.psi = zeros(local);
        self.phi = zeros(local);
        self.workspace = Workspace::new(local);
    }

    fn adapt(&mut self, local: &Local) -> Exchange {
        local.gradient_without_residual(&self.nu, &mut self.phi, &mut self.workspace);
        let (nu, z) = (self.nu.as_slice(), self.z.as_slice());
        let psi = self.psi.as_mut_slice();
        for (i, phi) in self.phi.as_mut_slice().iter_mut().enumerate() {
            let new = nu[i] - self.mu * *phi;
            *phi = new + z[i] - psi[i];
            psi[i] = new;
        }
        Exchange::Combine(Combine::LazyWeights)
    }

    fn outgoing(&self) -> Message<'_> {
        Message::Array(self.phi.as_slice())
    }

    fn absorb(&mut self, local: &Local, received: Message<'_>) -> bool {
        self.z.as_mut_slice().copy_from_slice(received.array());
        self.nu.as_mut_slice().copy_from_slice(received.array());
        if let Message::Combined { own, .. } = received {
            // The sum of z_k over all agents is that of phi_k, whatever was rounded.
            let unsent = self.phi.as_slice().iter().zip(own);
            for (z, (phi, own)) in self.z.as_mut_slice().iter_mut().zip(unsent) {
                *z += phi - own;
            }
        }
        let tau = self.mu / local.agents as f64;
        for j in 0..self.nu.cols() {
            local.residual.conjugate_prox(tau, self.nu.column_mut(j));
        }
        true
    }

    fn dual(&self) -> &Matrix {
        &self.nu
    }
}
