//! Arrays as rounded differences to what the receivers hold.
//!
//! Both ends of a link hold the same array `known`, 0 at first. A message has for each sample a
//! unit, which is a power of two, and one integer of `bits` bits per entry:
//!
//! ```text
//! q      = round((psi - known) / unit)     the unit is the smallest for which no entry clips
//! known <- known + unit q                  at the sender and at every receiver
//! ```
//!
//! The rounding error psi - known remains at the sender and is part of the next difference. A warm
//! start sends its first array in full, as doubles.
//!
//! | bytes of a sample | content |
//! |---|---|
//! | 2 | the exponent of the unit, little-endian |
//! | ceil(bits M / 8) | the integers in two's complement, the lowest bits first, then zeros |

use super::integers::{BitReader, Bits};
use dictmesh_kernels::simd::{dispatch, Simd, WithSimd};
use std::ops::RangeInclusive;

/// The largest entry, 2^1020. Larger ones might become infinite at a receiver by rounding.
const LIMIT: f64 = f64::MAX / 16.0;
/// Exponents of units. Units are normal numbers, and so are their reciprocals.
const EXPONENTS: RangeInclusive<i16> = -1022..=1020;
/// Bytes of an exponent.
const EXPONENT_BYTES: usize = 2;

/// The message of one agent, with the array that its receivers hold after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    bits: u32,
    rows: usize,
    /// The exponent of the unit of each sample.
    exponents: Vec<i16>,
    /// In units, M x B by columns.
    integers: Vec<i16>,
    known: Vec<f64>,
    is_finite: bool,
    /// Whether the message has the known array itself.
    is_full: bool,
}

impl Differences {
    /// No difference, to arrays of 0. `bits` is 2 to 16.
    pub fn new(bits: u32, rows: usize, samples: usize) -> Self {
        Differences {
            bits: bits.clamp(2, i16::BITS),
            rows,
            exponents: vec![0; samples],
            integers: vec![0; rows * samples],
            known: vec![0.0; rows * samples],
            is_finite: true,
            is_full: false,
        }
    }

    /// The array that the receivers of all messages so far hold, M x B by columns.
    pub fn known(&self) -> &[f64] {
        &self.known
    }

    /// Whether all entries are finite and at most 2^1020. Otherwise the message cannot be sent.
    pub fn is_finite(&self) -> bool {
        self.is_finite
    }

    /// Replaces the message by the differences of `array` (M x B) to the known array, which then
    /// includes them. A sample that [is not finite](Differences::is_finite) becomes known as it is,
    /// so that agents in the same process see it diverge.
    pub fn set(&mut self, array: &[f64]) {
        (self.is_finite, self.is_full) = (true, false);
        let samples = self.exponents.iter_mut().enumerate();
        for (j, exponent) in samples {
            let range = j * self.rows..(j + 1) * self.rows;
            let (array, known) = (&array[range.clone()], &mut self.known[range.clone()]);
            let largest = dispatch(Largest { array, known });
            if largest.is_nan() {
                known.copy_from_slice(array);
                self.is_finite = false;
                continue;
            }
            *exponent = smallest_exponent(largest, self.bits);
            dispatch(Round {
                unit: power_of_two(*exponent),
                per_unit: power_of_two(-*exponent),
                array,
                known,
                integers: &mut self.integers[range],
            });
        }
    }

    /// Replaces the message and the known array by `array` itself.
    pub fn set_in_full(&mut self, array: &[f64]) {
        self.known.copy_from_slice(array);
        self.is_finite = array.iter().all(is_allowed);
        self.is_full = true;
    }

    /// The number of bytes of the message.
    pub fn bytes(&self) -> usize {
        match self.is_full {
            true => size_of::<f64>() * self.known.len(),
            false => self.exponents.len() * (EXPONENT_BYTES + self.bytes_of_integers()),
        }
    }

    fn bytes_of_integers(&self) -> usize {
        (self.bits as usize * self.rows).div_ceil(8)
    }

    /// Appends the message to `out`.
    pub fn pack(&self, out: &mut Vec<u8>) {
        if self.is_full {
            return out.extend(self.known.iter().flat_map(|v| v.to_le_bytes()));
        }
        for (j, exponent) in self.exponents.iter().enumerate() {
            out.extend_from_slice(&exponent.to_le_bytes());
            let mut bits = Bits::with_capacity(self.bytes_of_integers());
            for q in &self.integers[j * self.rows..(j + 1) * self.rows] {
                bits.push(self.bits, *q as u64);
            }
            out.extend_from_slice(&bits.finish());
        }
    }

    /// Adds a message of the same layout to `known`, the array of its sender, or replaces it.
    ///
    /// # Errors
    ///
    /// The reason, if the length, an exponent or an unused bit is wrong, or if the array is not
    /// finite after it. The array is then of no use.
    pub fn add_to(&self, known: &mut [f64], message: &[u8]) -> Result<(), String> {
        let (given, expected) = (message.len(), self.bytes());
        if given != expected || known.len() != self.known.len() {
            return Err(format!(
                "it sent {given} bytes for differences, but {} samples of {} rows and {} bits have \
                 {expected}",
                self.exponents.len(),
                self.rows,
                self.bits
            ));
        }
        if self.is_full {
            let numbers = message.as_chunks().0.iter().map(|v| f64::from_le_bytes(*v));
            known.iter_mut().zip(numbers).for_each(|(k, v)| *k = v);
            return match known.iter().find(|v| !is_allowed(v)) {
                None => Ok(()),
                Some(bad) => Err(format!(
                    "it sent {bad:e}, but numbers are at most {LIMIT:e}"
                )),
            };
        }
        let samples = message.chunks_exact(EXPONENT_BYTES + self.bytes_of_integers());
        for (j, sample) in samples.enumerate() {
            let (exponent, integers) = sample.split_at(EXPONENT_BYTES);
            let exponent = i16::from_le_bytes([exponent[0], exponent[1]]);
            if !EXPONENTS.contains(&exponent) {
                let (least, most) = (EXPONENTS.start(), EXPONENTS.end());
                return Err(format!(
                    "it sent 2^{exponent} as the unit of sample {j}, but units are 2^{least} to \
                     2^{most}"
                ));
            }
            let unit = power_of_two(exponent);
            let mut bits = BitReader::new(integers);
            let mut is_finite = true;
            for known in &mut known[j * self.rows..(j + 1) * self.rows] {
                let q = bits.take_signed(self.bits).unwrap_or(0) as f64;
                *known += unit * q;
                is_finite &= known.is_finite();
            }
            if !bits.is_finished() {
                return Err(format!("bits behind the differences of sample {j} are set"));
            }
            if !is_finite {
                return Err(format!(
                    "with its differences in units of 2^{exponent}, its array of sample {j} \
                     overflows to infinity"
                ));
            }
        }
        Ok(())
    }
}

/// Whether an entry can be sent; not if it is NaN.
fn is_allowed(entry: &f64) -> bool {
    entry.abs() <= LIMIT
}

/// 2^exponent, for an exponent from -1022 to 1023.
fn power_of_two(exponent: i16) -> f64 {
    f64::from_bits(((1023 + i64::from(exponent)) as u64) << 52)
}

/// The smallest unit in which a difference of this size is an integer of this number of bits. A
/// difference that is not a normal number is 0.
fn smallest_exponent(largest: f64, bits: u32) -> i16 {
    if !largest.is_normal() {
        return 0;
    }
    let magnitude = ((largest.to_bits() >> 52) & 0x7ff) as i16 - 1023; // floor(log2(largest))
    let limit = f64::from((1_u32 << (bits - 1)) - 1);
    let exponent = (magnitude - (bits as i16 - 2)).max(*EXPONENTS.start());
    let clips = (largest * power_of_two(-exponent)).round_ties_even() > limit;
    exponent + i16::from(clips)
}

/// The largest |array - known|; NaN if an entry or a difference is too large or not finite.
struct Largest<'a> {
    array: &'a [f64],
    known: &'a [f64],
}

impl WithSimd for Largest<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let (mut largest, mut is_finite) = (0.0_f64, true);
        for (array, known) in self.array.iter().zip(self.known) {
            let difference = (array - known).abs();
            largest = largest.max(difference);
            // `max` drops NaN; comparisons do not.
            is_finite &= is_allowed(array) & (difference <= 2.0 * LIMIT);
        }
        match is_finite {
            true => largest,
            false => f64::NAN,
        }
    }
}

struct Round<'a> {
    unit: f64,
    /// 1/unit.
    per_unit: f64,
    array: &'a [f64],
    known: &'a mut [f64],
    integers: &'a mut [i16],
}

impl WithSimd for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let each = self.array.iter().zip(self.known).zip(self.integers);
        for ((array, known), integer) in each {
            let q = ((array - *known) * self.per_unit).round_ties_even();
            *known += self.unit * q;
            *integer = q as i16;
        }
    }
}

#[cfg(test)]
mod tests;
