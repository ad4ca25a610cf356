//! Batches: several samples at the same time, one in each SIMD lane.

use super::lanes::{Lanes, Problem};
use super::small_cd::{self, SmallCd};
use super::Quadratic;
use crate::simd::{dispatch, Simd, WithSimd};

/// Fewest coordinates and samples for which samples are solved in SIMD lanes.
const SIDE_BY_SIDE: (usize, usize) = (32, 2);

/// How the samples of a batch are solved. Each is solved to rounding either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Batching {
    /// One after the other.
    OneByOne,
    /// Several at the same time, one in each SIMD lane, where it pays.
    #[default]
    SideBySide,
}

/// [`Quadratic::start`], compiled for each SIMD instruction set.
pub(super) struct SideBySide<'s, 'a> {
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
    /// Whether [`start`](Quadratic::start) applies and pays: lanes are allowed, there are enough
    /// coordinates and samples, all penalties have a subgradient interval at 0, `y` is 0, and H is
    /// finite and not 0.
    pub fn can_start(&mut self, y: &[f64]) -> bool {
        let n = self.gram.cols();
        let worth = self.batching == Batching::SideBySide
            && n >= SIDE_BY_SIDE.0
            && y.len() >= n * SIDE_BY_SIDE.1;
        // In blocks without an early exit, so that the scan vectorises.
        let is_zero = |y: &[f64]| y.iter().fold(true, |zero, y| zero & (*y == 0.0));
        worth
            && self.v.other.is_empty()
            && y.chunks(256).all(is_zero)
            && (self.v.lanes.get_or_insert_with(Box::default)).cache_gram(self.gram)
    }

    /// Moves all columns of `y` near the solutions for those of `g`, several at once. Requires g =
    /// W'c/a and H = W'W/a for some W and c, `energies` = |c|^2/a, and
    /// [`can_start`](Quadratic::can_start).
    ///
    /// Panics unless `g` and `y` have a number per coordinate and sample.
    pub fn start(&mut self, g: &[f64], energies: &[f64], y: &mut [f64]) {
        dispatch(self.side_by_side(g, energies, y));
    }

    pub(super) fn side_by_side<'s>(
        &'s mut self,
        g: &'s [f64],
        energies: &'s [f64],
        y: &'s mut [f64],
    ) -> SideBySide<'s, 'a> {
        let problem = Problem {
            gram: self.gram,
            scale: self.scale,
            coordinates: &self.coordinates,
            inverse: &self.v.inverse,
            lo: &self.v.lo,
            hi: &self.v.hi,
        };
        SideBySide {
            lanes: self.v.lanes.get_or_insert_with(Box::default),
            problem,
            g,
            energies,
            y,
        }
    }

    /// Solves for all columns of `g` at once, if there are few coordinates. `solved` gets one flag
    /// per column, true if it converged, and is empty if the method does not apply.
    pub fn solve_few(&mut self, g: &[f64], y: &mut [f64], solved: &mut Vec<bool>) {
        solved.clear();
        let few = (2..=small_cd::MOST).contains(&self.gram.cols());
        if self.batching == Batching::SideBySide && few && self.v.other.is_empty() {
            self.clear(); // restores lo and hi of members
            let problem = &*self;
            dispatch(SmallCd {
                problem,
                g,
                y,
                solved,
            });
        }
    }
}
