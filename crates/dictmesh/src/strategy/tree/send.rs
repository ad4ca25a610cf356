//! Differences of a part to what the root has of it, as integers of few bits.
//!
//! `known` is the part as the root has it. An evaluation sends round((part - known) / 2^scale),
//! clipped to b bits, and adds what it sent to `known`. Rounding and clipping errors therefore
//! remain at the agent and are sent with a later evaluation.

use super::order::{exponent_of, power};
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

/// The nearest integer, ties to even, for |value| <= 2^51. Unlike `round_ties_even` it needs no
/// function call on processors without such an instruction.
#[inline(always)]
fn round(value: f64) -> f64 {
    const SHIFT: f64 = 1.5 * (1_u64 << 52) as f64;
    (value + SHIFT) - SHIFT
}

/// The outcome of [`send`].
pub(super) struct Sent {
    /// Whether the error exceeds the range of its integer.
    pub saturated: bool,
    pub clipped: bool,
    pub large: bool,
    pub finite: bool,
}

/// Appends the difference of a part to what is known of it, in units of `scale`, and the norm of
/// the remaining error, rounded up.
pub(super) fn send(
    part: &[f64],
    known: &mut [f64],
    scale: f64,
    bits: u32,
    out: &mut Vec<i64>,
) -> Sent {
    let top = top(bits);
    if !part.iter().fold(0.0, |sum, v| sum + v.abs()).is_finite() {
        out.resize(out.len() + part.len() + 1, 0);
        return Sent {
            saturated: true,
            clipped: false,
            large: false,
            finite: false,
        };
    }
    let from = out.len();
    out.resize(from + part.len(), 0);
    let (most, error) = dispatch(Differences {
        part,
        known,
        scale,
        top,
        out: &mut out[from..],
    });
    let error = (error.sqrt() / power(error_unit(part.len(), bits))).ceil();
    out.push(error.min(top) as i64);
    Sent {
        saturated: error > top,
        clipped: most > top,
        large: most > (LARGE * top).max(FEW),
        finite: true,
    }
}

/// Sums of several entries run side by side, the same on every processor.
const LANES: usize = 8;

/// Writes the integers of a difference; returns the largest of them before clipping, and the square
/// of the norm of the remaining error in units.
struct Differences<'a> {
    part: &'a [f64],
    known: &'a mut [f64],
    scale: f64,
    top: f64,
    out: &'a mut [i64],
}

impl WithSimd for Differences<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> (f64, f64) {
        let (scale, inverse, top) = (self.scale, 1.0 / self.scale, self.top);
        let (mut most, mut error) = ([0.0_f64; LANES], [0.0; LANES]);
        let parts = self.part.chunks(LANES).zip(self.known.chunks_mut(LANES));
        for ((part, known), out) in parts.zip(self.out.chunks_mut(LANES)) {
            for i in 0..part.len() {
                let exact = (part[i] - known[i]) * inverse;
                let rounded = round(exact.clamp(-MOST, MOST));
                let sent = rounded.clamp(-top, top);
                most[i] = most[i].max(rounded.abs());
                known[i] += sent * scale;
                let left = exact - sent;
                error[i] += left * left;
                out[i] = sent as i64;
            }
        }
        let most = most.into_iter().fold(0.0, f64::max);
        (most, error.into_iter().sum())
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
                let mut sent = Vec::new();
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
}
