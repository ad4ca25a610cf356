//! `diffusion`: adapt, combine, project (ATC). The paper's main algorithm.
//!
//! ```text
//! psi_k = nu_k - mu grad J_k(nu_k)
//! nu_k  = Proj_{V_f} { sum over l in N_k of a_lk psi_l }
//! ```
//!
//! Guarantee: with a doubly stochastic A and mu below [`step_bound`] it converges to a point within
//! O(mu) of nu (O(mu^2) in squared distance, as in the paper). The bias does not vanish with more
//! rounds, only with a smaller mu.

use super::{
    check_quadratic, fill, resolved, step_of, zeros, AgentStrategy, Combine, Exchange, Local,
    Message, SharedConstants, Strategy, Workspace,
};
use crate::error::Result;
use crate::problem::residual::Residual;
use crate::random::Rng;
use crate::spec::Spec;
use dictmesh_kernels::matrix::Matrix;
use dictmesh_kernels::simd::{dispatch, Simd, WithSimd};
use std::sync::Arc;

/// The paper's step-size bound 1 / (c + N_max/delta), with c = 1 for the squared residual, eta for
/// Huber and 0 where f* is not strongly convex. It needs no atoms, and holds for atoms in the unit
/// ball.
pub fn step_bound(shared: &SharedConstants) -> f64 {
    1.0 / (shared.curvature + shared.atoms_max.max(1) as f64 / shared.delta)
}

/// The bound min over k of 1/sigma_k, with sigma_k = c/N + |W_k|^2/delta_k the Lipschitz constant
/// of grad J_k. Infinite if every sigma_k is 0.
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

/// The default step, as a share of [`step_bound`].
const DEFAULT_SHARE: f64 = 0.9;

/// The default step: 0.9 times [`step_bound`].
pub fn default_step(shared: &SharedConstants) -> f64 {
    DEFAULT_SHARE * step_bound(shared)
}

/// The strategy with its step mu.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Diffusion {
    /// mu; `None` is [`default_step`].
    pub mu: Option<f64>,
}

impl Diffusion {
    pub(super) fn from_spec(spec: &Spec) -> Result<Self> {
        let mu = step_of(spec)?;
        Ok(Diffusion { mu })
    }
}

impl Strategy for Diffusion {
    fn spec(&self) -> Spec {
        Spec::new("diffusion").with_some_number("mu", self.mu)
    }

    fn check(&self, residual: &dyn Residual, _symmetric_weights: bool) -> Result<()> {
        check_quadratic("diffusion", residual)
    }

    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>> {
        let mu = fill("mu", self.mu, || default_step(shared))?;
        Ok(Arc::new(Diffusion { mu }))
    }

    fn agent(&self, _own: Rng) -> Result<Box<dyn AgentStrategy>> {
        Ok(Box::new(Iterates {
            mu: resolved("mu", self.mu)?,
            nu: Matrix::default(),
            psi: Matrix::default(),
            workspace: Workspace::default(),
        }))
    }

    fn is_biased(&self) -> bool {
        true
    }

    fn step(&self, shared: &SharedConstants) -> Option<(f64, f64)> {
        Some((self.mu?, step_bound(shared)))
    }

    fn stability(&self, _shared: &SharedConstants) -> Option<f64> {
        Some(1.0)
    }

    fn is_rotation_equivariant(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Iterates {
    mu: f64,
    nu: Matrix,
    psi: Matrix,
    workspace: Workspace,
}

impl AgentStrategy for Iterates {
    fn start(&mut self, local: &Local) {
        self.nu = zeros(local);
        self.psi = zeros(local);
        self.workspace = Workspace::new(local);
    }

    fn adapt(&mut self, local: &Local) -> Exchange {
        local.gradient(&self.nu, &mut self.psi, &mut self.workspace);
        dispatch(Step {
            mu: self.mu,
            nu: self.nu.as_slice(),
            psi: self.psi.as_mut_slice(),
        });
        Exchange::Combine(Combine::Weights)
    }

    fn outgoing(&self) -> Message<'_> {
        Message::Array(self.psi.as_slice())
    }

    fn absorb(&mut self, local: &Local, received: Message<'_>) -> bool {
        let received = received.array();
        self.nu.as_mut_slice().copy_from_slice(received);
        for j in 0..self.nu.cols() {
            local.residual.project_dual(self.nu.column_mut(j));
        }
        true
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
