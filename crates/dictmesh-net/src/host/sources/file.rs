//! A file or directory of data, as `dictmesh learn` takes it, in the same order and the same parts.

use super::super::Result;
use crate::config::AgentConfig;
use crate::{Source, Taken};
use dictmesh::{Model, Samples};
use dictmesh_data::preparation::{Feed, How, Parts, Preparation, Raw};
use std::path::Path;
use std::time::Instant;

/// What to do about data of another length.
const ADVICE: &str =
    "Let path in its agent.toml (in mesh.toml under launch) name such samples; or make a mesh \
                      for these: rows is the same at all agents, and mesh init finds it by --data.";

/// Prepared samples of several passes.
pub struct FileSource {
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
    /// The sample in the pass that `part` begins with.
    begins: u64,
    part: Samples,
}

impl FileSource {
    /// The samples of `path`, prepared as the model `start` says, in `passes` passes.
    pub fn open(
        config: &AgentConfig,
        start: Option<&Model>,
        path: &Path,
        passes: u64,
    ) -> Result<Self> {
        let rows = config.agreed.rows;
        let preparation = match start {
            Some(model) => Preparation::of(model)?,
            None => Preparation::new(How::default()),
        };
        let names = start.and_then(|model| model.description.feature_names.as_deref());
        let raw = Raw::for_agent(path, &preparation, rows, names, ADVICE)?;
        // An agent has one source, for as long as its process lives.
        let feed = Feed {
            raw: Box::leak(Box::new(raw)),
            how: Box::leak(Box::new(preparation.how)),
            rows,
            batch: config.agreed.batch,
            shuffle: Some(config.seed),
        };
        FileSource::of(feed, path, passes)
    }

    /// The samples of a feed; `path` is what they are read from.
    pub fn of(feed: Feed<'static>, path: &Path, passes: u64) -> Result<Self> {
        let total = feed.samples()? as u64;
        match total {
            0 => Err(format!("{}: there are no samples in it", path.display()).into()),
            _ => Ok(FileSource {
                feed,
                total,
                passes,
                at: None,
            }),
        }
    }

    /// Samples of all passes.
    pub fn all(&self) -> u64 {
        self.total.saturating_mul(self.passes)
    }

    /// The part with this sample of a pass, read on from where we are if that is before it.
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

impl Source for FileSource {
    fn take(
        &mut self,
        position: u64,
        count: usize,
        _: Instant,
    ) -> std::result::Result<Taken, String> {
        if position >= self.all() {
            return Ok(Taken::End);
        }
        let (pass, sample) = (position / self.total, position % self.total);
        let place = self.seek(pass, sample)?;
        // A batch ends with its part, as in one process.
        let from = (sample - place.begins) as usize;
        let to = from.saturating_add(count).min(place.part.len());
        Ok(Taken::Samples(place.part.range(from..to)))
    }
}
