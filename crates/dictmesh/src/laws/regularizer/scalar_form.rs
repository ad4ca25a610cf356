//! The laws of the scalar penalties of a separable regularizer.

use super::{code, NEAR};
use crate::laws::{grid_max, holds, Law, GRID_END};
use crate::problem::regularizer::separable::scalar_conjugate;
use crate::problem::regularizer::{Regularizer, ScalarPenalty};

/// Curvatures of a coordinate.
const KAPPAS: [f64; 4] = [0.0, 0.01, 1.0, 30.0];
/// The reach of coefficients for which `domain_support` is evaluated.
const REACH: f64 = 1e3;
/// Half the distance over which a kink is measured.
const KINK_STEP: f64 = 1e-6;

/// h is the sum of its scalar penalties, and every penalty keeps its own laws at `s` and `other`.
/// `Ok` if h has no scalar form.
pub(super) fn scalar_form(h: &dyn Regularizer, s: &[f64], other: &[f64]) -> Law {
    if h.scalar(0).is_none() {
        return Ok(());
    }
    let each: Option<Vec<&dyn ScalarPenalty>> = (0..s.len()).map(|q| h.scalar(q)).collect();
    let Some(each) = each else {
        return Err("coefficient 0 has a scalar penalty, another has none".into());
    };
    sums(h, &each, s)?;
    attained_support(h, &each, s)?;
    for (q, p) in each.iter().enumerate() {
        let label = |broken: String| format!("scalar({q}): {broken}");
        penalty(*p, h.strong_convexity(), s[q], other[q]).map_err(label)?;
    }
    Ok(())
}

/// h, h* and argmax are those of the penalties.
fn sums(h: &dyn Regularizer, each: &[&dyn ScalarPenalty], s: &[f64]) -> Law {
    for kappa in KAPPAS {
        let (y, mut sum) = (code(h, kappa, s), 0.0);
        for (q, (p, y)) in each.iter().zip(&y).enumerate() {
            let alone = p.coordinate_argmax(s[q], kappa);
            holds((alone - y).abs() <= NEAR * (1.0 + y.abs()), || {
                format!(
                    "scalar({q}) has the code {alone} for {}, argmax has {y}",
                    s[q]
                )
            })?;
            sum += p.value_at(*y);
        }
        holds(
            (h.value(&y) - sum).abs() <= NEAR * (1.0 + sum.abs()),
            || format!("h is not the sum of its scalar penalties at {y:?}"),
        )?;
    }
    let pairs = each.iter().zip(s);
    let sum: f64 = pairs.map(|(p, s)| scalar_conjugate(*p, *s)).sum();
    holds(
        (h.conjugate(s) - sum).abs() <= NEAR * (1.0 + sum.abs()),
        || format!("h* is not the sum of the conjugates of its scalar penalties at {s:?}"),
    )
}

/// domain_support is attained: the maximiser of t s y - p(y) tends to the end of the domain as t
/// grows.
fn attained_support(h: &dyn Regularizer, each: &[&dyn ScalarPenalty], s: &[f64]) -> Law {
    let end = |(p, s): (&&dyn ScalarPenalty, &f64)| {
        s * p.coordinate_argmax(1e12 * s, 0.0).clamp(-REACH, REACH)
    };
    let attained: f64 = each.iter().zip(s).map(end).sum();
    let most = h.domain_support(s, &vec![REACH; s.len()]);
    holds(
        (most - attained).abs() <= NEAR * (1.0 + attained.abs()),
        || format!("domain_support({s:?}) is {most}, but codes attain at most {attained}"),
    )
}

fn penalty(p: &dyn ScalarPenalty, least: f64, s: f64, other: f64) -> Law {
    let delta = p.strong_convexity();
    holds(delta >= least * (1.0 - NEAR), || {
        format!("strong_convexity is {delta}, below that of h, {least}")
    })?;
    supremum(p, s)?;
    for kappa in KAPPAS {
        argmax(p, kappa, s, other)?;
        subgradient_at_zero(p, kappa, s)?;
    }
    for y in [0.0, other, p.coordinate_argmax(s, 0.0)] {
        quadratic_piece(p, y)?;
    }
    Ok(())
}

/// p*(s) = sup_y s y - p(y), by trying every y.
fn supremum(p: &dyn ScalarPenalty, s: f64) -> Law {
    let dual = scalar_conjugate(p, s);
    let (at, most) = grid_max(|y| s * y - p.value_at(y));
    let near = NEAR * (1.0 + dual.abs());
    // A domain between two points of the grid has no point on it.
    let attained = most >= dual - near || at.abs() >= GRID_END || most == f64::NEG_INFINITY;
    holds(most <= dual + near && attained, || {
        format!("coordinate_argmax({s}, 0) attains {dual}, the maximum is {most}, at {at}")
    })
}

/// y = coordinate_argmax(s, kappa) leads every other y by strong concavity.
fn argmax(p: &dyn ScalarPenalty, kappa: f64, s: f64, other: f64) -> Law {
    let gain = |y: f64| s * y - p.value_at(y) - 0.5 * kappa * y * y;
    let best = p.coordinate_argmax(s, kappa);
    let top = gain(best);
    for z in [other, best + 1e-3 * other, p.coordinate_argmax(other, 0.0)] {
        let margin = 0.5 * (p.strong_convexity() + kappa) * (z - best).powi(2);
        let scale = 1.0 + top.abs() + margin;
        holds(top - gain(z) >= margin - NEAR * scale, || {
            format!("coordinate_argmax({s}, {kappa}) = {best} gains less than {z} allows")
        })?;
    }
    Ok(())
}

/// With a subdifferential [lo, hi] at 0, p(y) = sup of z y over lo <= z <= hi, plus delta/2 y^2,
/// and argmax is (s - clamp(s, lo, hi)) / (delta + kappa).
fn subgradient_at_zero(p: &dyn ScalarPenalty, kappa: f64, s: f64) -> Law {
    let Some((lo, hi)) = p.subgradient_at_zero() else {
        return Ok(());
    };
    holds(lo <= hi, || format!("subgradient_at_zero is [{lo}, {hi}]"))?;
    let delta = p.strong_convexity();
    for s in [s, lo, hi].into_iter().filter(|s| s.is_finite()) {
        let expected = (s - s.clamp(lo, hi)) / (delta + kappa);
        let found = p.coordinate_argmax(s, kappa);
        holds((found - expected).abs() <= NEAR * expected.abs(), || {
            format!("subgradient_at_zero [{lo}, {hi}]: the code of {s} is {found}, not {expected}")
        })?;
    }
    let slope = if s > 0.0 { hi } else { lo };
    let expected = if s == 0.0 {
        0.0
    } else {
        slope * s + 0.5 * delta * s * s
    };
    let value = p.value_at(s);
    holds(
        value == expected || (value - expected).abs() <= NEAR * (1.0 + value),
        || {
            format!(
                "subgradient_at_zero [{lo}, {hi}]: the penalty of {s} is {value}, not {expected}"
            )
        },
    )
}

/// Inside a piece, up to both ends, p is the quadratic with this slope and curvature delta. If p
/// has pieces at all, every other point is 0, a kink or an end of the domain.
fn quadratic_piece(p: &dyn ScalarPenalty, y: f64) -> Law {
    let (delta, here) = (p.strong_convexity(), p.value_at(y));
    let Some(piece) = p.quadratic_piece(y) else {
        let smooth = y != 0.0 && here.is_finite() && has_pieces(p) && is_smooth(p, y);
        return holds(!smooth, || {
            format!("quadratic_piece({y}) is None, but there is no kink and no end of the domain")
        });
    };
    holds(y != 0.0, || "quadratic_piece(0) is not None".into())?;
    holds(piece.lo < y && y < piece.hi, || {
        format!("{y} is not inside of {piece:?}")
    })?;
    let (lo, hi) = (piece.lo.max(y - 5.0), piece.hi.min(y + 5.0));
    for other in [lo, lo + 0.37 * (hi - lo), hi] {
        let d = other - y;
        let expected = here + piece.slope * d + 0.5 * delta * d * d;
        let value = p.value_at(other);
        holds(
            (value - expected).abs() <= NEAR * (1.0 + value.abs()),
            || format!("{piece:?} at {y}: the penalty of {other} is {value}, not {expected}"),
        )?;
    }
    Ok(())
}

fn has_pieces(p: &dyn ScalarPenalty) -> bool {
    let some = [-40.0, -4.0, -1.0, 1.0, 4.0, 40.0].map(|s| p.coordinate_argmax(s, 0.0));
    some.iter().any(|y| p.quadratic_piece(*y).is_some())
}

/// Whether the slope of p rises no more around y than curvature and rounding explain.
fn is_smooth(p: &dyn ScalarPenalty, y: f64) -> bool {
    let [behind, here, ahead] = [-KINK_STEP, 0.0, KINK_STEP].map(|d| p.value_at(y + d));
    let rise = (ahead - 2.0 * here + behind) / KINK_STEP;
    let rounding = 4.0 * f64::EPSILON * (1.0 + here.abs()) / KINK_STEP;
    rise <= 2.0 * p.strong_convexity() * KINK_STEP + rounding
}
