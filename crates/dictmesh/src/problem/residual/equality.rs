use super::{Envelope, Residual};
use crate::error::Result;
use crate::spec::Spec;
use dictmesh_kernels::matrix::norm;

/// f(u) = 0 at u = 0 and infinite elsewhere; f* = 0 everywhere; z = x: basis pursuit, the paper's
/// set B = {0}.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Equality;

impl Equality {
    /// Constructs it from a [`Spec`].
    pub fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&[])?;
        Ok(Equality)
    }
}

impl Residual for Equality {
    fn spec(&self) -> Spec {
        Spec::new("equality")
    }

    fn value(&self, u: &[f64]) -> f64 {
        if u.iter().all(|u| *u == 0.0) {
            0.0
        } else {
            f64::INFINITY
        }
    }

    fn conjugate(&self, _nu: &[f64]) -> f64 {
        0.0
    }

    fn project_dual(&self, _nu: &mut [f64]) {}

    fn conjugate_prox(&self, _tau: f64, _nu: &mut [f64]) {}

    fn conjugate_quadratic(&self) -> Option<f64> {
        Some(0.0)
    }

    fn recover(&self, _nu: &[f64], u: &mut [f64]) {
        u.fill(0.0);
    }

    fn violation(&self, u: &[f64]) -> f64 {
        norm(u)
    }

    fn can_be_infeasible(&self) -> bool {
        true
    }

    fn is_rotation_invariant(&self) -> bool {
        true
    }

    fn envelope(&self) -> Option<&dyn Envelope> {
        Some(self)
    }
}

impl Envelope for Equality {
    fn gradient(&self, _s: f64, q: f64, u: &[f64], v: &mut [f64]) {
        for (v, u) in v.iter_mut().zip(u) {
            *v = u / q;
        }
    }

    fn hessian(&self, _s: f64, q: f64, _u: &[f64], diagonal: &mut [f64]) -> f64 {
        diagonal.fill(1.0 / q);
        0.0
    }

    fn quadratic(&self, _s: f64, q: f64) -> Option<f64> {
        Some(q)
    }
}
