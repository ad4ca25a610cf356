//! The rule by which learning adapts a penalty to the rounds of its batches.
//!
//! The penalty of batch b is rho times a power of sqrt(2). All agents have the rounds of a batch,
//! so all follow the rule without a message. A trial compares the scale c with its neighbour c' on
//! one side, in four batches c, c', c', c; a steady trend of the rounds cancels in the ratio
//!
//! ```text
//! r = (rounds 2 * rounds 3) / (rounds 1 * rounds 4)
//! ```
//!
//! - r < `GAIN`: c' replaces c, and the next trial continues on this side.
//! - r > 1 / `GAIN`, or `CLEARLY_WORSE` after two batches: c stays. The next trial is on the
//!   other side, after a rest that doubles with every trial in vain.
//! - Otherwise four more batches decide, with the product of both ratios.
//!
//! A batch that did not converge ends a trial, and a c other than 1 returns to 1 then.
//!
//! Rounds have heavy tails, which two or four batches do not show. Running means of the rounds with
//! c and with the default, c = 1, are compared after every batch: once that of c is higher, the
//! default replaces c, and the next trial waits four times as long.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;

/// The scale is 2^(centre / 2), within these bounds.
const CENTRES: std::ops::RangeInclusive<i32> = -6..=3;
/// The ratio of a trial below which the other scale is better. It is a product of two pairs: 3 %
/// fewer rounds in each, below which rounds differ from batch to batch anyway.
const GAIN: f64 = 0.94;
/// The ratio of the first two batches above which a trial ends early.
const CLEARLY_WORSE: f64 = 1.3;
/// Batches of a trial, and the most of them.
const QUARTET: usize = 4;
const LONGEST: usize = 2 * QUARTET;
/// Batches before the first trial: atoms that have just been drawn change fast.
const FIRST_REST: u32 = 4;
/// Batches between trials: after the first in vain, and the most.
const SHORTEST_REST: u32 = 2;
const LONGEST_REST: u32 = 256;
/// Running means hold this many times the rounds and forget one part of this many per batch.
const MEAN: u32 = 8;

/// The state of the rule: which scale is the best so far, and the trial under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PenaltyRule {
    /// The best scale so far is 2^(centre / 2).
    centre: i32,
    /// The side of the trial, +1 or -1.
    side: i32,
    /// Batches until the next trial.
    rest: u32,
    /// The rest after the next trial in vain.
    next_rest: u32,
    /// [`MEAN`] times the running mean of rounds with a scale of 1; 0 before the first.
    #[serde(default)]
    at_default: u32,
    /// The same for the centre, if it is another scale.
    #[serde(default)]
    at_centre: u32,
    /// Rounds of the batches of the trial; 0 for those to come.
    trial: [u32; LONGEST],
}

impl Default for PenaltyRule {
    /// Before any batch: a scale of 1.
    fn default() -> Self {
        PenaltyRule {
            centre: 0,
            side: -1,
            rest: FIRST_REST,
            next_rest: SHORTEST_REST,
            at_default: 0,
            at_centre: 0,
            trial: [0; LONGEST],
        }
    }
}

/// The running mean after one more batch.
fn mean_with(mean: u32, rounds: u32) -> u32 {
    match mean {
        0 => rounds.saturating_mul(MEAN),
        _ => (mean - mean / MEAN).saturating_add(rounds),
    }
}

impl PenaltyRule {
    /// The factor of rho for the next batch.
    pub fn scale(&self) -> f64 {
        let half_octaves = self.half_octaves();
        // Exact but for one rounding, so that agents on different machines have the same.
        let odd = if half_octaves % 2 == 0 { 1.0 } else { SQRT_2 };
        2_f64.powi(half_octaves.div_euclid(2)) * odd
    }

    /// The scale of the next batch is 2^(this / 2).
    fn half_octaves(&self) -> i32 {
        let is_other = self.rest == 0 && matches!(self.batches() % QUARTET, 1 | 2);
        self.centre + if is_other { self.side } else { 0 }
    }

    /// Takes the rounds of a batch that was coded with this scale; `None` if it did not converge.
    pub fn after_batch(&mut self, rounds: Option<usize>) {
        let rounds = rounds.map(|rounds| u32::try_from(rounds).unwrap_or(u32::MAX).max(1));
        if self.is_worse_than_default(rounds) {
            return self.return_to_default();
        }
        if self.rest > 0 {
            self.rest -= 1;
            return;
        }
        let Some(rounds) = rounds else {
            return self.keep_centre();
        };
        let batches = self.batches() + 1;
        self.trial[batches - 1] = rounds;
        let ratio = self.ratio(batches);
        // The same precision for one quartet as for two.
        let gain = if batches > QUARTET { GAIN * GAIN } else { GAIN };
        match batches % QUARTET {
            2 if ratio > CLEARLY_WORSE => self.keep_centre(),
            0 if ratio < gain => self.take_other(),
            0 if ratio > 1.0 / gain || batches == LONGEST => self.keep_centre(),
            _ => {}
        }
    }

    /// Rounds with the other scale over rounds with the centre: of the last two batches inside a
    /// quartet, of all batches at its end.
    fn ratio(&self, batches: usize) -> f64 {
        let rounds = |i: usize| f64::from(self.trial[i]);
        if !batches.is_multiple_of(QUARTET) {
            let before = batches.saturating_sub(2);
            return rounds(batches - 1) / rounds(before);
        }
        let quartets = (0..batches).step_by(QUARTET);
        quartets
            .map(|i| (rounds(i + 1) * rounds(i + 2)) / (rounds(i) * rounds(i + 3)))
            .product()
    }

    fn batches(&self) -> usize {
        let under_way = |rounds: &&u32| **rounds > 0;
        self.trial.iter().take_while(under_way).count()
    }

    /// Updates the running means; true if the centre has more rounds than the default, or did not
    /// converge.
    fn is_worse_than_default(&mut self, rounds: Option<u32>) -> bool {
        let half_octaves = self.half_octaves();
        let is_moved_centre = self.centre != 0 && half_octaves == self.centre;
        let Some(rounds) = rounds else {
            return is_moved_centre;
        };
        if half_octaves == 0 {
            self.at_default = mean_with(self.at_default, rounds);
        } else if is_moved_centre {
            self.at_centre = mean_with(self.at_centre, rounds);
        }
        is_moved_centre && self.at_centre > self.at_default
    }

    fn return_to_default(&mut self) {
        // Both means are of the past: the rounds may have changed with the atoms.
        (self.centre, self.at_default, self.at_centre) = (0, 0, 0);
        self.next_rest = (2 * self.next_rest).min(LONGEST_REST);
        self.keep_centre();
    }

    fn take_other(&mut self) {
        self.centre += self.side;
        self.next_rest = (self.next_rest / 2).max(SHORTEST_REST);
        self.at_centre = self.trial[1..QUARTET - 1]
            .iter()
            .fold(0, |sum: u32, rounds| sum.saturating_add(*rounds))
            .saturating_mul(MEAN / 2);
        self.trial = [0; LONGEST];
        if !CENTRES.contains(&(self.centre + self.side)) {
            self.keep_centre();
        }
    }

    fn keep_centre(&mut self) {
        self.trial = [0; LONGEST];
        self.rest = self.next_rest;
        self.next_rest = (2 * self.next_rest).min(LONGEST_REST);
        if CENTRES.contains(&(self.centre - self.side)) {
            self.side = -self.side;
        }
    }

    /// The state as numbers, for binary files.
    pub fn to_numbers(&self) -> Vec<i64> {
        let head = [self.centre, self.side].map(i64::from);
        let rests = [self.rest, self.next_rest].map(i64::from);
        let means = [self.at_default, self.at_centre].map(i64::from);
        let trial = self.trial.map(i64::from);
        [&head[..], &rests, &means, &trial].concat()
    }

    /// The state of these numbers; `None` if they are none.
    pub fn from_numbers(numbers: &[i64]) -> Option<Self> {
        let [centre, side, rest, next_rest, at_default, at_centre, trial @ ..] = numbers else {
            return None;
        };
        let count = |n: &i64| u32::try_from(*n).ok();
        let trial: Option<Vec<u32>> = trial.iter().map(count).collect();
        let rule = PenaltyRule {
            centre: i32::try_from(*centre).ok()?,
            side: i32::try_from(*side).ok()?,
            rest: count(rest)?,
            next_rest: count(next_rest)?,
            at_default: count(at_default)?,
            at_centre: count(at_centre)?,
            trial: trial?.try_into().ok()?,
        };
        rule.check().is_ok().then_some(rule)
    }

    /// `Ok` if the rule can have this state.
    ///
    /// # Errors
    ///
    /// For the state in a damaged file.
    pub fn check(&self) -> Result<()> {
        let batches = self.batches();
        let is_state = matches!(self.side, -1 | 1)
            && CENTRES.contains(&self.centre)
            && CENTRES.contains(&(self.centre + self.side))
            && self.rest <= LONGEST_REST
            && (SHORTEST_REST..=LONGEST_REST).contains(&self.next_rest)
            && (batches == 0 || self.rest == 0)
            && self.trial[batches.min(LONGEST - 1)..]
                .iter()
                .all(|r| *r == 0);
        match is_state {
            true => Ok(()),
            false => Err(Error::parameter(
                "penalty",
                format!("{self:?}"),
                "is no state of the rule; leave it out to start from the default rho",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scales of `batches` batches whose rounds are a function of batch and scale.
    fn scales(batches: usize, rounds: impl Fn(usize, f64) -> Option<f64>) -> Vec<f64> {
        let mut rule = PenaltyRule::default();
        let each = (0..batches).map(|b| {
            let scale = rule.scale();
            rule.after_batch(rounds(b, scale).map(|r| r.round() as usize));
            rule.check().unwrap();
            scale
        });
        each.collect()
    }

    /// Rounds with their least at a scale of 2^least.
    fn valley(least: f64) -> impl Fn(usize, f64) -> Option<f64> {
        move |_, scale| Some(100.0 * (1.0 + (scale.log2() - least).abs()))
    }

    #[test]
    fn the_scale_of_fewest_rounds_is_found_on_both_sides_and_kept() {
        for least in [-2.0, -1.0, 0.0, 1.0] {
            let all = scales(200, valley(least));
            let at_least = |s: &&f64| (s.log2() - least).abs() < 1e-12;
            let later = all[30..].iter();
            let share = later.clone().filter(at_least).count() as f64 / later.len() as f64;
            assert!(share > 0.85, "{least}: {share} {all:?}");
        }
    }

    #[test]
    fn it_stays_within_its_bounds() {
        let falling = scales(500, |_, scale| Some(1e4 * scale));
        let rising = scales(500, |_, scale| Some(1e4 / scale));
        let least = falling.into_iter().fold(1.0, f64::min);
        let most = rising.into_iter().fold(1.0, f64::max);
        for (extreme, bound) in [(least, CENTRES.start()), (most, CENTRES.end())] {
            assert!((2.0 * extreme.log2() - f64::from(*bound)).abs() < 1e-12);
        }
    }

    #[test]
    fn a_trend_of_the_rounds_does_not_move_it() {
        for growth in [0.8_f64, 0.95, 1.05, 1.2] {
            let mut rule = PenaltyRule::default();
            for b in 0..40 {
                rule.after_batch(Some((1e5 * growth.powi(b - 20)) as usize));
            }
            assert_eq!(rule.centre, 0, "{growth}");
        }
    }

    /// Documents: another scale mostly takes fewer rounds, and every fourth batch far more.
    #[test]
    fn a_scale_with_heavy_tails_does_not_stay() {
        let rounds = |b: usize, scale: f64| match scale {
            1.0 => 137.0,
            _ if b % 4 == 3 => 400.0,
            _ => 107.0,
        };
        let all = scales(400, |b, scale| Some(rounds(b, scale)));
        let each = all.iter().enumerate().map(|(b, scale)| rounds(b, *scale));
        let mean = each.sum::<f64>() / all.len() as f64;
        assert!(mean < 1.05 * 137.0, "{mean}");
    }

    #[test]
    fn a_centre_that_stops_converging_is_left() {
        let all = scales(60, |b, scale| (b < 30).then_some(100.0 * scale));
        assert!(all[29] < 1.0);
        assert!(all[32..].iter().all(|s| (0.7..1.5).contains(s)), "{all:?}");
    }

    #[test]
    fn batches_that_do_not_converge_never_move_it() {
        let mut rule = PenaltyRule::default();
        for b in 0..1000 {
            // The other scale would seem far better, if its third batch were counted.
            let is_other = rule.scale() != 1.0;
            rule.after_batch((b % 3 != 0).then_some(if is_other { 10 } else { 100 }));
            if b % 3 == 0 {
                assert_eq!(rule.trial, [0; LONGEST]);
            }
            assert_eq!(rule.centre, 0);
        }
        let none = scales(100, |_, _| None);
        assert!(none.iter().all(|s| (0.7..1.5).contains(s)));
    }

    #[test]
    fn a_state_comes_back_and_a_damaged_one_is_refused() {
        let mut rule = PenaltyRule::default();
        for b in 0..50 {
            rule.after_batch(Some(100 + 7 * b % 5));
            let text = serde_json::to_string(&rule).unwrap();
            assert_eq!(serde_json::from_str::<PenaltyRule>(&text).unwrap(), rule);
            assert_eq!(PenaltyRule::from_numbers(&rule.to_numbers()), Some(rule));
        }
        let good = PenaltyRule::default();
        let bad = [
            PenaltyRule { centre: 40, ..good },
            PenaltyRule { side: 0, ..good },
            PenaltyRule {
                rest: u32::MAX,
                ..good
            },
            PenaltyRule {
                next_rest: 0,
                ..good
            },
            PenaltyRule {
                rest: 0,
                trial: [1; LONGEST],
                ..good
            },
            PenaltyRule {
                rest: 0,
                trial: [0, 0, 3, 0, 0, 0, 0, 0],
                ..good
            },
        ];
        assert!(bad.iter().all(|rule| rule.check().is_err()));
        assert_eq!(PenaltyRule::from_numbers(&bad[0].to_numbers()), None);
        assert_eq!(PenaltyRule::from_numbers(&good.to_numbers()[1..]), None);
    }
}
