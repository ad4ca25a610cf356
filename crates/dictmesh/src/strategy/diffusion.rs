//! `diffusion`: adapt, then combine, then project: the paper's main algorithm.
//!
//! ```text
//! psi_k = nu_k - mu grad J_k(nu_k)
//! nu_k  = Proj_{V_f} { sum over l in N_k of a_lk psi_l }
//! ```
//!
//! Guarantee: with a doubly stochastic A and mu below [`step_bound`] it converges to a point within
//! O(mu) of nu (the paper's O(mu^2) in squared distance). Not guaranteed: that this is close. The
//! bias does not vanish with more rounds, only with a smaller mu.

use super::{zeros, SharedConstants, Strategy};
use super::{Local, Workspace};
use dictmesh_kernels::matrix::Matrix;
use dictmesh_kernels::simd::{dispatch, Simd, WithSimd};

/// The paper's table of step sizes: 1 / (c + N_max/delta), where c is 1 for the squared residual, eta
/// for Huber and 0 where f* is flat. Needs no atoms; valid for atoms in the unit ball.
pub fn step_bound(common: &SharedConstants) -> f64 {
    1.0 / (common.curvature + common.atoms_max.max(1) as f64 / common.delta)
}

/// The condition behind the table, min over k of 1/sigma_k with sigma_k = c/N + |W_k|^2/delta_k the
/// Lipschitz constant of grad J_k. Infinite if no agent has any curvature.
pub fn exact_step_bound<'a>(locals: impl IntoIterator<Item = Local<'a>>) -> f64 {
    locals
        .into_iter()
        .map(|local| {
            let sigma = local.residual.conjugate_curvature() / local.agents as f64
                + local.block.norm_squared() / local.task.regularizer().strong_convexity();
            1.0 / sigma
        })
        .fold(f64::INFINITY, f64::min)
}

/// The default step: nine tenths of the table's bound.
pub fn default_step(common: &SharedConstants) -> f64 {
    0.9 * step_bound(common)
}

/// One agent's part.
#[derive(Debug)]
pub struct Diffusion {
    mu: f64,
    nu: Matrix,
    psi: Matrix,
    workspace: Workspace,
}

impl Diffusion {
    /// With step `mu`.
    pub fn new(mu: f64) -> Self {
        let empty = Matrix::zeros(0, 0);
        Diffusion {
            mu,
            nu: empty.clone(),
            psi: empty,
            workspace: Workspace::default(),
        }
    }
}

impl Strategy for Diffusion {
    fn start(&mut self, local: &Local) {
        self.nu = zeros(local);
        self.psi = zeros(local);
        self.workspace = Workspace::new(local);
    }

    fn adapt(&mut self, local: &Local) {
        local.gradient(&self.nu, &mut self.psi, &mut self.workspace);
        dispatch(Step {
            mu: self.mu,
            nu: self.nu.as_slice(),
            psi: self.psi.as_mut_slice(),
        });
    }

    fn outgoing(&self) -> &Matrix {
        &self.psi
    }

    fn absorb(&mut self, local: &Local, combined: &[f64]) {
        self.nu.as_mut_slice().copy_from_slice(combined);
        for j in 0..self.nu.cols() {
            local.residual.project_dual(self.nu.column_mut(j));
        }
    }

    fn dual(&self) -> &Matrix {
        &self.nu
    }
}

/// `psi = nu - mu psi`.
struct Step<'a> {
    mu: f64,
    nu: &'a [f64],
    psi: &'a mut [f64],
}

impl WithSimd for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (psi, nu) in self.psi.iter_mut().zip(self.nu) {
            *psi = nu - self.mu * *psi;
        }
    }
}
