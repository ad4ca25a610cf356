//! Seeded random numbers, identical on every platform.

use dictmesh_kernels::matrix::Matrix;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// The generator of the library; the seed determines its stream on every platform.
pub type Rng = ChaCha8Rng;

/// The generator of one stream of a seed.
///
/// Each agent, graph and initialisation has its own stream, so that adding one does not change the
/// numbers of the others.
pub fn stream(seed: u64, stream: u64) -> Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// A matrix of independent standard normal entries.
pub fn gaussian(rows: usize, cols: usize, rng: &mut Rng) -> Matrix {
    Matrix::from_fn(rows, cols, |_, _| StandardNormal.sample(rng))
}
