use dictmesh::accel::{Accel, Batch, Chunk};

/// One chunk per sample, so that every sample can run on its own thread. Results agree up to
/// rounding: the iterates of a sample do not depend on other samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneByOne;

impl Accel for OneByOne {
    fn name(&self) -> &'static str {
        "one-by-one"
    }

    fn chunks(&self, batch: &Batch<'_>) -> Option<Vec<Chunk>> {
        let one = |j| Chunk {
            samples: j..j + 1,
            reduced: None,
        };
        Some((0..batch.x.len()).map(one).collect())
    }
}
