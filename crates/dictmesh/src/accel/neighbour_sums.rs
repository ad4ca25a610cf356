//! Sums over many neighbours.
//!
//! On a complete graph with one common weight every agent's sum is the total minus its own part: N
//! additions for all agents together. On other dense graphs with one common weight, subset sums
//! take a quarter of the additions ([`subset_sums`](dictmesh_kernels::subset_sums)). With different
//! weights a matrix product is faster than one sum per agent.
//!
//! Results are within 1e-12 (relative) of the plain sums, which run in the order of the agents.

use super::{Accel, Combiner};
use dictmesh_kernels::matrix::gemm;
use dictmesh_kernels::pool::PerThreadPool;
use dictmesh_kernels::subset_sums::{Subsets, Sums};
use dictmesh_kernels::{count, Matrix};
use faer::prelude::ReborrowMut;
use faer::{MatMut, MatRef};

/// Faster sums over many neighbours: total minus own part, subset sums or matrix products. Results
/// are within 1e-12 (relative) of the plain sums.
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
        let filled = weights.iter().map(Vec::len).sum::<usize>() as f64;
        let pays = |(pairs, agents): (f64, f64)| {
            let n = weights.len() as f64;
            filled >= pairs * n * n + agents * n
        };
        if weights.len() <= FEW {
            return None;
        }
        if let Some(total) = TotalMinusOwn::new(weights) {
            return Some(Box::new(total));
        }
        let (by_subsets, by_product) = (pays(SUBSETS_PAY), pays(PRODUCT_PAYS));
        if !by_subsets && !by_product {
            return None; // before anything of size N^2 is allocated
        }
        match Subsets::new(weights) {
            Some(subsets) if by_subsets => Some(Box::new(BySubsets {
                subsets,
                sums: PerThreadPool::default(),
            })),
            None if by_product => Some(Box::new(Product {
                weights: by_columns(weights),
                copies: PerThreadPool::default(),
            })),
            _ => None,
        }
    }
}

/// The complete graph with one weight for all other agents and one for the agent itself.
#[derive(Debug)]
struct TotalMinusOwn {
    other: f64,
    own: f64,
}

impl TotalMinusOwn {
    /// `None` unless every agent has all others as senders, with one common weight, and itself with
    /// one weight or not at all.
    fn new(weights: &[Vec<(usize, f64)>]) -> Option<Self> {
        let n = weights.len();
        let of = |k: usize, l: usize| weights[k].iter().find(|(from, _)| *from == l);
        let (other, own) = (of(0, 1)?.1, of(0, 0).map_or(0.0, |(_, a)| *a));
        let senders = if own == 0.0 { n - 1 } else { n };
        let fits = |(k, column): (usize, &Vec<(usize, f64)>)| {
            let expected = |l: usize| if l == k { own } else { other };
            column.len() == senders && column.iter().all(|(l, a)| *a == expected(*l))
        };
        weights
            .iter()
            .enumerate()
            .all(fits)
            .then_some(TotalMinusOwn { other, own })
    }
}

impl Combiner for TotalMinusOwn {
    fn combine<'s>(
        &self,
        sent: &(dyn Fn(usize) -> &'s [f64] + Sync),
        from: usize,
        mut out: MatMut<'_, f64>,
    ) {
        let (n, rows) = (out.ncols(), out.nrows());
        // The total is formed in the first column, which is overwritten last.
        let (first, mut others) = out.rb_mut().split_at_col_mut(1);
        let Some(total) = first.col_mut(0).try_as_col_major_mut() else {
            return;
        };
        let total = total.as_slice_mut();
        count(2 * n * rows);
        total.fill(0.0);
        for l in 0..n {
            let part = &sent(l)[from..from + rows];
            total.iter_mut().zip(part).for_each(|(t, v)| *t += v);
        }
        let correction = self.own - self.other;
        for l in 1..n {
            if let Some(column) = others.rb_mut().col_mut(l - 1).try_as_col_major_mut() {
                let part = &sent(l)[from..from + rows];
                let each = column.as_slice_mut().iter_mut().zip(&*total).zip(part);
                each.for_each(|((out, t), v)| *out = self.other * t + correction * v);
            }
        }
        let part = &sent(0)[from..from + rows];
        let each = total.iter_mut().zip(part);
        each.for_each(|(t, v)| *t = self.other * *t + correction * v);
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

/// Dense graphs with different weights.
#[derive(Debug)]
struct Product {
    /// a_lk in row l and column k.
    weights: Matrix,
    /// The messages of all agents, contiguous.
    copies: PerThreadPool<Vec<f64>>,
}

impl Combiner for Product {
    fn combine<'s>(
        &self,
        sent: &(dyn Fn(usize) -> &'s [f64] + Sync),
        from: usize,
        out: MatMut<'_, f64>,
    ) {
        let (n, rows) = (self.weights.cols(), out.nrows());
        self.copies.with(|copies| {
            copies.clear();
            for l in 0..n {
                copies.extend_from_slice(&sent(l)[from..from + rows]);
            }
            let sent = MatRef::from_column_major_slice(copies, rows, n);
            gemm(out, sent, self.weights.view(), 1.0, false);
        });
    }
}

fn by_columns(weights: &[Vec<(usize, f64)>]) -> Matrix {
    let mut matrix = Matrix::zeros(weights.len(), weights.len());
    for (k, column) in weights.iter().enumerate() {
        for (l, a) in column {
            matrix.column_mut(k)[*l] = *a;
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{gaussian, stream};

    fn method(weights: &[Vec<(usize, f64)>]) -> &'static str {
        match NeighbourSums.combiner(weights).map(|c| format!("{c:?}")) {
            None => "plain",
            Some(name) if name.starts_with("Total") => "total",
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
            (30, 1, true, "total"),
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
        assert_eq!(method(&weights(9, |_, _| true, |_, _| 1.0 / 9.0)), "total");
    }

    /// Every method gives the plain sums, for any number of rows.
    #[test]
    fn every_method_gives_the_plain_sums() {
        let chosen = gaussian(111, 111, &mut stream(7, 0));
        let cases = [
            weights(30, |l, k| l != k, |_, _| 1.0),
            weights(30, |_, _| true, |l, k| if l == k { 0.3 } else { 0.02 }),
            weights(50, |l, k| l != k && (l + k) % 2 == 0, |_, _| 0.75),
            weights(50, |l, k| l != k && (l + k) % 2 == 0, |l, _| 1.0 + l as f64),
            weights(111, |l, k| chosen.get(l, k) > 0.0, |_, _| 0.75),
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
                    for i in 0..rows {
                        let terms = weights[k].iter().map(|(l, a)| a * sent[*l].get(i + 3, 0));
                        let expected: f64 = terms.sum();
                        let off = (out.get(i, k) - expected).abs();
                        assert!(off < 1e-12, "{} {n} {rows} {i} {k}", method(&weights));
                    }
                }
            }
        }
    }
}
