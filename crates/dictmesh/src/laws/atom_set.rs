//! The laws of a set of atoms and its projection.

use super::{distance, holds, middle, no_panic, non_finite, plus, points, Law};
use crate::problem::AtomSet;
use dictmesh_kernels::matrix::{dot, norm};

/// Tolerance for the rounding error of a projected atom.
const ROUNDING: f64 = 1e-12;

/// Checks every law of an atom set:
///
/// - projections are feasible, idempotent and nearest; the set is convex;
/// - `normalise` returns a point of the set;
/// - vectors with NaN or infinity are outside of the set and cause no panic; `project` keeps NaN.
///
/// ```
/// use dictmesh::{laws, problem::atoms::UnitL1Ball};
/// assert_eq!(laws::atom_set(&UnitL1Ball), Ok(()));
/// ```
pub fn atom_set(set: &dyn AtomSet) -> Law {
    holds(!set.spec().kind().is_empty(), || "spec has no name".into())?;
    no_panic("an atom without entries", || {
        set.project(&mut []);
        set.normalise(&mut []);
        set.contains(&[], 0.0)
    })?;
    for len in [1, 2, 5, 30] {
        for (w, other) in points(len, 5).iter().zip(&points(len, 6)) {
            projection(set, w, other)?;
            start(set, w)?;
        }
        let large = vec![1e100; len];
        holds(set.contains(&projected(set, &large), ROUNDING), || {
            format!("the projection of {len} entries of 1e100 is outside")
        })?;
        non_finite(len).try_for_each(|w| outside(set, &w))?;
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
    let p = projected(set, w);
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
    for z in rivals(set, &p, other) {
        let product = dot(&plus(w, -1.0, &p), &plus(&z, -1.0, &p));
        holds(product <= 1e-9 * (1.0 + norm(w).powi(2)), || {
            format!("project({w:?}) = {p:?} is not the nearest point: {z:?} is nearer")
        })?;
        let between = middle(&p, &z);
        holds(set.contains(&between, ROUNDING), || {
            format!("the set is not convex: {between:?} is outside")
        })?;
    }
    holds(
        !set.is_non_negative() || p.iter().all(|p| *p >= 0.0),
        || format!("is_non_negative, but {p:?} is in the set"),
    )
}

/// Points of the set: a random one, two close to `p`, and those nearest to 0 and to the unit
/// vectors.
fn rivals(set: &dyn AtomSet, p: &[f64], other: &[f64]) -> Vec<Vec<f64>> {
    let close = [0.3, 1e-3].map(|t| plus(p, t, other));
    let corner = |i: usize| {
        let mut corner = vec![0.0; p.len()];
        corner[i] = 1.0;
        corner
    };
    let zero = vec![0.0; p.len()];
    let points = [other.to_vec(), zero].into_iter().chain(close);
    let points = points.chain((0..p.len()).map(corner));
    points.map(|z| projected(set, &z)).collect()
}

/// `normalise` returns a point of the set, for entries of any magnitude and for the zero vector.
fn start(set: &dyn AtomSet, w: &[f64]) -> Law {
    for scale in [1.0, 1e-200, 1e200] {
        let mut start: Vec<f64> = w.iter().map(|w| scale * w).collect();
        set.normalise(&mut start);
        holds(set.contains(&start, ROUNDING), || {
            format!("normalise of {scale:e} times {w:?} is {start:?}, which is outside")
        })?;
    }
    Ok(())
}

/// `w` has a NaN or infinite entry: it is outside, nothing panics, and NaN is not hidden.
fn outside(set: &dyn AtomSet, w: &[f64]) -> Law {
    let (contained, p) = no_panic(&format!("the atom {w:?}"), || {
        set.normalise(&mut w.to_vec());
        (set.contains(w, 1.0), projected(set, w))
    })?;
    holds(!contained, || format!("{w:?} is in the set"))?;
    let hidden = w.iter().any(|v| v.is_nan()) && p.iter().all(|v| v.is_finite());
    holds(!hidden, || {
        format!("project({w:?}) = {p:?} hides that the atom is not a number")
    })
}
