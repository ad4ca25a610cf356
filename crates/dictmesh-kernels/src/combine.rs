//! The weighted sum over an agent's senders, sum_l a_l x_l, for the mesh in this process and for
//! agents on a network.
//!
//! The order of summation ([`Order`]) depends on the agent's own weights alone. Faster sums for all
//! agents at once follow the same order, so that they are bit-identical.

use crate::simd::{add_all, dispatch, Simd, WithSimd};
use crate::work::count;

/// Agents per group of [`Order::Groups`].
pub const GROUP: usize = 4;
/// With at most this many agents, a total minus one part saves nothing.
const FEW: usize = 4;

/// The order in which the parts of an agent's senders are added up. Agents are numbered 0..N in
/// ascending order of their ids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// All other agents are senders with one weight: `other` times the sum over all N agents,
    /// ascending, plus (`own` - `other`) times the agent's own part.
    Total {
        /// The weight of every other agent.
        other: f64,
        /// The weight of the agent itself, or 0.
        own: f64,
    },
    /// One weight for all senders: `weight` times the sum over groups of [`GROUP`] consecutive
    /// agents. The parts of a group are added up first, ascending, and then the groups, ascending.
    Groups {
        /// The weight.
        weight: f64,
    },
    /// Different weights: the products are added one by one, ascending.
    OneByOne,
}

impl Order {
    /// The order for agent k of `agents`, with `senders` (l, a_l), ascending.
    pub fn of(k: usize, agents: usize, senders: &[(usize, f64)]) -> Order {
        let mut others = senders.iter().filter(|(l, _)| *l != k);
        let Some(&(_, other)) = others.next() else {
            return Order::OneByOne;
        };
        let own = senders.iter().find(|(l, _)| *l == k).map(|(_, a)| *a);
        if others.any(|(_, a)| *a != other) {
            return Order::OneByOne;
        }
        let others = senders.len() - usize::from(own.is_some());
        match own {
            _ if agents > FEW && others == agents - 1 => Order::Total {
                other,
                own: own.unwrap_or(0.0),
            },
            Some(own) if own != other => Order::OneByOne,
            _ => Order::Groups { weight: other },
        }
    }

    /// Sets `out` to the sum for agent k; `senders` as in [`of`](Order::of). `part(l)` is the array
    /// of agent l, as long as `out`; it is called for senders, and for all agents by
    /// [`Order::Total`].
    pub fn combine<'x>(
        self,
        k: usize,
        agents: usize,
        senders: &[(usize, f64)],
        part: impl Fn(usize) -> &'x [f64] + Clone,
        out: &mut [f64],
    ) {
        match self {
            Order::Total { other, own } => {
                add_up((0..agents).map(&part), out);
                minus_own(other, own, part(k), out);
            }
            Order::Groups { weight } => {
                let parts = senders.iter().map(|(l, _)| (l / GROUP, part(*l)));
                dispatch(Groups { weight, parts, out });
            }
            Order::OneByOne => combine(senders.iter().map(|(l, a)| (*a, part(*l))), out),
        }
    }
}

/// `out` = the sum of the parts, in their order.
pub fn add_up<'x>(parts: impl Iterator<Item = &'x [f64]>, out: &mut [f64]) {
    out.fill(0.0);
    for part in parts {
        count(out.len());
        out.iter_mut().zip(part).for_each(|(sum, v)| *sum += v);
    }
}

/// `total = other total + (own - other) part`: the sum of [`Order::Total`].
pub fn minus_own(other: f64, own: f64, part: &[f64], total: &mut [f64]) {
    count(total.len());
    let each = total.iter_mut().zip(part);
    each.for_each(|(sum, v)| *sum = other * *sum + (own - other) * v);
}

/// `out = sum_l a_l x_l` over the pairs (a_l, x_l), each entry summed in the order of the pairs.
/// Agents sort them by AgentId, so that no result depends on the order of arrival. Each x_l is as
/// long as `out`.
pub fn combine<'x>(pairs: impl Iterator<Item = (f64, &'x [f64])> + Clone, out: &mut [f64]) {
    dispatch(Combination { pairs, out });
}

/// Parts at a time. They are collected before the sums begin, which then stay in registers.
const SOME: usize = 32;

struct Combination<'o, I> {
    pairs: I,
    out: &'o mut [f64],
}

impl<'x, I: Iterator<Item = (f64, &'x [f64])> + Clone> WithSimd for Combination<'_, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
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

/// The sum of [`Order::Groups`] over the parts (group, x), with ascending groups.
struct Groups<'o, I> {
    weight: f64,
    parts: I,
    out: &'o mut [f64],
}

impl<'x, I: Iterator<Item = (usize, &'x [f64])>> WithSimd for Groups<'_, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (mut parts, mut anew) = (self.parts.peekable(), true);
        loop {
            let mut some: [(usize, &[f64]); SOME] = [(0, &[]); SOME];
            let mut count = 0;
            // Ends with a whole group.
            while let Some(part) = parts.next_if(|(group, _)| {
                count + GROUP <= SOME || count > 0 && some[count - 1].0 == *group
            }) {
                some[count] = part;
                count += 1;
            }
            let last = parts.peek().is_none();
            let weight = last.then_some(self.weight);
            add_groups(simd, anew, weight, &some[..count], self.out);
            if last {
                return;
            }
            anew = false;
        }
    }
}

/// Adds the groups to `out`, or to 0 if `anew`, and multiplies by `weight` if given.
#[inline(always)]
fn add_groups<S: Simd>(
    simd: S,
    anew: bool,
    weight: Option<f64>,
    parts: &[(usize, &[f64])],
    out: &mut [f64],
) {
    count(parts.len() * out.len());
    let mut from = 0;
    while from < out.len() {
        from = match (out.len() - from) / S::F64_LANES {
            4.. => add_rows::<S, 4>(simd, anew, weight, parts, from, out),
            1.. => add_rows::<S, 1>(simd, anew, weight, parts, from, out),
            _ => {
                let load = |x: &[f64]| [simd.partial_load_f64s(&x[from..])];
                let start = if anew {
                    [simd.splat_f64s(0.0)]
                } else {
                    load(out)
                };
                let [sum] = sum_groups(simd, start, weight, parts, load);
                simd.partial_store_f64s(&mut out[from..], sum);
                out.len()
            }
        };
    }
}

/// [`add_groups`] for V vectors of rows; returns the row after them.
#[inline(always)]
fn add_rows<S: Simd, const V: usize>(
    simd: S,
    anew: bool,
    weight: Option<f64>,
    parts: &[(usize, &[f64])],
    from: usize,
    out: &mut [f64],
) -> usize {
    let to = from + V * S::F64_LANES;
    let load = |x: &[f64]| {
        let (x, _) = S::as_simd_f64s(&x[from..to]);
        std::array::from_fn::<_, V, _>(|i| x[i])
    };
    let start = if anew {
        [simd.splat_f64s(0.0); V]
    } else {
        load(out)
    };
    let sums = sum_groups(simd, start, weight, parts, load);
    let (out, _) = S::as_mut_simd_f64s(&mut out[from..to]);
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = sum;
    }
    to
}

/// `total` plus the sums of the groups, times `weight` if given.
#[inline(always)]
fn sum_groups<S: Simd, const V: usize>(
    simd: S,
    mut total: [S::f64s; V],
    weight: Option<f64>,
    parts: &[(usize, &[f64])],
    load: impl Fn(&[f64]) -> [S::f64s; V],
) -> [S::f64s; V] {
    let none = [simd.splat_f64s(0.0); V];
    let (mut sum, mut current) = (none, parts.first().map_or(0, |(group, _)| *group));
    for (group, x) in parts {
        if *group != current {
            for i in 0..V {
                total[i] = simd.add_f64s(total[i], sum[i]);
            }
            (sum, current) = (none, *group);
        }
        let x = load(x);
        for i in 0..V {
            sum[i] = simd.add_f64s(sum[i], x[i]);
        }
    }
    let weight = simd.splat_f64s(weight.unwrap_or(1.0));
    for i in 0..V {
        total[i] = simd.mul_f64s(weight, simd.add_f64s(total[i], sum[i]));
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::{gaussian, stream};

    #[test]
    fn the_order_depends_on_the_weights() {
        let senders = |all: &[usize], weight: f64| -> Vec<(usize, f64)> {
            all.iter().map(|l| (*l, weight)).collect()
        };
        let others = senders(&[0, 1, 3, 4, 5], 0.5);
        let total = |own| Order::Total { other: 0.5, own };
        assert_eq!(Order::of(2, 6, &others), total(0.0));
        let mut all = senders(&[0, 1, 2, 3, 4, 5], 0.5);
        assert_eq!(Order::of(2, 6, &all), total(0.5));
        all[2].1 = 0.1;
        assert_eq!(Order::of(2, 6, &all), total(0.1));
        assert_eq!(Order::of(2, 7, &all), Order::OneByOne);
        all[3].1 = 0.2;
        assert_eq!(Order::of(2, 6, &all), Order::OneByOne);
        assert_eq!(Order::of(2, 7, &others), Order::Groups { weight: 0.5 });
        assert_eq!(
            Order::of(1, 4, &senders(&[0, 2, 3], 1.0)),
            Order::Groups { weight: 1.0 }
        );
        assert_eq!(Order::of(0, 1, &senders(&[0], 1.0)), Order::OneByOne);
        assert_eq!(Order::of(0, 1, &[]), Order::OneByOne);
    }

    /// Each order gives the sum of its formula, bit-identical, for any number of senders and rows.
    #[test]
    fn each_order_is_that_of_its_formula() {
        for agents in [1, 2, 5, 7, 33, 40, 131] {
            for rows in [1, 7, 8, 33, 70] {
                let x = gaussian(rows, agents, &mut stream(3, 0));
                let keep = |l: usize, some: usize| l != 0 && l % some != 1;
                for (some, weight) in [(2, 0.3), (3, 1.0), (usize::MAX, 0.7)] {
                    let senders: Vec<(usize, f64)> = (0..agents)
                        .filter(|l| keep(*l, some))
                        .map(|l| (l, weight))
                        .collect();
                    let order = Order::of(0, agents, &senders);
                    let mut out = vec![f64::NAN; rows];
                    order.combine(0, agents, &senders, |l| x.column(l), &mut out);
                    for (i, out) in out.iter().enumerate() {
                        let plain: f64 = senders.iter().map(|(l, a)| a * x.get(i, *l)).sum();
                        assert!((out - plain).abs() < 1e-12);
                        if let Order::Groups { weight } = order {
                            let mut total = 0.0;
                            for group in senders.chunk_by(|a, b| a.0 / GROUP == b.0 / GROUP) {
                                let each = group.iter().map(|(l, _)| x.get(i, *l));
                                total += each.fold(0.0, |sum, x| sum + x);
                            }
                            assert_eq!(*out, weight * total);
                        }
                    }
                }
            }
        }
    }
}
