use super::{Accel, Batch, Chunk};
use std::ops::Range;

/// Cuts a batch into chunks of samples whose arrays, over all agents, stay in second-level cache.
///
/// Samples do not interact, all chunks stop in the same round, and products of several samples do
/// not depend on their number: results are bit-identical.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chunks;

/// Numbers per array of a chunk, over all agents: the five or so arrays of a strategy take about
/// 1.3 MB.
const CHUNK: usize = 1 << 15;

impl Accel for Chunks {
    fn name(&self) -> &'static str {
        "chunks"
    }

    fn chunks(&self, batch: &Batch<'_>) -> Option<Vec<Chunk>> {
        // A single agent solves the whole batch faster, and a strategy that decides itself drops
        // samples from its messages one by one.
        if batch.agents.len() < 2 || batch.strategy.decides() {
            return None;
        }
        // With 3, no range has length 1: the products of a single sample round differently.
        let is_closed_form = batch.agents.iter().all(|agent| agent.block.len() <= 1);
        let least = if is_closed_form { 1 } else { 3 };
        let most = samples_in_chunk(batch.agents.len(), batch.x.rows()).max(least);
        let whole = |samples| Chunk {
            samples,
            reduced: None,
        };
        Some(even_ranges(batch.x.len(), most).map(whole).collect())
    }
}

/// Samples of a chunk, at least 1.
pub(super) fn samples_in_chunk(agents: usize, rows: usize) -> usize {
    (CHUNK / (agents * rows).max(1)).max(1)
}

/// The fewest ranges of length at most `most` that cover 0..total; lengths differ by at most one.
pub(super) fn even_ranges(total: usize, most: usize) -> impl Iterator<Item = Range<usize>> {
    let count = total.div_ceil(most);
    (0..count).map(move |i| i * total / count..(i + 1) * total / count)
}
