//! The laws of a set of atoms and its projection.

use super::{distance, holds, middle, plus, points, Law};
use crate::problem::AtomSet;
use dictmesh_kernels::matrix::{dot, norm};

/// Tolerance for the rounding error of a projected atom.
const ROUNDING: f64 = 1e-12;

/// Checks every law of an atom set: projections are feasible, idempotent and nearest; the set is
/// convex; `normalise` returns a point of the set; non-finite vectors are outside.
pub fn atom_set(set: &dyn AtomSet) -> Law {
    holds(!set.spec().kind().is_empty(), || "spec has no name".into())?;
    for len in [1, 2, 5, 30] {
        for (w, other) in points(len, 5).iter().zip(&points(len, 6)) {
            projection(set, w, other)?;
            start(set, w)?;
        }
        let large = vec![1e100; len];
        holds(set.contains(&projected(set, &large), ROUNDING), || {
            format!("the projection of {len} entries of 1e100 is outside")
        })?;
        for bad in [f64::NAN, f64::INFINITY] {
            let mut w = vec![0.0; len];
            w[0] = bad;
            holds(!set.contains(&w, 1.0), || format!("{bad} is in the set"))?;
        }
    }
    Ok(())
}

fn projected(set: &dyn AtomSet, w: &[f64]) -> Vec<f64> {
    let mut p = w.to_vec();
    set.project(&mut p);
    p
}

/// Feasible, idempotent, and (w - p)'(z - p) <= 0 for every z of the set.
fn projection(set: &dyn AtomSet, w: &[f64], other: &[f64]) -> Law {
    let (p, z) = (projected(set, w), projected(set, other));
    holds(set.contains(&p, ROUNDING), || {
        format!("project({w:?}) = {p:?} is outside")
    })?;
    holds(
        distance(&projected(set, &p), &p) <= ROUNDING * (1.0 + norm(&p)),
        || format!("project is not idempotent at {p:?}"),
    )?;
    holds(!set.contains(w, 0.0) || p == w, || {
        format!("project changes {w:?}, which is in the set, to {p:?}")
    })?;
    let product = dot(&plus(w, -1.0, &p), &plus(&z, -1.0, &p));
    holds(product <= 1e-9 * (1.0 + norm(w).powi(2)), || {
        format!("project({w:?}) = {p:?} is not the nearest point: {z:?} is nearer")
    })?;
    let between = middle(&p, &z);
    holds(set.contains(&between, ROUNDING), || {
        format!("the set is not convex: {between:?} is outside")
    })?;
    holds(
        !set.is_non_negative() || p.iter().all(|p| *p >= 0.0),
        || format!("is_non_negative, but {p:?} is in the set"),
    )
}

/// `normalise` returns a point of the set, also for the zero vector.
fn start(set: &dyn AtomSet, w: &[f64]) -> Law {
    let mut start = w.to_vec();
    set.normalise(&mut start);
    holds(set.contains(&start, ROUNDING), || {
        format!("normalise({w:?}) = {start:?} is outside")
    })
}
