//! Residuals: the envelope e(u) = sup_v u'v - s f*(v) - q/2 |v|^2, its gradient and its Hessian.

use super::conjugates::fenchel_young;
use super::{config, dot, norm, plus, residuals, vectors};
use dictmesh::problem::residual::Residual;
use dictmesh::random::{gaussian, stream};
use proptest::prelude::*;

/// v = e'(u).
fn gradient(f: &dyn Residual, s: f64, q: f64, u: &[f64]) -> Vec<f64> {
    let mut v = vec![7.0; u.len()];
    f.envelope().unwrap().gradient(s, q, u, &mut v);
    v
}

/// u'v - s f*(v) - q/2 |v|^2.
fn objective(f: &dyn Residual, s: f64, q: f64, u: &[f64], v: &[f64]) -> f64 {
    dot(u, v) - s * f.conjugate(v) - 0.5 * q * dot(v, v)
}

/// e(u), at its own maximiser.
fn envelope(f: &dyn Residual, s: f64, q: f64, u: &[f64]) -> f64 {
    objective(f, s, q, u, &gradient(f, s, q, u))
}

/// The weights the solvers use: s = 1/N, and q = 0 where f* alone is curved.
fn weights(f: &dyn Residual) -> Vec<(f64, f64)> {
    let mut list = vec![(1.0, 0.5), (0.1, 2.0), (0.02, 0.01)];
    if f.conjugate_curvature() > 0.0 {
        list.extend([(1.0, 0.0), (0.1, 0.0)]);
    }
    list
}

proptest! {
    #![proptest_config(config())]

    /// v = e'(u) is the maximiser: it beats every other v by what strong concavity asks.
    #[test]
    fn the_envelope_gradient_is_the_argmax(v in vectors(3), t in -1.0..1.0) {
        for f in residuals() {
            for (s, q) in weights(&*f) {
                let u = &v[0];
                let best = gradient(&*f, s, q, u);
                let top = objective(&*f, s, q, u, &best);
                prop_assert!(top.is_finite(), "{f:?}");
                let curvature = q + s * f.conjugate_curvature();
                for mut other in [v[1].clone(), plus(&best, t, &v[2]), plus(&best, 1e-3 * t, &v[2])] {
                    f.project_dual(&mut other);
                    let margin = 0.5 * curvature * norm(&plus(&other, -1.0, &best)).powi(2);
                    let lead = top - objective(&*f, s, q, u, &other) - margin;
                    prop_assert!(lead >= -1e-9 * (1.0 + top.abs()), "{f:?} s {s} q {q}: {lead}");
                }
                // Which is to say that (u - q v)/s is a subgradient of f* at v.
                let rest: Vec<f64> = plus(u, -q, &best).iter().map(|r| r / s).collect();
                let slack = s * fenchel_young(&*f, &rest, &best);
                prop_assert!(slack.abs() <= 1e-9 * (1.0 + top.abs()), "{f:?} s {s} q {q}: {slack}");
            }
        }
    }

    /// It is the slope that e is seen to have; e' is Lipschitz with 1/(q + s c), which bounds the error
    /// of a difference even across a kink.
    #[test]
    fn the_envelope_gradient_is_the_gradient(v in vectors(2)) {
        for f in residuals() {
            for (s, q) in weights(&*f) {
                let u = &v[0];
                let d: Vec<f64> = v[1].iter().map(|d| d / (1.0 + norm(&v[1]))).collect();
                let h = 1e-6;
                let ahead = envelope(&*f, s, q, &plus(u, h, &d));
                let behind = envelope(&*f, s, q, &plus(u, -h, &d));
                let slope = (ahead - behind) / (2.0 * h);
                let expected = dot(&gradient(&*f, s, q, u), &d);
                let rounding = 1e-15 * (ahead.abs() + behind.abs()) / h;
                let kink = h / (q + s * f.conjugate_curvature());
                prop_assert!(
                    (slope - expected).abs() <= 1e-8 + kink + 4.0 * rounding,
                    "{f:?} s {s} q {q} at {u:?}: {slope} is not {expected}"
                );
            }
        }
    }

    /// Where the envelope claims to be |u|^2/(2a), it is.
    #[test]
    fn the_envelope_quadratic_agrees(v in vectors(1)) {
        for f in residuals() {
            for (s, q) in weights(&*f) {
                let Some(a) = f.envelope().unwrap().quadratic(s, q) else {
                    continue;
                };
                let u = &v[0];
                let scale = 1.0 + norm(u).powi(2) / a;
                prop_assert!((envelope(&*f, s, q, u) - dot(u, u) / (2.0 * a)).abs() <= 1e-12 * scale);
                let g = gradient(&*f, s, q, u);
                prop_assert!(norm(&plus(&g, -1.0 / a, u)) <= 1e-12 * scale, "{f:?}");
                let mut diagonal = vec![7.0; u.len()];
                prop_assert_eq!(f.envelope().unwrap().hessian(s, q, u, &mut diagonal), 0.0);
                prop_assert!(diagonal.iter().all(|d| (d - 1.0 / a).abs() <= 1e-12 / a), "{f:?}");
            }
        }
    }

    /// A generalised Hessian is between 0 and the Lipschitz constant of the gradient, at kinks too.
    #[test]
    fn the_envelope_hessian_is_bounded(v in vectors(2)) {
        for f in residuals() {
            for (s, q) in weights(&*f) {
                let (u, d) = (&v[0], &v[1]);
                let bend = dot(d, &hessian_times(&*f, s, q, u, d));
                let most = dot(d, d) / (q + s * f.conjugate_curvature());
                prop_assert!(bend >= -1e-12 * most, "{f:?}");
                prop_assert!(bend <= most * (1.0 + 1e-12), "{f:?}: {bend} above {most}");
            }
        }
    }
}

/// (diag + c u u') d.
fn hessian_times(f: &dyn Residual, s: f64, q: f64, u: &[f64], d: &[f64]) -> Vec<f64> {
    let mut diagonal = vec![7.0; u.len()];
    let c = f.envelope().unwrap().hessian(s, q, u, &mut diagonal);
    let along = c * dot(u, d);
    (0..u.len())
        .map(|i| diagonal[i] * d[i] + along * u[i])
        .collect()
}

/// The Hessian is the difference quotient of the gradient, wherever those ahead and behind agree that
/// there is no kink in between; and that is nearly everywhere.
#[test]
fn the_envelope_hessian_is_the_hessian() {
    for f in residuals() {
        for (s, q) in weights(&*f) {
            let mut rng = stream(3, 0);
            let (mut compared, mut moving, draws) = (0, 0, 300);
            for i in 0..draws {
                // From well inside every kink, at s times its place without s, to well outside.
                let size = 4.0 * 0.98_f64.powi(i);
                let u: Vec<f64> = gaussian(5, 1, &mut rng).into_vec();
                let u: Vec<f64> = u.iter().map(|u| size * u).collect();
                let d = gaussian(5, 1, &mut rng).into_vec();
                let (h, here) = (1e-6 * size, gradient(&*f, s, q, &u));
                let quotient = |h: f64| {
                    let step = plus(&gradient(&*f, s, q, &plus(&u, h, &d)), -1.0, &here);
                    step.iter().map(|g| g / h).collect::<Vec<f64>>()
                };
                let (ahead, behind) = (quotient(h), quotient(-h));
                let expected = hessian_times(&*f, s, q, &u, &d);
                let scale = 1.0 + norm(&ahead) + norm(&behind);
                if norm(&plus(&ahead, -1.0, &behind)) > 1e-3 * scale {
                    continue;
                }
                let middle: Vec<f64> = plus(&ahead, 1.0, &behind).iter().map(|g| g / 2.0).collect();
                let error = norm(&plus(&middle, -1.0, &expected));
                assert!(
                    error < 1e-4 * scale,
                    "{f:?} s {s} q {q} at {u:?}: off by {error}"
                );
                compared += 1;
                moving += usize::from(norm(&expected) > 0.0);
            }
            assert!(
                compared > draws * 9 / 10,
                "{f:?}: only {compared} of {draws} compared"
            );
            assert!(
                moving > 5,
                "{f:?} s {s} q {q}: a Hessian of 0 proves nothing"
            );
        }
    }
}
