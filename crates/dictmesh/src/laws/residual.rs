//! The laws of a residual f and its conjugate f*.

mod envelope;
mod rotation;

use super::{
    direction, distance, grid_max, holds, is_slope, middle, no_panic, non_finite, plus, points,
    Law, GRID_END,
};
use crate::problem::Residual;
use dictmesh_kernels::matrix::{dot, norm};

/// Relative tolerance of equalities.
const NEAR: f64 = 1e-9;
/// Tolerance of a maximiser found from values: the square root of rounding, with a margin.
const FLAT: f64 = 1e-5;

/// Checks every law of a residual:
///
/// - Fenchel-Young with equality at `recover`; f* is the supremum of u'nu - f(u), found by trying
///   every u in one dimension;
/// - `recover` against difference quotients of f*; Moreau's identity for the prox of f*;
/// - the projection onto V_f, the strong convexity of f*, the distance from the domain of f;
/// - the optional forms: `conjugate_quadratic`, the envelope with its gradient and Hessian against
///   difference quotients, rotation invariance, the box on the first rows;
/// - NaN and infinite entries cause no panic; projection and prox keep NaN.
///
/// ```
/// use dictmesh::{laws, problem::residual::SquaredL2};
/// assert_eq!(laws::residual(&SquaredL2), Ok(()));
/// ```
pub fn residual(f: &dyn Residual) -> Law {
    every_law(f)?;
    for rows in [0, 1, 3] {
        let Some(partly) = f.with_box_on_first_rows(rows) else {
            continue;
        };
        let label = |broken: String| format!("with_box_on_first_rows({rows}): {broken}");
        rotation::box_on_first_rows(f, &*partly, rows).map_err(label)?;
        every_law(&*partly).map_err(label)?;
    }
    Ok(())
}

fn every_law(f: &dyn Residual) -> Law {
    holds(!f.spec().kind().is_empty(), || "spec has no name".into())?;
    empty(f)?;
    for len in [1, 2, 5] {
        let (some, others) = (points(len, 1), points(len, 2));
        for (a, b) in some.iter().zip(&others) {
            projection(f, a, b)?;
            let (nu, other) = (projected(f, a), projected(f, b));
            fenchel_young(f, b, &nu)?;
            gradient(f, &nu.iter().map(|v| 0.9 * v).collect::<Vec<_>>(), b)?;
            curvature(f, &nu, &other)?;
            violation(f, a)?;
            rotation::rotation(f, a)?;
            for tau in [0.01, 1.0, 7.0] {
                prox(f, tau, a, &other)?;
                if len == 1 {
                    moreau(f, tau, a[0])?;
                }
            }
            if len == 1 {
                supremum(f, a[0])?;
            }
        }
    }
    non_finite(3).try_for_each(|point| without_panic(f, &point))?;
    f.envelope().map_or(Ok(()), |e| envelope::envelope(f, e))
}

fn projected(f: &dyn Residual, nu: &[f64]) -> Vec<f64> {
    let mut p = nu.to_vec();
    f.project_dual(&mut p);
    p
}

fn proximal(f: &dyn Residual, tau: f64, nu: &[f64]) -> Vec<f64> {
    let mut p = nu.to_vec();
    f.conjugate_prox(tau, &mut p);
    p
}

fn recovered(f: &dyn Residual, nu: &[f64]) -> Vec<f64> {
    let mut u = vec![7.0; nu.len()];
    f.recover(nu, &mut u);
    u
}

/// f and f* of a sample without rows are 0.
fn empty(f: &dyn Residual) -> Law {
    let values = no_panic("a sample without rows", || {
        f.project_dual(&mut []);
        f.conjugate_prox(1.0, &mut []);
        f.recover(&[], &mut []);
        if let Some(envelope) = f.envelope() {
            envelope.gradient(1.0, 1.0, &[], &mut []);
            envelope.hessian(1.0, 1.0, &[], &mut []);
        }
        [f.value(&[]), f.conjugate(&[]), f.violation(&[])]
    })?;
    holds(values == [0.0; 3], || {
        format!("f, f* and the violation of a sample without rows are {values:?}, not 0")
    })
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

/// f(u) + f*(nu) - u'nu. A u outside the domain of f by rounding only is first projected onto it:
/// f is then an indicator, and the projection is u less the prox of f* at u.
fn slack(f: &dyn Residual, u: &[f64], nu: &[f64]) -> f64 {
    let miss = f.violation(u);
    let inside = match miss > 0.0 && miss < NEAR * (1.0 + norm(u)) {
        true => plus(u, -1.0, &proximal(f, 1.0, u)),
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
    let best = recovered(f, nu);
    if best.iter().any(|u| u.is_nan()) {
        return Ok(());
    }
    let scale = 1.0 + f.conjugate(nu).abs() + norm(&best) * norm(nu);
    holds(slack(f, &best, nu).abs() <= NEAR * scale, || {
        format!("f(u) + f*(nu) is not u'nu at nu = {nu:?}, u = recover(nu) = {best:?}")
    })
}

/// f*(nu) = sup_u u nu - f(u) in one dimension; outside of V_f, u grows without bound.
fn supremum(f: &dyn Residual, nu: f64) -> Law {
    let dual = f.conjugate(&[nu]);
    let (at, most) = grid_max(|u| u * nu - f.value(&[u]));
    let near = NEAR * (1.0 + dual.abs());
    let attained = most >= dual - near || at.abs() >= GRID_END;
    holds(most <= dual + near && attained, || {
        format!("f*({nu}) is {dual}, but u nu - f(u) has the maximum {most}, at u = {at}")
    })
}

/// recover is the gradient of f*, and equals c nu if `conjugate_quadratic` returns c.
fn gradient(f: &dyn Residual, nu: &[f64], towards: &[f64]) -> Law {
    let u = recovered(f, nu);
    if u.iter().any(|u| u.is_nan()) {
        return Ok(());
    }
    let (d, h) = (direction(towards), 1e-6);
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

/// With p = prox of tau f* at nu, u = (nu - p)/tau is a subgradient of f* at p; p has the lowest
/// cost; and `recover` returns the entries of u that p determines.
fn prox(f: &dyn Residual, tau: f64, nu: &[f64], other: &[f64]) -> Law {
    let p = proximal(f, tau, nu);
    let u: Vec<f64> = plus(nu, -1.0, &p).iter().map(|u| u / tau).collect();
    let scale = 1.0 + norm(nu).powi(2) + tau * f.conjugate(&p).abs();
    holds((tau * slack(f, &u, &p)).abs() <= NEAR * scale, || {
        format!("conjugate_prox({tau}, {nu:?}) = {p:?} breaks Moreau's identity")
    })?;
    let cost = |v: &[f64]| tau * f.conjugate(v) + 0.5 * distance(v, nu).powi(2);
    let lead = cost(other) - cost(&p) - 0.5 * distance(other, &p).powi(2);
    holds(lead >= -NEAR * (scale + cost(other)), || {
        format!("conjugate_prox({tau}, {nu:?}) = {p:?} costs more than {other:?}")
    })?;
    let found = recovered(f, &p);
    let either = |(found, u): (&f64, &f64)| if found.is_nan() { *u } else { *found };
    let filled: Vec<f64> = found.iter().zip(&u).map(either).collect();
    let scale = 1.0 + f.conjugate(&p).abs() + norm(&filled) * norm(&p);
    holds(slack(f, &filled, &p).abs() <= NEAR * scale, || {
        format!("recover({p:?}) = {found:?}, but {u:?} is a subgradient of f* there")
    })
}

/// nu = prox of tau f* at nu + tau (prox of f/tau at nu/tau), the second found from values of f.
fn moreau(f: &dyn Residual, tau: f64, nu: f64) -> Law {
    let centre = nu / tau;
    if centre.abs() > 0.5 * GRID_END {
        return Ok(());
    }
    let p = proximal(f, tau, &[nu])[0];
    let (u, _) = grid_max(|u| -f.value(&[u]) / tau - 0.5 * (u - centre) * (u - centre));
    holds((p + tau * u - nu).abs() <= FLAT * (1.0 + tau), || {
        format!("conjugate_prox({tau}, {nu}) = {p}, but the prox of f/tau is {u}")
    })
}

/// The violation is the distance from the domain of f. If it can be positive, f is an indicator:
/// the distance is |prox of f*|, and f* is positively homogeneous.
fn violation(f: &dyn Residual, u: &[f64]) -> Law {
    let miss = f.violation(u);
    holds(
        miss >= 0.0 && (miss > NEAR) == f.value(u).is_infinite(),
        || format!("violation {miss} at {u:?}, where f is {}", f.value(u)),
    )?;
    holds(miss == 0.0 || f.can_be_infeasible(), || {
        format!("there is a violation at {u:?}, but can_be_infeasible is false")
    })?;
    if !f.can_be_infeasible() {
        return Ok(());
    }
    let away = proximal(f, 1.0, u);
    let near = NEAR * (1.0 + norm(u));
    holds((norm(&away) - miss).abs() <= near, || {
        format!(
            "violation {miss} at {u:?}, but the domain of f is {} away",
            norm(&away)
        )
    })?;
    let nearest = plus(u, -1.0, &away);
    holds(f.violation(&nearest) <= near, || {
        format!("{nearest:?}, the point of the domain nearest to {u:?}, has a violation")
    })?;
    let (one, three) = (f.conjugate(u), f.conjugate(&plus(u, 2.0, u)));
    holds(
        (three - 3.0 * one).abs() <= NEAR * (1.0 + three.abs()),
        || format!("f*(3 nu) is not 3 f*(nu) at {u:?}"),
    )
}

/// A NaN or infinite entry causes no panic; projection and prox keep NaN.
fn without_panic(f: &dyn Residual, v: &[f64]) -> Law {
    let results = no_panic(&format!("the vector {v:?}"), || {
        f.value(v);
        f.conjugate(v);
        f.violation(v);
        recovered(f, v);
        if let Some(envelope) = f.envelope() {
            let mut out = v.to_vec();
            envelope.gradient(1.0, 1.0, v, &mut out);
            envelope.hessian(1.0, 1.0, v, &mut out);
        }
        [projected(f, v), proximal(f, 1.0, v)]
    })?;
    let hidden = |result: &Vec<f64>| result.iter().all(|v| v.is_finite());
    let is_nan = v.iter().any(|v| v.is_nan());
    holds(!(is_nan && results.iter().any(hidden)), || {
        format!("project_dual or conjugate_prox hides the NaN of {v:?}")
    })
}
