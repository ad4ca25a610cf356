//! Convergence measures of the stopping rule, shared by the mesh in one process and agents on a
//! network: each agent's local residual, and the decision from the largest of them.

use dictmesh_kernels::matrix::{distance, distance_from, norm, Matrix};

/// Minimum number of rounds between two measurements; a rate needs that many.
const WINDOW: usize = 5;
/// Relative changes up to this are rounding error, which does not decrease further.
const ROUNDING: f64 = 1e-14;
/// Divergence threshold for |nu|, in units of the sample's magnitude times (1 + 1/delta).
const RUNAWAY: f64 = 1e12;
/// Number of measurements from which the rate is estimated.
const MEMORY: usize = 4;

/// Rounds between two measurements: at least the diameter, so that each one reaches every agent
/// before the next.
pub fn window(diameter: usize) -> usize {
    diameter.max(WINDOW)
}

/// The largest relative change of an agent's nu over its samples in one round. If `sum` gives the
/// number of neighbours and their plain sum, the distance from their mean counts too. NaN
/// propagates.
pub fn residual(nu: &Matrix, before: &Matrix, sum: Option<(usize, &[f64])>) -> f64 {
    let mut largest = 0.0_f64;
    for j in 0..nu.cols() {
        let new = nu.column(j);
        let mut moved = distance(new, before.column(j));
        if let Some((degree, sum)) = sum.filter(|(degree, _)| *degree > 0) {
            let sum = &sum[j * nu.rows()..(j + 1) * nu.rows()];
            moved = larger(moved, distance_from(new, 1.0 / degree as f64, sum));
        }
        if moved != 0.0 {
            let relative = moved / norm(new).max(f64::MIN_POSITIVE);
            if relative.is_nan() {
                return f64::NAN; // f64::max would drop it
            }
            largest = largest.max(relative);
        }
    }
    largest
}

/// The larger of two residuals; NaN propagates.
pub fn larger(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() {
        b
    } else {
        a
    }
}

/// Whether nu has diverged, for samples of these magnitudes. `delta` is the smallest of any agent.
pub fn has_diverged(nu: &Matrix, sizes: &[f64], delta: f64) -> bool {
    nu.columns().zip(sizes).any(|(nu, size)| {
        // nu scales with the sample, and for an equality residual also with delta.
        let bound = RUNAWAY * size.max(f64::MIN_POSITIVE.sqrt()) * (1.0 + 1.0 / delta);
        let length = norm(nu);
        !length.is_finite() || length > bound
    })
}

/// Estimates the convergence rate from the largest residuals of recent measurements, newest first.
#[derive(Clone, Debug, Default)]
pub struct RateEstimator {
    residuals: Vec<f64>,
}

impl RateEstimator {
    /// Adds a residual. Returns whether the estimated remaining distance is within the tolerance.
    pub fn meets(&mut self, residual: f64, window: usize, tolerance: f64) -> bool {
        self.residuals.insert(0, residual);
        self.residuals.truncate(MEMORY);
        if residual <= ROUNDING {
            return true;
        }
        if self.residuals.len() < MEMORY {
            return false;
        }
        // Residuals oscillate, so the rate compares the maxima of the newer and the older half.
        let (newer, older) = self.residuals.split_at(MEMORY / 2);
        let largest = |half: &[f64]| half.iter().copied().fold(0.0, f64::max);
        let windows = (window * MEMORY / 2) as f64;
        let rate = (largest(newer) / largest(older)).powf(1.0 / windows);
        let residual = largest(newer);
        // The remaining sum of a geometric series with this rate.
        rate < 1.0 && residual / (1.0 - rate) <= tolerance
    }
}
