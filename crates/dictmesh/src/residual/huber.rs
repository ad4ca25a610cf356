use super::{clip_to_unit_box, in_unit_box, Residual};
use crate::error::{Error, Result};
use crate::matrix::dot;

/// f(u) = sum_m L(u_m) with L(u) = u^2 / (2 eta) for |u| < eta and |u| - eta/2 beyond;
/// f*(nu) = eta/2 |nu|^2 on |nu|_inf <= 1.
///
/// The paper's appendix prints the conjugate with 1/2; its table, with eta/2, is right.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Huber {
    eta: f64,
}

impl Huber {
    /// The Huber loss that turns from quadratic to linear at `eta` > 0.
    pub fn new(eta: f64) -> Result<Self> {
        Error::check_positive("eta", eta)?;
        Ok(Huber { eta })
    }

    /// Where the loss turns from quadratic to linear.
    pub fn eta(&self) -> f64 {
        self.eta
    }
}

impl Residual for Huber {
    fn name(&self) -> &'static str {
        "huber"
    }

    fn value(&self, u: &[f64]) -> f64 {
        let eta = self.eta;
        u.iter()
            .map(|u| {
                if u.abs() < eta {
                    u * u / (2.0 * eta)
                } else {
                    u.abs() - eta / 2.0
                }
            })
            .sum()
    }

    fn conjugate(&self, nu: &[f64]) -> f64 {
        if in_unit_box(nu) {
            0.5 * self.eta * dot(nu, nu)
        } else {
            f64::INFINITY
        }
    }

    fn project_dual(&self, nu: &mut [f64]) {
        clip_to_unit_box(nu);
    }

    fn conjugate_prox(&self, tau: f64, nu: &mut [f64]) {
        // Separable: shrink, then clip, is exact in each coordinate.
        let shrink = 1.0 / (1.0 + tau * self.eta);
        nu.iter_mut().for_each(|v| *v *= shrink);
        clip_to_unit_box(nu);
    }

    fn conjugate_gradient(&self, nu: &[f64], out: &mut [f64]) {
        for (out, nu) in out.iter_mut().zip(nu) {
            *out = self.eta * nu;
        }
    }

    fn conjugate_curvature(&self) -> f64 {
        self.eta
    }

    fn envelope_gradient(&self, s: f64, q: f64, u: &[f64], v: &mut [f64]) {
        let scale = 1.0 / (s * self.eta + q);
        for (v, u) in v.iter_mut().zip(u) {
            *v = (u * scale).clamp(-1.0, 1.0);
        }
    }

    fn envelope_hessian(&self, s: f64, q: f64, u: &[f64], diagonal: &mut [f64]) -> f64 {
        let a = s * self.eta + q;
        for (d, u) in diagonal.iter_mut().zip(u) {
            *d = if u.abs() < a { 1.0 / a } else { 0.0 };
        }
        0.0
    }

    fn envelope_bound(&self, s: f64, q: f64) -> Option<f64> {
        Some(s * self.eta + q)
    }

    fn recover(&self, nu: &[f64], u: &mut [f64]) {
        // At |nu_m| = 1 any |u_m| >= eta of that sign fits.
        for (u, nu) in u.iter_mut().zip(nu) {
            *u = if nu.abs() < 1.0 {
                self.eta * nu
            } else {
                f64::NAN
            };
        }
    }
}
