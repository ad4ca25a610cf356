use super::{positive_part, scale_to_size_one, AtomSet};
use crate::spec::Spec;
use dictmesh_kernels::matrix::norm;

/// `{ w : |w|_2 <= 1 }`. Projection: `w / max(1, |w|_2)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitBall;

impl AtomSet for UnitBall {
    fn spec(&self) -> Spec {
        Spec::new("unit-ball")
    }

    fn project(&self, w: &mut [f64]) {
        project_ball(w);
    }

    fn contains(&self, w: &[f64], tolerance: f64) -> bool {
        // A NaN entry makes the norm NaN, and the comparison false.
        norm(w) <= 1.0 + tolerance
    }

    fn normalise(&self, w: &mut [f64]) {
        scale_to_size_one(w, norm);
    }
}

/// `{ w : w >= 0, |w|_2 <= 1 }`. Projection: the positive part, then the ball (in this order).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NonNegativeUnitBall;

impl AtomSet for NonNegativeUnitBall {
    fn spec(&self) -> Spec {
        Spec::new("non-negative-unit-ball")
    }

    fn project(&self, w: &mut [f64]) {
        positive_part(w);
        project_ball(w);
    }

    fn contains(&self, w: &[f64], tolerance: f64) -> bool {
        // A NaN entry makes the norm NaN, and the comparison false.
        w.iter().all(|v| *v >= -tolerance) && norm(w) <= 1.0 + tolerance
    }

    fn normalise(&self, w: &mut [f64]) {
        positive_part(w);
        scale_to_size_one(w, norm);
    }

    fn is_non_negative(&self) -> bool {
        true
    }
}

fn project_ball(w: &mut [f64]) {
    let size = norm(w);
    if size > 1.0 && size < LARGE {
        let shrink = 1.0 / size;
        w.iter_mut().for_each(|v| *v *= shrink);
    } else if size > 1.0 {
        // Divides by the largest entry first: the inverse of a huge norm underflows, and squares of
        // large entries overflow.
        let largest = w.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        w.iter_mut().for_each(|v| *v /= largest);
        let size = norm(w);
        w.iter_mut().for_each(|v| *v /= size);
    }
}

/// Norms below this are scaled by their inverse; above, the inverse or a square could leave the f64
/// range.
const LARGE: f64 = 1e100;
