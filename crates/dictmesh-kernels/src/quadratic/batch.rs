//! Batches: several samples at the same time, one in each SIMD lane.

use super::lanes::{Lanes, Problem};
use super::small_cd::{self, SmallCd};
use super::Quadratic;
use crate::simd::{dispatch, Simd, WithSimd};

/// Fewest coordinates and samples for which samples are solved in SIMD lanes.
const SIDE_BY_SIDE: (usize, usize) = (32, 2);

/// How the samples of a batch are solved. Codes are bit-identical: SIMD lanes do not interact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Batching {
    /// One after the other, in one lane.
    OneByOne,
    /// Several at the same time, one in each SIMD lane, where it pays.
    #[default]
    SideBySide,
}

/// Which columns are [`cold`](Quadratic::find_cold), compiled for each SIMD instruction set.
struct FindCold<'s> {
    lo: &'s [f64],
    hi: &'s [f64],
    g: &'s [f64],
    y: &'s [f64],
    cold: &'s mut Vec<bool>,
}

impl WithSimd for FindCold<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let n = self.lo.len();
        for (g, y) in self.g.chunks_exact(n).zip(self.y.chunks_exact(n)) {
            // Without an early exit, so that the scans vectorise.
            let is_zero = y.iter().fold(true, |zero, y| zero & (*y == 0.0));
            let solved = || {
                let bounds = self.lo.iter().zip(self.hi);
                (g.iter().zip(bounds)).fold(true, |all, (g, (lo, hi))| all & (lo <= g) & (g <= hi))
            };
            self.cold.push(is_zero && !solved());
        }
    }
}

/// [`Quadratic::start`], compiled for each SIMD instruction set.
pub(super) struct SideBySide<'s, 'a> {
    lanes: &'s mut Lanes,
    batching: Batching,
    problem: Problem<'s, 'a>,
    g: &'s [f64],
    energies: &'s [f64],
    cold: &'s [bool],
    y: &'s mut [f64],
}

impl WithSimd for SideBySide<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (g, energies, y) = (self.g, self.energies, self.y);
        (self.lanes).solve(simd, self.batching, self.problem, g, energies, self.cold, y);
    }
}

impl<'a> Quadratic<'a> {
    /// Which samples are to be [started](Quadratic::start): y is 0, and is not the solution.
    /// Returns whether there is one. There is none unless there are enough coordinates and
    /// samples, all penalties have a subgradient interval at 0, and H is finite and not 0.
    pub fn find_cold(&mut self, g: &[f64], y: &[f64], cold: &mut Vec<bool>) -> bool {
        let n = self.gram.cols();
        cold.clear();
        let enough = n >= SIDE_BY_SIDE.0 && y.len() >= n * SIDE_BY_SIDE.1;
        if !(enough && self.v.other.is_empty()) {
            return false;
        }
        self.clear(); // restores lo and hi of members
        let (lo, hi) = (&self.v.lo, &self.v.hi);
        dispatch(FindCold { lo, hi, g, y, cold });
        // Lanes are set up for cold samples alone: warm rounds do not allocate.
        let found = cold.contains(&true)
            && (self.v.lanes.get_or_insert_with(Box::default)).cache_gram(self.gram);
        if !found {
            cold.clear();
        }
        found
    }

    /// Moves the cold columns of `y` near the solutions for those of `g`. Requires g = W'c/a and H
    /// = W'W/a for some W and c, `energies` = |c|^2/a, and `cold` from
    /// [`find_cold`](Quadratic::find_cold).
    ///
    /// Panics unless `g` and `y` have a number per coordinate and sample.
    pub fn start(&mut self, g: &[f64], energies: &[f64], cold: &[bool], y: &mut [f64]) {
        dispatch(self.side_by_side(g, energies, cold, y));
    }

    pub(super) fn side_by_side<'s>(
        &'s mut self,
        g: &'s [f64],
        energies: &'s [f64],
        cold: &'s [bool],
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
            batching: self.batching,
            problem,
            g,
            energies,
            cold,
            y,
        }
    }

    /// Solves for all columns of `g`, if there are few coordinates. `solved` gets one flag
    /// per column, true if it converged, and is empty if the method does not apply.
    pub fn solve_few(&mut self, g: &[f64], y: &mut [f64], solved: &mut Vec<bool>) {
        solved.clear();
        let few = (2..=small_cd::MOST).contains(&self.gram.cols());
        if few && self.v.other.is_empty() {
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
