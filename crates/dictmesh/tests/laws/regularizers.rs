//! Regularizers: h against h*, the recovery of y, the quadratic pieces and the constants.

use super::{brute_force_max, config, number, regularizers, Scalar};
use dictmesh::problem::regularizer::{
    soft_threshold, ElasticNet, NonNegativeElasticNet, ScalarPenalty,
};
use proptest::prelude::*;

/// h*(s).
fn conjugate(h: &dyn Scalar, s: f64) -> f64 {
    h.conjugate(&[s])
}

proptest! {
    #![proptest_config(config())]

    /// h(y) + h*(s) >= s y for every pair, with equality at y = recover(s).
    #[test]
    fn fenchel_young(s in number(), y in number()) {
        for h in regularizers() {
            let dual = conjugate(&*h, s);
            prop_assert!(dual.is_finite(), "h* of a strongly convex h is finite: {h:?} at {s}");
            prop_assert!(h.value_at(y) + dual - s * y >= -1e-9 * (1.0 + dual.abs()), "{h:?}");
            let best = h.coordinate_argmax(s, 0.0);
            let slack = h.value_at(best) + dual - s * best;
            prop_assert!(slack.abs() <= 1e-12 * (1.0 + dual.abs()), "{h:?}: {slack}");
        }
    }

    /// h*(s) = sup s y - h(y), by trying every y.
    #[test]
    fn the_conjugate_is_the_supremum(s in number()) {
        for h in regularizers() {
            let expected = conjugate(&*h, s);
            if h.coordinate_argmax(s, 0.0).abs() > 120.0 {
                continue; // off the grid
            }
            let (at, sup) = brute_force_max(|y| s * y - h.value_at(y));
            prop_assert!((sup - expected).abs() <= 1e-8 * (1.0 + expected.abs()), "{h:?} at {s}: {sup} at {at}, not {expected}");
        }
    }

    /// A regularizer with a zone gives the part of s outside of it, over delta + kappa. 0 is never inside a
    /// piece.
    #[test]
    fn the_zone_is_what_recovery_cuts_off(s in number(), kappa in prop::sample::select(vec![0.0, 0.01, 30.0])) {
        for h in regularizers() {
            prop_assert!(h.quadratic_piece(0.0).is_none(), "{h:?}");
            let Some((lo, hi)) = h.subgradient_at_zero() else { continue };
            for s in [s, lo, hi].into_iter().filter(|s| s.is_finite()) {
                let expected = (s - s.clamp(lo, hi)) / (h.delta() + kappa);
                let found = h.coordinate_argmax(s, kappa);
                prop_assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{h:?} at {s}: {found}");
            }
        }
    }

    /// y = coordinate_argmax(s, kappa) maximises s y - h(y) - kappa/2 y^2 and beats every other y by what
    /// strong concavity asks.
    #[test]
    fn recover_beats_everything_else(
        s in number(),
        y in number(),
        near in -1e-3..1e-3,
        kappa in prop::sample::select(vec![0.0, 0.01, 1.0, 30.0]),
    ) {
        for h in regularizers() {
            let gain = |y: f64| s * y - h.value_at(y) - 0.5 * kappa * y * y;
            let best = h.coordinate_argmax(s, kappa);
            let top = gain(best);
            prop_assert!(top.is_finite(), "{h:?}");
            // The last is surely in the domain.
            for other in [y, best + near, h.coordinate_argmax(y, 0.0)] {
                let margin = 0.5 * (h.delta() + kappa) * (other - best).powi(2);
                let lead = top - gain(other) - margin;
                prop_assert!(lead >= -1e-9 * (1.0 + top.abs() + margin), "{h:?} at {s}, {kappa}: {lead}");
            }
        }
    }

    /// recover is the gradient of h*, which is Lipschitz with 1/delta.
    #[test]
    fn recover_is_the_gradient_of_the_conjugate(s in number(), other in number()) {
        for h in regularizers() {
            let (y, step) = (h.coordinate_argmax(s, 0.0), 1e-6);
            let (ahead, behind) = (conjugate(&*h, s + step), conjugate(&*h, s - step));
            let slope = (ahead - behind) / (2.0 * step);
            let rounding = 1e-15 * (ahead.abs() + behind.abs() + 1.0) / step;
            let kink = step / h.delta();
            prop_assert!((slope - y).abs() <= kink + 4.0 * rounding, "{h:?} at {s}: {slope}, not {y}");
            let apart = (h.coordinate_argmax(other, 0.0) - y).abs();
            prop_assert!(apart * h.delta() <= (other - s).abs() * (1.0 + 1e-12) + 1e-12, "{h:?}");
        }
    }

    /// Inside a piece h is the one quadratic with this slope and curvature delta, up to both ends, and
    /// outside of all pieces h has an end or a kink.
    #[test]
    fn a_piece_is_quadratic(y in number(), towards in 0.0..1.0) {
        for h in regularizers() {
            let inside = h.coordinate_argmax(y, 0.0);
            for y in [y, inside] {
                let Some(piece) = h.quadratic_piece(y) else {
                    let alone = [y - 1e-9, y + 1e-9].iter().any(|y| h.value_at(*y) == f64::INFINITY);
                    prop_assert!(alone || y == 0.0, "{h:?} has no piece at {y}");
                    continue;
                };
                prop_assert!(piece.lo < y && y < piece.hi, "{h:?} at {y}: {piece:?}");
                let (lo, hi) = (piece.lo.max(y - 5.0), piece.hi.min(y + 5.0));
                for other in [lo, hi, lo + towards * (hi - lo)] {
                    let d = other - y;
                    let expected = h.value_at(y) + piece.slope * d + 0.5 * h.delta() * d * d;
                    let value = h.value_at(other);
                    prop_assert!((value - expected).abs() <= 1e-11 * (1.0 + value), "{h:?} at {y}, {other}");
                }
                let step = (1e-6_f64).min(0.5 * (y - piece.lo)).min(0.5 * (piece.hi - y));
                if step > 1e-8 {
                    let slope = (h.value_at(y + step) - h.value_at(y - step)) / (2.0 * step);
                    let rounding = 4e-16 * (1.0 + h.value_at(y)) / step;
                    prop_assert!((slope - piece.slope).abs() <= 1e-8 + rounding, "{h:?} at {y}");
                }
            }
        }
    }

    /// The support function is above s y for all y in the domain within reach, and they come up to it: the maximiser
    /// of t s y - h(y) goes there as t grows.
    #[test]
    fn the_domain_support_is_the_supremum(s in number(), other in number()) {
        for h in regularizers() {
            let reach = 1e3;
            let support = h.domain_support(&[s], &[reach]);
            let y = h.coordinate_argmax(other, 0.0).clamp(-reach, reach);
            prop_assert!(s * y <= support + 1e-12, "{h:?}: {y} is in the domain");
            let far = s * h.coordinate_argmax(1e12 * s, 0.0).clamp(-reach, reach);
            prop_assert!((far - support).abs() <= 1e-9 * (1.0 + far.abs()), "{h:?} at {s}: {far}, not {support}");
        }
    }

    /// h((a + b)/2) <= (h(a) + h(b))/2 - delta/8 (a - b)^2.
    #[test]
    fn strong_convexity_holds(s in number(), t in number()) {
        for h in regularizers() {
            let (a, b) = (h.coordinate_argmax(s, 0.0), h.coordinate_argmax(t, 0.0));
            let delta = h.delta();
            prop_assert!(delta > 0.0 && delta.is_finite());
            let mean = 0.5 * (h.value_at(a) + h.value_at(b));
            let middle = h.value_at(0.5 * (a + b));
            prop_assert!(middle <= mean - delta / 8.0 * (a - b).powi(2) + 1e-12 * (1.0 + mean), "{h:?}");
        }
    }

    /// Of a vector, h and h* are sums and the recovery goes entry by entry.
    #[test]
    fn vectors_go_entry_by_entry(s in prop::collection::vec(number(), 0..6)) {
        for h in regularizers() {
            let mut y = vec![7.0; s.len()];
            y.copy_from_slice(&s);
            h.argmax(0.0, &mut y);
            let alone: Vec<f64> = s.iter().map(|s| h.coordinate_argmax(*s, 0.0)).collect();
            prop_assert_eq!(&y, &alone);
            let value: f64 = y.iter().map(|y| h.value_at(*y)).sum();
            prop_assert!((h.value(&y) - value).abs() <= 1e-12 * (1.0 + value));
            let dual: f64 = s.iter().map(|s| conjugate(&*h, *s)).sum();
            prop_assert!((h.conjugate(&s) - dual).abs() <= 1e-12 * (1.0 + dual.abs()));
        }
    }

    /// The paper's table: h* = T_gamma(s)^2/(2 delta) and its one-sided form.
    #[test]
    fn the_papers_closed_forms(s in number(), gamma in 0.0..2.0, delta in 0.01..3.0) {
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + a.abs());
        let (t, plus) = (soft_threshold(s, gamma), (s - gamma).max(0.0));
        let net = ElasticNet::new(gamma, delta).unwrap();
        prop_assert!(close(conjugate(&net, s), t * t / (2.0 * delta)));
        prop_assert!(close(net.coordinate_argmax(s, 0.0), t / delta));
        let one_sided = NonNegativeElasticNet::new(gamma, delta).unwrap();
        prop_assert!(close(conjugate(&one_sided, s), plus * plus / (2.0 * delta)));
        prop_assert!(close(one_sided.coordinate_argmax(s, 0.0), plus / delta));
    }
}
