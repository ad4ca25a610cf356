//! `relaxed-admm`: relaxed decentralised ADMM in broadcast form. Each agent sends one
//! vector per round and stores two, s_k and t_k, initially 0; d_k is the degree.
//!
//! ```text
//! nu_k = argmin J_k(nu) + rho d_k/2 |nu|^2 - s_k'nu
//! s_k <- (1 - alpha) s_k + alpha (2 rho sum over neighbours nu_l - t_k)
//! t_k <- (1 - alpha) t_k + alpha (2 rho d_k nu_k - s_k)            (old s_k and t_k in both)
//! ```
//!
//! The argmin has a closed form for one atom and the squared residual; otherwise it is a problem in
//! N_k variables. Guarantee: for any rho > 0 and 0 < alpha < 1 every nu_k converges to nu, linearly
//! if f* is strongly convex; y_k and the cost converge for all residuals (Bastianello, Carli,
//! Schenato, Todescato 2020).
//!
//! In learning, a default rho is multiplied by a scale that follows the rounds of the batches
//! ([`PenaltyRule`](super::PenaltyRule)). A change to rho' in mid-run adds (rho' - rho) d_k nu_k to
//! s_k and t_k: nu_k, the gradient of J_k that s_k - t_k holds, and the limit stay the same.
//!
//! A random start has s_k = t_k = r_k instead of 0. The limit is the same, since it depends on the
//! start only through sum over k of (s_k - t_k), which is invariant. r_k decays as (1 - 2
//! alpha)^round.

use super::{
    check_constant, fill, resolved, zeros, AgentStrategy, Combine, Exchange, Local, Message,
    SharedConstants, Strategy, Workspace,
};
use crate::error::{Error, Result};
use crate::random::{gaussian, Rng};
use crate::spec::Spec;
use crate::Stop;
use dictmesh_kernels::matrix::{axpy, Matrix};
use dictmesh_kernels::simd::{dispatch, Simd, WithSimd};
use std::sync::Arc;

/// The default relaxation alpha (dimensionless; 0.5 is plain ADMM).
pub const DEFAULT_ALPHA: f64 = 0.9;

/// The default rho = sqrt(2 m L) / (lambda_2^(1/4) d^(3/4)), with lambda_2 the algebraic
/// connectivity of the graph, d its mean degree, m = c/N (1/N if f* is not strongly convex) and L =
/// (c + |W|^2/delta)/N. It is 1 for a single agent, where rho has no effect.
///
/// Atoms are private, so |W|^2 is replaced by (1 + sqrt(K/M))^2, its value for incoherent unit
/// atoms, and by four times that for non-negative atoms, which are correlated. The theoretical
/// value 2 sqrt(m L / (lambda_max(D+B) lambda_2(D-B))) is too large on rings and paths and too
/// small on stars.
pub fn default_rho(shared: &SharedConstants) -> f64 {
    if shared.agents < 2 {
        return 1.0;
    }
    let n = shared.agents as f64;
    let m = curvature_or_one(shared) / n;
    let w = 1.0 + (shared.atoms as f64 / shared.rows as f64).sqrt();
    let alike = if shared.non_negative { 4.0 } else { 1.0 };
    let l = (shared.curvature + alike * w * w / shared.delta) / n;
    (2.0 * m * l).sqrt()
        / (shared.spectrum.laplacian_second.powf(0.25) * shared.mean_degree.powf(0.75))
}

/// The strong convexity constant of f*, or 1 if there is none, as a scale.
pub(super) fn curvature_or_one(shared: &SharedConstants) -> f64 {
    if shared.curvature > 0.0 {
        shared.curvature
    } else {
        1.0
    }
}

/// The strategy with penalty rho, relaxation alpha and the norm of a random start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RelaxedAdmm {
    /// rho; `None` is [`default_rho`].
    pub rho: Option<f64>,
    /// alpha, above 0 and below 1; `None` is [`DEFAULT_ALPHA`].
    pub alpha: Option<f64>,
    /// The approximate norm |r_k| of the random start s_k = t_k = r_k, drawn for each sample;
    /// `None` starts from 0. It masks the first messages; `dictmesh-apps` measures the protection
    /// (`audit`).
    pub random_start: Option<f64>,
    /// Whether rho follows the rounds of the batches in learning; `None` is whether rho is
    /// omitted.
    pub adapt: Option<bool>,
}

impl RelaxedAdmm {
    pub(super) fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&["rho", "alpha", "random_start", "adapt", "bits"])?;
        let strategy = RelaxedAdmm {
            rho: spec.number("rho")?,
            alpha: spec.number("alpha")?,
            random_start: spec.number("random_start")?,
            adapt: spec.get("adapt")?,
        };
        strategy.checked()
    }

    fn checked(self) -> Result<Self> {
        check_constant("rho", self.rho)?;
        check_constant("random_start", self.random_start)?;
        match self.alpha {
            Some(alpha) if !(alpha > 0.0 && alpha < 1.0) => Err(Error::parameter(
                "alpha",
                alpha,
                "must be above 0 and below 1 (0.5 is plain ADMM, 0.9 the default)",
            )),
            _ => Ok(self),
        }
    }
}

impl Strategy for RelaxedAdmm {
    fn spec(&self) -> Spec {
        Spec::new("relaxed-admm")
            .with_some_number("rho", self.rho)
            .with_some_number("alpha", self.alpha)
            .with_some_number("random_start", self.random_start)
            .with_some("adapt", self.adapt)
    }

    fn resolve(&self, shared: &SharedConstants) -> Result<Arc<dyn Strategy>> {
        // Checks the given constants first, so that the error does not blame a derived default.
        self.checked()?;
        Ok(Arc::new(RelaxedAdmm {
            rho: fill("rho", self.rho, || default_rho(shared))?,
            alpha: Some(self.alpha.unwrap_or(DEFAULT_ALPHA)),
            random_start: self.random_start,
            // A resolved rho is no longer distinguished from a given one, which is fixed.
            adapt: self.adapts().then_some(true),
        }))
    }

    fn agent(&self, own: Rng) -> Result<Box<dyn AgentStrategy>> {
        let rho = resolved("rho", self.rho)?;
        Ok(Box::new(Iterates {
            unscaled_rho: rho,
            rho,
            alpha: resolved("alpha", self.alpha)?,
            nu: Matrix::default(),
            s: Matrix::default(),
            t: Matrix::default(),
            workspace: Workspace::default(),
            argmin_stop: Stop::Converged,
            is_final: false,
            random_start: self.random_start.map(|size| (size, own)),
        }))
    }

    fn is_rotation_equivariant(&self) -> bool {
        // A random start is outside the span of atoms and samples.
        self.random_start.is_none()
    }

    fn solves_alone(&self) -> bool {
        true
    }

    fn adapts(&self) -> bool {
        self.adapt.unwrap_or(self.rho.is_none())
    }
}

#[derive(Debug)]
struct Iterates {
    unscaled_rho: f64,
    rho: f64,
    alpha: f64,
    nu: Matrix,
    s: Matrix,
    t: Matrix,
    workspace: Workspace,
    argmin_stop: Stop,
    /// Whether the argmin of an agent without neighbours is done. It is the whole problem, and no
    /// later round changes its input.
    is_final: bool,
    /// The norm of the random start and its generator.
    random_start: Option<(f64, Rng)>,
}

impl AgentStrategy for Iterates {
    fn start(&mut self, local: &Local) {
        self.nu = zeros(local);
        self.s = zeros(local);
        // Without neighbours s enters the only argmin, and masks nothing.
        let masked = self.random_start.as_mut().filter(|_| local.degree > 0);
        if let Some((size, own)) = masked {
            self.s = gaussian(local.rows(), local.samples, own);
            let scale = *size / (local.rows() as f64).sqrt();
            self.s.as_mut_slice().iter_mut().for_each(|r| *r *= scale);
        }
        self.t = self.s.clone();
        self.workspace = Workspace::new(local);
        self.is_final = false;
    }

    fn resume(&mut self, _local: &Local) {
        self.is_final = false;
    }

    fn scale_penalty(&mut self, local: &Local, scale: f64) {
        let rho = scale * self.unscaled_rho;
        let more = (rho - self.rho) * local.degree as f64;
        self.rho = rho;
        if more != 0.0 {
            axpy(more, self.nu.as_slice(), self.s.as_mut_slice());
            axpy(more, self.nu.as_slice(), self.t.as_mut_slice());
        }
    }

    fn adapt(&mut self, local: &Local) -> Exchange {
        let q = self.rho * local.degree as f64;
        if !self.is_final {
            self.argmin_stop = local.argmin(q, &self.s, &mut self.nu, &mut self.workspace);
        }
        self.is_final = local.degree == 0;
        Exchange::Combine(Combine::NeighbourSum)
    }

    fn outgoing(&self) -> Message<'_> {
        Message::Array(self.nu.as_slice())
    }

    fn absorb(&mut self, local: &Local, received: Message<'_>) -> bool {
        let two_rho = 2.0 * self.rho;
        dispatch(Absorb {
            alpha: self.alpha,
            two_rho,
            sent: two_rho * local.degree as f64,
            s: self.s.as_mut_slice(),
            t: self.t.as_mut_slice(),
            nu: received.own(self.nu.as_slice()),
            sum: received.array(),
        });
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

/// Updates s_k and t_k.
struct Absorb<'a> {
    alpha: f64,
    two_rho: f64,
    /// 2 rho d_k.
    sent: f64,
    s: &'a mut [f64],
    t: &'a mut [f64],
    nu: &'a [f64],
    sum: &'a [f64],
}

impl WithSimd for Absorb<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let (keep, alpha) = (1.0 - self.alpha, self.alpha);
        let old = self.s.iter_mut().zip(self.t);
        let new = self.nu.iter().zip(self.sum);
        for ((s, t), (nu, sum)) in old.zip(new) {
            let (old_s, old_t) = (*s, *t);
            *s = keep * old_s + alpha * (self.two_rho * sum - old_t);
            *t = keep * old_t + alpha * (self.sent * nu - old_s);
        }
    }
}
