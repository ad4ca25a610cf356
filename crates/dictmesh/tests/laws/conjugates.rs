//! Residuals: f against f*, the dual domain, its projection and the prox of f*.

use super::{brute_force_max, config, dot, norm, number, plus, residuals, vectors};
use dictmesh::problem::residual::Residual;
use proptest::prelude::*;

/// The nearest point of the dual domain.
fn projected(f: &dyn Residual, nu: &[f64]) -> Vec<f64> {
    let mut p = nu.to_vec();
    f.project_dual(&mut p);
    p
}

/// The prox of tau f*.
fn prox(f: &dyn Residual, tau: f64, nu: &[f64]) -> Vec<f64> {
    let mut p = nu.to_vec();
    f.conjugate_prox(tau, &mut p);
    p
}

/// f(u) + f*(nu) - u'nu, with u moved into the domain of f where it is out by rounding only.
pub fn fenchel_young(f: &dyn Residual, u: &[f64], nu: &[f64]) -> f64 {
    let miss = f.violation(u);
    let u = if miss > 0.0 && miss < 1e-10 * (1.0 + norm(u)) {
        plus(u, -miss / norm(u), u)
    } else {
        u.to_vec()
    };
    f.value(&u) + f.conjugate(nu) - dot(&u, nu)
}

proptest! {
    #![proptest_config(config())]

    /// f(u) + f*(nu) >= u'nu for every pair.
    #[test]
    fn fenchel_young_inequality(v in vectors(2)) {
        for f in residuals() {
            let inside = projected(&*f, &v[1]);
            prop_assert!(f.conjugate(&inside).is_finite(), "{:?}", f);
            for nu in [&v[1], &inside] {
                let slack = fenchel_young(&*f, &v[0], nu);
                prop_assert!(slack >= -1e-9, "{:?}: {} at {:?}, {:?}", f, slack, v[0], nu);
            }
        }
    }

    /// With equality at u = recover(nu); entries that nu leaves open may lie anywhere far out in the
    /// direction of nu.
    #[test]
    fn fenchel_young_equality_at_recover(v in vectors(1)) {
        for f in residuals() {
            let nu = projected(&*f, &v[0]);
            let mut u = vec![7.0; nu.len()];
            f.recover(&nu, &mut u);
            for (u, nu) in u.iter_mut().zip(&nu) {
                if u.is_nan() {
                    *u = 10.0 * nu;
                }
            }
            let slack = fenchel_young(&*f, &u, &nu);
            prop_assert!(slack.abs() <= 1e-9 * (1.0 + norm(&nu).powi(2)), "{f:?}: {slack} at {nu:?}");
        }
    }

    /// Inside of its domain, recover is the gradient of f*: the slope that f* is seen to have. Where f* claims to be
    /// c/2 |nu|^2, it is, and recover is c nu.
    #[test]
    fn recover_is_the_gradient_of_the_conjugate(v in vectors(2)) {
        for f in residuals() {
            // Well inside the domain.
            let nu: Vec<f64> = projected(&*f, &v[0]).iter().map(|v| 0.9 * v).collect();
            if f.conjugate_quadratic().is_none() && norm(&nu) < 1e-2 {
                continue;
            }
            let mut g = vec![7.0; nu.len()];
            f.recover(&nu, &mut g);
            if let Some(c) = f.conjugate_quadratic() {
                let is_linear = g.iter().zip(&nu).all(|(g, nu)| (g - c * nu).abs() <= 1e-15 * nu.abs());
                let square = 0.5 * c * norm(&nu).powi(2);
                prop_assert!(is_linear && (f.conjugate(&nu) - square).abs() <= 1e-12 * square, "{f:?}");
            }
            prop_assert!(fenchel_young(&*f, &g, &nu).abs() < 1e-9 * (1.0 + norm(&nu).powi(2)), "{f:?}");
            let d: Vec<f64> = v[1].iter().map(|d| d / (1.0 + norm(&v[1]))).collect();
            let h = 1e-6;
            let slope = (f.conjugate(&plus(&nu, h, &d)) - f.conjugate(&plus(&nu, -h, &d))) / (2.0 * h);
            prop_assert!((slope - dot(&g, &d)).abs() < 1e-6 * (1.0 + norm(&nu)), "{f:?} at {nu:?}");
        }
    }

    /// f*(nu) = sup u nu - f(u) in one dimension, by trying every u; outside the domain it has none.
    #[test]
    fn the_conjugate_is_the_supremum(nu in number()) {
        for f in residuals() {
            let conjugate = f.conjugate(&[nu]);
            let (at, sup) = brute_force_max(|u| u * nu - f.value(&[u]));
            if conjugate.is_finite() {
                prop_assert!(sup <= conjugate + 1e-9, "{f:?} at {nu}: {sup} above {conjugate}");
                prop_assert!(sup >= conjugate - 1e-9, "{f:?} at {nu}: {sup} at {at}, not {conjugate}");
            } else {
                prop_assert!(at.abs() >= 128.0, "{f:?} at {nu}: {sup} at {at}, not infinite");
            }
        }
    }

    /// The projection is feasible, idempotent and the nearest point: (x - Px)'(z - Px) <= 0.
    #[test]
    fn the_dual_projection_is_one(v in vectors(2)) {
        for f in residuals() {
            let p = projected(&*f, &v[0]);
            prop_assert!(f.conjugate(&p).is_finite(), "{f:?}");
            prop_assert_eq!(&projected(&*f, &p), &p);
            if f.conjugate(&v[0]).is_finite() {
                prop_assert_eq!(&p, &v[0], "what is inside stays");
            }
            let z = projected(&*f, &v[1]);
            let product = dot(&plus(&v[0], -1.0, &p), &plus(&z, -1.0, &p));
            prop_assert!(product <= 1e-12, "{f:?}: {product}");
        }
    }

    /// p = prox of tau f* minimises tau f*(v) + |v - nu|^2/2, which is 1-strongly convex.
    #[test]
    fn the_conjugate_prox_beats_everything_else(
        v in vectors(3),
        tau in prop::sample::select(vec![1e-3, 0.1, 1.0, 7.0]),
        t in -1.0..1.0,
    ) {
        for f in residuals() {
            let (nu, p) = (&v[0], prox(&*f, tau, &v[0]));
            let cost = |v: &[f64]| tau * f.conjugate(v) + 0.5 * norm(&plus(v, -1.0, nu)).powi(2);
            let best = cost(&p);
            prop_assert!(best.is_finite(), "{f:?}");
            for other in [v[1].clone(), projected(&*f, &v[1]), projected(&*f, &plus(&p, t, &v[2]))] {
                let lead = cost(&other) - best - 0.5 * norm(&plus(&other, -1.0, &p)).powi(2);
                prop_assert!(lead >= -1e-9 * (1.0 + best), "{f:?}: {lead}");
            }
            // Which is to say that (nu - p)/tau is a subgradient of f* at p.
            let u: Vec<f64> = plus(nu, -1.0, &p).iter().map(|u| u / tau).collect();
            let slack = fenchel_young(&*f, &u, &p) * tau;
            prop_assert!(slack.abs() <= 1e-9 * (1.0 + norm(nu).powi(2)), "{f:?}: {slack}");
        }
    }

    /// Moreau: nu = prox of tau f* at nu + tau (prox of f/tau at nu/tau), the second by brute force.
    #[test]
    fn moreaus_identity(nu in number(), tau in prop::sample::select(vec![0.1, 0.5, 1.0, 4.0])) {
        for f in residuals() {
            // prox of f/tau at c = argmin_u f(u)/tau + (u - c)^2/2, here relative to the value at c.
            let c = nu / tau;
            if c.abs() > 100.0 {
                continue; // off the grid
            }
            let (u, _) = brute_force_max(|u| -(f.value(&[u]) / tau) - 0.5 * (u - c) * (u - c));
            let p = prox(&*f, tau, &[nu])[0];
            // A flat top is found to the square root of rounding.
            prop_assert!((p + tau * u - nu).abs() < 1e-5 * (1.0 + tau), "{f:?}: {p} and {u} at {nu}, {tau}");
        }
    }

    /// f*((a + b)/2) <= (f*(a) + f*(b))/2 - c/8 |a - b|^2 for the curvature c of f*.
    #[test]
    fn the_conjugate_curvature_holds(v in vectors(2)) {
        for f in residuals() {
            let (a, b) = (projected(&*f, &v[0]), projected(&*f, &v[1]));
            let c = f.conjugate_curvature();
            prop_assert!(c >= 0.0 && c.is_finite());
            let middle: Vec<f64> = plus(&a, 1.0, &b).iter().map(|v| 0.5 * v).collect();
            let mean = 0.5 * (f.conjugate(&a) + f.conjugate(&b));
            let upper = mean - c / 8.0 * norm(&plus(&b, -1.0, &a)).powi(2);
            prop_assert!(f.conjugate(&middle) <= upper + 1e-9 * (1.0 + mean), "{f:?}");
        }
    }

    /// The violation is the distance from the domain of f; only an indicator can have one, and then f*
    /// is positively homogeneous.
    #[test]
    fn the_violation_is_a_distance(v in vectors(2), t in 0.01..20.0_f64) {
        for f in residuals() {
            let (miss, other) = (f.violation(&v[0]), f.violation(&v[1]));
            prop_assert!(miss >= 0.0);
            prop_assert_eq!(miss > 1e-11, f.value(&v[0]) == f64::INFINITY, "{:?}", f);
            prop_assert!((miss - other).abs() <= norm(&plus(&v[0], -1.0, &v[1])) + 1e-12);
            if miss > 0.0 {
                prop_assert!(f.can_be_infeasible(), "{f:?}");
                let nearest = plus(&v[0], -miss / norm(&v[0]), &v[0]);
                prop_assert!(f.violation(&nearest) <= 1e-12 * (1.0 + norm(&v[0])), "{f:?}");
            }
            if f.can_be_infeasible() {
                let scaled: Vec<f64> = v[0].iter().map(|v| t * v).collect();
                let (one, many) = (f.conjugate(&v[0]), f.conjugate(&scaled));
                prop_assert!((many - t * one).abs() <= 1e-12 * (1.0 + many), "{f:?}");
            }
        }
    }
}
