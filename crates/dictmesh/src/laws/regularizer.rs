//! The laws of a regularizer h and its conjugate h*.

mod scalar_form;

use super::{
    direction, distance, grid_max, holds, is_slope, middle, no_panic, non_finite, plus, points, Law,
};
use crate::problem::Regularizer;
use dictmesh_kernels::matrix::{dot, norm};

/// Relative tolerance of equalities.
const NEAR: f64 = 1e-9;

/// Checks every law of a regularizer of `n` coefficients:
///
/// - Fenchel-Young with equality at `argmax`; h* is the supremum of s'y - h(y), found by trying
///   every y on lines;
/// - `argmax` against difference quotients of h*, proximal steps, strong convexity;
/// - `domain_support` is an upper bound, and attained if h is separable;
/// - the scalar form: sums, `coordinate_argmax`, `quadratic_piece`, `subgradient_at_zero`;
/// - NaN and infinite entries cause no panic.
///
/// ```
/// use dictmesh::{laws, problem::regularizer::NonNegativeElasticNet};
/// assert_eq!(laws::regularizer(&NonNegativeElasticNet::new(0.1, 0.3)?, 4), Ok(()));
/// # Ok::<(), dictmesh::Error>(())
/// ```
pub fn regularizer(h: &dyn Regularizer, n: usize) -> Law {
    holds(!h.spec().kind().is_empty(), || "spec has no name".into())?;
    h.check_atoms(n).map_err(|error| error.to_string())?;
    let delta = h.strong_convexity();
    holds(delta > 0.0 && delta.is_finite(), || {
        format!("strong_convexity is {delta}, not above 0")
    })?;
    if h.check_atoms(0).is_ok() {
        empty(h)?;
    }
    for (s, other) in points(n, 3).iter().zip(&points(n, 4)) {
        for kappa in [0.0, 0.01, 0.3, 20.0] {
            argmax(h, kappa, s, other)?;
        }
        fenchel_young(h, s, other)?;
        supremum(h, s, other)?;
        gradient(h, s, other)?;
        strong_convexity(h, s, other)?;
        support(h, s, other)?;
        scalar_form::scalar_form(h, s, other)?;
    }
    non_finite(n).try_for_each(|point| without_panic(h, &point))
}

fn code(h: &dyn Regularizer, kappa: f64, s: &[f64]) -> Vec<f64> {
    let mut y = s.to_vec();
    h.argmax(kappa, &mut y);
    y
}

/// h and h* of an empty block are 0.
fn empty(h: &dyn Regularizer) -> Law {
    let values = no_panic("an empty block", || {
        h.argmax(0.0, &mut []);
        [h.value(&[]), h.conjugate(&[]), h.domain_support(&[], &[])]
    })?;
    holds(values == [0.0; 3], || {
        format!("h, h* and domain_support of an empty block are {values:?}, not 0")
    })
}

/// The objective at argmax exceeds that at any other z by (delta + kappa)/2 |z - y|^2 (strong
/// concavity), and s - kappa y is a subgradient of h at y.
fn argmax(h: &dyn Regularizer, kappa: f64, s: &[f64], other: &[f64]) -> Law {
    let y = code(h, kappa, s);
    let gain = |y: &[f64]| dot(s, y) - h.value(y) - 0.5 * kappa * dot(y, y);
    let top = gain(&y);
    holds(top.is_finite(), || {
        format!("argmax({kappa}, {s:?}) = {y:?} is outside of the domain of h")
    })?;
    let inside = code(h, 0.0, other);
    let close = plus(&y, 1e-3, other);
    for z in [other.to_vec(), middle(&y, &inside), inside, close] {
        let margin = 0.5 * (h.strong_convexity() + kappa) * distance(&z, &y).powi(2);
        let scale = 1.0 + top.abs() + margin + norm(s) * norm(&z);
        holds(top - gain(&z) >= margin - NEAR * scale, || {
            format!("argmax({kappa}, {s:?}) = {y:?} gains less than {z:?} allows")
        })?;
    }
    let slope = plus(s, -kappa, &y);
    let slack = h.value(&y) + h.conjugate(&slope) - dot(&slope, &y);
    holds(
        slack.abs() <= NEAR * (1.0 + h.value(&y) + norm(s) * norm(&y)),
        || format!("s - kappa y is not a subgradient at y = argmax({kappa}, {s:?}) = {y:?}"),
    )
}

/// h(y) + h*(s) >= s'y, with equality at y = argmax(0, s).
fn fenchel_young(h: &dyn Regularizer, s: &[f64], other: &[f64]) -> Law {
    let dual = h.conjugate(s);
    holds(dual.is_finite(), || format!("h* is {dual} at {s:?}"))?;
    let best = code(h, 0.0, s);
    for y in [other.to_vec(), code(h, 0.0, other), best.clone()] {
        let scale = 1.0 + dual.abs() + norm(s) * norm(&y);
        holds(h.value(&y) + dual - dot(s, &y) >= -NEAR * scale, || {
            format!("h(y) + h*(s) < s'y at y = {y:?}, s = {s:?}")
        })?;
    }
    let slack = h.value(&best) + dual - dot(s, &best);
    holds(
        slack.abs() <= NEAR * (1.0 + dual.abs() + norm(s) * norm(&best)),
        || format!("h(y) + h*(s) is not s'y at s = {s:?}, y = argmax(0, s) = {best:?}"),
    )
}

/// h*(s) is the maximum of s'y - h(y) over every line through argmax(0, s).
fn supremum(h: &dyn Regularizer, s: &[f64], towards: &[f64]) -> Law {
    let (best, d) = (code(h, 0.0, s), direction(towards));
    let dual = h.conjugate(s);
    let (at, most) = grid_max(|t| {
        let y = plus(&best, t, &d);
        dot(s, &y) - h.value(&y)
    });
    let scale = 1.0 + dual.abs() + norm(s) * norm(&best);
    holds((most - dual).abs() <= NEAR * scale, || {
        format!("h*({s:?}) is {dual}, but s'y - h(y) is {most} at y = {best:?} + {at} {d:?}")
    })
}

/// argmax(0, s) is the gradient of h*, with Lipschitz constant 1/delta.
fn gradient(h: &dyn Regularizer, s: &[f64], other: &[f64]) -> Law {
    let (y, d, step) = (code(h, 0.0, s), direction(other), 1e-6);
    let values = [0.0, step, -step].map(|t| h.conjugate(&plus(s, t, &d)));
    holds(is_slope(dot(&y, &d), values, step), || {
        format!("argmax(0, {s:?}) = {y:?} is not the gradient of h* along {d:?}")
    })?;
    let apart = distance(&code(h, 0.0, other), &y) * h.strong_convexity();
    holds(apart <= distance(other, s) * (1.0 + NEAR) + NEAR, || {
        format!("argmax moves faster than 1/delta from {s:?} to {other:?}")
    })
}

/// h((a + b)/2) <= (h(a) + h(b))/2 - delta/8 |a - b|^2.
fn strong_convexity(h: &dyn Regularizer, s: &[f64], other: &[f64]) -> Law {
    let (a, b) = (code(h, 0.0, s), code(h, 0.0, other));
    let mean = 0.5 * (h.value(&a) + h.value(&b));
    let most = mean - h.strong_convexity() / 8.0 * distance(&a, &b).powi(2);
    holds(
        h.value(&middle(&a, &b)) <= most + NEAR * (1.0 + mean.abs()),
        || format!("h is not strongly convex between {a:?} and {b:?}"),
    )
}

/// domain_support(s, reach) >= s'y for codes with |y_q| <= reach_q.
fn support(h: &dyn Regularizer, s: &[f64], other: &[f64]) -> Law {
    let y = code(h, 0.0, other);
    let reach: Vec<f64> = y.iter().map(|y| y.abs() + 1.0).collect();
    let most = h.domain_support(s, &reach);
    holds(dot(s, &y) <= most + NEAR * (1.0 + most.abs()), || {
        format!("domain_support({s:?}, {reach:?}) = {most} is below s'y of {y:?}")
    })
}

/// A NaN or infinite entry causes no panic.
fn without_panic(h: &dyn Regularizer, s: &[f64]) -> Law {
    no_panic(&format!("the vector {s:?}"), || {
        code(h, 0.0, s);
        code(h, 1.0, s);
        h.value(s);
        h.conjugate(s);
        h.domain_support(s, &vec![1.0; s.len()]);
        for (q, s) in s.iter().enumerate() {
            if let Some(penalty) = h.scalar(q) {
                penalty.value_at(*s);
                penalty.coordinate_argmax(*s, 1.0);
                penalty.quadratic_piece(*s);
            }
        }
    })
}
