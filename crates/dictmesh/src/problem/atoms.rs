//! Constraints on the atoms: the penalty h_W with its prox, and the set W_k with its projection.
//!
//! | type | set W |
//! |---|---|
//! | [`UnitBall`] | \|w\|_2 <= 1 |
//! | [`NonNegativeUnitBall`] | the same with w >= 0 |
//! | [`UnitL1Ball`] | \|w\|_1 <= 1 |
//! | [`NonNegativeUnitL1Ball`] | the same with w >= 0 |
//!
//! For each penalty and each of these sets, the prox of the penalty followed by the projection is
//! the exact prox of their sum. The paper's one-step and two-step updates are therefore equal here.

mod penalty;
mod unit_ball;
mod unit_l1_ball;

pub use penalty::AtomPenalty;
pub use unit_ball::{NonNegativeUnitBall, UnitBall};
pub use unit_l1_ball::{NonNegativeUnitL1Ball, UnitL1Ball};

use crate::spec::Spec;
use std::fmt::Debug;

/// A closed convex set W of allowed atoms; every column of the dictionary lies in it.
///
/// A task takes a set of another crate as a value: `Task::new(residual).atoms(MySet)`.
/// [`laws::atom_set`](crate::laws::atom_set) tests it. The default steps of `diffusion`,
/// `consensus` and `exact-diffusion` assume |w| <= 1; give them a step for a
/// larger set.
pub trait AtomSet: Debug + Send + Sync {
    /// Name and parameters.
    fn spec(&self) -> Spec;

    /// Replaces `w` by the nearest point of the set, `argmin_{v in W} |v - w|_2`.
    ///
    /// Exact up to rounding, for entries of any finite magnitude. A point inside the set is left
    /// unchanged (bit-identical). NaN and +infinity yield a non-finite entry; non-negative sets map
    /// -infinity to 0.
    fn project(&self, w: &mut [f64]);

    /// Whether `w` is in the set with its bounds relaxed by `tolerance`. A vector with NaN or
    /// infinity is in no set.
    fn contains(&self, w: &[f64], tolerance: f64) -> bool;

    /// Turns `w` into an initial atom: a point of the set with the largest allowed norm, in the
    /// direction of `w` if possible. A zero `w` may stay zero. The default scales to |w|_2 = 1 and
    /// projects.
    fn normalise(&self, w: &mut [f64]) {
        scale_to_size_one(w, dictmesh_kernels::matrix::norm);
        self.project(w);
    }

    /// Whether all atoms of this set are non-negative.
    fn is_non_negative(&self) -> bool {
        false
    }
}

/// Scales `w` to 1 in the norm `size`. A zero `w` stays zero.
fn scale_to_size_one(w: &mut [f64], size: impl Fn(&[f64]) -> f64) {
    // Divides by the largest entry first: squares of large entries overflow.
    let largest = w.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if largest > 0.0 && largest.is_finite() {
        w.iter_mut().for_each(|v| *v /= largest);
        let size = size(w);
        w.iter_mut().for_each(|v| *v /= size);
    }
}

fn positive_part(w: &mut [f64]) {
    for v in w {
        // f64::max would turn NaN into 0. An unconditional store lets the compiler avoid a branch.
        *v = if *v < 0.0 { 0.0 } else { *v };
    }
}

/// |w|_1.
fn l1_norm(w: &[f64]) -> f64 {
    w.iter().map(|v| v.abs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{gaussian, stream};
    use dictmesh_kernels::matrix::{dot, norm};

    fn all() -> [&'static dyn AtomSet; 4] {
        [
            &UnitBall,
            &NonNegativeUnitBall,
            &UnitL1Ball,
            &NonNegativeUnitL1Ball,
        ]
    }

    /// Vectors inside the sets, near the boundary and far outside, with ties and zeros.
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
        for set in all() {
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

    /// `(w - p)'(v - p) <= 0` for every v of the set characterises the projection p.
    #[test]
    fn a_projection_satisfies_the_variational_inequality() {
        let mut rng = stream(8, 0);
        for set in all() {
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

    /// An independent method: bisection on theta.
    #[test]
    fn the_l1_projection_equals_bisection() {
        for w in vectors().iter().filter(|w| w.iter().all(|v| v.abs() < 1e3)) {
            let mut p = w.clone();
            UnitL1Ball.project(&mut p);
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

    /// Rounding may place a normalised sparse atom just outside the set. Its projection must keep
    /// the zero entries.
    #[test]
    fn a_projection_never_makes_an_entry_larger() {
        let mut rng = stream(10, 0);
        for set in all() {
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

    /// An independent method: the nearest feasible candidate over all supports.
    #[test]
    fn the_non_negative_l1_projection_equals_brute_force() {
        let mut rng = stream(9, 0);
        for _ in 0..200 {
            let w = gaussian(5, 1, &mut rng).into_vec();
            let mut p = w.clone();
            NonNegativeUnitL1Ball.project(&mut p);
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
                    if NonNegativeUnitL1Ball.contains(&v, 1e-12) {
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
        for set in all() {
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
