//! `consensus`: the strategy the paper compares diffusion with. The gradient is taken where the agent
//! was, not where its neighbours are:
//!
//! ```text
//! nu_k <- Proj_{V_f} { sum over l in N_k of a_lk nu_l  -  mu grad J_k(nu_k) }
//! ```
//!
//! Guarantee: for small mu it converges to a point within O(mu) of nu. Stable for smaller steps than
//! diffusion: mu must stay below (1 + lambda_min(A)) / sigma_k.

use super::{diffusion, zeros, SharedConstants, Strategy};
use super::{Local, Workspace};
use dictmesh_kernels::matrix::{axpy, Matrix};

/// How large the steps of consensus may be compared with diffusion's: min(1, 1 + lambda_min(A)).
pub fn stability(common: &SharedConstants) -> f64 {
    (1.0 + common.weights_smallest).clamp(f64::EPSILON, 1.0)
}

/// Steps up to this are stable: those of [`diffusion::step_bound`], made smaller for the smaller region of stability.
pub fn step_bound(common: &SharedConstants) -> f64 {
    stability(common) * diffusion::step_bound(common)
}

/// The default step: diffusion's, made smaller for the smaller region of stability.
pub fn default_step(common: &SharedConstants) -> f64 {
    stability(common) * diffusion::default_step(common)
}

/// One agent's part.
#[derive(Debug)]
pub struct Consensus {
    mu: f64,
    nu: Matrix,
    /// nu_k as it was before it took in what arrived: neighbours may come for it later.
    sent: Matrix,
    gradient: Matrix,
    workspace: Workspace,
}

impl Consensus {
    /// With step `mu`.
    pub fn new(mu: f64) -> Self {
        let empty = Matrix::zeros(0, 0);
        Consensus {
            mu,
            nu: empty.clone(),
            sent: empty.clone(),
            gradient: empty,
            workspace: Workspace::default(),
        }
    }
}

impl Strategy for Consensus {
    fn start(&mut self, local: &Local) {
        self.nu = zeros(local);
        self.sent = zeros(local);
        self.gradient = zeros(local);
        self.workspace = Workspace::new(local);
    }

    fn adapt(&mut self, local: &Local) {
        (self.sent.as_mut_slice()).copy_from_slice(self.nu.as_slice());
        local.gradient(&self.nu, &mut self.gradient, &mut self.workspace);
    }

    fn outgoing(&self) -> &Matrix {
        &self.sent
    }

    fn absorb(&mut self, local: &Local, combined: &[f64]) {
        let nu = self.nu.as_mut_slice();
        nu.copy_from_slice(combined);
        axpy(-self.mu, self.gradient.as_slice(), nu);
        for j in 0..self.nu.cols() {
            local.residual.project_dual(self.nu.column_mut(j));
        }
    }

    fn dual(&self) -> &Matrix {
        &self.nu
    }
}
