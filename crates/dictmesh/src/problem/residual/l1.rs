use super::{clip_to_unit_box, in_unit_box, Envelope, Residual};
use crate::error::Result;
use crate::spec::Spec;

/// f(u) = |u|_1, f*(nu) = 0 on |nu|_inf <= 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct L1;

impl L1 {
    /// Constructs it from a [`Spec`].
    pub fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&[])?;
        Ok(L1)
    }
}

impl Residual for L1 {
    fn spec(&self) -> Spec {
        Spec::new("l1")
    }

    fn value(&self, u: &[f64]) -> f64 {
        u.iter().map(|u| u.abs()).sum()
    }

    fn conjugate(&self, nu: &[f64]) -> f64 {
        if in_unit_box(nu) {
            0.0
        } else {
            f64::INFINITY
        }
    }

    fn project_dual(&self, nu: &mut [f64]) {
        clip_to_unit_box(nu);
    }

    fn conjugate_prox(&self, _tau: f64, nu: &mut [f64]) {
        clip_to_unit_box(nu);
    }

    fn conjugate_quadratic(&self) -> Option<f64> {
        Some(0.0)
    }

    fn lipschitz(&self, rows: usize) -> f64 {
        (rows as f64).sqrt()
    }

    fn recover(&self, nu: &[f64], u: &mut [f64]) {
        for (u, nu) in u.iter_mut().zip(nu) {
            *u = if nu.abs() < 1.0 { 0.0 } else { f64::NAN };
        }
    }

    fn envelope(&self) -> Option<&dyn Envelope> {
        Some(self)
    }
}

impl Envelope for L1 {
    fn gradient(&self, _s: f64, q: f64, u: &[f64], v: &mut [f64]) {
        for (v, u) in v.iter_mut().zip(u) {
            *v = (u / q).clamp(-1.0, 1.0);
        }
    }

    fn hessian(&self, _s: f64, q: f64, u: &[f64], diagonal: &mut [f64]) -> f64 {
        for (d, u) in diagonal.iter_mut().zip(u) {
            *d = if u.abs() < q { 1.0 / q } else { 0.0 };
        }
        0.0
    }

    fn huber_threshold(&self, _s: f64, q: f64) -> Option<f64> {
        Some(q)
    }
}
