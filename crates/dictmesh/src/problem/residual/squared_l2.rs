use super::{Envelope, Residual};
use crate::error::Result;
use crate::spec::Spec;
use dictmesh_kernels::matrix::dot;

/// f(u) = 1/2 |u|^2, f*(nu) = 1/2 |nu|^2 everywhere; z = x - nu.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SquaredL2;

impl SquaredL2 {
    /// Constructs it from a [`Spec`].
    pub fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&[])?;
        Ok(SquaredL2)
    }
}

impl Residual for SquaredL2 {
    fn spec(&self) -> Spec {
        Spec::new("squared-l2")
    }

    fn value(&self, u: &[f64]) -> f64 {
        0.5 * dot(u, u)
    }

    fn conjugate(&self, nu: &[f64]) -> f64 {
        0.5 * dot(nu, nu)
    }

    fn project_dual(&self, _nu: &mut [f64]) {}

    fn conjugate_prox(&self, tau: f64, nu: &mut [f64]) {
        let shrink = 1.0 / (1.0 + tau);
        nu.iter_mut().for_each(|v| *v *= shrink);
    }

    fn conjugate_quadratic(&self) -> Option<f64> {
        Some(1.0)
    }

    fn recover(&self, nu: &[f64], u: &mut [f64]) {
        u.copy_from_slice(nu);
    }

    fn is_rotation_invariant(&self) -> bool {
        true
    }

    fn envelope(&self) -> Option<&dyn Envelope> {
        Some(self)
    }
}

impl Envelope for SquaredL2 {
    fn gradient(&self, s: f64, q: f64, u: &[f64], v: &mut [f64]) {
        let scale = 1.0 / (s + q);
        for (v, u) in v.iter_mut().zip(u) {
            *v = u * scale;
        }
    }

    fn hessian(&self, s: f64, q: f64, _u: &[f64], diagonal: &mut [f64]) -> f64 {
        diagonal.fill(1.0 / (s + q));
        0.0
    }

    fn quadratic(&self, s: f64, q: f64) -> Option<f64> {
        Some(s + q)
    }
}
