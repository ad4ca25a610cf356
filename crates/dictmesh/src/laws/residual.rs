//! The laws of a residual f and its conjugate f*.

use super::{distance, holds, is_slope, middle, plus, points, Law};
use crate::problem::Residual;
use dictmesh_kernels::matrix::{dot, norm};

/// Relative tolerance of equalities.
const NEAR: f64 = 1e-9;

/// Checks every law of a residual: Fenchel-Young with equality at `recover` and at the prox
/// (Moreau's identity), `recover` against difference quotients of f*, the projection onto V_f,
/// curvature, violation, and the optional closed forms.
pub fn residual(f: &dyn Residual) -> Law {
    holds(!f.spec().kind().is_empty(), || "spec has no name".into())?;
    holds(f.value(&[]) == 0.0 && f.conjugate(&[]) == 0.0, || {
        "f or f* of nothing is not 0".into()
    })?;
    for len in [1, 2, 5] {
        let (some, others) = (points(len, 1), points(len, 2));
        for (a, b) in some.iter().zip(&others) {
            projection(f, a, b)?;
            let (nu, other) = (projected(f, a), projected(f, b));
            fenchel_young(f, b, &nu)?;
            gradient(f, &nu.iter().map(|v| 0.9 * v).collect::<Vec<_>>(), b)?;
            curvature(f, &nu, &other)?;
            violation(f, a)?;
            for tau in [0.01, 1.0, 7.0] {
                prox(f, tau, a, &other)?;
                closed_forms(f, 0.5, tau, a)?;
            }
        }
    }
    Ok(())
}

fn projected(f: &dyn Residual, nu: &[f64]) -> Vec<f64> {
    let mut p = nu.to_vec();
    f.project_dual(&mut p);
    p
}

/// Feasible, idempotent, and (nu - p)'(z - p) <= 0 for every z of V_f.
fn projection(f: &dyn Residual, nu: &[f64], other: &[f64]) -> Law {
    let p = projected(f, nu);
    holds(f.conjugate(&p).is_finite(), || {
        format!("project_dual({nu:?}) = {p:?} is outside of V_f")
    })?;
    holds(
        distance(&projected(f, &p), &p) <= 1e-14 * (1.0 + norm(&p)),
        || format!("project_dual is not idempotent at {p:?}"),
    )?;
    if f.conjugate(nu).is_finite() {
        holds(distance(&p, nu) <= 1e-14 * (1.0 + norm(nu)), || {
            format!("project_dual moves {nu:?}, which is in V_f, to {p:?}")
        })?;
    }
    let product = dot(&plus(nu, -1.0, &p), &plus(&projected(f, other), -1.0, &p));
    holds(product <= NEAR * (1.0 + norm(nu).powi(2)), || {
        format!("project_dual({nu:?}) = {p:?} is not the nearest point")
    })
}

/// f(u) + f*(nu) - u'nu. A u outside the domain of f by rounding only is first moved inside.
fn slack(f: &dyn Residual, u: &[f64], nu: &[f64]) -> f64 {
    let miss = f.violation(u);
    let inside = match miss > 0.0 && miss < NEAR * (1.0 + norm(u)) {
        true => plus(u, -miss / norm(u), u),
        false => u.to_vec(),
    };
    f.value(&inside) + f.conjugate(nu) - dot(&inside, nu)
}

/// f(u) + f*(nu) >= u'nu, with equality at u = recover(nu) if nu determines u.
fn fenchel_young(f: &dyn Residual, u: &[f64], nu: &[f64]) -> Law {
    let scale = 1.0 + f.conjugate(nu).abs() + norm(u) * norm(nu);
    holds(slack(f, u, nu) >= -NEAR * scale, || {
        format!("f(u) + f*(nu) < u'nu at u = {u:?}, nu = {nu:?}")
    })?;
    let mut best = vec![0.0; nu.len()];
    f.recover(nu, &mut best);
    if best.iter().any(|u| u.is_nan()) {
        return Ok(());
    }
    let scale = 1.0 + f.conjugate(nu).abs() + norm(&best) * norm(nu);
    holds(slack(f, &best, nu).abs() <= NEAR * scale, || {
        format!("f(u) + f*(nu) is not u'nu at nu = {nu:?}, u = recover(nu) = {best:?}")
    })
}

/// recover is the gradient of f*, and equals c nu if `conjugate_quadratic` returns c.
fn gradient(f: &dyn Residual, nu: &[f64], towards: &[f64]) -> Law {
    let mut u = vec![0.0; nu.len()];
    f.recover(nu, &mut u);
    if u.iter().any(|u| u.is_nan()) {
        return Ok(());
    }
    let d: Vec<f64> = towards.iter().map(|d| d / (1.0 + norm(towards))).collect();
    let h = 1e-6;
    let values = [0.0, h, -h].map(|t| f.conjugate(&plus(nu, t, &d)));
    holds(is_slope(dot(&u, &d), values, h), || {
        format!("recover({nu:?}) = {u:?} is not the gradient of f* along {d:?}")
    })?;
    let Some(c) = f.conjugate_quadratic() else {
        return Ok(());
    };
    let square = 0.5 * c * dot(nu, nu);
    let scaled: Vec<f64> = nu.iter().map(|nu| c * nu).collect();
    let same = (f.conjugate(nu) - square).abs() <= NEAR * (1.0 + square)
        && distance(&u, &scaled) <= NEAR * (1.0 + norm(&scaled));
    holds(same, || format!("f* is not {c}/2 |nu|^2 at {nu:?}"))
}

/// f*((a + b)/2) <= (f*(a) + f*(b))/2 - c/8 |a - b|^2.
fn curvature(f: &dyn Residual, a: &[f64], b: &[f64]) -> Law {
    let c = f.conjugate_curvature();
    holds(c >= 0.0 && c.is_finite(), || format!("curvature {c}"))?;
    let mean = 0.5 * (f.conjugate(a) + f.conjugate(b));
    let most = mean - c / 8.0 * distance(a, b).powi(2);
    holds(
        f.conjugate(&middle(a, b)) <= most + NEAR * (1.0 + mean.abs()),
        || format!("f* is not {c}-strongly convex between {a:?} and {b:?}"),
    )
}

/// Moreau's identity: with p = prox of tau f* at nu, u = (nu - p)/tau is a subgradient of f* at p.
fn prox(f: &dyn Residual, tau: f64, nu: &[f64], other: &[f64]) -> Law {
    let mut p = nu.to_vec();
    f.conjugate_prox(tau, &mut p);
    let u: Vec<f64> = plus(nu, -1.0, &p).iter().map(|u| u / tau).collect();
    let scale = 1.0 + norm(nu).powi(2) + tau * f.conjugate(&p).abs();
    holds((tau * slack(f, &u, &p)).abs() <= NEAR * scale, || {
        format!("conjugate_prox({tau}, {nu:?}) = {p:?} breaks Moreau's identity")
    })?;
    let cost = |v: &[f64]| tau * f.conjugate(v) + 0.5 * distance(v, nu).powi(2);
    let lead = cost(other) - cost(&p) - 0.5 * distance(other, &p).powi(2);
    holds(lead >= -NEAR * (scale + cost(other)), || {
        format!("conjugate_prox({tau}, {nu:?}) = {p:?} costs more than {other:?}")
    })
}

/// The violation is positive exactly where f is infinite; f* is then positively homogeneous.
fn violation(f: &dyn Residual, u: &[f64]) -> Law {
    let miss = f.violation(u);
    holds(
        miss >= 0.0 && (miss > NEAR) == f.value(u).is_infinite(),
        || format!("violation {miss} at {u:?}, where f is {}", f.value(u)),
    )?;
    holds(miss == 0.0 || f.can_be_infeasible(), || {
        format!("there is a violation at {u:?}, but can_be_infeasible is false")
    })?;
    let (one, three) = (f.conjugate(u), f.conjugate(&plus(u, 2.0, u)));
    let homogeneous = (three - 3.0 * one).abs() <= NEAR * (1.0 + three.abs());
    holds(homogeneous || !f.can_be_infeasible(), || {
        format!("f*(3 nu) is not 3 f*(nu) at {u:?}")
    })
}

/// The closed forms of the envelope agree with the prox of f*.
fn closed_forms(f: &dyn Residual, s: f64, q: f64, u: &[f64]) -> Law {
    let Some(envelope) = f.envelope() else {
        return Ok(());
    };
    let mut expected: Vec<f64> = u.iter().map(|u| u / q).collect();
    f.conjugate_prox(s / q, &mut expected);
    let mut v = vec![0.0; u.len()];
    envelope.gradient(s, q, u, &mut v);
    let near = |v: &[f64]| distance(v, &expected) <= NEAR * (1.0 + norm(&expected));
    holds(near(&v), || {
        format!("envelope: gradient({s}, {q}, {u:?}) = {v:?}, not {expected:?}")
    })?;
    if let Some(a) = envelope.quadratic(s, q) {
        let v: Vec<f64> = u.iter().map(|u| u / a).collect();
        holds(near(&v), || {
            format!("envelope: e is not |u|^2 / (2 {a}) at {u:?}")
        })?;
    }
    if let Some(a) = envelope.huber_threshold(s, q) {
        let v: Vec<f64> = u.iter().map(|u| (u / a).clamp(-1.0, 1.0)).collect();
        holds(near(&v), || {
            format!("envelope: threshold {a} is wrong at {u:?}")
        })?;
    }
    Ok(())
}
