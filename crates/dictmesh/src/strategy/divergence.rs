//! The magnitude from which a dual vector counts as diverged.

use dictmesh_kernels::matrix::norm;

/// Divergence threshold for |nu|, in units of the sample's magnitude times (1 + 1/delta).
const FACTOR: f64 = 1e12;

/// Whether nu has diverged, for a sample of this magnitude; `delta` is the smallest of any agent.
pub(crate) fn is_beyond(nu: &[f64], size: f64, delta: f64) -> bool {
    // nu scales with the sample, and for an equality residual also with delta.
    let bound = FACTOR * size.max(f64::MIN_POSITIVE.sqrt()) * (1.0 + 1.0 / delta);
    let length = norm(nu);
    !length.is_finite() || length > bound
}
