//! Arithmetic without agents: what dictmesh computes with, and nothing about meshes.
//!
//! | module | what it computes |
//! |---|---|
//! | [`matrix`] | dense column-major matrices, products, norms |
//! | [`atoms`] | W'v and W y for atoms in one matrix or in blocks |
//! | [`gram`] | W'W, renewed for the atoms that changed |
//! | [`quadratic`] | min_y 1/2 y'Hy - g'y + h(y) for separable h: active set, small problems, SIMD lanes |
//! | [`cholesky`] | small positive definite systems |
//! | [`products`] | nu y' for codes that are mostly 0 |
//! | [`combine`] | weighted sums of equally long vectors |
//! | [`subset_sums`] | sums over neighbours on dense graphs with one common weight |
//!
//! Functions take slices and views whose shapes the caller has checked, and panic on others, as an index
//! does; `dictmesh` checks shapes once, at its entrance. No result depends on the number of threads.
//! Results may differ in the last digits between CPUs with different vector units.

pub mod atoms;
pub mod cholesky;
pub mod combine;
pub mod gram;
pub mod loops;
pub mod matrix;
pub mod penalty;
pub mod pool;
pub mod products;
pub mod quadratic;
pub mod simd;
pub mod subset_sums;
#[cfg(feature = "count-work")]
pub mod work;
#[cfg(not(feature = "count-work"))]
mod work;

pub use matrix::{Matrix, ShapeError};
pub use penalty::{Piece, ScalarPenalty};

/// Counts multiply-adds with the feature `count-work`; without it, does nothing.
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
