//! The laws of residuals that depend on a norm, in all rows or outside of a box.

use super::{projected, NEAR};
use crate::laws::{holds, points, Law};
use crate::problem::Residual;
use dictmesh_kernels::matrix::norm;

/// Whether two values are equal up to rounding, or both infinite.
fn same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= NEAR * (1.0 + a.abs())
}

/// If f is rotation invariant, f and f* depend on the norm alone.
pub(super) fn rotation(f: &dyn Residual, u: &[f64]) -> Law {
    let turned = rotated(u, 0);
    let equal = same(f.value(u), f.value(&turned)) && same(f.conjugate(u), f.conjugate(&turned));
    holds(equal || !f.is_rotation_invariant(), || {
        format!("is_rotation_invariant, but f or f* differs at {u:?} and {turned:?}")
    })
}

/// `u` with the rows from `first` on rotated onto the first of them.
fn rotated(u: &[f64], first: usize) -> Vec<f64> {
    let mut turned = u.to_vec();
    if first < u.len() {
        turned[first..].fill(0.0);
        turned[first] = norm(&u[first..]);
    }
    turned
}

/// f* of `partly` is that of f inside of the box, finite if the first `rows` rows are in it, and
/// depends on the norm of the other rows alone.
pub(super) fn box_on_first_rows(f: &dyn Residual, partly: &dyn Residual, rows: usize) -> Law {
    for nu in points(5, 7) {
        let inside = projected(f, &nu);
        holds(
            same(f.conjugate(&inside), partly.conjugate(&inside)),
            || format!("f* differs inside of the box, at {inside:?}"),
        )?;
        let mixed = [&inside[..rows], &nu[rows..]].concat();
        let value = partly.conjugate(&mixed);
        holds(value.is_finite(), || format!("f* is {value} at {mixed:?}"))?;
        holds(
            same(value, partly.conjugate(&rotated(&mixed, rows))),
            || format!("f* changes if the rows from {rows} on of {mixed:?} are rotated"),
        )?;
        let outside = nu[..rows].iter().any(|v| v.abs() > 1.0);
        holds(!outside || partly.conjugate(&nu).is_infinite(), || {
            format!("f* is finite outside of the box, at {nu:?}")
        })?;
    }
    Ok(())
}
