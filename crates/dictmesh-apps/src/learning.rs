//! Learning from data that are read in parts, in passes, with pauses for checkpoints.

mod position;
mod record;
#[cfg(test)]
mod tests;

pub use position::Position;
pub use record::Learned;

use crate::coding::largest_entry;
use crate::progress::Progress;
use dictmesh::mesh::Mesh;
use dictmesh::problem::samples::Samples;
use dictmesh::Stop;
use dictmesh_data::preparation::Feed;
use std::ops::ControlFlow;
use std::time::Instant;

/// Why learning ends before its data do.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// The data cannot be read or prepared.
    #[error(transparent)]
    Data(#[from] dictmesh_data::Error),
    /// The library refuses the numbers.
    #[error(transparent)]
    Library(#[from] dictmesh::Error),
    /// Inference gave up.
    #[error("learning stopped: {stop}")]
    GaveUp {
        /// [`Stop::Diverged`] or [`Stop::Infeasible`].
        stop: Stop,
        /// The largest absolute entry of the samples.
        largest: f64,
    },
    /// The data are not those that a model was begun with.
    #[error("{0}")]
    Changed(String),
}

/// What is due between two batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The next batch.
    None,
    /// A checkpoint.
    Checkpoint,
    /// The end.
    Stop,
}

/// The caller's side of a run.
pub trait Watcher {
    /// Receives the progress.
    fn progress(&mut self, progress: Progress);

    /// What is due.
    fn due(&self) -> Pause;

    /// Keeps a checkpoint: the mesh has learned up to this position.
    fn keep(&mut self, mesh: &Mesh, position: &Position);
}

/// A run through data, pass by pass.
///
/// Guarantees: wherever it pauses or is stopped and goes on, batches and their steps are those of an undisturbed run, so
/// that the model is bit-identical.
pub struct Passes<'a> {
    /// The prepared samples.
    pub feed: Feed<'a>,
    /// The number of passes.
    pub passes: usize,
    /// Learning ends after a pass that lowers the mean cost of a sample by at most this share of it; 0 learns all
    /// passes.
    pub min_gain: f64,
    /// The mesh that learns.
    pub mesh: &'a mut Mesh,
    /// Where it is in the data.
    pub position: &'a mut Position,
}

impl Passes<'_> {
    /// Learns until all passes are done or the watcher ends it.
    ///
    /// # Errors
    /// [`LearnError`], with mesh and position as far as they came.
    pub fn run(&mut self, watcher: &mut dyn Watcher) -> Result<Learned, LearnError> {
        let total = self.feed.samples()? as u64;
        let all = (self.passes as u64).saturating_mul(total);
        let mut learned = Learned::from(self.position.learned as usize);
        let mut cost_before = None;
        while self.position.learned < all {
            let (at, first) = (self.position.learned, learned.costs.len());
            let mut skip = (at % total) as usize;
            for part in self.feed.parts(at / total)? {
                let part = part?;
                if skip >= part.len() {
                    skip -= part.len();
                    continue;
                }
                self.part(&part, std::mem::take(&mut skip), all, &mut learned, watcher)?;
                if learned.interrupted {
                    return Ok(learned);
                }
            }
            // After a resume, the first pass has none to be compared with.
            let cost = learned.mean_cost(first);
            let least = |before: f64| before - self.min_gain * before.abs();
            if self.min_gain > 0.0 && cost_before.is_some_and(|before| cost >= least(before)) {
                return Ok(learned);
            }
            cost_before = Some(cost);
        }
        Ok(learned)
    }

    /// A part from sample `from` on.
    fn part(
        &mut self,
        part: &Samples,
        mut from: usize,
        all: u64,
        learned: &mut Learned,
        watcher: &mut dyn Watcher,
    ) -> Result<(), LearnError> {
        while from < part.len() {
            let count = match from {
                0 => self.batches(part, all, learned, watcher)?,
                _ => self.batches(&part.range(from..part.len()), all, learned, watcher)?,
            };
            self.position.learned += count;
            from += count as usize;
            // The block that a batch was learned of is not done yet; one broken off in its first was not begun.
            if from < part.len() && count > 0 {
                self.mesh.reopen_block();
            }
            match watcher.due() {
                Pause::None => {}
                Pause::Checkpoint => watcher.keep(self.mesh, self.position),
                Pause::Stop => {
                    learned.interrupted = true;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Learns until a pause is due; returns the number of samples.
    fn batches(
        &mut self,
        x: &Samples,
        all: u64,
        learned: &mut Learned,
        watcher: &mut dyn Watcher,
    ) -> Result<u64, LearnError> {
        let before = self.mesh.progress().samples_learned;
        let at = self.position.learned;
        let stop = self.mesh.learn(x, |event| {
            learned.add(event);
            watcher.progress(Progress {
                phase: "learning",
                done: (at + event.samples - before) as usize,
                total: all as usize,
                cost: Some(event.cost),
            });
            match watcher.due() {
                Pause::None => ControlFlow::Continue(()),
                Pause::Checkpoint | Pause::Stop => ControlFlow::Break(()),
            }
        })?;
        match stop {
            Stop::Diverged | Stop::Infeasible => Err(LearnError::GaveUp {
                stop,
                largest: largest_entry(x),
            }),
            _ => Ok(self.mesh.progress().samples_learned - before),
        }
    }
}

/// Samples that [`expected_seconds`] learns at most.
const TIMED: usize = 32;

/// How long learning `samples` samples takes, in seconds: copies of the mesh learn a few of `part`, batches of `batch`.
///
/// # Errors
/// [`dictmesh::Error`] if the mesh cannot learn them.
pub fn expected_seconds(
    mesh: &Mesh,
    part: &Samples,
    batch: usize,
    samples: u64,
) -> dictmesh::Result<f64> {
    let time = |count: usize| -> dictmesh::Result<f64> {
        // Atoms may have started from the first samples, which would be too easy.
        let x = part.range(part.len() - count..part.len());
        let mut trial = mesh.clone();
        let clock = Instant::now();
        trial.learn(&x, |_| ControlFlow::Continue(()))?;
        Ok(clock.elapsed().as_secs_f64())
    };
    // The time of a batch has a constant part: two small batches give both. The first run warms up.
    let batch = batch.min(part.len()).max(1);
    let (few, more) = (batch.min(8), batch.min(TIMED));
    let [_, short, long] = [time(1)?, time(few)?, time(more)?];
    let each = (long - short).max(0.0) / (more - few).max(1) as f64;
    let each = each.min(long / more as f64);
    let one_batch = long + each * (batch - more) as f64;
    Ok(one_batch * samples as f64 / batch as f64)
}
