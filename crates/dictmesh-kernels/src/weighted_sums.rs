//! Sums over neighbours on dense graphs with different weights: a matrix product in the order of
//! [`Order::OneByOne`](crate::combine::Order::OneByOne), bit-identical to the sums of single
//! agents.

use crate::simd::{dispatch, Simd, WithSimd};
use crate::work::count;
use faer::prelude::ReborrowMut;
use faer::MatMut;

/// Receiving agents at a time: each part is read once for all of them.
const TEAM: usize = 4;

/// The weights of all agents.
#[derive(Debug)]
pub struct WeightedSums {
    agents: usize,
    /// a_lk by teams of receivers, then senders l, then the receivers k of the team.
    weights: Vec<[f64; TEAM]>,
}

impl WeightedSums {
    /// `weights[k]` lists the senders of agent k as (l, weight).
    pub fn new(weights: &[Vec<(usize, f64)>]) -> Self {
        let agents = weights.len();
        let mut by_teams = vec![[0.0; TEAM]; agents.div_ceil(TEAM) * agents];
        for (k, senders) in weights.iter().enumerate() {
            for (l, a) in senders {
                by_teams[k / TEAM * agents + l][k % TEAM] = *a;
            }
        }
        WeightedSums {
            agents,
            weights: by_teams,
        }
    }

    /// Sets column k of `out` to the weighted sum over the neighbours of agent k. `part(l)` has the
    /// rows of agent l; `packed` is scratch memory.
    ///
    /// Panics if a part has fewer rows than `out`, or unless the columns of `out` are contiguous.
    pub fn add_up<'x>(
        &self,
        part: impl Fn(usize) -> &'x [f64],
        packed: &mut Vec<f64>,
        out: MatMut<'_, f64>,
    ) {
        dispatch(AddUp {
            sums: self,
            part,
            packed,
            out,
        });
    }
}

struct AddUp<'a, P> {
    sums: &'a WeightedSums,
    part: P,
    packed: &'a mut Vec<f64>,
    out: MatMut<'a, f64>,
}

impl<'x, P: Fn(usize) -> &'x [f64]> WithSimd for AddUp<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        // Sums of a team, the parts of one sender and a weight fill the registers.
        let most = if S::REGISTER_COUNT >= 32 { 6 } else { 3 };
        let rows = self.out.nrows();
        let mut from = 0;
        while from < rows {
            let left = (rows - from).div_ceil(S::F64_LANES);
            from = match left.min(most) {
                6 => self.panel::<S, 6>(simd, from),
                5 => self.panel::<S, 5>(simd, from),
                4 => self.panel::<S, 4>(simd, from),
                3 => self.panel::<S, 3>(simd, from),
                2 => self.panel::<S, 2>(simd, from),
                _ => self.panel::<S, 1>(simd, from),
            };
        }
    }
}

impl<'x, P: Fn(usize) -> &'x [f64]> AddUp<'_, P> {
    /// The sums of all agents in the V registers of rows from `from` on; returns the row after.
    #[inline(always)]
    fn panel<S: Simd, const V: usize>(&mut self, simd: S, from: usize) -> usize {
        let (agents, width) = (self.sums.agents, V * S::F64_LANES);
        let to = (from + width).min(self.out.nrows());
        count(agents * agents * (to - from));
        // The rows of all senders side by side, the last register padded with 0.
        self.packed.clear();
        for l in 0..agents {
            self.packed.extend_from_slice(&(self.part)(l)[from..to]);
            self.packed.resize((l + 1) * width, 0.0);
        }
        let (parts, _) = S::as_simd_f64s(&self.packed[..agents * width]);
        for (team, weights) in self.sums.weights.chunks_exact(agents).enumerate() {
            let mut sums = [[simd.splat_f64s(0.0); V]; TEAM];
            for (part, weights) in parts.chunks_exact(V).zip(weights) {
                for (sums, a) in sums.iter_mut().zip(weights) {
                    let a = simd.splat_f64s(*a);
                    for i in 0..V {
                        sums[i] = simd.mul_add_e_f64s(a, part[i], sums[i]);
                    }
                }
            }
            for (k, sums) in (team * TEAM..agents).zip(sums) {
                let column = self.out.rb_mut().col_mut(k).try_as_col_major_mut();
                assert!(column.is_some(), "columns must be contiguous");
                let Some(column) = column else { continue };
                let column = &mut column.as_slice_mut()[from..to];
                for (sum, out) in sums.iter().zip(column.chunks_mut(S::F64_LANES)) {
                    simd.partial_store_f64s(out, *sum);
                }
            }
        }
        to
    }
}
