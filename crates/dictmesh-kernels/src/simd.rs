//! Arithmetic of the innermost loops, compiled for each kind of vector registers. The kind that the CPU has is
//! chosen at run time.

use crate::work::count;
pub use pulp::{Simd, WithSimd};

/// Runs `work` compiled for this CPU.
#[inline]
pub fn dispatch<W: WithSimd>(work: W) -> W::Output {
    pulp::Arch::new().dispatch(work)
}

/// Columns whose length is a multiple of this have no remainder, on any CPU.
const LANES: usize = 8;

/// The length of a column with room for `n` numbers.
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
    // The rest is computed alike, so that no result depends on where in a column it stands.
    if !out_rest.is_empty() {
        let rest = simd.partial_load_f64s(out_rest);
        let sum = simd.mul_add_e_f64s(all, simd.partial_load_f64s(x_rest), rest);
        simd.partial_store_f64s(out_rest, sum);
    }
}

/// `out += sum of a_j x_j` over the pairs (a_j, x_j), or `out =` it if it begins `anew`.
#[inline(always)]
pub fn add_all<'x, S: Simd>(
    simd: S,
    anew: bool,
    pairs: impl Iterator<Item = (f64, &'x [f64])> + Clone,
    out: &mut [f64],
) {
    // Some rows at a time: they stay in registers while the columns pass by.
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

/// The same for V vectors of rows; returns the row after them.
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
        // One by one here and below: a copy of a slice is a call, for which all sums leave their registers.
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

/// |a - scale x|^2.
#[inline(always)]
pub fn distance_squared<S: Simd>(simd: S, a: &[f64], scale: f64, x: &[f64]) -> f64 {
    let scale = simd.splat_f64s(scale);
    sum_over(simd, a, x, |a, x, sum| {
        let apart = simd.negate_mul_add_e_f64s(scale, x, a);
        simd.mul_add_e_f64s(apart, apart, sum)
    })
}

/// The sum of what `more` adds for each pair, up to the end of the shorter; it must add nothing for two zeros.
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
    // Several sums: each waits for its last step.
    const SUMS: usize = 4;
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

/// Numbers that begin with a cache line: a read across two lines takes twice as long.
#[derive(Debug)]
pub struct CacheAligned<T> {
    numbers: Vec<T>,
    begin: usize,
}

impl<T: Copy> CacheAligned<T> {
    /// `n` times `value`.
    pub fn new(n: usize, value: T) -> Self {
        const LINE: usize = 64;
        // From where the allocator begins, whole T must lead to the next line: for one of 64 bytes with the alignment of
        // 8 none may, and all reads would lie across two.
        // (On 32-bit x86 doubles are aligned as halves of them, and may lie across.)
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

/// The lanes in which `mask` holds, as bits.
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
    fn lined_numbers_begin_with_a_cache_line() {
        let at = |begin: *const u8| begin.addr() % 64;
        // Several at once, so that the allocator gives different places.
        let doubles: Vec<_> = (1..40).map(|n| CacheAligned::new(n, 0.0f64)).collect();
        let singles: Vec<_> = (1..40).map(|n| CacheAligned::new(n, 0.0f32)).collect();
        assert!(doubles.iter().all(|lined| at(lined.as_ptr().cast()) == 0));
        assert!(singles.iter().all(|lined| at(lined.as_ptr().cast()) == 0));
        assert!((1..40)
            .zip(doubles.iter().zip(&singles))
            .all(|(n, (d, s))| d.len() >= n && s.len() >= n));
    }
}
