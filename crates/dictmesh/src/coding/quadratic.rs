//! min_y 1/2 y'Hy - g'y + h(y) for a Gram matrix H, many times with the same H: by an active set.
//!
//! Few coefficients of a sparse code are not zero. The set of those that may be grows by the
//! coordinates that are most wrong; the problem within it is small and lies side by side in memory
//! ([`active`]). Only the check whether anything outside is wrong takes a pass over H.

mod active;
mod lanes;
#[cfg(test)]
mod tests;

use super::emptied;
use crate::matrix::Matrix;
use crate::regularizer::Regularizer;
use crate::simd::{add_all, dispatch, Simd, WithSimd};
use crate::Stop;
use active::Active;
pub(super) use active::Coordinate;
use lanes::{Lanes, Problem};

/// How often set and check take turns before we give up; each turn lowers the cost.
const TURNS: usize = 500;
/// Turns after which the set is solved exactly even while it grows: by then it is ill-conditioned, and
/// sweeps alone crawl.
const GROWTH: usize = 20;
/// A set that grows by less than one in this many is about to have its last size.
const FEW: usize = 8;
/// Relative change of the gradient below which nothing has changed but rounding.
const QUIET: f64 = 4.0 * f64::EPSILON;
/// Relative change below which turns that bring no progress end it.
const CALM: f64 = 1e-13;
/// How many such turns.
const IDLE: usize = 6;
/// Coordinates that may join the active set at once, if it has less than twice as many.
const JOIN: usize = 8;
/// Those less wrong than this share of the worst wait for the next turn: the first to join often put them
/// right.
const SHARE: f64 = 0.3;

/// Coordinates and samples from which several are solved side by side.
const SIDE_BY_SIDE: (usize, usize) = (32, 2);

/// One H = `scale` * `gram` and h, and all the memory that solving for any g takes.
pub(super) struct Quadratic<'a> {
    gram: &'a Matrix,
    scale: f64,
    coordinates: Vec<Coordinate<'a>>,
    /// [`Regularizer::zone`] of the coordinates outside of the active set; that of members is the line, so
    /// that they never look wrong.
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// [`Coordinate::curvature`], `total` and `inverse`.
    curvature: Vec<f64>,
    total: Vec<f64>,
    inverse: Vec<f64>,
    /// Those without a zone.
    other: Vec<usize>,
    /// For several g at once.
    lanes: Option<Lanes>,
    /// g - H y.
    r: Vec<f64>,
    /// How far r lies outside of the zone: the change of the gradient if the coordinate left 0.
    outside: Vec<f64>,
    /// Coordinates that ought to join the active set, and that change.
    wrong: Vec<(f64, usize)>,
    active: Active<'a>,
}

/// The memory of a [`Quadratic`], from one to the next.
#[derive(Default)]
pub(super) struct Memory {
    coordinates: Vec<Coordinate<'static>>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    curvature: Vec<f64>,
    total: Vec<f64>,
    inverse: Vec<f64>,
    other: Vec<usize>,
    lanes: Option<Lanes>,
    r: Vec<f64>,
    outside: Vec<f64>,
    wrong: Vec<(f64, usize)>,
    active: Active<'static>,
}

impl Memory {
    /// To be called where the next Gram matrix is another one.
    pub fn forget(&mut self) {
        self.lanes.iter_mut().for_each(Lanes::forget);
    }
}

/// The solution for one g, compiled for the CPU at hand.
struct Solve<'s, 'a> {
    problem: &'s mut Quadratic<'a>,
    g: &'s [f64],
    y: &'s mut [f64],
}

impl WithSimd for Solve<'_, '_> {
    type Output = Stop;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Stop {
        self.problem.by_active_set(simd, self.g, self.y)
    }
}

/// The check of one solution, likewise.
struct IsSolved<'s, 'a> {
    problem: &'s Quadratic<'a>,
    g: &'s [f64],
    r: &'s [f64],
    y: &'s [f64],
}

impl WithSimd for IsSolved<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let p = self.problem;
        let (g, g_rest) = S::as_simd_f64s(self.g);
        let (r, r_rest) = S::as_simd_f64s(self.r);
        let (y, y_rest) = S::as_simd_f64s(self.y);
        let [lo, hi, curvature, total, inverse] =
            [&p.lo, &p.hi, &p.curvature, &p.total, &p.inverse].map(|v| S::as_simd_f64s(v));
        let zero = simd.splat_f64s(0.0);
        let (mut largest, mut size, mut change) = (zero, zero, zero);
        for i in 0..g.len() {
            largest = simd.max_f64s(largest, simd.abs_f64s(g[i]));
            size = simd.mul_add_e_f64s(curvature.0[i], simd.abs_f64s(y[i]), size);
            // A maximum may hide what is not a number, 0 times it does not.
            size = simd.mul_add_e_f64s(zero, simd.add_f64s(g[i], r[i]), size);
            // The minimiser if all other coordinates stay.
            let s = simd.mul_add_e_f64s(curvature.0[i], y[i], r[i]);
            let above = simd.max_f64s(simd.sub_f64s(s, hi.0[i]), zero);
            let below = simd.min_f64s(simd.sub_f64s(s, lo.0[i]), zero);
            let new = simd.mul_f64s(simd.add_f64s(above, below), inverse.0[i]);
            let moved = simd.mul_f64s(total.0[i], simd.abs_f64s(simd.sub_f64s(new, y[i])));
            change = simd.max_f64s(change, moved);
        }
        let mut size = simd.reduce_sum_f64s(size);
        let mut largest = simd.reduce_max_f64s(largest);
        let mut change = simd.reduce_max_f64s(change);
        for (i, m) in p.coordinates[self.g.len() - g_rest.len()..self.g.len()]
            .iter()
            .enumerate()
        {
            largest = largest.max(g_rest[i].abs());
            size += m.curvature * y_rest[i].abs() + 0.0 * (g_rest[i] + r_rest[i]);
            change = change.max(m.change(y_rest[i], r_rest[i]));
        }
        change <= QUIET * (largest + size)
    }
}

/// The starts for all g, likewise.
struct SideBySide<'s, 'a> {
    lanes: &'s mut Lanes,
    problem: Problem<'s, 'a>,
    g: &'s [f64],
    energies: &'s [f64],
    y: &'s mut [f64],
}

impl WithSimd for SideBySide<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        (self.lanes).solve(simd, self.problem, self.g, self.energies, self.y);
    }
}

impl<'a> Quadratic<'a> {
    /// What `memory` holds of an earlier H is used again: it must be the same, or forgotten.
    pub fn new(
        gram: &'a Matrix,
        scale: f64,
        regularizers: &'a [&'a dyn Regularizer],
        memory: Memory,
    ) -> Self {
        let n = gram.cols();
        let mut problem = Quadratic {
            gram,
            scale,
            coordinates: memory.coordinates,
            lo: memory.lo,
            hi: memory.hi,
            curvature: memory.curvature,
            total: memory.total,
            inverse: memory.inverse,
            other: memory.other,
            // They are made for as many coordinates.
            lanes: memory.lanes.filter(|_| memory.r.len() == n),
            r: memory.r,
            outside: memory.outside,
            wrong: memory.wrong,
            active: Active::new(n, memory.active),
        };
        for (q, h) in regularizers.iter().enumerate() {
            let coordinate = Coordinate::new(q, *h, scale * gram.get(q, q));
            let (lo, hi) = (coordinate.zone).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
            problem.lo.push(lo);
            problem.hi.push(hi);
            problem.curvature.push(coordinate.curvature);
            problem.total.push(coordinate.total);
            problem.inverse.push(coordinate.inverse);
            if coordinate.zone.is_none() {
                problem.other.push(q);
            }
            problem.coordinates.push(coordinate);
        }
        problem.r.resize(n, 0.0);
        problem.outside.resize(n, 0.0);
        problem.wrong.reserve(n);
        problem
    }

    /// The memory, for another problem.
    pub fn into_memory(mut self) -> Memory {
        for v in [
            &mut self.lo,
            &mut self.hi,
            &mut self.curvature,
            &mut self.total,
            &mut self.inverse,
        ] {
            v.clear();
        }
        self.other.clear();
        self.wrong.clear();
        Memory {
            coordinates: emptied(self.coordinates),
            lo: self.lo,
            hi: self.hi,
            curvature: self.curvature,
            total: self.total,
            inverse: self.inverse,
            other: self.other,
            lanes: self.lanes,
            r: self.r,
            outside: self.outside,
            wrong: self.wrong,
            active: self.active.into_memory(),
        }
    }

    /// Whether it is worth it, and possible, to bring all columns of `y` near to their solutions at once: there are
    /// some, they start at 0, and single precision can hold H.
    pub fn can_start(&mut self, y: &[f64]) -> bool {
        let n = self.gram.cols();
        let worth = n >= SIDE_BY_SIDE.0 && y.len() >= n * SIDE_BY_SIDE.1;
        // In blocks, so that it is not one after the other.
        let is_zero = |y: &[f64]| y.iter().fold(true, |zero, y| zero & (*y == 0.0));
        worth
            && self.other.is_empty()
            && y.chunks(256).all(is_zero)
            && (self.lanes.get_or_insert_with(Lanes::new)).know(self.gram)
    }

    /// Brings all columns of `y` near to the solutions for those of `g`, several at once: g = W'c/a and H = W'W/a
    /// for some W and c, of which `energies` has |c|^2/a. To be called where it [can](Quadratic::can_start).
    pub fn start(&mut self, g: &[f64], energies: &[f64], y: &mut [f64]) {
        let problem = Problem {
            gram: self.gram,
            scale: self.scale,
            coordinates: &self.coordinates,
            inverse: &self.inverse,
            lo: &self.lo,
            hi: &self.hi,
        };
        dispatch(SideBySide {
            lanes: self.lanes.get_or_insert_with(Lanes::new),
            problem,
            g,
            energies,
            y,
        });
    }

    /// Whether `y` solves the problem for `g` but for rounding; r is g - H y, or minus any other gradient. For the
    /// first coordinates, all of which have a zone.
    pub fn is_solved(&mut self, g: &[f64], r: &[f64], y: &[f64]) -> bool {
        self.clear(); // the zones of members are the line
        let problem = &*self;
        dispatch(IsSolved { problem, g, r, y })
    }

    /// g - H y for the y that [`solve`](Quadratic::solve) found last, where it converged.
    pub fn gradient(&self) -> &[f64] {
        &self.r
    }

    /// `y` holds the start on entry and the solution on return.
    pub fn solve(&mut self, g: &[f64], y: &mut [f64]) -> Stop {
        match g.len() {
            0 => Stop::Converged,
            1 => {
                // The paper's own experiments have one atom per agent: closed form.
                y[0] = self.coordinates[0].recover(g[0]);
                Stop::Converged
            }
            // No number means anything beside one that is none.
            _ if g.iter().any(|g| !g.is_finite()) => Stop::Diverged,
            _ => {
                let problem = self;
                dispatch(Solve { problem, g, y })
            }
        }
    }

    #[inline(always)]
    fn by_active_set<S: Simd>(&mut self, simd: S, g: &[f64], y: &mut [f64]) -> Stop {
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
                return Stop::Converged;
            }
            idle = if change < 0.5 * smallest { 0 } else { idle + 1 };
            smallest = smallest.min(change);
            if idle >= IDLE && change <= CALM * size {
                return Stop::Converged; // ill-conditioned: this is as far as rounding lets it go
            }
            // While the set grows its solution will not be the last: a few sweeps are near enough.
            let grows = FEW * self.wrong.len() > self.active.members().len();
            let exact = !grows || turn >= GROWTH;
            self.admit(g);
            self.active.fill(self.gram, self.scale);
            self.active.settle(simd, &self.r, exact, QUIET * size);
            self.active.write(y);
        }
        Stop::RoundLimit
    }

    #[inline(always)]
    fn clear(&mut self) {
        for m in self.active.members() {
            if let Some((lo, hi)) = m.zone {
                (self.lo[m.q], self.hi[m.q]) = (lo, hi);
            }
        }
        self.active.clear();
    }

    #[inline(always)]
    fn join(&mut self, q: usize, g: f64, y: f64) {
        (self.lo[q], self.hi[q]) = (f64::NEG_INFINITY, f64::INFINITY);
        self.active.join(self.coordinates[q], g, y);
    }

    /// r = g - H y. Returns the size of the numbers that were added up, the yardstick of rounding.
    #[inline(always)]
    fn refresh<S: Simd>(&mut self, simd: S, g: &[f64], y: &[f64]) -> f64 {
        let (gram, scale, members) = (self.gram, self.scale, self.active.members());
        let pairs = (members.iter())
            .filter(|m| y[m.q] != 0.0)
            .map(|m| (-scale * y[m.q], gram.column(m.q)));
        self.r.copy_from_slice(g);
        add_all(simd, false, pairs, &mut self.r);
        (members.iter()).map(|m| m.curvature * y[m.q].abs()).sum()
    }

    /// Finds the coordinates that are most wrong; returns the largest change of the gradient that putting one
    /// right would make.
    #[inline(always)]
    fn check<S: Simd>(&mut self, simd: S, y: &[f64]) -> f64 {
        let mut worst = distances(simd, &self.r, &self.lo, &self.hi, &mut self.outside);
        for &q in &self.other {
            if !self.active.has(q) {
                self.outside[q] = self.coordinates[q].change(0.0, self.r[q]);
                worst = worst.max(self.outside[q]);
            }
        }
        self.wrong.clear();
        if worst > 0.0 {
            let bound = SHARE * worst;
            let (outside, wrong) = (&self.outside, &mut self.wrong);
            each_from(simd, outside, bound, |q| wrong.push((outside[q], q)));
        }
        (self.active.members().iter())
            .map(|m| m.change(y[m.q], self.r[m.q]))
            .fold(worst.max(0.0), f64::max)
    }

    /// Takes the worst of the wrong coordinates into the active set.
    #[inline(always)]
    fn admit(&mut self, g: &[f64]) {
        let room = JOIN.max(self.active.members().len() / 2);
        if self.wrong.len() > room {
            (self.wrong).select_nth_unstable_by(room, |a, b| b.0.total_cmp(&a.0));
            self.wrong.truncate(room);
        }
        for i in 0..self.wrong.len() {
            let q = self.wrong[i].1;
            self.join(q, g[q], 0.0);
        }
    }
}

/// How far each r lies outside of [lo, hi] (negative inside); returns the largest.
#[inline(always)]
fn distances<S: Simd>(simd: S, r: &[f64], lo: &[f64], hi: &[f64], out: &mut [f64]) -> f64 {
    let n = r.len();
    let whole = n / S::F64_LANES * S::F64_LANES;
    let mut most = simd.splat_f64s(f64::NEG_INFINITY);
    let parts = S::as_mut_simd_f64s(&mut out[..whole])
        .0
        .iter_mut()
        .enumerate();
    let [rs, los, his] = [r, lo, hi].map(|v| S::as_simd_f64s(&v[..whole]).0);
    for (i, out) in parts {
        let (below, above) = (simd.sub_f64s(los[i], rs[i]), simd.sub_f64s(rs[i], his[i]));
        *out = simd.max_f64s(below, above);
        most = simd.max_f64s(most, *out);
    }
    let mut largest = simd.reduce_max_f64s(most);
    for q in whole..n {
        out[q] = f64::max(lo[q] - r[q], r[q] - hi[q]);
        largest = largest.max(out[q]);
    }
    largest
}

/// Calls `found` with the place of each number that is at least `bound`: few are.
#[inline(always)]
fn each_from<S: Simd>(simd: S, numbers: &[f64], bound: f64, mut found: impl FnMut(usize)) {
    let (vectors, rest) = S::as_simd_f64s(numbers);
    for (i, vector) in vectors.iter().enumerate() {
        if simd.reduce_max_f64s(*vector) >= bound {
            let from = i * S::F64_LANES;
            let places = from..from + S::F64_LANES;
            places.filter(|q| numbers[*q] >= bound).for_each(&mut found);
        }
    }
    let places = numbers.len() - rest.len()..numbers.len();
    places.filter(|q| numbers[*q] >= bound).for_each(found);
}
