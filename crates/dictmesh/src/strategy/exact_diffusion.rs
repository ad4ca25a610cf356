//! `exact-diffusion`: proximal exact diffusion. A correction removes the bias of diffusion, and f* is
//! handled by its prox, so that all five residuals work:
//!
//! ```text
//! psi_k = nu_k - mu g_k(nu_k),   g_k the gradient of J_k without f*
//! phi_k = psi_k + z_k - psi_k(of the round before)
//! z_k   = sum over l in N_k of abar_lk phi_l,   Abar = (I + A)/2
//! nu_k  = prox of (mu/N) f* at z_k
//! ```
//!
//! Guarantee: for symmetric A and a step up to 2/L, L the largest |W_k|^2/delta_k, every nu_k tends to
//! nu itself, at a linear rate where f* is strongly convex. (Alghunaim, Yuan, Sayed 2019 for the
//! proximal form.)

use super::{zeros, SharedConstants, Strategy};
use super::{Local, Workspace};
use dictmesh_kernels::matrix::Matrix;

/// Steps up to 2/L are stable, with N_max/delta, valid for atoms in the unit ball, for L.
pub fn step_bound(common: &SharedConstants) -> f64 {
    2.0 * common.delta / common.atoms_max.max(1) as f64
}

/// The default step 1.5/L, with N_max/delta, valid for atoms in the unit ball, for L.
pub fn default_step(common: &SharedConstants) -> f64 {
    1.5 * common.delta / common.atoms_max.max(1) as f64
}

/// One agent's part.
#[derive(Debug)]
pub struct ExactDiffusion {
    mu: f64,
    nu: Matrix,
    z: Matrix,
    psi: Matrix,
    phi: Matrix,
    workspace: Workspace,
}

impl ExactDiffusion {
    /// With step `mu`.
    pub fn new(mu: f64) -> Self {
        let empty = Matrix::zeros(0, 0);
        ExactDiffusion {
            mu,
            nu: empty.clone(),
            z: empty.clone(),
            psi: empty.clone(),
            phi: empty,
            workspace: Workspace::default(),
        }
    }
}

impl Strategy for ExactDiffusion {
    fn start(&mut self, local: &Local) {
        self.nu = zeros(local);
        self.z = zeros(local);
        self.psi = zeros(local);
        self.phi = zeros(local);
        self.workspace = Workspace::new(local);
    }

    fn adapt(&mut self, local: &Local) {
        local.gradient_without_residual(&self.nu, &mut self.phi, &mut self.workspace);
        let (nu, z) = (self.nu.as_slice(), self.z.as_slice());
        let psi = self.psi.as_mut_slice();
        for (i, phi) in self.phi.as_mut_slice().iter_mut().enumerate() {
            let new = nu[i] - self.mu * *phi;
            *phi = new + z[i] - psi[i];
            psi[i] = new;
        }
    }

    fn outgoing(&self) -> &Matrix {
        &self.phi
    }

    fn absorb(&mut self, local: &Local, combined: &[f64]) {
        self.z.as_mut_slice().copy_from_slice(combined);
        self.nu.as_mut_slice().copy_from_slice(combined);
        let tau = self.mu / local.agents as f64;
        for j in 0..self.nu.cols() {
            local.residual.conjugate_prox(tau, self.nu.column_mut(j));
        }
    }

    fn dual(&self) -> &Matrix {
        &self.nu
    }
}
