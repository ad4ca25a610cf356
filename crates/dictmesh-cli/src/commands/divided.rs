//! Samples drawn from data by a seed, some to learn from and some kept back.

use super::prepare::{DataArgs, Feed, PrepareArgs};
use super::{note, say, Result};
use crate::options::Options;
use dictmesh::random::stream;
use dictmesh::Samples;
use rand::seq::SliceRandom;
use std::path::Path;

/// Samples that are learned from, at most, and that are kept back.
const TRAINING: usize = 4_000;
const HELD_OUT: usize = 500;
/// The stream of a seed that the samples are divided by ("tune" in ASCII).
const STREAM: u64 = 0x74_75_6e_65;

/// Samples to learn from, and samples kept back to judge by.
pub struct Divided {
    /// Samples there are in all.
    pub total: usize,
    pub training: Samples,
    pub held_out: Samples,
}

/// Samples of data that no model has seen, with the task that suits them if none is named.
pub fn fresh(
    data: &Path,
    prepare: &PrepareArgs,
    data_args: &DataArgs,
    quiet: bool,
    options: &mut Options,
) -> Result<Divided> {
    let (raw, how) = prepare.open(data, data_args)?;
    note(raw.note(), quiet);
    options.task.get_or_insert(how.usual_task().into());
    let feed = Feed {
        raw: &raw,
        how: &how,
        rows: raw.rows(&how),
        batch: 1,
        shuffle: None,
    };
    divide(data, &feed, options.seed.unwrap_or(0))
}

/// Prepared samples drawn by the seed; those that are not drawn do not stay in memory.
pub fn divide(data: &Path, feed: &Feed<'_>, seed: u64) -> Result<Divided> {
    let total = feed.samples().map_err(say)?;
    if total < 2 {
        return Err(format!("{}: {total} samples; at least 2 are needed", data.display()).into());
    }
    let mut order: Vec<usize> = (0..total).collect();
    order.shuffle(&mut stream(seed, STREAM));
    let (held_out, training) = order.split_at((total / 5).clamp(1, HELD_OUT));
    let training = &training[..training.len().min(TRAINING)];
    let mut drawn = [held_out, training].concat();
    drawn.sort_unstable();
    let (mut kept, mut from) = (Vec::new(), 0);
    for part in feed.parts(0).map_err(say)? {
        let part = part.map_err(say)?;
        let here = drawn
            .iter()
            .filter(|j| (from..from + part.len()).contains(j));
        kept.push(part.select(&here.map(|j| j - from).collect::<Vec<_>>()));
        from += part.len();
    }
    let kept = Samples::joined(&kept).map_err(say)?;
    let of = |chosen: &[usize]| {
        let places = chosen.iter().filter_map(|j| drawn.binary_search(j).ok());
        kept.select(&places.collect::<Vec<_>>())
    };
    Ok(Divided {
        total,
        training: of(training),
        held_out: of(held_out),
    })
}
