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
    fn with_simd<S: Simd>(mut self, simd: S) {
        /// Pairs at a time. Where they lie is found out before the sums begin, which then stay in registers.
        const SOME: usize = 32;
        let mut anew = true;
        loop {
            let mut some: [(f64, &[f64]); SOME] = [(0.0, &[]); SOME];
            let mut count = 0;
            for (to, pair) in some.iter_mut().zip(&mut self.pairs) {
                *to = pair;
                count += 1;
            }
            if count > 0 || anew {
                add_all(simd, anew, some[..count].iter().copied(), self.out);
            }
            if count < SOME {
                return;
            }
            anew = false;
        }
    }
}
