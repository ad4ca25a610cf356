//! What is asked of the atoms: the penalty h_W with its prox, and the set W_k with its projection.
//!
//! For each pair of them, the prox of the penalty followed by the projection is the exact prox of
//! their sum, so the paper's one-step and two-step updates are the same here.

use crate::error::{Error, Result};
use crate::problem::regularizer::soft_threshold;
use dictmesh_kernels::matrix::norm;
use serde::{Deserialize, Serialize};

/// The penalty h_W on the atoms, entry by entry.
///
/// ```
/// use dictmesh::problem::atoms::AtomPenalty;
/// let mut w = [0.5, -0.1];
/// AtomPenalty::L1 { beta: 0.2 }.prox(1.0, &mut w);
/// assert_eq!(w, [0.3, 0.0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AtomPenalty {
    /// h_W = 0.
    #[default]
    None,
    /// h_W = beta |W|_1, the sum of all absolute entries.
    L1 {
        /// Its weight, 0 or above.
        beta: f64,
    },
}

impl AtomPenalty {
    /// Refuses a weight that is negative or not finite.
    pub fn check(&self) -> Result<()> {
        match *self {
            AtomPenalty::None => Ok(()),
            AtomPenalty::L1 { beta } => Error::check_not_negative("beta", beta),
        }
    }

    /// h_W of one atom.
    pub fn value(&self, w: &[f64]) -> f64 {
        match *self {
            AtomPenalty::None => 0.0,
            AtomPenalty::L1 { beta } => beta * l1_norm(w),
        }
    }

    /// The prox of `step` h_W: the soft threshold T at `step` beta.
    pub fn prox(&self, step: f64, w: &mut [f64]) {
        if let AtomPenalty::L1 { beta } = *self {
            for v in w {
                *v = soft_threshold(*v, step * beta);
            }
        }
    }
}

/// The set W of allowed atoms; every column of the dictionary lies in it.
///
/// ```
/// use dictmesh::problem::atoms::AtomSet;
/// let mut w = [3.0, -4.0];
/// AtomSet::NonNegativeUnitL1Ball.project(&mut w);
/// assert_eq!(w, [1.0, 0.0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtomSet {
    #[default]
    /// `{ w : |w|_2 <= 1 }`. Projection: `w / max(1, |w|_2)`.
    UnitBall,
    /// `{ w : w >= 0, |w|_2 <= 1 }`. Projection: the positive part, then the ball (in this order).
    NonNegativeUnitBall,
    /// `{ w : |w|_1 <= 1 }`. Projection: `w` if it is inside, else `sign(w_i) max(|w_i| - theta, 0)`
    /// with the one `theta > 0` for which the result has `|w|_1 = 1`.
    UnitL1Ball,
    /// `{ w : w >= 0, |w|_1 <= 1 }`. Projection: the positive part, then the l1 ball.
    NonNegativeUnitL1Ball,
}

impl AtomSet {
    /// Every set, for laws that hold for all of them.
    pub const ALL: [AtomSet; 4] = [
        AtomSet::UnitBall,
        AtomSet::NonNegativeUnitBall,
        AtomSet::UnitL1Ball,
        AtomSet::NonNegativeUnitL1Ball,
    ];

    /// Whether atoms of this set have no negative entry.
    pub fn is_non_negative(&self) -> bool {
        matches!(
            self,
            AtomSet::NonNegativeUnitBall | AtomSet::NonNegativeUnitL1Ball
        )
    }

    /// Replaces `w` by the nearest point of the set, `argmin_{v in W} |v - w|_2`.
    ///
    /// Exact up to rounding, in one pass (ball) or one partial sort (l1 ball), for entries of any
    /// finite size; a point inside the set is left untouched bit by bit. Entries that are not finite
    /// stay so: the projection does not hide them.
    pub fn project(&self, w: &mut [f64]) {
        if self.is_non_negative() {
            positive_part(w);
        }
        match self {
            AtomSet::UnitBall | AtomSet::NonNegativeUnitBall => project_ball(w),
            AtomSet::UnitL1Ball | AtomSet::NonNegativeUnitL1Ball => project_l1_ball(w),
        }
    }

    /// Scales `w` (in the non-negative sets: its positive part) to norm 1 in the set's own norm: how
    /// an atom starts. Its direction stays, which a projection onto the l1 ball would not leave. A
    /// zero `w` stays zero.
    pub fn normalise(&self, w: &mut [f64]) {
        if self.is_non_negative() {
            positive_part(w);
        }
        // By the largest entry first, since the square of a large one overflows.
        let largest = w.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        if largest > 0.0 && largest.is_finite() {
            w.iter_mut().for_each(|v| *v /= largest);
            let size = self.size(w);
            w.iter_mut().for_each(|v| *v /= size);
        }
    }

    /// The norm that the set bounds by 1.
    fn size(&self, w: &[f64]) -> f64 {
        match self {
            AtomSet::UnitBall | AtomSet::NonNegativeUnitBall => norm(w),
            AtomSet::UnitL1Ball | AtomSet::NonNegativeUnitL1Ball => l1_norm(w),
        }
    }

    /// Whether `w` is in the set when its bounds are loosened by `tolerance`: the norm is at most
    /// `1 + tolerance` and, in the non-negative sets, no entry is below `-tolerance`. A vector with a
    /// NaN or an infinity is in no set.
    pub fn contains(&self, w: &[f64], tolerance: f64) -> bool {
        let size = self.size(w);
        let signs = !self.is_non_negative() || w.iter().all(|v| *v >= -tolerance);
        // A NaN makes the size NaN, and NaN compares false.
        signs && size <= 1.0 + tolerance
    }
}

fn positive_part(w: &mut [f64]) {
    for v in w {
        // Not f64::max, which would turn NaN into 0; and always a store, so that the compiler needs no branch.
        *v = if *v < 0.0 { 0.0 } else { *v };
    }
}

/// |w|_1.
fn l1_norm(w: &[f64]) -> f64 {
    w.iter().map(|v| v.abs()).sum()
}

fn project_ball(w: &mut [f64]) {
    let size = norm(w);
    if size > 1.0 && size < LARGE {
        let shrink = 1.0 / size;
        w.iter_mut().for_each(|v| *v *= shrink);
    } else if size > 1.0 {
        // By the largest entry first, since its inverse vanishes and the square of a large one overflows.
        let largest = w.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        w.iter_mut().for_each(|v| *v /= largest);
        let size = norm(w);
        w.iter_mut().for_each(|v| *v /= size);
    }
}

/// Norms below this have an inverse.
const LARGE: f64 = 1e100;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{gaussian, stream};
    use dictmesh_kernels::matrix::dot;

    /// Vectors of many sizes: well inside, near the border, far outside, with ties and zeros.
    fn vectors() -> Vec<Vec<f64>> {
        let mut rng = stream(7, 0);
        let mut all = vec![
            vec![],
            vec![0.0; 4],
            vec![1.0],
            vec![-1.0],
            vec![0.5; 4],
            vec![-2.0; 3],
            vec![1.0, -1.0, 0.0, 0.0],
            vec![1e20, 1e20, -1e20],
            vec![1e200, -3e200],
            vec![1e-300, 0.0],
        ];
        for scale in [0.01, 0.2, 1.0, 30.0] {
            for len in [1, 2, 5, 40] {
                let mut v = gaussian(len, 1, &mut rng).into_vec();
                v.iter_mut().for_each(|v| *v *= scale);
                all.push(v);
            }
        }
        all
    }

    #[test]
    fn a_projection_is_feasible_and_idempotent() {
        for set in AtomSet::ALL {
            for w in vectors() {
                let mut p = w.clone();
                set.project(&mut p);
                assert!(set.contains(&p, 1e-14), "{set:?} {w:?} -> {p:?}");
                let mut again = p.clone();
                set.project(&mut again);
                for (a, b) in again.iter().zip(&p) {
                    assert!((a - b).abs() <= 1e-15, "{set:?} {p:?} -> {again:?}");
                }
                if set.contains(&w, 0.0) {
                    assert_eq!(p, w, "a point inside stays");
                }
            }
        }
    }

    /// `(w - p)'(v - p) <= 0` for every v of the set: the law that makes p the nearest point.
    #[test]
    fn a_projection_satisfies_the_variational_inequality() {
        let mut rng = stream(8, 0);
        for set in AtomSet::ALL {
            for w in vectors().iter().filter(|w| w.iter().all(|v| v.abs() < 1e3)) {
                let mut p = w.clone();
                set.project(&mut p);
                let away: Vec<f64> = w.iter().zip(&p).map(|(w, p)| w - p).collect();
                let mut others: Vec<Vec<f64>> = (0..50)
                    .map(|i| {
                        let mut v = gaussian(w.len(), 1, &mut rng).into_vec();
                        v.iter_mut().for_each(|v| *v *= [0.1, 1.0, 10.0][i % 3]);
                        v
                    })
                    .collect();
                // The corners of the l1 ball are in every ball.
                for i in 0..w.len() {
                    let mut corner = vec![0.0; w.len()];
                    corner[i] = w[i].signum();
                    others.push(corner);
                }
                for mut v in others {
                    set.project(&mut v);
                    let towards: Vec<f64> = v.iter().zip(&p).map(|(v, p)| v - p).collect();
                    let product = dot(&away, &towards);
                    assert!(product <= 1e-11 * (1.0 + norm(w)), "{set:?} {w:?}");
                }
            }
        }
    }

    /// Bisection on theta, which knows nothing of sorting.
    #[test]
    fn the_l1_projection_equals_bisection() {
        for w in vectors().iter().filter(|w| w.iter().all(|v| v.abs() < 1e3)) {
            let mut p = w.clone();
            AtomSet::UnitL1Ball.project(&mut p);
            let left = |theta: f64| w.iter().map(|v| (v.abs() - theta).max(0.0)).sum::<f64>();
            let (mut low, mut high) = (0.0, 2e3);
            for _ in 0..200 {
                let mid = 0.5 * (low + high);
                if left(mid) > 1.0 {
                    low = mid;
                } else {
                    high = mid;
                }
            }
            for (p, w) in p.iter().zip(w) {
                let expected = (w.abs() - high).max(0.0) * w.signum();
                assert!((p - expected).abs() < 1e-12);
            }
        }
    }

    /// An atom started from a sample with |x|_1 = 1 is outside by a rounding at most; its zeros used
    /// to come back as entries of size 1e-17, and a sparse dictionary was dense.
    #[test]
    fn a_projection_never_makes_an_entry_larger() {
        let mut rng = stream(10, 0);
        for set in AtomSet::ALL {
            for _ in 0..100 {
                let mut w = gaussian(300, 1, &mut rng).into_vec();
                w[10..].fill(0.0);
                let size = l1_norm(&w);
                w.iter_mut().for_each(|v| *v *= (1.0 + 4e-16) / size);
                let mut p = w.clone();
                set.project(&mut p);
                assert!(p.iter().zip(&w).all(|(p, w)| p.abs() <= w.abs()), "{set:?}");
            }
        }
    }

    /// Every support tried in turn: the nearest feasible candidate is the projection.
    #[test]
    fn the_non_negative_l1_projection_equals_brute_force() {
        let mut rng = stream(9, 0);
        for _ in 0..200 {
            let w = gaussian(5, 1, &mut rng).into_vec();
            let mut p = w.clone();
            AtomSet::NonNegativeUnitL1Ball.project(&mut p);
            let mut best = f64::INFINITY;
            for support in 0_u32..32 {
                for tight in [false, true] {
                    let on = |i: usize| support >> i & 1 == 1;
                    let sum: f64 = (0..5).filter(|i| on(*i)).map(|i| w[i]).sum();
                    let count = f64::from(support.count_ones().max(1));
                    let shift = if tight { (sum - 1.0) / count } else { 0.0 };
                    let v: Vec<f64> = (0..5)
                        .map(|i| if on(i) { w[i] - shift } else { 0.0 })
                        .collect();
                    if AtomSet::NonNegativeUnitL1Ball.contains(&v, 1e-12) {
                        best = best.min(v.iter().zip(&w).map(|(v, w)| (v - w).powi(2)).sum());
                    }
                }
            }
            let found: f64 = p.iter().zip(&w).map(|(p, w)| (p - w).powi(2)).sum();
            assert!(
                (found - best).abs() < 1e-12,
                "{w:?}: {found} against {best}"
            );
        }
    }

    #[test]
    fn what_is_not_finite_is_in_no_set_and_is_not_hidden() {
        for set in AtomSet::ALL {
            assert!(!set.contains(&[f64::NAN, 0.0], 1.0));
            assert!(!set.contains(&[f64::INFINITY], 1.0));
            for bad in [f64::NAN, f64::INFINITY] {
                let mut w = [bad, 0.5];
                set.project(&mut w);
                assert!(!w[0].is_finite());
            }
        }
    }
}
