//! Where an informed agent's samples come from.

use dictmesh::Samples;
use std::time::Instant;

/// What a source has for a batch.
#[derive(Clone, Debug)]
pub enum Taken {
    /// The samples: as many as asked for, or fewer because no more will come.
    Samples(Samples),
    /// Not all of them are there yet, and the source has not ended.
    Pending,
    /// There are none at or after this position, and none will come.
    End,
}

/// Samples by their numbers. Several informed agents that see the same samples must number them alike.
pub trait Source: Send {
    /// The samples `position`, `position` + 1, ..., `count` of them. May wait for them, at most until `until`. After
    /// a restart, or when the mesh goes back to an earlier sample, it is asked for samples again.
    fn take(&mut self, position: u64, count: usize, until: Instant) -> Result<Taken, String>;

    /// Samples before `position` will not be asked for again.
    fn forget(&mut self, position: u64) {
        let _ = position;
    }
}

/// A whole file, or whatever is in memory.
impl Source for Samples {
    fn take(&mut self, position: u64, count: usize, _: Instant) -> Result<Taken, String> {
        let from = usize::try_from(position).unwrap_or(usize::MAX);
        if from >= self.len() {
            return Ok(Taken::End);
        }
        let to = from.saturating_add(count).min(self.len());
        Ok(Taken::Samples(self.range(from..to)))
    }
}
