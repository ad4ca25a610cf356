//! The weighted sum of received messages, for the mesh in this process and for agents on a network.

use crate::simd::{add_all, dispatch, Simd, WithSimd};

/// `out = sum_l a_l x_l` over the pairs (a_l, x_l), each entry summed in the order of the pairs.
/// Agents sort them by AgentId, so that no result depends on the order of arrival. Each x_l is as
/// long as `out`.
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
        /// Pairs at a time. They are collected before the sums begin, which then stay in registers.
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
