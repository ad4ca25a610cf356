use super::{clip_to_unit_box, in_unit_box, Envelope, Residual};
use crate::error::{Error, Result};
use crate::spec::Spec;
use dictmesh_kernels::matrix::dot;

/// f(u) = sum_m L(u_m) with L(u) = u^2 / (2 eta) for |u| < eta and |u| - eta/2 beyond;
/// f*(nu) = eta/2 |nu|^2 on |nu|_inf <= 1.
///
/// The paper's appendix prints f* with 1/2; its table, with eta/2, is correct.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Huber {
    eta: f64,
    /// Number of rows with the box; the loss is quadratic in the others.
    boxed: usize,
}

impl Huber {
    /// The default threshold, the paper's.
    pub const ETA: f64 = 0.2;

    /// Constructs it from a [`Spec`].
    pub fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&["eta"])?;
        Huber::new(spec.required("eta")?)
    }

    /// The Huber loss with threshold `eta` > 0 between its quadratic and linear parts.
    pub fn new(eta: f64) -> Result<Self> {
        Error::check_positive("eta", eta)?;
        if eta.is_subnormal() {
            let allowed = "is so small that 1/eta overflows; use the residual l1, its limit";
            return Err(Error::parameter("eta", format!("{eta:e}"), allowed));
        }
        Ok(Huber {
            eta,
            boxed: usize::MAX,
        })
    }

    /// The threshold between the quadratic and linear parts.
    pub fn eta(&self) -> f64 {
        self.eta
    }

    /// Number of rows with the box, of `rows`.
    fn boxed(&self, rows: usize) -> usize {
        self.boxed.min(rows)
    }
}

impl Residual for Huber {
    fn spec(&self) -> Spec {
        Spec::new("huber").with("eta", self.eta)
    }

    fn value(&self, u: &[f64]) -> f64 {
        let eta = self.eta;
        let (boxed, rest) = u.split_at(self.boxed(u.len()));
        let cost = |u: &f64| {
            if u.abs() < eta {
                u * u / (2.0 * eta)
            } else {
                u.abs() - eta / 2.0
            }
        };
        boxed.iter().map(cost).sum::<f64>() + dot(rest, rest) / (2.0 * eta)
    }

    fn conjugate(&self, nu: &[f64]) -> f64 {
        if in_unit_box(&nu[..self.boxed(nu.len())]) {
            0.5 * self.eta * dot(nu, nu)
        } else {
            f64::INFINITY
        }
    }

    fn project_dual(&self, nu: &mut [f64]) {
        let boxed = self.boxed(nu.len());
        clip_to_unit_box(&mut nu[..boxed]);
    }

    fn conjugate_prox(&self, tau: f64, nu: &mut [f64]) {
        // Exact because separable: shrink, then clip each entry.
        let shrink = 1.0 / (1.0 + tau * self.eta);
        nu.iter_mut().for_each(|v| *v *= shrink);
        let boxed = self.boxed(nu.len());
        clip_to_unit_box(&mut nu[..boxed]);
    }

    fn conjugate_quadratic(&self) -> Option<f64> {
        Some(self.eta)
    }

    fn recover(&self, nu: &[f64], u: &mut [f64]) {
        // At |nu_m| = 1 every |u_m| >= eta of that sign is a maximiser.
        let eta = self.eta;
        u.iter_mut().zip(nu).for_each(|(u, nu)| *u = eta * nu);
        for (u, nu) in u.iter_mut().zip(&nu[..self.boxed(nu.len())]) {
            if nu.abs() >= 1.0 {
                *u = f64::NAN;
            }
        }
    }

    fn with_box_on_first_rows(&self, rows: usize) -> Option<Box<dyn Residual>> {
        Some(Box::new(Huber {
            boxed: rows,
            ..*self
        }))
    }

    fn envelope(&self) -> Option<&dyn Envelope> {
        Some(self)
    }
}

impl Envelope for Huber {
    fn gradient(&self, s: f64, q: f64, u: &[f64], v: &mut [f64]) {
        let scale = 1.0 / (s * self.eta + q);
        for (v, u) in v.iter_mut().zip(u) {
            *v = u * scale;
        }
        self.project_dual(v);
    }

    fn hessian(&self, s: f64, q: f64, u: &[f64], diagonal: &mut [f64]) -> f64 {
        let a = s * self.eta + q;
        diagonal.fill(1.0 / a);
        for (d, u) in diagonal.iter_mut().zip(&u[..self.boxed(u.len())]) {
            if u.abs() >= a {
                *d = 0.0;
            }
        }
        0.0
    }

    fn huber_threshold(&self, s: f64, q: f64) -> Option<f64> {
        // Only if every row has the box.
        (self.boxed == usize::MAX).then_some(s * self.eta + q)
    }
}
