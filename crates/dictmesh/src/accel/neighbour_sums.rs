//! Sums over many neighbours.
//!
//! On dense graphs with one common weight, subset sums take a quarter of the additions
//! ([`subset_sums`](dictmesh_kernels::subset_sums)). With different weights a matrix product is
//! faster than one sum per agent. Both add up in the order of the plain sums
//! ([`Order`]), so that results are bit-identical.

use super::{Accel, Combiner};
use dictmesh_kernels::combine::Order;
use dictmesh_kernels::pool::PerThreadPool;
use dictmesh_kernels::subset_sums::{Subsets, Sums};
use dictmesh_kernels::weighted_sums::WeightedSums;
use faer::prelude::ReborrowMut;
use faer::MatMut;

/// Faster sums over many neighbours: subset sums or matrix products. Results are bit-identical to
/// the plain sums. On a network, sums over all agents that the links provide (MPI) are added up in
/// the order of the links.
#[derive(Clone, Copy, Debug, Default)]
pub struct NeighbourSums;

/// Fewest non-zero weights for which subset sums and matrix products pay, as (per pair of agents,
/// per agent).
const SUBSETS_PAY: (f64, f64) = (0.05, 10.0);
const PRODUCT_PAYS: (f64, f64) = (0.3, 2.0);
/// With at most this many agents no method pays for its set-up.
const FEW: usize = 4;

impl Accel for NeighbourSums {
    fn name(&self) -> &'static str {
        "neighbour-sums"
    }

    fn sums_on_links(&self) -> bool {
        true
    }

    fn combiner(&self, weights: &[Vec<(usize, f64)>]) -> Option<Box<dyn Combiner>> {
        let n = weights.len();
        if n <= FEW {
            return None;
        }
        let orders = weights.iter().enumerate();
        let orders: Vec<Order> = orders
            .map(|(k, senders)| Order::of(k, n, senders))
            .collect();
        let pays = |(pairs, agents): (f64, f64), is_served: &dyn Fn(&Order) -> bool| {
            let served = weights
                .iter()
                .zip(&orders)
                .filter(|(_, order)| is_served(order));
            let filled = served.map(|(senders, _)| senders.len()).sum::<usize>();
            filled as f64 >= pairs * (n * n) as f64 + agents * n as f64
        };
        let has_groups = |order: &Order| matches!(order, Order::Groups { .. });
        if orders.iter().all(has_groups) && pays(SUBSETS_PAY, &has_groups) {
            let subsets = Subsets::new(weights)?;
            return Some(Box::new(BySubsets {
                subsets,
                sums: PerThreadPool::default(),
            }));
        }
        if pays(PRODUCT_PAYS, &|order| *order == Order::OneByOne) {
            let each = orders.iter().zip(weights).enumerate();
            let others = each.filter(|(_, (order, _))| **order != Order::OneByOne);
            return Some(Box::new(Product {
                sums: WeightedSums::new(weights),
                others: others
                    .map(|(k, (order, w))| (k, *order, w.clone()))
                    .collect(),
                packed: PerThreadPool::default(),
            }));
        }
        None
    }
}

/// Dense graphs with one common weight.
#[derive(Debug)]
struct BySubsets {
    subsets: Subsets,
    sums: PerThreadPool<Option<Sums>>,
}

impl Combiner for BySubsets {
    fn combine<'s>(
        &self,
        sent: &(dyn Fn(usize) -> &'s [f64] + Sync),
        from: usize,
        out: MatMut<'_, f64>,
    ) {
        let range = from..from + out.nrows();
        (self.sums).with(|sums| self.subsets.add_up(|l| &sent(l)[range.clone()], sums, out));
    }
}

/// An agent with the order of its sum and the weights of its senders.
type Receiver = (usize, Order, Vec<(usize, f64)>);

/// Dense graphs with different weights.
#[derive(Debug)]
struct Product {
    sums: WeightedSums,
    /// Agents whose own weights have another order, such as the agent of the highest degree with
    /// Metropolis weights.
    others: Vec<Receiver>,
    packed: PerThreadPool<Vec<f64>>,
}

impl Combiner for Product {
    fn combine<'s>(
        &self,
        sent: &(dyn Fn(usize) -> &'s [f64] + Sync),
        from: usize,
        mut out: MatMut<'_, f64>,
    ) {
        let (agents, range) = (out.ncols(), from..from + out.nrows());
        let part = |l: usize| &sent(l)[range.clone()];
        (self.packed).with(|packed| self.sums.add_up(part, packed, out.rb_mut()));
        for (k, order, senders) in &self.others {
            let column = out.rb_mut().col_mut(*k).try_as_col_major_mut();
            if let Some(column) = column {
                order.combine(*k, agents, senders, part, column.as_slice_mut());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{gaussian, stream};
    use dictmesh_kernels::Matrix;

    fn method(weights: &[Vec<(usize, f64)>]) -> &'static str {
        match NeighbourSums.combiner(weights).map(|c| format!("{c:?}")) {
            None => "plain",
            Some(name) if name.starts_with("BySubsets") => "subsets",
            Some(_) => "product",
        }
    }

    /// Agent k has sender l where `joined` holds, with the weight of `weight`.
    fn weights(
        n: usize,
        joined: impl Fn(usize, usize) -> bool,
        weight: impl Fn(usize, usize) -> f64,
    ) -> Vec<Vec<(usize, f64)>> {
        let column = |k| {
            (0..n)
                .filter(|l| joined(*l, k))
                .map(|l| (l, weight(l, k)))
                .collect()
        };
        (0..n).map(column).collect()
    }

    #[test]
    fn the_method_depends_on_the_weights() {
        let others = |l: usize, k: usize| l != k;
        for (n, step, same, expected) in [
            (4, 1, true, "plain"),
            (20, 5, true, "plain"),
            (50, 2, true, "subsets"),
            (50, 2, false, "product"),
            (200, 5, true, "subsets"),
            (200, 5, false, "plain"),
            (1000, 300, true, "plain"),
            (30, 1, true, "plain"),
            (30, 1, false, "product"),
        ] {
            let joined = |l: usize, k: usize| others(l, k) && (l + k).is_multiple_of(step);
            let weight = |l: usize, _: usize| if same { 1.0 } else { 1.0 + l as f64 };
            assert_eq!(
                method(&weights(n, joined, weight)),
                expected,
                "{n} {step} {same}"
            );
        }
        // The paper's fully connected case: 1/N everywhere, the agent itself included.
        assert_eq!(method(&weights(9, |_, _| true, |_, _| 1.0 / 9.0)), "plain");
    }

    /// Agents 3 and 7 have one common weight, agent 5 all other agents as senders.
    fn one_common(mut weights: Vec<Vec<(usize, f64)>>) -> Vec<Vec<(usize, f64)>> {
        for k in [3, 7] {
            weights[k].iter_mut().for_each(|(_, a)| *a = 0.25);
        }
        weights[5] = (0..weights.len()).map(|l| (l, 0.125)).collect();
        assert_eq!(method(&weights), "product");
        weights
    }

    /// Every method gives the plain sums, bit-identical, for any number of rows.
    #[test]
    fn every_method_gives_the_plain_sums() {
        let chosen = gaussian(450, 450, &mut stream(7, 0));
        let random = |l: usize, k: usize| l != k && chosen.get(l, k) > 0.0;
        let drawn = |l: usize, k: usize| chosen.get(k, l);
        let cases = [
            weights(50, |l, k| l != k && (l + k) % 2 == 0, |_, _| 0.75),
            weights(50, |l, k| l != k && (l + k) % 2 == 0, |l, _| 1.0 + l as f64),
            weights(111, random, |_, _| 0.3),
            weights(111, random, drawn),
            weights(450, random, |_, _| 1.0),
            weights(450, random, drawn),
            one_common(weights(50, random, drawn)),
        ];
        for weights in cases {
            let n = weights.len();
            let combiner = NeighbourSums.combiner(&weights).unwrap();
            for rows in [1, 7, 511, 513] {
                let sent: Vec<Matrix> = (0..n as u64)
                    .map(|l| gaussian(rows + 3, 1, &mut stream(l, 0)))
                    .collect();
                let mut out = Matrix::from_fn(rows, n, |_, _| f64::NAN);
                combiner.combine(&|l| sent[l].as_slice(), 3, out.view_mut());
                for k in 0..n {
                    let mut plain = vec![f64::NAN; rows];
                    let part = |l: usize| &sent[l].as_slice()[3..];
                    let order = Order::of(k, n, &weights[k]);
                    order.combine(k, n, &weights[k], part, &mut plain);
                    assert_eq!(out.column(k), plain, "{} {n} {rows} {k}", method(&weights));
                }
            }
        }
    }
}
