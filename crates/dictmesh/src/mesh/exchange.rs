//! What every agent gets in a round: the combination of what it and its neighbours sent.
//!
//! As a whole it is one product, (what was sent, an agent a column) x (N x N weights): on a dense graph
//! a matrix product, or sums of subsets where all weights are the same, on a sparse one a sum for each agent. All go
//! through the rows in tiles whose numbers stay in the cache while all agents are served.

use super::Mesh;
use crate::strategy::{Combine, Strategy};
use dictmesh_kernels::combine::combine;
use dictmesh_kernels::matrix::{gemm, Matrix};
use dictmesh_kernels::pool::PerThreadPool;
use dictmesh_kernels::subset_sums::{Subsets, Sums};
use faer::prelude::ReborrowMut;
use faer::{MatMut, MatRef};

/// Numbers of all agents in a tile.
const TILE: usize = 1 << 15;
/// From how many weights that are not 0 on the other ways are faster than a sum for each agent: so many for each two agents
/// and each one. (Measured with 20 to 200 agents on graphs of .2 to .5 of all edges, see DESIGN.md.)
const BY_SUBSETS: (f64, f64) = (0.05, 10.0);
const BY_PRODUCT: (f64, f64) = (0.3, 2.0);
/// For so few agents neither is worth its set-up.
const FEW: usize = 4;

/// The weights of a round.
#[derive(Debug)]
pub(super) struct Exchange {
    /// What agent k gives to each sender, rising: (l, weight).
    weights: Vec<Vec<(usize, f64)>>,
    /// The same in a form that is faster where there are many.
    dense: Option<Dense>,
    /// Rows of a tile: the same for any number of threads.
    rows: usize,
    /// Room to work on a tile, one for each thread.
    room: PerThreadPool<Room>,
}

/// Many weights.
#[derive(Debug)]
enum Dense {
    /// All the same.
    Subsets(Subsets),
    /// As the columns of a matrix.
    Product(Matrix),
}

impl Dense {
    /// Where that is faster than a sum for each agent.
    fn if_faster(weights: &[Vec<(usize, f64)>]) -> Option<Self> {
        let filled = weights.iter().map(Vec::len).sum::<usize>() as f64;
        let many = |(pairs, agents): (f64, f64)| {
            let n = weights.len() as f64;
            filled >= pairs * n * n + agents * n
        };
        let (by_subsets, by_product) = (many(BY_SUBSETS), many(BY_PRODUCT));
        if (!by_subsets && !by_product) || weights.len() <= FEW {
            return None; // before anything of N^2 is made
        }
        match Subsets::new(weights) {
            Some(subsets) => by_subsets.then_some(Dense::Subsets(subsets)),
            None => by_product.then(|| Dense::Product(by_columns(weights))),
        }
    }
}

#[derive(Debug, Default)]
struct Room {
    /// What was sent.
    copies: Vec<f64>,
    sums: Option<Sums>,
}

impl Exchange {
    /// For what the strategy of the mesh sends.
    pub fn new(mesh: &Mesh) -> Self {
        let n = mesh.agents.len();
        let weights = (0..n)
            .map(|k| match mesh.strategy.combine() {
                Combine::Weights => mesh.weights.column(k).to_vec(),
                Combine::LazyWeights => mesh.lazy.column(k).to_vec(),
                Combine::NeighbourSum => {
                    let neighbours = mesh.topology.neighbours(k).iter();
                    neighbours.map(|l| (*l, 1.0)).collect()
                }
            })
            .collect();
        // The product sums in an order of its own; agents on a network sum in that of their numbers.
        Exchange::with(weights, (TILE / n).clamp(512, 4096), mesh.reduction)
    }

    fn with(weights: Vec<Vec<(usize, f64)>>, rows: usize, may_multiply: bool) -> Self {
        Exchange {
            dense: (may_multiply.then(|| Dense::if_faster(&weights))).flatten(),
            rows,
            weights,
            room: PerThreadPool::default(),
        }
    }

    /// Column k of `combined` becomes what agent k gets.
    pub fn exchange(
        &self,
        strategies: &[Box<dyn Strategy>],
        combined: &mut Matrix,
        parallel: bool,
    ) {
        let sent = |l: usize| strategies[l].outgoing().as_slice();
        let tile = |from: usize, mut out: MatMut<'_, f64>| {
            let range = from..from + out.nrows();
            match &self.dense {
                Some(Dense::Subsets(subsets)) => self.room.with(|room| {
                    subsets.add_up(|l| &sent(l)[range.clone()], &mut room.sums, out);
                }),
                Some(Dense::Product(product)) => self.room.with(|Room { copies, .. }| {
                    copies.clear();
                    for l in 0..strategies.len() {
                        copies.extend_from_slice(&sent(l)[range.clone()]);
                    }
                    let sent =
                        MatRef::from_column_major_slice(copies, range.len(), strategies.len());
                    gemm(out, sent, product.view(), 1.0, false);
                }),
                None => {
                    for (k, weights) in self.weights.iter().enumerate() {
                        let pairs = weights.iter().map(|(l, a)| (*a, &sent(*l)[range.clone()]));
                        combine(pairs, column(&mut out, k));
                    }
                }
            }
        };
        over_tiles(0, self.rows, combined.view_mut(), parallel, &tile);
    }
}

/// The weights as a matrix, of which they are the columns.
fn by_columns(weights: &[Vec<(usize, f64)>]) -> Matrix {
    let mut matrix = Matrix::zeros(weights.len(), weights.len());
    for (k, column) in weights.iter().enumerate() {
        for (l, a) in column {
            matrix.column_mut(k)[*l] = *a;
        }
    }
    matrix
}

/// Column k of a tile. (All of ours are contiguous; what is not would have no rows.)
#[inline(always)]
fn column<'a>(tile: &'a mut MatMut<'_, f64>, k: usize) -> &'a mut [f64] {
    let column = tile.rb_mut().col_mut(k).try_as_col_major_mut();
    debug_assert!(column.is_some());
    column
        .map(|column| column.as_slice_mut())
        .unwrap_or_default()
}

/// Calls `work` with the first row of every tile of so many rows, and the tile.
fn over_tiles<'a>(
    from: usize,
    rows: usize,
    all: MatMut<'a, f64>,
    parallel: bool,
    work: &(impl Fn(usize, MatMut<'_, f64>) + Sync),
) {
    let tiles = all.nrows().div_ceil(rows);
    if tiles <= 1 {
        return work(from, all);
    }
    let middle = tiles / 2 * rows;
    let (upper, lower) = all.split_at_row_mut(middle);
    let upper = || over_tiles(from, rows, upper, parallel, work);
    let lower = || over_tiles(from + middle, rows, lower, parallel, work);
    if parallel {
        rayon::join(upper, lower);
    } else {
        upper();
        lower();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{gaussian, stream};
    use crate::strategy::Local;

    /// Sends what it was given.
    #[derive(Debug)]
    struct Says(Matrix);

    impl Strategy for Says {
        fn start(&mut self, _: &Local) {}
        fn adapt(&mut self, _: &Local) {}
        fn outgoing(&self) -> &Matrix {
            &self.0
        }
        fn absorb(&mut self, _: &Local, _: &[f64]) {}
        fn dual(&self) -> &Matrix {
            &self.0
        }
    }

    #[test]
    fn product_and_sums_are_the_combination_in_any_number_of_tiles() {
        let n = 6;
        let different: Vec<Vec<(usize, f64)>> = (0..n)
            .map(|k| vec![(k, 0.5), ((k + 1) % n, 0.25), ((k + 3) % n, -1.5)])
            .collect();
        assert!(matches!(dense(&different), Dense::Product(_)));
        are_the_combination(&different);
        // Fewer agents than a group has, no whole number of groups or teams, and more groups than go together.
        for n in [3, 6, 111] {
            let chosen = gaussian(n, n, &mut stream(7, 0));
            let same: Vec<Vec<(usize, f64)>> = (0..n)
                .map(|k| {
                    (0..n)
                        .filter(|l| chosen.get(*l, k) > 0.0)
                        .map(|l| (l, 0.75))
                        .collect()
                })
                .collect();
            assert!(matches!(dense(&same), Dense::Subsets(_)));
            are_the_combination(&same);
        }
    }

    /// A ring, sparse and dense graphs of few and many agents, with weights that are all the same and not.
    #[test]
    fn the_way_depends_on_how_many_weights_there_are() {
        let way = |n: usize, step: usize, same: bool| {
            let hears = |k: usize, l: usize| k != l && (k + l).is_multiple_of(step);
            let weight = |l: usize| if same { 1.0 } else { 1.0 + l as f64 };
            let row = |k: usize| -> Vec<(usize, f64)> {
                let heard = (0..n).filter(|l| hears(k, *l));
                heard.map(|l| (l, weight(l))).collect()
            };
            let weights: Vec<_> = (0..n).map(row).collect();
            match Dense::if_faster(&weights) {
                None => "sums",
                Some(Dense::Subsets(_)) => "subsets",
                Some(Dense::Product(_)) => "product",
            }
        };
        for (n, step, expected) in [
            (4, 1, ["sums", "sums"]),
            (20, 5, ["sums", "sums"]),
            (50, 5, ["sums", "sums"]),
            (50, 2, ["subsets", "product"]),
            (200, 5, ["subsets", "sums"]),
            (200, 2, ["subsets", "product"]),
            (1000, 300, ["sums", "sums"]),
        ] {
            assert_eq!(
                [way(n, step, true), way(n, step, false)],
                expected,
                "{n} {step}"
            );
        }
    }

    /// Also where it is not faster.
    fn dense(weights: &[Vec<(usize, f64)>]) -> Dense {
        match Subsets::new(weights) {
            Some(subsets) => Dense::Subsets(subsets),
            None => Dense::Product(by_columns(weights)),
        }
    }

    fn are_the_combination(weights: &[Vec<(usize, f64)>]) {
        let n = weights.len();
        for numbers in [1, 7, 511, 513, 1300] {
            let says: Vec<Matrix> = (0..n as u64)
                .map(|l| gaussian(numbers, 1, &mut stream(l, 0)))
                .collect();
            let strategies: Vec<Box<dyn Strategy>> = (says.iter())
                .map(|x| Box::new(Says(x.clone())) as Box<dyn Strategy>)
                .collect();
            for (is_dense, parallel) in [(true, true), (true, false), (false, true), (false, false)]
            {
                let exchange = Exchange {
                    dense: is_dense.then(|| dense(weights)),
                    ..Exchange::with(weights.to_vec(), 512, true)
                };
                let mut combined = Matrix::from_fn(numbers, n, |_, _| f64::NAN);
                exchange.exchange(&strategies, &mut combined, parallel);
                for k in 0..n {
                    for i in 0..numbers {
                        let expected: f64 =
                            weights[k].iter().map(|(l, a)| a * says[*l].get(i, 0)).sum();
                        assert!(
                            (combined.get(i, k) - expected).abs() < 1e-13,
                            "{numbers} {is_dense} {i} {k}"
                        );
                    }
                }
            }
        }
    }
}
