//! Sums over neighbours on dense graphs with different weights: a matrix product in the order of
//! [`Order::OneByOne`](crate::combine::Order::OneByOne), bit-identical to the sums of single agents.

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
    /// a_lk by senders l, each with a number per receiver k, padded to a multiple of [`TEAM`].
    weights: Vec<f64>,
}

impl WeightedSums {
    /// `weights[k]` lists the senders of agent k as (l, weight).
    pub fn new(weights: &[Vec<(usize, f64)>]) -> Self {
        let agents = weights.len();
        let stride = agents.next_multiple_of(TEAM);
        let mut by_senders = vec![0.0; agents * stride];
        for (k, senders) in weights.iter().enumerate() {
            (senders.iter()).for_each(|(l, a)| by_senders[l * stride + k] = *a);
        }
        WeightedSums {
            agents,
            weights: by_senders,
        }
    }

    /// Sets column k of `out` to the weighted sum over the neighbours of agent k. `sent` holds the
    /// rows of all agents, contiguous.
    ///
    /// Panics if it is too short, or unless the columns of `out` are contiguous.
    pub fn add_up(&self, sent: &[f64], out: MatMut<'_, f64>) {
        let sums = self;
        dispatch(AddUp { sums, sent, out });
    }
}

struct AddUp<'a> {
    sums: &'a WeightedSums,
    sent: &'a [f64],
    out: MatMut<'a, f64>,
}

impl WithSimd for AddUp<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let rows = self.out.nrows();
        let mut from = 0;
        while from < rows {
            // The parts of some rows stay in the cache for all receivers.
            from = match (rows - from) / S::F64_LANES {
                3.. => self.some_rows::<S, 3>(simd, from, from + 3 * S::F64_LANES),
                1.. => self.some_rows::<S, 1>(simd, from, from + S::F64_LANES),
                _ => self.some_rows::<S, 1>(simd, from, rows),
            };
        }
    }
}

impl AddUp<'_> {
    /// The sums of all agents in the rows `from..to`, at most V registers; returns `to`.
    #[inline(always)]
    fn some_rows<S: Simd, const V: usize>(&mut self, simd: S, from: usize, to: usize) -> usize {
        let (rows, agents) = (self.out.nrows(), self.sums.agents);
        count(agents * agents * (to - from));
        for first in (0..agents).step_by(TEAM) {
            let mut sums = [[simd.splat_f64s(0.0); V]; TEAM];
            let parts = self.sent.chunks_exact(rows);
            let weights = self
                .sums
                .weights
                .chunks_exact(agents.next_multiple_of(TEAM));
            for (part, weights) in parts.zip(weights) {
                let part = load::<S, V>(simd, &part[from..to]);
                for (sums, a) in sums.iter_mut().zip(&weights[first..first + TEAM]) {
                    let a = simd.splat_f64s(*a);
                    for i in 0..V {
                        sums[i] = simd.mul_add_e_f64s(a, part[i], sums[i]);
                    }
                }
            }
            for (k, sums) in (first..agents).zip(sums) {
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

/// The rows in V registers; the last may be partly filled.
#[inline(always)]
fn load<S: Simd, const V: usize>(simd: S, rows: &[f64]) -> [S::f64s; V] {
    let (whole, rest) = S::as_simd_f64s(rows);
    std::array::from_fn(|i| match whole.get(i) {
        Some(register) => *register,
        None => simd.partial_load_f64s(rest),
    })
}
