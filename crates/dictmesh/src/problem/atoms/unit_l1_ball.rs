use super::{l1_norm, positive_part, scale_to_size_one, AtomSet};
use crate::spec::Spec;

/// `{ w : |w|_1 <= 1 }`. Projection: `w` if it is inside, else `sign(w_i) max(|w_i| - theta, 0)`
/// with the unique `theta > 0` that gives `|w|_1 = 1`.
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
        // A NaN entry makes the norm NaN, and the comparison false.
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
        // A NaN entry makes the norm NaN, and the comparison false.
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
            // The clamp keeps rounding from increasing an entry.
            *v = ((v.abs() - largest) - theta)
                .clamp(0.0, v.abs())
                .copysign(*v);
        }
    }
}

/// The `t` with `sum_i max(d_i - t, 0) = 1`, where `d_i = |w_i| - largest`.
///
/// With d relative to the largest entry, `t` lies in [-1, 0) for any magnitude of `w`, which avoids
/// cancellation.
fn simplex_threshold(w: &[f64], largest: f64) -> f64 {
    // The entry with d = 0 alone gives t >= -1, so entries with d <= -1 are not in the support.
    let mut d: Vec<f64> = w.iter().map(|v| v.abs() - largest).collect();
    d.retain(|d| *d > -1.0);
    // Removing entries only raises t, so entries at or below this mean are not in the support
    // either.
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
    // theta = largest + t >= 0. If |w|_1 = 1 up to rounding, the computed theta could be negative
    // and turn zero entries of a sparse atom into rounding noise.
    t.max(-largest)
}
