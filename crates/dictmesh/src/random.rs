//! Seeded random numbers, the same on every machine.

use dictmesh_kernels::matrix::Matrix;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// The generator used everywhere: its stream is fixed by the seed, on every platform.
pub type Rng = ChaCha8Rng;

/// A generator for one use of a seed: each agent, graph or start draws from a stream of its own, so
/// that adding one does not change the numbers of another.
pub fn stream(seed: u64, stream: u64) -> Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

/// A matrix of independent standard normal entries.
pub fn gaussian(rows: usize, cols: usize, rng: &mut Rng) -> Matrix {
    Matrix::from_fn(rows, cols, |_, _| StandardNormal.sample(rng))
}
