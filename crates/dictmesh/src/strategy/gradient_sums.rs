//! `gradient-sums`: proximal gradient descent on the dual, with one sum over all agents per round.
//!
//! ```text
//! g    = sum over all agents k of (W_k y_k(nu) - b_k)      to the root of a spanning tree
//! nu   = prox of mu f* at nu - mu g                        at the root, then to every agent
//! ```
//!
//! All agents hold the same nu. A round has two exchanges, a sum and a broadcast, of N - 1 messages
//! each on any graph.
//!
//! Guarantee: for mu up to 2 delta/K and atoms in the unit ball, nu converges to the solution,
//! linearly if f* is strongly convex. The gradient of h*(W'nu) has the Lipschitz constant
//! |W|^2/delta <= K/delta.

use super::{
    fill, resolved, step_of, zeros, AgentStrategy, Exchange, Local, SharedConstants, Strategy,
    Workspace,
};
use crate::error::Result;
use crate::random::Rng;
use crate::spec::Spec;
use dictmesh_kernels::matrix::{axpy, Matrix};
use std::sync::Arc;

/// The stability bound 2 delta/K, valid for atoms in the unit ball.
pub fn step_bound(shared: &SharedConstants) -> f64 {
    2.0 * shared.delta / shared.atoms.max(1) as f64
}

/// The default step delta/K, at which every step decreases the dual cost.
pub fn default_step(shared: &SharedConstants) -> f64 {
    0.5 * step_bound(shared)
}

/// The strategy with its step mu.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GradientSums {
    /// mu; `None` is [`default_step`].
    pub mu: Option<f64>,
}

impl GradientSums {
    pub(super) fn from_spec(spec: &Spec) -> Result<Self> {
        let mu = step_of(spec)?;
        Ok(GradientSums { mu })
    }
}

impl Strategy for GradientSums {
    fn spec(&self) -> Spec {
        Spec::new("gradient-sums").with_some_number("mu", self.mu)
    }

    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>> {
        let mu = fill("mu", self.mu, || default_step(shared))?;
        Ok(Arc::new(GradientSums { mu }))
    }

    fn agent(&self, _own: Rng) -> Result<Box<dyn AgentStrategy>> {
        Ok(Box::new(Iterates {
            mu: resolved("mu", self.mu)?,
            nu: Matrix::default(),
            next: Matrix::default(),
            part: Matrix::default(),
            summed: false,
            workspace: Workspace::default(),
        }))
    }

    fn step(&self, shared: &SharedConstants) -> Option<(f64, f64)> {
        Some((self.mu?, step_bound(shared)))
    }

    fn is_rotation_equivariant(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Iterates {
    mu: f64,
    nu: Matrix,
    /// The next nu, computed at the root.
    next: Matrix,
    /// W_k y_k(nu) - b_k.
    part: Matrix,
    /// Whether this round's sum has reached the root.
    summed: bool,
    workspace: Workspace,
}

impl AgentStrategy for Iterates {
    fn start(&mut self, local: &Local) {
        self.nu = zeros(local);
        self.next = zeros(local);
        self.part = zeros(local);
        self.summed = false;
        self.workspace = Workspace::new(local);
    }

    fn adapt(&mut self, local: &Local) -> Exchange {
        if self.summed {
            return Exchange::Broadcast;
        }
        local.gradient_without_residual(&self.nu, &mut self.part, &mut self.workspace);
        Exchange::SumToRoot
    }

    fn outgoing(&self) -> &Matrix {
        match self.summed {
            true => &self.next,
            false => &self.part,
        }
    }

    fn absorb(&mut self, local: &Local, received: &[f64]) -> bool {
        if self.summed {
            self.nu.as_mut_slice().copy_from_slice(received);
        } else if local.is_root {
            let next = self.next.as_mut_slice();
            next.copy_from_slice(self.nu.as_slice());
            axpy(-self.mu, received, next);
            for j in 0..self.next.cols() {
                local
                    .residual
                    .conjugate_prox(self.mu, self.next.column_mut(j));
            }
        }
        self.summed = !self.summed;
        !self.summed
    }

    fn dual(&self) -> &Matrix {
        &self.nu
    }
}
