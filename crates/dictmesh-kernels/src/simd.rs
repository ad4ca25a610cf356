//! Innermost loops, compiled for each SIMD instruction set. The CPU's is selected at run time.

use crate::work::count;
pub use pulp::{Simd, WithSimd};

/// Runs `work` as compiled for the instruction set of this CPU.
#[inline]
pub fn dispatch<W: WithSimd>(work: W) -> W::Output {
    pulp::Arch::new().dispatch(work)
}

/// Lanes of the widest register: columns of a multiple of this length have no remainder.
const LANES: usize = 8;

/// `n` rounded up to a multiple of the widest register's lanes.
#[inline(always)]
pub fn padded(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

/// `out += a x`.
#[inline(always)]
pub fn add<S: Simd>(simd: S, a: f64, x: &[f64], out: &mut [f64]) {
    count(x.len());
    let (x, x_rest) = S::as_simd_f64s(x);
    let (out, out_rest) = S::as_mut_simd_f64s(out);
    let all = simd.splat_f64s(a);
    for (out, x) in out.iter_mut().zip(x) {
        *out = simd.mul_add_e_f64s(all, *x, *out);
    }
    // The remainder is fused too: no result depends on the position of an entry in the column.
    if !out_rest.is_empty() {
        let rest = simd.partial_load_f64s(out_rest);
        let sum = simd.mul_add_e_f64s(all, simd.partial_load_f64s(x_rest), rest);
        simd.partial_store_f64s(out_rest, sum);
    }
}

/// `out += sum_j a_j x_j` over the pairs (a_j, x_j), or `out = sum_j a_j x_j` if `anew`.
#[inline(always)]
pub fn add_all<'x, S: Simd>(
    simd: S,
    anew: bool,
    pairs: impl Iterator<Item = (f64, &'x [f64])> + Clone,
    out: &mut [f64],
) {
    // A tile of rows stays in registers while the loop runs over the columns.
    let mut from = 0;
    while from < out.len() {
        from = match (out.len() - from) / S::F64_LANES {
            8.. => add_rows::<S, 8>(simd, anew, pairs.clone(), from, out),
            4.. => add_rows::<S, 4>(simd, anew, pairs.clone(), from, out),
            2.. => add_rows::<S, 2>(simd, anew, pairs.clone(), from, out),
            1 => add_rows::<S, 1>(simd, anew, pairs.clone(), from, out),
            _ => {
                let mut sum = match anew {
                    true => simd.splat_f64s(0.0),
                    false => simd.partial_load_f64s(&out[from..]),
                };
                for (a, x) in pairs.clone() {
                    count(out.len() - from);
                    let x = simd.partial_load_f64s(&x[from..]);
                    sum = simd.mul_add_e_f64s(simd.splat_f64s(a), x, sum);
                }
                simd.partial_store_f64s(&mut out[from..], sum);
                out.len()
            }
        };
    }
}

/// [`add_all`] for V vectors of rows; returns the row after them.
#[inline(always)]
fn add_rows<'x, S: Simd, const V: usize>(
    simd: S,
    anew: bool,
    pairs: impl Iterator<Item = (f64, &'x [f64])>,
    from: usize,
    out: &mut [f64],
) -> usize {
    let to = from + V * S::F64_LANES;
    let (out, _) = S::as_mut_simd_f64s(&mut out[from..to]);
    let mut sums = [simd.splat_f64s(0.0); V];
    if !anew {
        // Element-wise, here and below: a slice copy is a call, which would spill all sums.
        for (sum, out) in sums.iter_mut().zip(&*out) {
            *sum = *out;
        }
    }
    for (a, x) in pairs {
        count(to - from);
        let a = simd.splat_f64s(a);
        let (x, _) = S::as_simd_f64s(&x[from..to]);
        for i in 0..V {
            sums[i] = simd.mul_add_e_f64s(a, x[i], sums[i]);
        }
    }
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = sum;
    }
    to
}

/// a'x.
#[inline(always)]
pub fn dot<S: Simd>(simd: S, a: &[f64], x: &[f64]) -> f64 {
    sum_over(simd, a, x, |a, x, sum| simd.mul_add_e_f64s(a, x, sum))
}

/// a'x and a'y, bit-identical to [`dot`]; a is loaded once.
#[inline(always)]
pub fn two_dots<S: Simd>(simd: S, a: &[f64], x: &[f64], y: &[f64]) -> (f64, f64) {
    let n = a.len().min(x.len()).min(y.len());
    count(2 * n);
    let (a, a_rest) = S::as_simd_f64s(&a[..n]);
    let (x, x_rest) = S::as_simd_f64s(&x[..n]);
    let (y, y_rest) = S::as_simd_f64s(&y[..n]);
    let mut sums = [[simd.splat_f64s(0.0); 2]; SUMS];
    let whole = a.len() / SUMS * SUMS;
    let tiles = a[..whole].chunks_exact(SUMS).zip(x.chunks_exact(SUMS));
    for ((a, x), y) in tiles.zip(y.chunks_exact(SUMS)) {
        for i in 0..SUMS {
            sums[i][0] = simd.mul_add_e_f64s(a[i], x[i], sums[i][0]);
            sums[i][1] = simd.mul_add_e_f64s(a[i], y[i], sums[i][1]);
        }
    }
    for ((a, x), y) in a[whole..].iter().zip(&x[whole..]).zip(&y[whole..]) {
        sums[0][0] = simd.mul_add_e_f64s(*a, *x, sums[0][0]);
        sums[0][1] = simd.mul_add_e_f64s(*a, *y, sums[0][1]);
    }
    if !a_rest.is_empty() {
        let a = simd.partial_load_f64s(a_rest);
        sums[1][0] = simd.mul_add_e_f64s(a, simd.partial_load_f64s(x_rest), sums[1][0]);
        sums[1][1] = simd.mul_add_e_f64s(a, simd.partial_load_f64s(y_rest), sums[1][1]);
    }
    let total = |k: usize| {
        let (low, high) = (
            simd.add_f64s(sums[0][k], sums[1][k]),
            simd.add_f64s(sums[2][k], sums[3][k]),
        );
        simd.reduce_sum_f64s(simd.add_f64s(low, high))
    };
    (total(0), total(1))
}

/// |a - scale x|^2.
#[inline(always)]
pub fn distance_squared<S: Simd>(simd: S, a: &[f64], scale: f64, x: &[f64]) -> f64 {
    let scale = simd.splat_f64s(scale);
    sum_over(simd, a, x, |a, x, sum| {
        let apart = simd.negate_mul_add_e_f64s(scale, x, a);
        simd.mul_add_e_f64s(apart, apart, sum)
    })
}

/// Several accumulators hide the latency of dependent additions.
const SUMS: usize = 4;

/// Sums over the pairs up to the end of the shorter slice. `more(a, x, sum)` adds the term of a
/// pair; it must add 0 for two zeros.
#[inline(always)]
fn sum_over<S: Simd>(
    simd: S,
    a: &[f64],
    x: &[f64],
    more: impl Fn(S::f64s, S::f64s, S::f64s) -> S::f64s,
) -> f64 {
    let n = a.len().min(x.len());
    count(n);
    let (a, a_rest) = S::as_simd_f64s(&a[..n]);
    let (x, x_rest) = S::as_simd_f64s(&x[..n]);
    let mut sums = [simd.splat_f64s(0.0); SUMS];
    let whole = a.len() / SUMS * SUMS;
    for (a, x) in a[..whole].chunks_exact(SUMS).zip(x.chunks_exact(SUMS)) {
        for i in 0..SUMS {
            sums[i] = more(a[i], x[i], sums[i]);
        }
    }
    for (a, x) in a[whole..].iter().zip(&x[whole..]) {
        sums[0] = more(*a, *x, sums[0]);
    }
    if !a_rest.is_empty() {
        let (a, x) = (
            simd.partial_load_f64s(a_rest),
            simd.partial_load_f64s(x_rest),
        );
        sums[1] = more(a, x, sums[1]);
    }
    let [a, b, c, d] = sums;
    simd.reduce_sum_f64s(simd.add_f64s(simd.add_f64s(a, b), simd.add_f64s(c, d)))
}

/// A vector that starts on a cache line, so that vector loads do not cross two.
#[derive(Debug)]
pub struct CacheAligned<T> {
    numbers: Vec<T>,
    begin: usize,
}

impl<T: Copy> CacheAligned<T> {
    /// At least `n` elements, all equal to `value`.
    pub fn new(n: usize, value: T) -> Self {
        const LINE: usize = 64;
        // The next cache line must be a whole number of T away. With 64 bytes and an alignment of 8
        // it may not be, and all loads would cross two lines. (32-bit x86 aligns doubles to 4
        // bytes, so there loads may cross.)
        const {
            let aligned = size_of::<T>() == align_of::<T>() || cfg!(target_arch = "x86");
            assert!(aligned && size_of::<T>() <= LINE);
        };
        let room = LINE / size_of::<T>();
        let numbers = vec![value; n + room];
        let begin = numbers.as_ptr().align_offset(LINE).min(room);
        CacheAligned { numbers, begin }
    }
}

impl<T> std::ops::Deref for CacheAligned<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.numbers[self.begin..]
    }
}

impl<T> std::ops::DerefMut for CacheAligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.numbers[self.begin..]
    }
}

/// The lanes set in `mask`, as bits.
#[inline(always)]
pub fn bits<S: Simd>(mask: S::m32s) -> u64 {
    use pulp::bytemuck::{cast, cast_slice};
    if const { size_of::<S::m32s>() == size_of::<u16>() } {
        return cast::<_, u16>(mask).into();
    }
    if const { size_of::<S::m32s>() == size_of::<u8>() } {
        return cast::<_, u8>(mask).into(); // one lane
    }
    let lanes: S::u32s = cast(mask);
    (cast_slice::<_, u32>(&[lanes]).iter().enumerate())
        .fold(0, |bits, (i, lane)| bits | u64::from(lane & 1) << i)
}

#[cfg(test)]
mod tests {
    use super::CacheAligned;

    #[test]
    fn aligned_numbers_begin_with_a_cache_line() {
        let at = |begin: *const u8| begin.addr() % 64;
        // Several at once, so that the allocator returns different offsets.
        let doubles: Vec<_> = (1..40).map(|n| CacheAligned::new(n, 0.0f64)).collect();
        let singles: Vec<_> = (1..40).map(|n| CacheAligned::new(n, 0.0f32)).collect();
        assert!(doubles
            .iter()
            .all(|aligned| at(aligned.as_ptr().cast()) == 0));
        assert!(singles
            .iter()
            .all(|aligned| at(aligned.as_ptr().cast()) == 0));
        assert!((1..40)
            .zip(doubles.iter().zip(&singles))
            .all(|(n, (d, s))| d.len() >= n && s.len() >= n));
    }
}
