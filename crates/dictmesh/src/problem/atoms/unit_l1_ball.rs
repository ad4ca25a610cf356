use super::{l1_norm, positive_part, scale_to_size_one, AtomSet};
use crate::spec::Spec;

/// `{ w : |w|_1 <= 1 }`. Projection: `w` if it is inside, else `sign(w_i) max(|w_i| - theta, 0)`
/// with the one `theta > 0` for which the result has `|w|_1 = 1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitL1Ball;

impl AtomSet for UnitL1Ball {
    fn spec(&self) -> Spec {
        Spec::new("unit-l1-ball")
    }

    fn project(&self, w: &mut [f64]) {
        project_l1_ball(w);
    }

    fn contains(&self, w: &[f64], tolerance: f64) -> bool {
        // A NaN makes the size NaN, and NaN compares false.
        l1_norm(w) <= 1.0 + tolerance
    }

    fn normalise(&self, w: &mut [f64]) {
        scale_to_size_one(w, l1_norm);
    }
}

/// `{ w : w >= 0, |w|_1 <= 1 }`. Projection: the positive part, then the l1 ball.
///
/// ```
/// use dictmesh::problem::atoms::{AtomSet, NonNegativeUnitL1Ball};
/// let mut w = [3.0, -4.0];
/// NonNegativeUnitL1Ball.project(&mut w);
/// assert_eq!(w, [1.0, 0.0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NonNegativeUnitL1Ball;

impl AtomSet for NonNegativeUnitL1Ball {
    fn spec(&self) -> Spec {
        Spec::new("non-negative-unit-l1-ball")
    }

    fn project(&self, w: &mut [f64]) {
        positive_part(w);
        project_l1_ball(w);
    }

    fn contains(&self, w: &[f64], tolerance: f64) -> bool {
        // A NaN makes the size NaN, and NaN compares false.
        w.iter().all(|v| *v >= -tolerance) && l1_norm(w) <= 1.0 + tolerance
    }

    fn normalise(&self, w: &mut [f64]) {
        positive_part(w);
        scale_to_size_one(w, l1_norm);
    }

    fn is_non_negative(&self) -> bool {
        true
    }
}

fn project_l1_ball(w: &mut [f64]) {
    if l1_norm(w) > 1.0 {
        let largest = w.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        if largest.is_infinite() {
            return;
        }
        let theta = simplex_threshold(w, largest);
        for v in w.iter_mut() {
            // Rounding must not make an entry larger either.
            *v = ((v.abs() - largest) - theta)
                .clamp(0.0, v.abs())
                .copysign(*v);
        }
    }
}

/// The `t` with `sum_i max(d_i - t, 0) = 1`, where `d_i = |w_i| - largest`.
///
/// Distances from the largest entry rather than the entries themselves: `t` lies in [-1, 0) however
/// large `w` is, so nothing cancels.
fn simplex_threshold(w: &[f64], largest: f64) -> f64 {
    // The entry with d = 0 alone gives t >= -1, so nothing at or below -1 is in the support ...
    let mut d: Vec<f64> = w.iter().map(|v| v.abs() - largest).collect();
    d.retain(|d| *d > -1.0);
    // ... and leaving entries out only raises t, so nothing below this mean is either.
    let bound = (d.iter().sum::<f64>() - 1.0) / d.len() as f64;
    d.retain(|d| *d > bound);
    d.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut t) = (0.0, -1.0);
    for (i, d) in d.iter().enumerate() {
        sum += d;
        let candidate = (sum - 1.0) / (i + 1) as f64;
        if *d <= candidate {
            break;
        }
        t = candidate;
    }
    // theta = largest + t is not negative. When |w|_1 is 1 but for rounding t may say otherwise, and
    // every zero of a sparse atom would become an entry of size 1e-17.
    t.max(-largest)
}
