//! Files in parts of bounded size.

use crate::error::Result;
use dictmesh::Samples;
use std::sync::Arc;

/// The parts of a file. After an error there is no further part.
pub struct Chunks {
    pub(crate) parts: Box<dyn Iterator<Item = Result<Samples>> + Send>,
}

impl Chunks {
    /// Samples in memory, `count` at a time.
    pub(crate) fn of(all: Arc<Samples>, count: usize) -> Chunks {
        let (samples, count) = (all.len(), count.max(1));
        let starts = (0..samples).step_by(count);
        let parts = starts.map(move |s| Ok(all.range(s..(s + count).min(samples))));
        Chunks {
            parts: Box::new(parts),
        }
    }
}

impl Iterator for Chunks {
    type Item = Result<Samples>;
    fn next(&mut self) -> Option<Self::Item> {
        self.parts.next()
    }
}

/// Samples and features of a stored matrix of rows x columns.
pub(crate) fn oriented((rows, columns): (usize, usize), transpose: bool) -> (usize, usize) {
    match transpose {
        true => (columns, rows),
        false => (rows, columns),
    }
}

/// The parts of `samples` samples, `count` at a time, as `part` reads them by the number of the first and
/// how many. After an error there is no further part.
pub(crate) fn in_parts(
    samples: usize,
    count: usize,
    mut part: impl FnMut(usize, usize) -> Result<Samples>,
) -> impl Iterator<Item = Result<Samples>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let count = count.max(1).min(samples.checked_sub(next)?);
        if count == 0 {
            return None;
        }
        let read = part(next, count);
        next = match read.is_ok() {
            true => next + count,
            false => samples,
        };
        Some(read)
    })
}
