use super::{Envelope, Residual};
use crate::error::{Error, Result};
use crate::spec::Spec;
use dictmesh_kernels::matrix::norm;

/// f(u) = 0 on |u| <= sigma and infinite beyond; f*(nu) = sigma |nu|: basis pursuit denoising, the
/// paper's set C. f* is not differentiable at 0, so the gradient strategies reject it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    sigma: f64,
}

/// Relative tolerance within which a point counts as on the sphere, for rounded norms.
const SPHERE_ROUNDING: f64 = 1e-12;

impl Ball {
    /// The default radius, for samples of length 1.
    pub const SIGMA: f64 = 0.1;

    /// Constructs it from a [`Spec`].
    pub fn from_spec(spec: &Spec) -> Result<Self> {
        spec.allow(&["sigma"])?;
        Ball::new(spec.required("sigma")?)
    }

    /// The ball of radius `sigma` > 0; for 0 use [`Equality`](super::Equality).
    pub fn new(sigma: f64) -> Result<Self> {
        if sigma == 0.0 {
            return Err(Error::parameter(
                "sigma",
                sigma,
                "must be above 0; for an exact fit use the residual \"equality\"",
            ));
        }
        Error::check_positive("sigma", sigma)?;
        Ok(Ball { sigma })
    }

    /// The radius.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }
}

impl Residual for Ball {
    fn spec(&self) -> Spec {
        Spec::new("ball").with("sigma", self.sigma)
    }

    fn value(&self, u: &[f64]) -> f64 {
        if norm(u) <= self.sigma * (1.0 + SPHERE_ROUNDING) {
            0.0
        } else {
            f64::INFINITY
        }
    }

    fn conjugate(&self, nu: &[f64]) -> f64 {
        self.sigma * norm(nu)
    }

    fn project_dual(&self, _nu: &mut [f64]) {}

    fn conjugate_prox(&self, tau: f64, nu: &mut [f64]) {
        let size = norm(nu);
        let shrink = if size > tau * self.sigma {
            1.0 - tau * self.sigma / size
        } else {
            0.0
        };
        nu.iter_mut().for_each(|v| *v *= shrink);
    }

    fn recover(&self, nu: &[f64], u: &mut [f64]) {
        let size = norm(nu);
        for (u, nu) in u.iter_mut().zip(nu) {
            *u = if size > 0.0 {
                self.sigma * nu / size
            } else {
                f64::NAN
            };
        }
    }

    fn violation(&self, u: &[f64]) -> f64 {
        (norm(u) - self.sigma).max(0.0)
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

impl Envelope for Ball {
    fn gradient(&self, s: f64, q: f64, u: &[f64], v: &mut [f64]) {
        v.copy_from_slice(u);
        self.conjugate_prox(s, v);
        v.iter_mut().for_each(|v| *v /= q);
    }

    fn hessian(&self, s: f64, q: f64, u: &[f64], diagonal: &mut [f64]) -> f64 {
        let (size, radius) = (norm(u), s * self.sigma);
        if size <= radius {
            diagonal.fill(0.0);
            return 0.0;
        }
        diagonal.fill((1.0 - radius / size) / q);
        radius / (q * size.powi(3))
    }
}
