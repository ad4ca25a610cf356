//! Integers that agents sum exactly, in any order and modulo a power of two.
//!
//! A message is a list of sections. Each section has a width in bits, in which its sum over all
//! agents fits. Sums are modulo 2^width, so that masks which cancel in the total leave it
//! unchanged.

use rayon::prelude::*;

/// The largest width of a section in bits.
pub const MAX_WIDTH: u32 = 64;

/// Integers that one thread sums over all agents: 32 KB, which stay in the first cache.
const SUMMED: usize = 4096;

/// Consecutive integers of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Section {
    width: u32,
    count: usize,
}

/// Integers in sections of stated widths.
///
/// ```
/// use dictmesh::strategy::Integers;
/// let mut total = Integers::default();
/// total.push(5, [3, -4]);
/// let mut other = total.clone();
/// other.add(&total);
/// assert_eq!(other.values(), [6, -8]);
/// let packed = other.pack();
/// assert_eq!(packed.len(), 2); // 10 bits
/// assert_eq!(total.unpack(&packed), Some(other));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Integers {
    sections: Vec<Section>,
    values: Vec<i64>,
}

/// The number of bits that hold the sum over `agents` agents of signed integers of `bits` bits.
pub fn width_of_sum(bits: u32, agents: usize) -> u32 {
    let carry = usize::BITS - agents.saturating_sub(1).leading_zeros();
    (bits + carry).min(MAX_WIDTH)
}

/// The value modulo 2^width, as a signed integer of that width.
fn wrap(value: i64, width: u32) -> i64 {
    let unused = MAX_WIDTH - width;
    (value << unused) >> unused
}

impl Integers {
    /// Removes all sections and keeps the memory.
    pub fn clear(&mut self) {
        self.sections.clear();
        self.values.clear();
    }

    /// Appends a section whose sum over all agents fits in `width` bits (1 to 64).
    pub fn push(&mut self, width: u32, values: impl IntoIterator<Item = i64>) {
        let (width, before) = (width.clamp(1, MAX_WIDTH), self.values.len());
        self.values
            .extend(values.into_iter().map(|value| wrap(value, width)));
        let count = self.values.len() - before;
        self.sections.push(Section { width, count });
    }

    /// Changes the layout to these sections (width, count) and returns the integers, which are
    /// unspecified. All must be written, each within its width.
    pub fn lay_out(&mut self, sections: impl Iterator<Item = (u32, usize)>) -> &mut [i64] {
        self.sections.clear();
        let sections = sections.map(|(width, count)| Section {
            width: width.clamp(1, MAX_WIDTH),
            count,
        });
        self.sections.extend(sections);
        let count = self.sections.iter().map(|section| section.count).sum();
        self.values.resize(count, 0);
        &mut self.values
    }

    /// The integers of all sections in order.
    pub fn values(&self) -> &[i64] {
        &self.values
    }

    /// Adds integers of the same layout, modulo 2^width. Returns `false`, and adds nothing, if the
    /// layouts differ.
    pub fn add(&mut self, other: &Integers) -> bool {
        if self.sections != other.sections {
            return false;
        }
        self.combine(&other.values, i64::wrapping_add);
        true
    }

    /// Becomes the sum of integers of the same layout, which is the same in any order. Returns
    /// `false` if the layouts differ.
    pub fn sum(&mut self, parts: &[&Integers], parallel: bool) -> bool {
        self.clear();
        let Some(first) = parts.first() else {
            return true;
        };
        if parts.iter().any(|part| part.sections != first.sections) {
            return false;
        }
        self.sections.clone_from(&first.sections);
        self.values.resize(first.values.len(), 0);
        let add = |(i, total): (usize, &mut [i64])| {
            for part in parts {
                let values = &part.values[i * SUMMED..];
                for (total, value) in total.iter_mut().zip(values) {
                    *total = total.wrapping_add(*value);
                }
            }
        };
        match parallel {
            true => (self.values.par_chunks_mut(SUMMED).enumerate()).for_each(add),
            false => (self.values.chunks_mut(SUMMED).enumerate()).for_each(add),
        }
        self.wrap();
        true
    }

    /// Reduces all values modulo 2^width of their section.
    fn wrap(&mut self) {
        let mut rest = &mut self.values[..];
        for section in &self.sections {
            let (own, after) = rest.split_at_mut(section.count);
            own.iter_mut().for_each(|v| *v = wrap(*v, section.width));
            rest = after;
        }
    }

    /// Adds a mask to every integer, or subtracts it: `next(width)` returns the mask of each one in
    /// order. A pair of agents that add and subtract the same masks leaves the total unchanged.
    pub fn mask(&mut self, adds: bool, mut next: impl FnMut(u32) -> u64) {
        let widths = (self.sections.iter()).flat_map(|s| std::iter::repeat_n(s.width, s.count));
        let masks: Vec<i64> = widths.map(|width| next(width) as i64).collect();
        match adds {
            true => self.combine(&masks, i64::wrapping_add),
            false => self.combine(&masks, i64::wrapping_sub),
        }
    }

    #[inline]
    fn combine(&mut self, other: &[i64], operation: impl Fn(i64, i64) -> i64) {
        let mut from = 0;
        for section in &self.sections {
            let range = from..from + section.count;
            let values = self.values[range.clone()].iter_mut();
            for (value, other) in values.zip(&other[range]) {
                *value = wrap(operation(*value, *other), section.width);
            }
            from += section.count;
        }
    }

    /// The number of bytes that [`pack`](Integers::pack) returns.
    pub fn bytes(&self) -> usize {
        let bits = |section: &Section| section.width as usize * section.count;
        self.sections.iter().map(bits).sum::<usize>().div_ceil(8)
    }

    /// The integers as a bit string, the lowest bits first.
    pub fn pack(&self) -> Vec<u8> {
        let mut out = Bits::with_capacity(self.bytes());
        let mut values = self.values.iter();
        for section in &self.sections {
            for value in values.by_ref().take(section.count) {
                out.push(section.width, *value as u64);
            }
        }
        out.finish()
    }

    /// Integers of this layout from the bytes of [`pack`](Integers::pack); `None` if their number
    /// does not fit or an unused bit is set.
    pub fn unpack(&self, bytes: &[u8]) -> Option<Integers> {
        if bytes.len() != self.bytes() {
            return None;
        }
        let mut bits = BitReader::new(bytes);
        let mut values = Vec::with_capacity(self.values.len());
        for section in &self.sections {
            for _ in 0..section.count {
                values.push(wrap(bits.take(section.width)? as i64, section.width));
            }
        }
        bits.is_finished().then_some(Integers {
            sections: self.sections.clone(),
            values,
        })
    }
}

/// A bit string that is written, the lowest bits of each number first.
#[derive(Debug, Default)]
pub struct Bits {
    bytes: Vec<u8>,
    buffer: u128,
    filled: u32,
}

impl Bits {
    /// An empty string with memory for this number of bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Bits {
            bytes: Vec::with_capacity(bytes),
            ..Bits::default()
        }
    }

    /// Appends the lowest `width` bits of a number.
    pub fn push(&mut self, width: u32, value: u64) {
        let value = value & (u64::MAX >> (u64::BITS - width));
        self.buffer |= u128::from(value) << self.filled;
        self.filled += width;
        while self.filled >= 8 {
            self.bytes.push(self.buffer as u8);
            self.buffer >>= 8;
            self.filled -= 8;
        }
    }

    /// The bytes, the last one filled up with zeros.
    pub fn finish(mut self) -> Vec<u8> {
        if self.filled > 0 {
            self.bytes.push(self.buffer as u8);
        }
        self.bytes
    }
}

/// A bit string that is read.
#[derive(Debug)]
pub struct BitReader<'a> {
    bytes: std::slice::Iter<'a, u8>,
    buffer: u128,
    filled: u32,
}

impl<'a> BitReader<'a> {
    /// From the first bit of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        BitReader {
            bytes: bytes.iter(),
            buffer: 0,
            filled: 0,
        }
    }

    /// The next `width` bits (1 to 64); `None` if there are fewer.
    #[inline]
    pub fn take(&mut self, width: u32) -> Option<u64> {
        if self.filled < width {
            if let Some((eight, rest)) = self.bytes.as_slice().split_first_chunk::<8>() {
                self.buffer |= u128::from(u64::from_le_bytes(*eight)) << self.filled;
                self.filled += u64::BITS;
                self.bytes = rest.iter();
            }
        }
        while self.filled < width {
            self.buffer |= u128::from(*self.bytes.next()?) << self.filled;
            self.filled += 8;
        }
        let value = self.buffer as u64 & (u64::MAX >> (u64::BITS - width));
        self.buffer >>= width;
        self.filled -= width;
        Some(value)
    }

    /// As [`take`](BitReader::take), for a signed number.
    #[inline]
    pub fn take_signed(&mut self, width: u32) -> Option<i64> {
        Some(wrap(self.take(width)? as i64, width))
    }

    /// Whether only the zeros of the last byte are left.
    pub fn is_finished(&self) -> bool {
        self.bytes.as_slice().is_empty() && self.filled < 8 && self.buffer == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_survives_packing() {
        for width in 1..=MAX_WIDTH {
            let (low, high) = (
                wrap(1 << (width - 1), width),
                wrap(!(1 << (width - 1)), width),
            );
            let mut sent = Integers::default();
            sent.push(width, [low, high, 0, -1, low]);
            sent.push(3, [1, -2]);
            let packed = sent.pack();
            assert_eq!(packed.len(), sent.bytes());
            assert_eq!(sent.unpack(&packed), Some(sent.clone()), "{width} bits");
            assert_eq!(sent.unpack(&packed[1..]), None);
            let mut longer = packed.clone();
            longer.push(0);
            assert_eq!(sent.unpack(&longer), None);
        }
        let mut five = Integers::default();
        five.push(5, [1]);
        assert_eq!(five.unpack(&[0b1110_0000]), None, "unused bits are set");
    }

    #[test]
    fn integers_that_are_written_equal_those_that_are_pushed() {
        let (mut written, mut pushed) = (Integers::default(), Integers::default());
        written.push(3, [1; 9]);
        let values = written.lay_out([(9, 2), (4, 1)].into_iter());
        values.copy_from_slice(&[0, -5, 7]);
        pushed.push(9, [0, -5]);
        pushed.push(4, [7]);
        assert_eq!(written, pushed);
    }

    #[test]
    fn sums_of_extreme_integers_fit_in_their_width() {
        for agents in [1, 2, 3, 4, 5, 64, 65, 2000] {
            for bits in [4, 8, 16, 32] {
                let width = width_of_sum(bits, agents);
                for extreme in [-(1_i64 << (bits - 1)), (1 << (bits - 1)) - 1] {
                    let mut part = Integers::default();
                    part.push(width, [extreme]);
                    let mut total = part.clone();
                    (1..agents).for_each(|_| assert!(total.add(&part)));
                    assert_eq!(total.values(), [extreme * agents as i64]);
                }
            }
        }
    }

    #[test]
    fn masks_of_a_pair_cancel_in_the_total() {
        let layout = |values: [i64; 3]| {
            let mut integers = Integers::default();
            integers.push(14, values);
            integers.push(64, values);
            integers
        };
        let (mut one, mut other) = (layout([5, -70, 8]), layout([-3, 900, 0]));
        let mut expected = one.clone();
        expected.add(&other);
        let stream = || {
            let mut state = 7_u64;
            move |_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
                state
            }
        };
        one.mask(true, stream());
        other.mask(false, stream());
        assert_ne!(one, layout([5, -70, 8]));
        assert!(one.add(&other));
        assert_eq!(one, expected);
        let mut short = Integers::default();
        short.push(14, [1, 2, 3]);
        assert!(!one.add(&short));
    }
}
