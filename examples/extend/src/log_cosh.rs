use dictmesh::problem::Residual;
use dictmesh::Spec;

/// f(u) = sum log cosh(u_m), a smooth relative of Huber's loss;
/// f*(nu) = 1/2 sum (1 + nu_m) log(1 + nu_m) + (1 - nu_m) log(1 - nu_m) on |nu|_inf <= 1.
///
/// f has second derivatives of at most 1, so f* is strongly convex with constant 1. It has no
/// envelope in closed form: the exact solver takes accelerated gradient steps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogCosh;

/// Newton steps of the prox; it converges quadratically from a bracket that bisection narrows.
const STEPS: usize = 100;

impl Residual for LogCosh {
    fn spec(&self) -> Spec {
        Spec::new("log-cosh")
    }

    fn value(&self, u: &[f64]) -> f64 {
        // log cosh(u) = |u| + log(1 + exp(-2 |u|)) - log 2 does not overflow.
        let one = |u: &f64| u.abs() + (-2.0 * u.abs()).exp().ln_1p() - std::f64::consts::LN_2;
        u.iter().map(one).sum()
    }

    fn conjugate(&self, nu: &[f64]) -> f64 {
        let term = |v: f64| if v > 0.0 { 0.5 * v * v.ln() } else { 0.0 };
        match nu.iter().all(|v| v.abs() <= 1.0) {
            true => nu.iter().map(|v| term(1.0 + v) + term(1.0 - v)).sum(),
            false => f64::INFINITY,
        }
    }

    fn project_dual(&self, nu: &mut [f64]) {
        nu.iter_mut().for_each(|v| *v = v.clamp(-1.0, 1.0));
    }

    /// v = tanh(u) at the root u of tanh(u) + u tau = nu. Newton steps; a step that leaves the
    /// bracket is replaced by bisection. NaN and infinite entries of a diverged run stay.
    fn conjugate_prox(&self, tau: f64, nu: &mut [f64]) {
        for v in nu.iter_mut().filter(|v| v.is_finite()) {
            let (mut lo, mut hi) = ((*v - 1.0) / tau, (*v + 1.0) / tau);
            let mut u = 0.0_f64.clamp(lo, hi);
            for _ in 0..STEPS {
                let t = u.tanh();
                let excess = t + tau * u - *v;
                match excess > 0.0 {
                    true => hi = u,
                    false => lo = u,
                }
                let step = u - excess / (1.0 - t * t + tau);
                let next = if step > lo && step < hi {
                    step
                } else {
                    0.5 * (lo + hi)
                };
                if next == u {
                    break;
                }
                u = next;
            }
            *v = u.tanh();
        }
    }

    fn recover(&self, nu: &[f64], u: &mut [f64]) {
        for (u, nu) in u.iter_mut().zip(nu) {
            *u = if nu.abs() < 1.0 { nu.atanh() } else { f64::NAN };
        }
    }

    fn conjugate_curvature(&self) -> f64 {
        1.0
    }
}
