//! min_y 1/2 y'Hy - g'y + h(y) for a Gram matrix H and many g: an active-set method.
//!
//! Few coefficients of a sparse code are not zero. The active set grows by the coordinates with the
//! largest KKT violations; the problem on it is small and contiguous in memory (`active`). Only the
//! KKT scan of the other coordinates takes a pass over H.

mod active;
mod batch;
mod kkt;
mod lanes;
mod small_cd;
#[cfg(test)]
mod tests;

use crate::matrix::Matrix;
use crate::penalty::ScalarPenalty;
use crate::pool::recycle;
use crate::simd::{add_all, dispatch, Simd, WithSimd};
use active::Active;
pub use active::Coordinate;
pub use batch::Batching;
use kkt::{distances, each_from, IsSolved};
use lanes::Lanes;

/// Limit of turns, each a solve on the active set and a KKT scan. Each turn lowers the cost.
const TURNS: usize = 500;
/// Turns after which the active set is solved exactly even while it grows: by then it is
/// ill-conditioned, and coordinate descent converges slowly.
const GROWTH: usize = 20;
/// A set that grows by less than one in this many coordinates counts as nearly complete.
const FEW: usize = 8;
/// KKT violation, relative to the terms of the gradient, that counts as rounding.
const QUIET: f64 = 4.0 * f64::EPSILON;
/// Relative KKT violation below which [`IDLE`] turns without progress end the solve.
const CALM: f64 = 1e-13;
/// Turns in a row that do not halve the smallest violation so far.
const IDLE: usize = 6;
/// Coordinates that may join the active set per turn; a larger set may grow by half.
const JOIN: usize = 8;
/// Coordinates whose violation is below this share of the largest do not join yet: the first to
/// join often remove it.
const SHARE: f64 = 0.3;

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The KKT conditions hold up to rounding.
    Converged,
    /// The limit of turns was reached first.
    TurnLimit,
    /// An entry of g is NaN or infinite.
    NotFinite,
}

/// The problem for one H = `scale` * `gram` and h, with the scratch memory to solve it for any g.
pub struct Quadratic<'a> {
    gram: &'a Matrix,
    scale: f64,
    coordinates: Vec<Coordinate<'a>>,
    active: Active<'a>,
    v: Vectors,
    batching: Batching,
}

/// Scratch memory of a [`Quadratic`], reused by the next.
#[derive(Default)]
pub struct Scratch {
    coordinates: Vec<Coordinate<'static>>,
    active: Active<'static>,
    v: Vectors,
}

/// The scratch memory that borrows nothing.
#[derive(Default)]
struct Vectors {
    /// [`ScalarPenalty::subgradient_at_zero`] of each coordinate. For members of the active set and
    /// those in `other` it is the whole line, so that they never count as violating.
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// [`Coordinate::curvature`], `total` and `inverse`.
    curvature: Vec<f64>,
    total: Vec<f64>,
    inverse: Vec<f64>,
    /// Coordinates without a [`ScalarPenalty::subgradient_at_zero`].
    other: Vec<usize>,
    /// For several g at once; boxed, as scratch memory moves many times a round.
    lanes: Option<Box<Lanes>>,
    /// g - H y.
    r: Vec<f64>,
    /// Distance of r from [lo, hi], negative inside: the KKT violation of a coordinate at 0.
    outside: Vec<f64>,
    /// Coordinates that are to join the active set, as (KKT violation, index).
    wrong: Vec<(f64, usize)>,
}

impl Scratch {
    /// Drops the cached Gram matrix. Must be called before the memory is used with another one.
    pub fn invalidate(&mut self) {
        self.v.lanes.iter_mut().for_each(|lanes| lanes.invalidate());
    }
}

/// The solve for one g, compiled for each SIMD instruction set.
struct Solve<'s, 'a> {
    problem: &'s mut Quadratic<'a>,
    g: &'s [f64],
    y: &'s mut [f64],
}

impl WithSimd for Solve<'_, '_> {
    type Output = Outcome;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Outcome {
        self.problem.by_active_set(simd, self.g, self.y)
    }
}

impl<'a> Quadratic<'a> {
    /// The problem with one penalty per coordinate. The Gram matrix cached in `scratch` is reused:
    /// it must be the same, or [invalidated](Scratch::invalidate).
    pub fn new(
        gram: &'a Matrix,
        scale: f64,
        penalties: impl Iterator<Item = &'a dyn ScalarPenalty>,
        scratch: Scratch,
        batching: Batching,
    ) -> Self {
        let n = gram.cols();
        let mut v = scratch.v;
        if v.r.len() != n {
            v.lanes = None; // sized for another n
        }
        let mut coordinates = scratch.coordinates;
        for (q, h) in penalties.enumerate() {
            let coordinate = Coordinate::new(q, h, scale * gram.get(q, q));
            let (lo, hi) =
                (coordinate.subgradient_at_zero).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
            v.lo.push(lo);
            v.hi.push(hi);
            v.curvature.push(coordinate.curvature);
            v.total.push(coordinate.total);
            v.inverse.push(coordinate.inverse);
            if coordinate.subgradient_at_zero.is_none() {
                v.other.push(q);
            }
            coordinates.push(coordinate);
        }
        v.r.resize(n, 0.0);
        v.outside.resize(n, 0.0);
        v.wrong.reserve(n);
        Quadratic {
            gram,
            scale,
            coordinates,
            active: Active::new(n, scratch.active),
            v,
            batching,
        }
    }

    /// The number of coefficients per sample.
    pub fn width(&self) -> usize {
        self.gram.cols()
    }

    /// Releases the scratch memory for another problem.
    pub fn into_scratch(self) -> Scratch {
        let mut v = self.v;
        for numbers in [
            &mut v.lo,
            &mut v.hi,
            &mut v.curvature,
            &mut v.total,
            &mut v.inverse,
        ] {
            numbers.clear();
        }
        v.other.clear();
        v.wrong.clear();
        Scratch {
            coordinates: recycle(self.coordinates),
            active: self.active.into_scratch(),
            v,
        }
    }

    /// Whether `y` meets the KKT conditions for `g` up to rounding. `r` is g - H y, or minus any
    /// other gradient. Checks the first `g.len()` coordinates, which must have subgradient
    /// intervals.
    pub fn is_solved(&mut self, g: &[f64], r: &[f64], y: &[f64]) -> bool {
        self.clear(); // restores lo and hi of members
        let problem = &*self;
        dispatch(IsSolved { problem, g, r, y })
    }

    /// g - H y for the y of the last [`solve`](Quadratic::solve), if that converged.
    pub fn gradient(&self) -> &[f64] {
        &self.v.r
    }

    /// Solves for one g. `y` holds the start on entry and the solution on return.
    ///
    /// Panics unless `g` and `y` have a number per coordinate.
    pub fn solve(&mut self, g: &[f64], y: &mut [f64]) -> Outcome {
        match g.len() {
            0 => Outcome::Converged,
            1 => {
                // Closed form, for one atom per agent as in the paper's experiments.
                y[0] = self.coordinates[0].recover(g[0]);
                Outcome::Converged
            }
            _ if g.iter().any(|g| !g.is_finite()) => Outcome::NotFinite,
            _ => {
                let problem = self;
                dispatch(Solve { problem, g, y })
            }
        }
    }

    #[inline(always)]
    fn by_active_set<S: Simd>(&mut self, simd: S, g: &[f64], y: &mut [f64]) -> Outcome {
        let largest_g = g.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
        self.clear();
        for q in 0..y.len() {
            if y[q] != 0.0 {
                self.join(q, g[q], y[q]);
            }
        }
        let (mut smallest, mut idle) = (f64::INFINITY, 0);
        for turn in 0..TURNS {
            let size = largest_g + self.refresh(simd, g, y);
            let change = self.check(simd, y);
            if change <= QUIET * size {
                return Outcome::Converged;
            }
            idle = if change < 0.5 * smallest { 0 } else { idle + 1 };
            smallest = smallest.min(change);
            if idle >= IDLE && change <= CALM * size {
                return Outcome::Converged; // ill-conditioned: rounding stops progress
            }
            // While the set grows, its solution is not final: a few sweeps suffice.
            let grows = FEW * self.v.wrong.len() > self.active.members().len();
            let exact = !grows || turn >= GROWTH;
            self.admit(g);
            self.active.fill(self.gram, self.scale);
            self.active.settle(simd, &self.v.r, exact, QUIET * size);
            self.active.write(y);
        }
        Outcome::TurnLimit
    }

    #[inline(always)]
    fn clear(&mut self) {
        for m in self.active.members() {
            if let Some((lo, hi)) = m.subgradient_at_zero {
                (self.v.lo[m.q], self.v.hi[m.q]) = (lo, hi);
            }
        }
        self.active.clear();
    }

    #[inline(always)]
    fn join(&mut self, q: usize, g: f64, y: f64) {
        (self.v.lo[q], self.v.hi[q]) = (f64::NEG_INFINITY, f64::INFINITY);
        self.active.join(self.coordinates[q], g, y);
    }

    /// r = g - H y. Returns the size of the summed terms, which scales rounding errors.
    #[inline(always)]
    fn refresh<S: Simd>(&mut self, simd: S, g: &[f64], y: &[f64]) -> f64 {
        let (gram, scale, members) = (self.gram, self.scale, self.active.members());
        let pairs = (members.iter())
            .filter(|m| y[m.q] != 0.0)
            .map(|m| (-scale * y[m.q], gram.column(m.q)));
        self.v.r.copy_from_slice(g);
        add_all(simd, false, pairs, &mut self.v.r);
        (members.iter()).map(|m| m.curvature * y[m.q].abs()).sum()
    }

    /// KKT scan: collects the coordinates with the largest violations in `wrong`. Returns the
    /// largest violation, members of the active set included.
    #[inline(always)]
    fn check<S: Simd>(&mut self, simd: S, y: &[f64]) -> f64 {
        let mut worst = distances(simd, &self.v.r, &self.v.lo, &self.v.hi, &mut self.v.outside);
        for &q in &self.v.other {
            if !self.active.has(q) {
                self.v.outside[q] = self.coordinates[q].change(0.0, self.v.r[q]);
                worst = worst.max(self.v.outside[q]);
            }
        }
        self.v.wrong.clear();
        if worst > 0.0 {
            let bound = SHARE * worst;
            let (outside, wrong) = (&self.v.outside, &mut self.v.wrong);
            each_from(simd, outside, bound, |q| wrong.push((outside[q], q)));
        }
        (self.active.members().iter())
            .map(|m| m.change(y[m.q], self.v.r[m.q]))
            .fold(worst.max(0.0), f64::max)
    }

    /// Adds the coordinates with the largest violations to the active set.
    #[inline(always)]
    fn admit(&mut self, g: &[f64]) {
        let room = JOIN.max(self.active.members().len() / 2);
        if self.v.wrong.len() > room {
            (self.v.wrong).select_nth_unstable_by(room, |a, b| b.0.total_cmp(&a.0));
            self.v.wrong.truncate(room);
        }
        for i in 0..self.v.wrong.len() {
            let q = self.v.wrong[i].1;
            self.join(q, g[q], 0.0);
        }
    }
}
