use super::{Accel, Batching};

/// Argmins solve several samples at once, one in each SIMD lane.
///
/// Lanes do not interact: results are bit-identical to those of one sample at a time in one lane.
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
