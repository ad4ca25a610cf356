//! Convex penalties of one coefficient, the terms of separable regularizers.

use std::fmt::Debug;

/// A convex function h of one coefficient y, quadratic between its kinks with one curvature delta.
pub trait ScalarPenalty: Debug + Send + Sync {
    /// h(y), infinite outside its domain.
    fn value_at(&self, y: f64) -> f64;

    /// argmax_y s y - h(y) - kappa/2 y^2: the code for `kappa` = 0, and the step of coordinate
    /// descent for a coordinate of curvature `kappa`.
    fn coordinate_argmax(&self, s: f64, kappa: f64) -> f64;

    /// delta, the strong convexity of h. Between kinks h is quadratic with this curvature.
    fn strong_convexity(&self) -> f64;

    /// The quadratic piece of h around y; `None` at kinks, of which 0 always counts as one, and at
    /// the ends of the domain. The default, `None` everywhere, disables exact solves on the active
    /// set.
    fn quadratic_piece(&self, _y: f64) -> Option<Piece> {
        None
    }

    /// The subdifferential [lo, hi] of h at 0, if h(y) = sup of z y over lo <= z <= hi, plus
    /// delta/2 y^2. Then `coordinate_argmax` is (s - clamp(s, lo, hi)) / (delta + kappa), which
    /// innermost loops use in place of a call per coefficient.
    fn subgradient_at_zero(&self) -> Option<(f64, f64)> {
        None
    }
}

/// One quadratic piece of a penalty: h' is `slope` at the given point and rises with the curvature
/// delta throughout the open interval (`lo`, `hi`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// h'(y).
    pub slope: f64,
    /// Left end of the piece.
    pub lo: f64,
    /// Right end of the piece.
    pub hi: f64,
}

/// The entry-wise soft threshold T_lambda(x) = (|x| - lambda)_+ sgn(x).
pub fn soft_threshold(x: f64, lambda: f64) -> f64 {
    if x > lambda {
        x - lambda
    } else if x < -lambda {
        x + lambda
    } else {
        0.0
    }
}
