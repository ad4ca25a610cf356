use super::{Accel, Batching};

/// Argmins solve several samples at once, one in each SIMD lane.
///
/// The codes agree with those of one sample at a time up to rounding (relative 1e-11): both end
/// with an exact solve on the support, in another order of summation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lanes;

impl Accel for Lanes {
    fn name(&self) -> &'static str {
        "lanes"
    }

    fn batching(&self) -> Option<Batching> {
        Some(Batching::SideBySide)
    }
}
