//! Approximate solutions for several g at once, one per SIMD lane.
//!
//! On an active set of some 20 coordinates, sweeps and factorisations are bound by latency: every
//! step depends on the one before. With one problem per lane, all lanes share that latency. Each
//! lane has its own active set, and its result does not depend on the other lanes.
//!
//! First the active sets grow in single precision ([`Growth`]). Then the problem on each support is
//! solved in double precision ([`Exact`]). The caller checks the KKT conditions and solves further
//! where they fail.

mod coarse;
mod exact;
mod factor;
mod growth;

use super::active::Coordinate;
use super::Batching;
use crate::matrix::Matrix;
use crate::simd::Simd;
use coarse::Coarse;
use exact::Exact;
use growth::Growth;

/// Lanes of the widest register, for single and for double precision.
const LANES_F32: usize = 16;
const LANES_F64: usize = 8;
/// Capacity of a lane, in coordinates. A problem that needs more is left to the caller.
const MOST: usize = 80;

/// The data that all g share.
#[derive(Clone, Copy)]
pub struct Problem<'p, 'a> {
    pub gram: &'p Matrix,
    /// H = `scale` * `gram`.
    pub scale: f64,
    pub coordinates: &'p [Coordinate<'a>],
    /// 1 over the curvature of each coordinate, h included.
    pub inverse: &'p [f64],
    /// The subdifferentials [lo, hi] of h at 0.
    pub lo: &'p [f64],
    pub hi: &'p [f64],
}

/// Scratch memory of all lanes.
pub struct Lanes {
    coarse: Coarse,
    growth: Growth,
    exact: Exact,
    /// The columns of g in the order of processing, as (estimated work, column).
    order: Vec<(f64, usize)>,
    /// The supports of all columns as (q, y_q), and the range of each.
    supports: Vec<(usize, f64)>,
    places: Vec<(usize, usize)>,
}

impl Default for Lanes {
    fn default() -> Self {
        Lanes {
            coarse: Coarse::default(),
            growth: Growth::new(MOST),
            exact: Exact::new(MOST),
            order: Vec::new(),
            supports: Vec::new(),
            places: Vec::new(),
        }
    }
}

impl Lanes {
    /// Caches the Gram matrix, unless one is cached. Returns false if single precision cannot hold
    /// it.
    pub fn cache_gram(&mut self, gram: &Matrix) -> bool {
        self.coarse.cache_gram(gram)
    }

    /// Drops the cached Gram matrix. Must be called before another one is used.
    pub fn invalidate(&mut self) {
        self.coarse.invalidate();
    }

    /// Moves the `cold` columns of `y`, which are 0, to or near the solutions for those of `g`.
    ///
    /// A group of lanes takes as long as its slowest, so columns of similar work are grouped. The
    /// less of a sample its best single atom explains, the more atoms it takes.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // problem, inputs and outputs
    pub fn solve<S: Simd>(
        &mut self,
        simd: S,
        batching: Batching,
        problem: Problem,
        g: &[f64],
        energies: &[f64],
        cold: &[bool],
        y: &mut [f64],
    ) {
        let n = problem.coordinates.len();
        self.order.clear();
        let columns = g.chunks_exact(n).zip(energies).enumerate();
        for (j, (g, energy)) in columns.filter(|(j, _)| cold[*j]) {
            let explained = g
                .iter()
                .zip(problem.inverse)
                .map(|(g, inverse)| g * g * inverse);
            let most = explained.fold(0.0, f64::max);
            self.order.push((energy - most, j));
        }
        self.order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        self.supports.clear();
        self.places.clear();
        self.places.resize(energies.len(), (0, 0));
        let (singles, doubles) = match batching {
            Batching::OneByOne => (1, 1),
            Batching::SideBySide => (S::F32_LANES, S::F64_LANES),
        };
        for group in self.order.chunks_mut(singles) {
            let columns = group.iter().map(|(_, j)| &g[j * n..(j + 1) * n]);
            (self.growth).grow(simd, &mut self.coarse, problem, columns);
            for (lane, (work, j)) in group.iter_mut().enumerate() {
                let from = self.supports.len();
                self.growth.support::<S>(lane, &mut self.supports);
                self.places[*j] = (from, self.supports.len());
                *work = (self.supports.len() - from) as f64;
            }
        }
        self.order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for group in self.order.chunks(doubles) {
            self.exact.begin::<S>();
            for (lane, (_, j)) in group.iter().enumerate() {
                let support = &self.supports[self.places[*j].0..self.places[*j].1];
                (self.exact).take::<S>(lane, problem, &g[j * n..(j + 1) * n], support);
            }
            self.exact.solve(simd);
            for (lane, (_, j)) in group.iter().enumerate() {
                self.exact.write::<S>(lane, &mut y[j * n..(j + 1) * n]);
            }
        }
    }
}
