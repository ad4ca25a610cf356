//! Numerical kernels of dictmesh, without agents or meshes.
//!
//! | module | what it computes |
//! |---|---|
//! | [`matrix`] | dense column-major matrices, products, norms |
//! | [`atoms`] | W'v and W y for atoms in one matrix or in blocks |
//! | [`gram`] | W'W, with incremental updates for changed atoms |
//! | [`quadratic`] | min_y 1/2 y'Hy - g'y + h(y), h separable: active set, small CD, SIMD lanes |
//! | [`cholesky`] | small positive definite systems |
//! | [`products`] | nu y' for codes that are mostly 0 |
//! | [`correlate`], [`dots`] | W'V, and some entries of it, in an order that no batch changes |
//! | [`combine`] | weighted sums of vectors of equal length |
//! | [`subset_sums`] | sums over neighbours on dense graphs with one common weight |
//! | [`unit_columns`] | W'v in single precision with a bound of its error |
//!
//! The caller checks shapes: on a mismatch a kernel panics, like an index out of range, or ignores
//! what the shorter operand lacks; memory stays safe. `dictmesh` checks shapes once, at its public
//! API. No result depends on the number of threads. Results may differ in the last digits between
//! CPUs with different vector units.

pub mod atoms;
pub mod cholesky;
pub mod combine;
pub mod correlate;
pub mod dots;
pub mod gram;
pub mod loops;
pub mod matrix;
pub mod penalty;
pub mod pool;
pub mod products;
pub mod quadratic;
pub mod simd;
pub mod subset_sums;
pub mod unit_columns;
pub mod weighted_sums;
#[cfg(feature = "count-work")]
pub mod work;
#[cfg(not(feature = "count-work"))]
mod work;

pub use matrix::{Matrix, ShapeError};
pub use penalty::{Piece, ScalarPenalty};

/// Counts multiply-adds if the feature `count-work` is enabled; a no-op otherwise.
#[inline(always)]
pub fn count(multiply_adds: usize) {
    work::count(multiply_adds);
}

#[cfg(test)]
mod test_data {
    use crate::Matrix;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    pub fn stream(seed: u64, stream: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        rng
    }

    pub fn gaussian(rows: usize, cols: usize, rng: &mut ChaCha8Rng) -> Matrix {
        Matrix::from_fn(rows, cols, |_, _| StandardNormal.sample(rng))
    }
}
