//! The way to the solutions for several g at once, one in each lane of the CPU's vector registers.
//!
//! On an active set of some 20 coordinates the CPU mostly waits: every step of a sweep or of a factorisation
//! needs the one before. Side by side, as many problems as a register has lanes wait together. Each lane has
//! an active set of its own and goes its own way, which does not depend on what is in the other lanes.
//!
//! First the active sets grow in single precision ([`Growth`]), then the problem on each support is solved in
//! double precision ([`Exact`]). What comes out is checked, and where needed mended, by the caller.

mod coarse;
mod exact;
mod factor;
mod growth;

use super::active::Coordinate;
use crate::matrix::Matrix;
use crate::simd::Simd;
use coarse::Coarse;
use exact::Exact;
use growth::Growth;

/// Lanes of the widest register, for single and for double precision.
const LANES_F32: usize = 16;
const LANES_F64: usize = 8;
/// Coordinates that a lane has room for; one that needs more is left to the caller.
const MOST: usize = 80;

/// What all g have in common.
#[derive(Clone, Copy)]
pub struct Problem<'p, 'a> {
    pub gram: &'p Matrix,
    /// H = `scale` * `gram`.
    pub scale: f64,
    pub coordinates: &'p [Coordinate<'a>],
    /// 1 over the curvature of each coordinate, h included.
    pub inverse: &'p [f64],
    /// The zones of the coordinates.
    pub lo: &'p [f64],
    pub hi: &'p [f64],
}

/// The memory of all lanes.
pub struct Lanes {
    coarse: Coarse,
    growth: Growth,
    exact: Exact,
    /// The columns of g, in the order in which they are worked on: how much work each takes, and its number.
    order: Vec<(f64, usize)>,
    /// The supports of all columns, (q, y_q), and where each begins and ends.
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
    /// Gets to know the Gram matrix, unless it does; false where single precision cannot hold it.
    pub fn cache_gram(&mut self, gram: &Matrix) -> bool {
        self.coarse.cache_gram(gram)
    }

    /// To be called where the next Gram matrix is another one.
    pub fn invalidate(&mut self) {
        self.coarse.invalidate();
    }

    /// Brings the columns of `y`, which are 0, to the solutions for the columns of `g` or near to them.
    ///
    /// Lanes wait for the slowest, so columns that take about as much work go together: the less of a sample its best
    /// atom alone explains, the more atoms it takes.
    #[inline(always)]
    pub fn solve<S: Simd>(
        &mut self,
        simd: S,
        problem: Problem,
        g: &[f64],
        energies: &[f64],
        y: &mut [f64],
    ) {
        let n = problem.coordinates.len();
        self.order.clear();
        for (j, (g, energy)) in g.chunks_exact(n).zip(energies).enumerate() {
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
        self.places.resize(self.order.len(), (0, 0));
        for group in self.order.chunks_mut(S::F32_LANES) {
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
        for group in self.order.chunks(S::F64_LANES) {
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
