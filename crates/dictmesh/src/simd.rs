//! Arithmetic of the innermost loops, in whatever vector registers the CPU at hand has: they are
//! compiled for each kind, and one is chosen at run time.

use crate::work::count;
pub(crate) use pulp::{Simd, WithSimd};

/// Runs `work` compiled for this CPU.
pub(crate) fn dispatch<W: WithSimd>(work: W) -> W::Output {
    pulp::Arch::new().dispatch(work)
}

/// Columns whose length is a multiple of this need no rest treated one by one, on any CPU.
const LANES: usize = 8;

/// The length of a column with room for `n` numbers.
#[inline(always)]
pub(crate) fn padded(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

/// `out += a x`.
#[inline(always)]
pub(crate) fn add<S: Simd>(simd: S, a: f64, x: &[f64], out: &mut [f64]) {
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

/// `out = start + sum of a_j x_j` over the pairs (a_j, x_j); no start is 0.
#[inline(always)]
pub(crate) fn combination<'x, S: Simd>(
    simd: S,
    start: Option<&[f64]>,
    pairs: impl Iterator<Item = (f64, &'x [f64])> + Clone,
    out: &mut [f64],
) {
    const WIDE: usize = 8;
    // Some rows at a time: they stay in registers while the columns pass by.
    let step = WIDE * S::F64_LANES;
    let mut from = 0;
    while from + step <= out.len() {
        let mut sums = [simd.splat_f64s(0.0); WIDE];
        if let Some(start) = start {
            sums.copy_from_slice(S::as_simd_f64s(&start[from..from + step]).0);
        }
        for (a, x) in pairs.clone() {
            count(step);
            let a = simd.splat_f64s(a);
            let (x, _) = S::as_simd_f64s(&x[from..from + step]);
            for i in 0..WIDE {
                sums[i] = simd.mul_add_e_f64s(a, x[i], sums[i]);
            }
        }
        let (out, _) = S::as_mut_simd_f64s(&mut out[from..from + step]);
        out.copy_from_slice(&sums);
        from += step;
    }
    match start {
        Some(start) => out[from..].copy_from_slice(&start[from..]),
        None => out[from..].fill(0.0),
    }
    for (a, x) in pairs {
        add(simd, a, &x[from..], &mut out[from..]);
    }
}

/// a'x.
#[inline(always)]
pub(crate) fn dot<S: Simd>(simd: S, a: &[f64], x: &[f64]) -> f64 {
    count(a.len());
    let (a, a_rest) = S::as_simd_f64s(a);
    let (x, x_rest) = S::as_simd_f64s(x);
    let mut sum = simd.splat_f64s(0.0);
    for (a, x) in a.iter().zip(x) {
        sum = simd.mul_add_e_f64s(*a, *x, sum);
    }
    if !a_rest.is_empty() {
        let (a, x) = (
            simd.partial_load_f64s(a_rest),
            simd.partial_load_f64s(x_rest),
        );
        sum = simd.mul_add_e_f64s(a, x, sum);
    }
    simd.reduce_sum_f64s(sum)
}
