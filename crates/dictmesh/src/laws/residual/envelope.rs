//! The laws of the envelope e(u) = sup_v u'v - s f*(v) - q/2 |v|^2 of a residual.

use super::{distance, proximal, slack, NEAR};
use crate::laws::{direction, holds, middle, plus, points, Law};
use crate::problem::residual::{Envelope, Residual};
use crate::random::{gaussian, stream};
use dictmesh_kernels::matrix::{dot, norm};

/// Number of points at which the Hessian is compared with difference quotients.
const HESSIANS: i32 = 300;

/// An envelope with its weights.
struct At<'a> {
    f: &'a dyn Residual,
    e: &'a dyn Envelope,
    s: f64,
    q: f64,
}

/// Checks the gradient and the Hessian of e against difference quotients, and its closed forms.
pub(super) fn envelope(f: &dyn Residual, e: &dyn Envelope) -> Law {
    let mut weights = vec![(1.0, 0.5), (0.1, 2.0), (0.02, 0.01)];
    if f.conjugate_curvature() > 0.0 {
        weights.extend([(1.0, 0.0), (0.1, 0.0)]);
    }
    for (s, q) in weights {
        let at = At { f, e, s, q };
        let label = |broken: String| format!("envelope for s = {s}, q = {q}: {broken}");
        for len in [1, 2, 5] {
            for (u, other) in points(len, 1).iter().zip(&points(len, 2)) {
                at.every_law(u, other).map_err(label)?;
            }
        }
        at.hessian_by_differences().map_err(label)?;
    }
    Ok(())
}

impl At<'_> {
    fn every_law(&self, u: &[f64], other: &[f64]) -> Law {
        self.argmax(u, other)?;
        self.gradient_by_differences(u, other)?;
        self.hessian_bounds(u, other)?;
        self.quadratic(u)?;
        self.huber(u)
    }

    fn gradient(&self, u: &[f64]) -> Vec<f64> {
        let mut v = vec![7.0; u.len()];
        self.e.gradient(self.s, self.q, u, &mut v);
        v
    }

    /// u'v - s f*(v) - q/2 |v|^2.
    fn objective(&self, u: &[f64], v: &[f64]) -> f64 {
        dot(u, v) - self.s * self.f.conjugate(v) - 0.5 * self.q * dot(v, v)
    }

    /// e(u), as the objective at its maximiser.
    fn value(&self, u: &[f64]) -> f64 {
        self.objective(u, &self.gradient(u))
    }

    /// The strong concavity of the objective, whose inverse is a Lipschitz constant of e'.
    fn curvature(&self) -> f64 {
        self.q + self.s * self.f.conjugate_curvature()
    }

    /// (diag + c u u') d.
    fn hessian_times(&self, u: &[f64], d: &[f64]) -> Vec<f64> {
        let mut diagonal = vec![7.0; u.len()];
        let c = self.e.hessian(self.s, self.q, u, &mut diagonal);
        let along = c * dot(u, d);
        let terms = diagonal.iter().zip(d).zip(u);
        terms.map(|((h, d), u)| h * d + along * u).collect()
    }

    /// v = e'(u) leads every other v by strong concavity, (u - q v)/s is a subgradient of f* at v,
    /// and v is a prox of f*.
    fn argmax(&self, u: &[f64], other: &[f64]) -> Law {
        let best = self.gradient(u);
        let top = self.objective(u, &best);
        let words = || format!("gradient({u:?}) = {best:?} is not the maximiser");
        holds(top.is_finite(), words)?;
        for mut rival in [
            other.to_vec(),
            plus(&best, 0.3, other),
            plus(&best, 1e-3, other),
        ] {
            self.f.project_dual(&mut rival);
            let margin = 0.5 * self.curvature() * distance(&rival, &best).powi(2);
            let lead = top - self.objective(u, &rival) - margin;
            holds(lead >= -NEAR * (1.0 + top.abs() + margin), words)?;
        }
        let rest: Vec<f64> = plus(u, -self.q, &best).iter().map(|r| r / self.s).collect();
        let gap = self.s * slack(self.f, &rest, &best);
        holds(
            gap.abs() <= NEAR * (1.0 + top.abs() + norm(u) * norm(&best)),
            words,
        )?;
        if self.q == 0.0 {
            return Ok(());
        }
        let centre: Vec<f64> = u.iter().map(|u| u / self.q).collect();
        let expected = proximal(self.f, self.s / self.q, &centre);
        holds(
            distance(&best, &expected) <= NEAR * (1.0 + norm(&expected)),
            || format!("gradient({u:?}) = {best:?}, but conjugate_prox is {expected:?}"),
        )
    }

    /// e' is the slope of e; its Lipschitz constant bounds the error of a difference across kinks.
    fn gradient_by_differences(&self, u: &[f64], towards: &[f64]) -> Law {
        let (d, h) = (direction(towards), 1e-6);
        let (ahead, behind) = (self.value(&plus(u, h, &d)), self.value(&plus(u, -h, &d)));
        let slope = (ahead - behind) / (2.0 * h);
        let expected = dot(&self.gradient(u), &d);
        let rounding = 4e-15 * (ahead.abs() + behind.abs()) / h;
        let error = 1e-8 + rounding + h / self.curvature();
        holds((slope - expected).abs() <= error, || {
            format!("gradient has the slope {expected} along {d:?} at {u:?}, e has {slope}")
        })
    }

    /// 0 <= d'H d <= |d|^2 / curvature, at kinks too.
    fn hessian_bounds(&self, u: &[f64], d: &[f64]) -> Law {
        let bend = dot(d, &self.hessian_times(u, d));
        let most = dot(d, d) / self.curvature();
        holds(bend >= -NEAR * most && bend <= most * (1.0 + NEAR), || {
            format!("d'H d is {bend} at {u:?} for d = {d:?}, not between 0 and {most}")
        })
    }

    /// If e is |u|^2/(2 a), so are its gradient and Hessian.
    fn quadratic(&self, u: &[f64]) -> Law {
        let Some(a) = self.e.quadratic(self.s, self.q) else {
            return Ok(());
        };
        let scaled: Vec<f64> = u.iter().map(|u| u / a).collect();
        let near = NEAR * (1.0 + norm(&scaled) * (1.0 + norm(u)));
        let equal = (self.value(u) - 0.5 * dot(u, &scaled)).abs() <= near
            && distance(&self.gradient(u), &scaled) <= near
            && distance(&self.hessian_times(u, u), &scaled) <= near;
        holds(equal, || {
            format!("quadratic is {a}, but e is not |u|^2 / (2 {a}) at {u:?}")
        })
    }

    /// If e is the Huber function of threshold a, so is its gradient.
    fn huber(&self, u: &[f64]) -> Law {
        let Some(a) = self.e.huber_threshold(self.s, self.q) else {
            return Ok(());
        };
        let clipped: Vec<f64> = u.iter().map(|u| (u / a).clamp(-1.0, 1.0)).collect();
        let cost = |u: &f64| match u.abs() <= a {
            true => u * u / (2.0 * a),
            false => u.abs() - 0.5 * a,
        };
        let value: f64 = u.iter().map(cost).sum();
        let equal = (self.value(u) - value).abs() <= NEAR * (1.0 + value)
            && distance(&self.gradient(u), &clipped) <= NEAR * (1.0 + norm(&clipped));
        holds(equal, || format!("huber_threshold {a} is wrong at {u:?}"))
    }

    /// The Hessian is the difference quotient of e' wherever the quotients ahead and behind agree,
    /// that is, where no kink lies between; a convex function has few.
    fn hessian_by_differences(&self) -> Law {
        let (mut rng, mut compared) = (stream(3, 0), 0);
        for i in 0..HESSIANS {
            // From outside of every kink, which are proportional to s and q, to inside.
            let size = 4.0 * 0.98_f64.powi(i);
            let u = gaussian(5, 1, &mut rng).into_vec();
            let u: Vec<f64> = u.iter().map(|u| size * u).collect();
            let d = gaussian(5, 1, &mut rng).into_vec();
            let (h, here) = (1e-6 * size, self.gradient(&u));
            let quotient = |h: f64| {
                let step = plus(&self.gradient(&plus(&u, h, &d)), -1.0, &here);
                step.iter().map(|g| g / h).collect::<Vec<f64>>()
            };
            let (ahead, behind) = (quotient(h), quotient(-h));
            let scale = 1.0 + norm(&ahead) + norm(&behind);
            if distance(&ahead, &behind) > 1e-3 * scale {
                continue;
            }
            compared += 1;
            let mean = middle(&ahead, &behind);
            let found = self.hessian_times(&u, &d);
            holds(distance(&mean, &found) < 1e-4 * scale, || {
                format!("hessian times {d:?} is {found:?} at {u:?}, the gradient moves by {mean:?}")
            })?;
        }
        holds(compared > HESSIANS * 3 / 4, || {
            format!(
                "the gradient has kinks at {} of {HESSIANS} points",
                HESSIANS - compared
            )
        })
    }
}
