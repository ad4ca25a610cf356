//! What an agent makes of what arrived, one definition for the mesh in this process and agents on a network.

use crate::simd::{add_all, dispatch, Simd, WithSimd};

/// `out` becomes the sum of a_l x_l over the pairs (a_l, x_l), each entry summed in the order of the pairs: agents
/// give them by rising AgentId, so that no result depends on what arrived first. Each x_l is as long as `out`.
pub fn combine<'x>(pairs: impl Iterator<Item = (f64, &'x [f64])> + Clone, out: &mut [f64]) {
    dispatch(Combination { pairs, out });
}

struct Combination<'o, I> {
    pairs: I,
    out: &'o mut [f64],
}

impl<'x, I: Iterator<Item = (f64, &'x [f64])> + Clone> WithSimd for Combination<'_, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        add_all(simd, true, self.pairs, self.out);
    }
}
