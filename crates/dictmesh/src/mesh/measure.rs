//! What each agent measures of its own nu_k to find out when to stop, and what all of them conclude from the largest
//! such number: one definition for the mesh in this process and agents on a network.

use dictmesh_kernels::matrix::{distance, distance_from, norm, Matrix};

/// Rounds between two floods, at least: one flood's worth of rounds is too short to see a rate.
const WINDOW: usize = 5;
/// Relative changes below this are rounding, which goes on for ever at a rate of 1.
const ROUNDING: f64 = 1e-14;
/// nu longer than this many times the sample has left all bounds.
const RUNAWAY: f64 = 1e12;
/// How many floods the rate is taken from.
const MEMORY: usize = 4;

/// The rounds from one measurement to the next: there is time for the last one to reach everybody.
pub fn window(diameter: usize) -> usize {
    diameter.max(WINDOW)
}

/// The largest relative change of an agent's nu for any sample in one round and, where the plain `sum` over
/// its neighbours is given with their number, its distance from their mean. NaN if anything is.
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

/// The larger of two residuals; what is no number stays.
pub fn larger(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() {
        b
    } else {
        a
    }
}

/// Whether nu, for samples of these sizes, has left all bounds. `delta` is the smallest of any agent.
pub fn has_diverged(nu: &Matrix, sizes: &[f64], delta: f64) -> bool {
    nu.columns().zip(sizes).any(|(nu, size)| {
        // nu scales with the sample, and where the residual is an equality with delta too.
        let bound = RUNAWAY * size.max(f64::MIN_POSITIVE.sqrt()) * (1.0 + 1.0 / delta);
        let length = norm(nu);
        !length.is_finite() || length > bound
    })
}

/// The largest residuals of the last floods, newest first.
#[derive(Clone, Debug, Default)]
pub struct RateEstimator {
    residuals: Vec<f64>,
}

impl RateEstimator {
    /// Takes in a new residual and says whether the estimate of what remains is within the tolerance.
    pub fn meets(&mut self, residual: f64, window: usize, tolerance: f64) -> bool {
        self.residuals.insert(0, residual);
        self.residuals.truncate(MEMORY);
        if residual <= ROUNDING {
            return true;
        }
        if self.residuals.len() < MEMORY {
            return false;
        }
        // Residuals oscillate: the rate is that of the largest of the newer half over the older half.
        let (newer, older) = self.residuals.split_at(MEMORY / 2);
        let largest = |half: &[f64]| half.iter().copied().fold(0.0, f64::max);
        let windows = (window * MEMORY / 2) as f64;
        let rate = (largest(newer) / largest(older)).powf(1.0 / windows);
        let residual = largest(newer);
        // What remains of a geometric series with this rate.
        rate < 1.0 && residual / (1.0 - rate) <= tolerance
    }
}
