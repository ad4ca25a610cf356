//! The distance of nu from its limit, as the residuals of recent measurements give it.

/// Relative changes up to this are rounding error, which does not decrease further.
const ROUNDING: f64 = 1e-14;
/// Number of measurements from which the rate is estimated.
const RATE_MEASUREMENTS: usize = 4;

/// Estimates the convergence rate from the largest residuals of recent measurements, newest first.
#[derive(Clone, Debug, Default)]
pub(super) struct RateEstimator {
    residuals: Vec<f64>,
}

impl RateEstimator {
    /// Adds a residual. Returns whether the estimated remaining distance is within the tolerance.
    pub fn meets(&mut self, residual: f64, window: usize, tolerance: f64) -> bool {
        self.residuals.insert(0, residual);
        self.residuals.truncate(RATE_MEASUREMENTS);
        if residual <= ROUNDING {
            return true;
        }
        if self.residuals.len() < RATE_MEASUREMENTS {
            return false;
        }
        // Residuals oscillate, so the rate compares the maxima of the newer and the older half.
        let (newer, older) = self.residuals.split_at(RATE_MEASUREMENTS / 2);
        let largest = |half: &[f64]| half.iter().copied().fold(0.0, f64::max);
        let windows = (window * RATE_MEASUREMENTS / 2) as f64;
        let rate = (largest(newer) / largest(older)).powf(1.0 / windows);
        let residual = largest(newer);
        // The remaining sum of a geometric series with this rate.
        rate < 1.0 && residual / (1.0 - rate) <= tolerance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Residuals 2^-w: the rate is 1/2 per round with windows of one round, and the rest of the
    /// series as large as the last residual.
    #[test]
    fn a_geometric_series_is_met_at_its_remaining_distance() {
        let met_after = |tolerance: f64| {
            let mut rate = RateEstimator::default();
            (0..60_i32).find(|w| rate.meets(0.5_f64.powi(*w), 1, tolerance))
        };
        // The estimate takes the larger residual of the newer half: one measurement later.
        for (exponent, expected) in [(10, 12), (20, 22)] {
            assert_eq!(met_after(0.5_f64.powi(exponent)), Some(expected));
        }
        // Four measurements are needed, whatever the tolerance.
        assert_eq!(met_after(1e9), Some(RATE_MEASUREMENTS as i32 - 1));
    }

    #[test]
    fn residuals_that_do_not_fall_are_not_met_and_rounding_is() {
        let mut rate = RateEstimator::default();
        assert!((0..20).all(|_| !rate.meets(1e-3, 5, 1.0)));
        assert!(rate.meets(ROUNDING, 5, 1e-20));
        let mut growing = RateEstimator::default();
        assert!((0..20).all(|w| !growing.meets(1.5_f64.powi(w), 5, 1e9)));
    }
}
