//! `pg-extra`: proximal gradient descent with a correction that removes the bias of gossip (Shi,
//! Ling, Wu and Yin 2015).
//!
//! ```text
//! z_k(1)   = sum_l a_lk nu_l(0) - mu g_k(0)
//! z_k(i+1) = sum_l a_lk nu_l(i) + z_k(i) - (nu_k(i-1) + sum_l a_lk nu_l(i-1))/2
//!            - mu (g_k(i) - g_k(i-1))
//! nu_k(i)  = prox of (mu/N) f* at z_k(i)
//! ```
//!
//! g_k is the gradient of J_k without f*.
//!
//! Guarantee: for symmetric A and mu below (1 + lambda_min(A)) delta/N_max, every nu_k converges to
//! nu.

use dictmesh::problem::Residual;
use dictmesh::random::Rng;
use dictmesh::strategy::{
    AgentStrategy, Combine, Exchange, Local, Message, SharedConstants, Strategy, Workspace,
};
use dictmesh::{Error, Matrix, Result, Spec};
use std::sync::Arc;

/// The strategy, with its step mu.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PgExtra {
    /// mu; `None` is nine tenths of the bound.
    pub mu: Option<f64>,
}

impl PgExtra {
    pub(crate) fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&["mu"])?;
        let mu = spec.number("mu")?;
        mu.map_or(Ok(()), |mu| Error::check_positive("mu", mu))?;
        Ok(PgExtra { mu })
    }

    fn bound(shared: &SharedConstants) -> f64 {
        let gap = (1.0 + shared.weights_smallest).max(f64::EPSILON);
        gap * shared.delta / shared.atoms_max.max(1) as f64
    }
}

impl Strategy for PgExtra {
    fn spec(&self) -> Spec {
        Spec::new("pg-extra").with_some("mu", self.mu)
    }

    fn check(&self, _residual: &dyn Residual, symmetric_weights: bool) -> Result<()> {
        match symmetric_weights {
            true => Ok(()),
            false => Err(Error::Unsupported {
                what: "the strategy \"pg-extra\"".to_string(),
                with: "a combination matrix that is not symmetric".to_string(),
                why: "its correction converges only for symmetric weights; use Metropolis weights"
                    .to_string(),
            }),
        }
    }

    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>> {
        let mu = self.mu.unwrap_or(0.9 * PgExtra::bound(shared));
        Error::check_positive("mu", mu)?;
        Ok(Arc::new(PgExtra { mu: Some(mu) }))
    }

    fn agent(&self, _own: Rng) -> Result<Box<dyn AgentStrategy>> {
        let mu = self
            .mu
            .ok_or_else(|| Error::parameter("mu", "none", "resolve the strategy first"))?;
        Ok(Box::new(Iterates {
            mu,
            ..Iterates::default()
        }))
    }

    fn step(&self, shared: &SharedConstants) -> Option<(f64, f64)> {
        Some((self.mu?, PgExtra::bound(shared)))
    }
}

/// nu_k and what the next z_k needs of the round before.
#[derive(Debug, Default)]
struct Iterates {
    mu: f64,
    rounds: usize,
    nu: Matrix,
    sent: Matrix,
    z: Matrix,
    gradient: Matrix,
    /// g_k, and (nu_k + sum_l a_lk nu_l)/2, of the round before.
    last_gradient: Matrix,
    last_mean: Matrix,
    workspace: Workspace,
}

impl AgentStrategy for Iterates {
    fn start(&mut self, local: &Local) {
        let zeros = || Matrix::zeros(local.rows(), local.samples);
        *self = Iterates {
            mu: self.mu,
            rounds: 0,
            nu: zeros(),
            sent: zeros(),
            z: zeros(),
            gradient: zeros(),
            last_gradient: zeros(),
            last_mean: zeros(),
            workspace: Workspace::new(local),
        };
    }

    fn adapt(&mut self, local: &Local) -> Exchange {
        local.gradient_without_residual(&self.nu, &mut self.gradient, &mut self.workspace);
        self.sent.as_mut_slice().copy_from_slice(self.nu.as_slice());
        Exchange::Combine(Combine::Weights)
    }

    fn outgoing(&self) -> Message<'_> {
        Message::Array(self.sent.as_slice())
    }

    fn absorb(&mut self, local: &Local, received: Message<'_>) -> bool {
        let received = received.array();
        let first = self.rounds == 0;
        let (nu, gradient) = (self.nu.as_slice(), self.gradient.as_slice());
        let (z, mean) = (self.z.as_mut_slice(), self.last_mean.as_mut_slice());
        let last = self.last_gradient.as_slice();
        for i in 0..received.len() {
            z[i] = match first {
                true => received[i] - self.mu * gradient[i],
                false => received[i] + z[i] - mean[i] - self.mu * (gradient[i] - last[i]),
            };
            mean[i] = 0.5 * (nu[i] + received[i]);
        }
        std::mem::swap(&mut self.gradient, &mut self.last_gradient);
        self.nu.as_mut_slice().copy_from_slice(self.z.as_slice());
        let tau = self.mu / local.agents as f64;
        for j in 0..self.nu.cols() {
            local.residual.conjugate_prox(tau, self.nu.column_mut(j));
        }
        self.rounds += 1;
        true
    }

    fn dual(&self) -> &Matrix {
        &self.nu
    }
}
