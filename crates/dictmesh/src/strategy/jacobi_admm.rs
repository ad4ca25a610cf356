//! `jacobi-admm`: the paper's Jacobian ADMM with its sign error corrected (lambda moves by nu_l -
//! nu_k) and a weight c on the quadratic term (1 in the paper):
//!
//! ```text
//! nu_k      = argmin J_k(nu) + sum over neighbours l of [lambda_kl'(nu_l - nu) + c |nu_l - nu|^2]
//! lambda_kl = lambda_kl + mu (nu_l - nu_k)
//! ```
//!
//! Only L_k = sum over l of lambda_kl enters, so each agent stores one vector and sends one: nu_k =
//! argmin J_k(nu) + c d_k |nu|^2 - (L_k + 2 c sum nu_l)'nu and L_k += mu (sum nu_l - d_k nu_k).
//!
//! Guarantee: none in general. On a regular graph with quadratic costs of curvature h, the mode of
//! the adjacency eigenvalue beta d is bounded only for mu < (2 h + 4 c d (1 + beta)) / (d (1 -
//! beta)), which is tightest at the smallest beta. Bipartite graphs (even rings, paths, grids,
//! stars, trees) have beta = -1, so that mu must stay below h/d, about 1/(N d). Convergence is then
//! slow, and with the paper's constants there is none.

use super::{
    check_constant, fill, relaxed_admm, resolved, zeros, AgentStrategy, Combine, Exchange, Local,
    Message, SharedConstants, Strategy, Workspace,
};
use crate::error::Result;
use crate::random::Rng;
use crate::spec::Spec;
use crate::Stop;
use dictmesh_kernels::matrix::Matrix;
use std::sync::Arc;

/// The default weight c: the rho of [`relaxed_admm`].
pub fn default_penalty(shared: &SharedConstants) -> f64 {
    relaxed_admm::default_rho(shared)
}

/// The stability bound above for a weight c, with lambda_min(D + B) for d (1 + beta) and
/// lambda_max(D - B) for d (1 - beta). Infinite for a single agent, which has no multipliers.
pub fn step_bound(shared: &SharedConstants, penalty: f64) -> f64 {
    let h = relaxed_admm::curvature_or_one(shared) / shared.agents as f64;
    let spectrum = shared.spectrum;
    (2.0 * h + 4.0 * penalty * spectrum.signless_smallest) / spectrum.laplacian_largest
}

/// The default step, as a share of [`step_bound`].
const DEFAULT_SHARE: f64 = 0.75;

/// The default step of the multipliers for a weight c: 0.75 times [`step_bound`], at most c.
pub fn default_step(shared: &SharedConstants, penalty: f64) -> f64 {
    penalty.min(DEFAULT_SHARE * step_bound(shared, penalty))
}

/// The strategy with the step mu of its multipliers and the weight c.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JacobiAdmm {
    /// mu; `None` is [`default_step`].
    pub mu: Option<f64>,
    /// c, 1 in the paper; `None` is [`default_penalty`].
    pub penalty: Option<f64>,
}

impl JacobiAdmm {
    pub(super) fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&["mu", "penalty", "bits"])?;
        let (mu, penalty) = (spec.number("mu")?, spec.number("penalty")?);
        check_constant("mu", mu)?;
        check_constant("penalty", penalty)?;
        Ok(JacobiAdmm { mu, penalty })
    }
}

impl Strategy for JacobiAdmm {
    fn spec(&self) -> Spec {
        (Spec::new("jacobi-admm").with_some_number("mu", self.mu))
            .with_some_number("penalty", self.penalty)
    }

    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>> {
        let penalty = fill("penalty", self.penalty, || default_penalty(shared))?;
        let weight = resolved("penalty", penalty)?;
        let mu = fill("mu", self.mu, || default_step(shared, weight))?;
        Ok(Arc::new(JacobiAdmm { mu, penalty }))
    }

    fn agent(&self, _own: Rng) -> Result<Box<dyn AgentStrategy>> {
        Ok(Box::new(Iterates {
            mu: resolved("mu", self.mu)?,
            penalty: resolved("penalty", self.penalty)?,
            nu: Matrix::default(),
            multiplier: Matrix::default(),
            linear: Matrix::default(),
            workspace: Workspace::default(),
            argmin_stop: Stop::Converged,
            is_final: false,
        }))
    }

    fn step(&self, shared: &SharedConstants) -> Option<(f64, f64)> {
        Some((self.mu?, step_bound(shared, self.penalty?)))
    }

    fn is_rotation_equivariant(&self) -> bool {
        true
    }

    fn solves_alone(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Iterates {
    mu: f64,
    penalty: f64,
    nu: Matrix,
    /// L_k.
    multiplier: Matrix,
    /// L_k + 2 c sum nu_l.
    linear: Matrix,
    workspace: Workspace,
    argmin_stop: Stop,
    /// Whether the argmin of an agent without neighbours is done. It is the whole problem, and no
    /// later round changes its input.
    is_final: bool,
}

impl AgentStrategy for Iterates {
    fn start(&mut self, local: &Local) {
        self.nu = zeros(local);
        self.multiplier = zeros(local);
        self.linear = zeros(local);
        self.workspace = Workspace::new(local);
        self.is_final = false;
    }

    fn resume(&mut self, _local: &Local) {
        self.is_final = false;
    }

    fn adapt(&mut self, local: &Local) -> Exchange {
        let q = 2.0 * self.penalty * local.degree as f64;
        if !self.is_final {
            self.argmin_stop = local.argmin(q, &self.linear, &mut self.nu, &mut self.workspace);
        }
        self.is_final = local.degree == 0;
        Exchange::Combine(Combine::NeighbourSum)
    }

    fn outgoing(&self) -> Message<'_> {
        Message::Array(self.nu.as_slice())
    }

    fn absorb(&mut self, local: &Local, received: Message<'_>) -> bool {
        let degree = local.degree as f64;
        let nu = received.own(self.nu.as_slice());
        let multiplier = self.multiplier.as_mut_slice();
        for (i, (linear, sum)) in (self.linear.as_mut_slice().iter_mut())
            .zip(received.array())
            .enumerate()
        {
            multiplier[i] += self.mu * (sum - degree * nu[i]);
            *linear = multiplier[i] + 2.0 * self.penalty * sum;
        }
        true
    }

    fn dual(&self) -> &Matrix {
        &self.nu
    }

    fn codes(&self) -> Option<Matrix> {
        self.is_final.then(|| self.workspace.codes())
    }

    fn argmin_stop(&self) -> Stop {
        self.argmin_stop
    }
}
