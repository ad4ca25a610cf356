//! Arithmetic of the innermost loops, in whatever vector registers the CPU at hand has: they are
//! compiled for each kind, and one is chosen at run time.

pub(crate) use pulp::{Simd, WithSimd};

/// Runs `work` compiled for this CPU.
pub(crate) fn dispatch<W: WithSimd>(work: W) -> W::Output {
    pulp::Arch::new().dispatch(work)
}

/// Columns whose length is a multiple of this need no rest treated one by one, on any CPU.
pub(crate) const LANES: usize = 8;

/// `out -= a x`.
#[inline(always)]
pub(crate) fn subtract<S: Simd>(simd: S, a: f64, x: &[f64], out: &mut [f64]) {
    let (x, x_rest) = S::as_simd_f64s(x);
    let (out, out_rest) = S::as_mut_simd_f64s(out);
    let minus = simd.splat_f64s(-a);
    for (out, x) in out.iter_mut().zip(x) {
        *out = simd.mul_add_e_f64s(minus, *x, *out);
    }
    for (out, x) in out_rest.iter_mut().zip(x_rest) {
        *out -= a * x;
    }
}

/// `out = b - sum of a_j x_j` over the pairs (a_j, x_j).
#[inline(always)]
pub(crate) fn difference<'x, S: Simd>(
    simd: S,
    b: &[f64],
    pairs: impl Iterator<Item = (f64, &'x [f64])> + Clone,
    out: &mut [f64],
) {
    const WIDE: usize = 8;
    let n = out.len();
    // Some rows at a time: they stay in registers while the columns pass by.
    let step = WIDE * S::F64_LANES;
    let mut from = 0;
    while from + step <= n {
        let mut sums = [simd.splat_f64s(0.0); WIDE];
        let (b, _) = S::as_simd_f64s(&b[from..from + step]);
        sums.copy_from_slice(b);
        for (a, x) in pairs.clone() {
            let minus = simd.splat_f64s(-a);
            let (x, _) = S::as_simd_f64s(&x[from..from + step]);
            for i in 0..WIDE {
                sums[i] = simd.mul_add_e_f64s(minus, x[i], sums[i]);
            }
        }
        S::as_mut_simd_f64s(&mut out[from..from + step])
            .0
            .copy_from_slice(&sums);
        from += step;
    }
    out[from..].copy_from_slice(&b[from..]);
    for (a, x) in pairs {
        subtract(simd, a, &x[from..], &mut out[from..]);
    }
}

/// a'x.
#[inline(always)]
pub(crate) fn dot<S: Simd>(simd: S, a: &[f64], x: &[f64]) -> f64 {
    let (a, a_rest) = S::as_simd_f64s(a);
    let (x, x_rest) = S::as_simd_f64s(x);
    let mut sum = simd.splat_f64s(0.0);
    for (a, x) in a.iter().zip(x) {
        sum = simd.mul_add_e_f64s(*a, *x, sum);
    }
    let rest: f64 = a_rest.iter().zip(x_rest).map(|(a, x)| a * x).sum();
    simd.reduce_sum_f64s(sum) + rest
}
