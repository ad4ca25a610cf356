//! Counters of work for tests and benches: unlike times, multiply-adds are equal on all machines.
//!
//! With the feature `count-work`, every product adds its multiply-adds to one counter, read by
//! [`multiply_adds`], and [`Allocator`] counts allocations. Without it, counting has zero cost.
//!
//! Counted: products of matrices and vectors, sums of scaled vectors, sweeps over the active set,
//! factorisations and eigenvalues (the last two by formula). Not counted: copies, comparisons, and
//! scalar work such as soft thresholds and the steps of a strategy.

#[cfg(feature = "count-work")]
mod allocator;

#[cfg(feature = "count-work")]
pub use allocator::{allocations, bytes, forget_peak, peak_bytes, Allocator};

#[cfg(feature = "count-work")]
static MULTIPLY_ADDS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

/// The multiply-adds of this process so far.
#[cfg(feature = "count-work")]
pub fn multiply_adds() -> u64 {
    MULTIPLY_ADDS.load(std::sync::atomic::Ordering::Relaxed)
}

/// Adds to the counter of multiply-adds.
#[inline(always)]
pub fn count(multiply_adds: usize) {
    #[cfg(feature = "count-work")]
    MULTIPLY_ADDS.fetch_add(multiply_adds as u64, std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(feature = "count-work"))]
    let _ = multiply_adds;
}

/// Multiply-adds of a Cholesky factorisation of an n x n matrix.
#[inline(always)]
pub fn cholesky(n: usize) -> usize {
    n * n * n / 6
}

/// Multiply-adds of the eigenvalues of a symmetric n x n matrix, by the textbook formula.
#[inline(always)]
pub fn eigenvalues(n: usize) -> usize {
    2 * n * n * n / 3
}
