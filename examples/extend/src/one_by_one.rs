use dictmesh::accel::{Accel, Batch, Chunk};

/// Cuts a batch into one chunk per sample, so that as many threads as samples can work on it. Within
/// rounding: no agent's iterates for one sample depend on another.
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
