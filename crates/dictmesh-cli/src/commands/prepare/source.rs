//! Prepared samples by their numbers, over several passes.

use super::super::Result;
use super::{Feed, Parts};
use dictmesh::Samples;
use dictmesh_net::{Source, Taken};
use std::time::Instant;

/// The samples of a feed, as often as there are passes; batches end where those of one process do.
pub struct FeedSource {
    feed: Feed<'static>,
    /// Samples of a pass.
    total: u64,
    passes: u64,
    at: Option<Place>,
}

/// How far a pass is read.
struct Place {
    pass: u64,
    /// Those after `part`.
    parts: Parts<'static>,
    /// The sample of the pass that `part` begins with.
    begins: u64,
    part: Samples,
}

impl FeedSource {
    pub fn new(feed: Feed<'static>, passes: u64) -> Result<Self> {
        Ok(FeedSource {
            total: feed.samples()? as u64,
            feed,
            passes,
            at: None,
        })
    }

    /// The part with this sample of a pass, read on from where we are if that is not after it.
    fn seek(&mut self, pass: u64, sample: u64) -> Result<&Place> {
        let mut place = match self.at.take() {
            Some(place) if place.pass == pass && place.begins <= sample => place,
            _ => {
                let mut parts = self.feed.parts(pass)?;
                let part = parts.next().ok_or("the data have no samples any more")??;
                Place {
                    pass,
                    parts,
                    begins: 0,
                    part,
                }
            }
        };
        while sample >= place.begins + place.part.len() as u64 {
            place.begins += place.part.len() as u64;
            let next = place.parts.next();
            place.part = next.ok_or("the data have fewer samples than at the start")??;
        }
        Ok(self.at.insert(place))
    }
}

impl Source for FeedSource {
    fn take(&mut self, position: u64, count: usize, _: Instant) -> Result<Taken> {
        if position >= self.total.saturating_mul(self.passes) {
            return Ok(Taken::End);
        }
        let (pass, sample) = (position / self.total, position % self.total);
        let place = self.seek(pass, sample)?;
        let from = (sample - place.begins) as usize;
        let to = from.saturating_add(count).min(place.part.len());
        Ok(Taken::Samples(place.part.range(from..to)))
    }
}
