//! Differences of a part to what the root has of it, as integers of few bits.
//!
//! `known` is the part as the root has it. An evaluation sends round((part - known) / 2^scale),
//! clipped to b bits, and adds what it sent to `known`. Rounding and clipping errors therefore
//! remain at the agent and are sent with a later evaluation.

use super::order::{exponent_of, power};
use dictmesh_kernels::count;
use dictmesh_kernels::simd::{dispatch, Simd, WithSimd};

/// Differences beyond this number of units are clipped before they are rounded.
const MOST: f64 = 1e9;
/// The share of the range above which an entry counts as large, and the least such entry.
const LARGE: f64 = 0.2;
const FEW: f64 = 2.5;

/// The unit of an error in units of the entries, as an exponent of two: rounding alone takes at
/// most half of the range.
pub(super) fn error_unit(rows: usize, bits: u32) -> i32 {
    exponent_of((rows as f64).sqrt() / top(bits))
}

/// The largest integer of b bits.
pub(super) fn top(bits: u32) -> f64 {
    ((1_i64 << (bits - 1)) - 1) as f64
}

/// Numbers from 2^52 to 2^53 have no fraction: adding one rounds to the nearest integer, and the
/// lowest bits of the sum are that integer.
const SHIFT: f64 = 1.5 * (1_u64 << 52) as f64;

/// The nearest integer, ties to even, for |value| <= 2^51. Unlike `round_ties_even` it needs no
/// function call on processors without such an instruction.
#[inline(always)]
fn round(value: f64) -> f64 {
    (value + SHIFT) - SHIFT
}

/// A whole number of magnitude up to 2^51 as an integer. Compiles to vectors, unlike `as`, which
/// saturates.
#[inline(always)]
fn integer(whole: f64) -> i64 {
    ((whole + SHIFT).to_bits() as i64).wrapping_sub(SHIFT.to_bits() as i64)
}

/// The outcome of [`send`].
pub(super) struct Sent {
    /// Whether the error exceeds the range of its integer.
    pub saturated: bool,
    pub clipped: bool,
    pub large: bool,
    pub finite: bool,
    /// Whether all that is known is 0 now.
    pub leaves_zero: bool,
}

impl Sent {
    /// A part of zeros of which zeros are known.
    pub const ZERO: Sent = Sent {
        saturated: false,
        clipped: false,
        large: false,
        finite: true,
        leaves_zero: true,
    };
}

/// Writes the difference of a part to what is known of it, in units of `scale`, and the norm of the
/// remaining error, rounded up.
pub(super) fn send(
    part: &[f64],
    known: &mut [f64],
    scale: f64,
    bits: u32,
    out: &mut [i64],
) -> Sent {
    count(3 * part.len()); // differences, what is known, squares of errors
    let top = top(bits);
    let Some((last, out)) = out.split_last_mut() else {
        return Sent::ZERO;
    };
    let found = dispatch(Differences {
        part,
        known,
        scale,
        top,
        out: &mut *out,
    });
    let Some(found) = found else {
        out.fill(0);
        *last = 0;
        return Sent {
            saturated: true,
            finite: false,
            leaves_zero: false,
            ..Sent::ZERO
        };
    };
    let error = (found.error.sqrt() / power(error_unit(part.len(), bits))).ceil();
    *last = error.min(top) as i64;
    Sent {
        saturated: error > top,
        clipped: found.most > top,
        large: found.most > (LARGE * top).max(FEW),
        finite: true,
        leaves_zero: found.known == 0.0,
    }
}

/// Sums of several entries run side by side, the same on every processor.
const LANES: usize = 8;

/// Writes the integers of a difference. `None`, and nothing is written, if the part is not finite.
struct Differences<'a> {
    part: &'a [f64],
    known: &'a mut [f64],
    scale: f64,
    top: f64,
    out: &'a mut [i64],
}

/// What [`Differences`] found.
struct Found {
    /// The largest integer before clipping.
    most: f64,
    /// The square of the norm of the remaining error, in units.
    error: f64,
    /// The largest entry that is known now.
    known: f64,
}

impl WithSimd for Differences<'_> {
    type Output = Option<Found>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Option<Found> {
        let mut sums = [0.0; LANES];
        for part in self.part.chunks(LANES) {
            (sums.iter_mut().zip(part)).for_each(|(sum, part)| *sum += part.abs());
        }
        if !sums.iter().sum::<f64>().is_finite() {
            return None;
        }
        let (scale, inverse, top) = (self.scale, 1.0 / self.scale, self.top);
        let (mut most, mut error, mut largest) = ([0.0_f64; LANES], [0.0; LANES], [0.0_f64; LANES]);
        let mut one = |i: usize, part: f64, known: &mut f64, out: &mut i64| {
            let exact = (part - *known) * inverse;
            let rounded = round(exact.clamp(-MOST, MOST));
            let sent = rounded.clamp(-top, top);
            let size = rounded.abs();
            most[i] = if size > most[i] { size } else { most[i] };
            *known += sent * scale;
            let size = known.abs();
            largest[i] = if size > largest[i] { size } else { largest[i] };
            let left = exact - sent;
            error[i] += left * left;
            *out = integer(sent);
        };
        let mut known = self.known.chunks_exact_mut(LANES);
        let mut out = self.out.chunks_exact_mut(LANES);
        let mut parts = self.part.chunks_exact(LANES);
        for ((part, known), out) in (&mut parts).zip(&mut known).zip(&mut out) {
            for i in 0..LANES {
                one(i, part[i], &mut known[i], &mut out[i]);
            }
        }
        let rest = known.into_remainder().iter_mut().zip(out.into_remainder());
        for (i, (part, (known, out))) in parts.remainder().iter().zip(rest).enumerate() {
            one(i, *part, known, out);
        }
        Some(Found {
            most: most.into_iter().fold(0.0, f64::max),
            error: error.into_iter().sum(),
            known: largest.into_iter().fold(0.0, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stay_at_the_agent_and_go_with_later_messages() {
        let part = [0.3, -5.0, 1e-3, 0.0];
        for bits in [4, 8, 16] {
            let (mut known, mut sum) = ([0.0; 4], [0.0; 4]);
            for round in 0..60 {
                let scale = power(2 - round / 4);
                let mut sent = [0; 5];
                let told = send(&part, &mut known, scale, bits, &mut sent);
                for (sum, sent) in sum.iter_mut().zip(&sent) {
                    *sum += scale * *sent as f64;
                }
                assert_eq!(sum, known);
                let error: f64 = part.iter().zip(known).map(|(p, k)| (p - k).powi(2)).sum();
                let bound = sent[4] as f64 * power(error_unit(4, bits)) * scale;
                assert!(told.saturated || error.sqrt() <= bound, "{bits} bits");
                assert!(bound <= 1.5 * error.sqrt() + 2.0 * scale);
            }
            let error = part.iter().zip(known).map(|(p, k)| (p - k).abs());
            assert!(error.fold(0.0, f64::max) < 1e-3, "{bits} bits");
        }
    }

    /// A part of zeros of which zeros are known needs no arithmetic: the result is `ZERO`.
    #[test]
    fn what_is_known_returns_to_zero_exactly() {
        for rows in [1, 7, 8, 9, 30] {
            let part: Vec<f64> = (0..rows).map(|i| (i as f64 - 3.3) / 7.0).collect();
            let (mut known, mut out) = (vec![0.0; rows], vec![0; rows + 1]);
            let sent = send(&part, &mut known, power(-6), 8, &mut out);
            assert!(!sent.leaves_zero && known.iter().any(|known| *known != 0.0));
            let zeros = vec![0.0; rows];
            assert!(send(&zeros, &mut known, power(-6), 8, &mut out).leaves_zero);
            assert_eq!(known, zeros);
            out.fill(7);
            let sent = send(&zeros, &mut known, power(-6), 8, &mut out);
            assert!(out.iter().all(|out| *out == 0));
            let flags = [sent.saturated, sent.clipped, sent.large];
            assert!(sent.finite && sent.leaves_zero && flags == [false; 3]);
        }
    }

    #[test]
    fn a_part_that_is_not_finite_is_flagged_and_not_sent() {
        for bad in [f64::NAN, f64::INFINITY] {
            let (mut known, mut out) = ([1.0; 9], [5; 10]);
            let mut part = [0.5; 9];
            part[8] = bad;
            let sent = send(&part, &mut known, 1.0, 8, &mut out);
            assert!(!sent.finite && sent.saturated && !sent.leaves_zero);
            assert_eq!((known, out), ([1.0; 9], [0; 10]));
        }
    }
}
