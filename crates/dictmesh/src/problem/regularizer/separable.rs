//! Regularizers that apply one scalar penalty to every coefficient: h(y) = sum_q p(y_q).
//!
//! A type implements [`ScalarPenalty`], and then [`Regularizer`](super::Regularizer) with these
//! functions.

use super::ScalarPenalty;

/// h(y).
pub fn value(penalty: &impl ScalarPenalty, y: &[f64]) -> f64 {
    // Eight independent accumulators: the order of summation is fixed, and the compiler can
    // vectorise.
    let mut sums = [0.0; 8];
    let parts = y.chunks_exact(8);
    let tail = parts.remainder().iter().map(|y| penalty.value_at(*y));
    let tail: f64 = tail.sum();
    for part in parts {
        for (sum, y) in sums.iter_mut().zip(part) {
            *sum += penalty.value_at(*y);
        }
    }
    sums.iter().sum::<f64>() + tail
}

/// Replaces s by argmax_y s'y - h(y) - kappa/2 |y|^2.
pub fn argmax(penalty: &impl ScalarPenalty, kappa: f64, s: &mut [f64]) {
    for s in s {
        *s = penalty.coordinate_argmax(*s, kappa);
    }
}

/// h*(s).
pub fn conjugate(penalty: &impl ScalarPenalty, s: &[f64]) -> f64 {
    s.iter().map(|s| scalar_conjugate(penalty, *s)).sum()
}

/// p*(s) = s y - p(y) at y = argmax_y s y - p(y).
pub fn scalar_conjugate(penalty: &(impl ScalarPenalty + ?Sized), s: f64) -> f64 {
    let y = penalty.coordinate_argmax(s, 0.0);
    s * y - penalty.value_at(y)
}
