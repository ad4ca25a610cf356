//! Sums over neighbours on dense graphs with one common weight: the method of the four Russians.
//!
//! Agents form groups of four. The messages of each of a group's 16 subsets are summed first. An
//! agent's sum over its neighbours in the group is then one of these: N/4 additions per agent in
//! place of N multiply-adds. A few rows at a time keep the sums of many groups in the first-level
//! cache.
//!
//! The order of summation is [`Order::Groups`](crate::combine::Order::Groups): sums are
//! bit-identical to those of single agents.

use crate::combine::GROUP;
use crate::simd::{dispatch, Simd, WithSimd};
use crate::work::count;
use bytemuck::cast;
use faer::prelude::ReborrowMut;
use faer::MatMut;
use std::ops::Range;

/// Subsets of a group.
const SUBSETS: usize = 1 << GROUP;
/// Rows at a time: one cache line.
const ROWS: usize = 8;
/// Groups at a time: their sums take 25 KB.
const GROUPS: usize = 25;
/// Receiving agents whose neighbours in a group share one `u32`. Several of them are summed at
/// once, to hide the latency of dependent additions.
const TEAM: usize = 8;

/// The sum over one subset in `ROWS` rows: one cache line, so that no load crosses two.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Sum([f64; ROWS]);
const _: () = assert!(align_of::<Sum>() == size_of::<Sum>());

/// The neighbours of every agent as bit masks over groups, and their common weight.
#[derive(Debug)]
pub struct Subsets {
    agents: usize,
    weight: f64,
    /// For each team of receivers and each group of senders: four bits per receiver, which mark its
    /// neighbours in the group.
    received: Vec<u32>,
}

impl Subsets {
    /// Builds the masks; `weights[k]` lists the senders of agent k as (l, weight). Returns `None`
    /// if weights differ or there are none.
    pub fn new(weights: &[Vec<(usize, f64)>]) -> Option<Self> {
        let n = weights.len();
        let weight = weights.iter().flatten().next()?.1;
        if weights.iter().flatten().any(|(_, a)| *a != weight) {
            return None;
        }
        let groups = n.div_ceil(GROUP);
        let mut received = vec![0; n.div_ceil(TEAM) * groups];
        for (k, senders) in weights.iter().enumerate() {
            for (l, _) in senders {
                received[k / TEAM * groups + l / GROUP] |= 1 << (k % TEAM * GROUP + l % GROUP);
            }
        }
        Some(Subsets {
            agents: n,
            weight,
            received,
        })
    }

    /// Sets column k of `out` to the weighted sum over the neighbours of agent k. `sent(l)` holds
    /// the rows of agent l; `sums` is scratch memory.
    pub fn add_up<'s>(
        &self,
        sent: impl Fn(usize) -> &'s [f64],
        sums: &mut Option<Sums>,
        mut out: MatMut<'_, f64>,
    ) {
        let groups = self.agents.div_ceil(GROUP);
        let sums = sums.get_or_insert_default();
        for from in (0..groups).step_by(GROUPS) {
            let here = GROUPS.min(groups - from);
            let mut senders: [&[f64]; GROUPS * GROUP] = [&[]; GROUPS * GROUP];
            for (l, to) in (from * GROUP..self.agents).zip(&mut senders) {
                *to = sent(l);
            }
            dispatch(AddUp {
                subsets: self,
                groups: from..from + here,
                senders: &senders[..here * GROUP],
                sums: &mut sums.0[..here * SUBSETS],
                out: out.rb_mut(),
            });
        }
    }
}

/// Scratch memory for subset sums.
#[derive(Debug)]
pub struct Sums(Vec<Sum>);

impl Default for Sums {
    fn default() -> Self {
        Sums(vec![Sum([0.0; ROWS]); GROUPS * SUBSETS])
    }
}

/// Column k of a tile. Tiles are contiguous by columns; any other would give an empty slice.
#[inline(always)]
fn column<'a>(tile: &'a mut MatMut<'_, f64>, k: usize) -> &'a mut [f64] {
    let column = tile.rb_mut().col_mut(k).try_as_col_major_mut();
    debug_assert!(column.is_some());
    column
        .map(|column| column.as_slice_mut())
        .unwrap_or_default()
}

/// The contribution of some groups to the sums of all agents.
struct AddUp<'a> {
    subsets: &'a Subsets,
    groups: Range<usize>,
    /// The rows of each agent of the groups; empty beyond the last agent.
    senders: &'a [&'a [f64]],
    sums: &'a mut [Sum],
    out: MatMut<'a, f64>,
}

impl WithSimd for AddUp<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match ROWS / S::F64_LANES {
            1 => self.all_rows::<S, 1, TEAM>(simd),
            2 => self.all_rows::<S, 2, 4>(simd),
            4 => self.all_rows::<S, 4, 2>(simd),
            _ => self.all_rows::<S, ROWS, 1>(simd),
        }
    }
}

/// Loads the rows into V registers, padded with 0 to [`ROWS`].
#[inline(always)]
fn load<S: Simd, const V: usize>(simd: S, rows: &[f64]) -> [S::f64s; V] {
    match rows.try_into() {
        Ok(rows) => cast::<[f64; ROWS], _>(rows),
        Err(_) => {
            let mut all = [simd.splat_f64s(0.0); V];
            for (register, rows) in all.iter_mut().zip(rows.chunks(S::F64_LANES)) {
                *register = simd.partial_load_f64s(rows);
            }
            all
        }
    }
}

/// Stores the registers into the rows, of which there may be fewer than [`ROWS`].
#[inline(always)]
fn store<S: Simd, const V: usize>(simd: S, registers: [S::f64s; V], rows: &mut [f64]) {
    match <&mut [f64; ROWS]>::try_from(&mut *rows) {
        Ok(rows) => *rows = cast(registers),
        Err(_) => {
            for (register, rows) in registers.iter().zip(rows.chunks_mut(S::F64_LANES)) {
                simd.partial_store_f64s(rows, *register);
            }
        }
    }
}

#[inline(always)]
fn add<S: Simd, const V: usize>(simd: S, mut a: [S::f64s; V], b: [S::f64s; V]) -> [S::f64s; V] {
    for i in 0..V {
        a[i] = simd.add_f64s(a[i], b[i]);
    }
    a
}

impl AddUp<'_> {
    /// Processes all rows, [`ROWS`] at a time in V registers each, for T agents of a team at once.
    #[inline(always)]
    fn all_rows<S: Simd, const V: usize, const T: usize>(mut self, simd: S) {
        let rows = self.out.nrows();
        for from in (0..rows).step_by(ROWS) {
            let here = from..rows.min(from + ROWS);
            let groups = self.senders.chunks_exact(GROUP);
            for (group, sums) in groups.zip(self.sums.as_chunks_mut().0) {
                sum_subsets::<S, V>(simd, group, here.clone(), sums);
            }
            for first in (0..self.subsets.agents).step_by(T) {
                self.add_for::<S, V, T>(simd, first, here.clone());
            }
        }
    }

    /// Adds the sums of the groups for T agents of a team, from `first` on.
    #[inline(always)]
    fn add_for<S: Simd, const V: usize, const T: usize>(
        &mut self,
        simd: S,
        first: usize,
        rows: Range<usize>,
    ) {
        let (team, agents) = (first / TEAM, self.subsets.agents);
        let groups = agents.div_ceil(GROUP);
        let received =
            &self.subsets.received[team * groups..(team + 1) * groups][self.groups.clone()];
        count(received.len() * T * rows.len());
        let mut totals = [[simd.splat_f64s(0.0); V]; T];
        // A constant trip count keeps the totals in registers.
        for (t, total) in totals.iter_mut().enumerate() {
            if self.groups.start > 0 && first + t < agents {
                *total = load::<S, V>(simd, &column(&mut self.out, first + t)[rows.clone()]);
            }
        }
        let skip = first % TEAM * GROUP;
        for (received, sums) in received.iter().zip(self.sums.as_chunks::<SUBSETS>().0) {
            let received = received >> skip;
            for (t, total) in totals.iter_mut().enumerate() {
                let sum = &sums[(received >> (GROUP * t)) as usize % SUBSETS];
                *total = add(simd, *total, cast(sum.0));
            }
        }
        // The last groups complete the sums.
        let weight = if self.groups.end == groups {
            self.subsets.weight
        } else {
            1.0
        };
        let weight = simd.splat_f64s(weight);
        for (t, total) in totals.iter_mut().enumerate() {
            if first + t < agents {
                *total = total.map(|sum| simd.mul_f64s(weight, sum));
                store::<S, V>(
                    simd,
                    *total,
                    &mut column(&mut self.out, first + t)[rows.clone()],
                );
            }
        }
    }
}

/// The sums of all subsets of a group in these rows.
#[inline(always)]
fn sum_subsets<S: Simd, const V: usize>(
    simd: S,
    group: &[&[f64]],
    rows: Range<usize>,
    sums: &mut [Sum; SUBSETS],
) {
    count(SUBSETS * rows.len());
    for (i, sent) in group.iter().enumerate() {
        // Each sum so far, and the same with one more agent.
        let (sums, with) = sums.split_at_mut(1 << i);
        let sent = sent.get(rows.clone()).unwrap_or_default(); // empty beyond the last agent
        let sent = load::<S, V>(simd, sent);
        for (sum, with) in sums.iter().zip(with) {
            with.0 = cast(add::<S, V>(simd, cast(sum.0), sent));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sums;

    /// Sums that cross cache lines slow down every load, on some threads and not on others.
    #[test]
    fn sums_begin_with_a_cache_line() {
        // Several at once, so that the allocator returns different offsets.
        let all: Vec<Sums> = (0..20).map(|_| Sums::default()).collect();
        let at = |sums: &Sums| sums.0.as_ptr().addr() % 64;
        assert!(all.iter().all(|sums| at(sums) == 0));
    }
}
