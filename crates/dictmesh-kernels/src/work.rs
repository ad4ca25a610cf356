//! Counted work, for tests and benches: times differ from machine to machine, multiply-adds do not.
//!
//! With the feature `count-work` every product of the library adds its multiply-adds to one number, which
//! [`multiply_adds`] reads, and [`Allocator`] counts what is allocated. Without it, which is how everybody
//! else builds it, nothing of this exists and counting costs nothing.
//!
//! What counts: products of matrices and vectors, sums of scaled vectors, sweeps over the active set,
//! factorisations and eigenvalues (the last two by formula). What does not: copies, comparisons, and work
//! on single numbers such as soft thresholds and the steps of a strategy.

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

/// Adds to the count.
#[inline(always)]
pub fn count(multiply_adds: usize) {
    #[cfg(feature = "count-work")]
    MULTIPLY_ADDS.fetch_add(multiply_adds as u64, std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(feature = "count-work"))]
    let _ = multiply_adds;
}

/// Of a Cholesky factor of side n.
#[inline(always)]
pub fn cholesky(n: usize) -> usize {
    n * n * n / 6
}

/// Of the eigenvalues of a symmetric matrix of side n, as textbooks have it.
#[inline(always)]
pub fn eigenvalues(n: usize) -> usize {
    2 * n * n * n / 3
}
