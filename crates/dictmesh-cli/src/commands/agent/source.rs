//! Where an agent's samples come from.

mod directory;
mod file;
mod spool;
mod stdin;

use super::super::Result;
use dictmesh::Model;
use dictmesh_net::config::{AgentConfig, SourceConfig};
use dictmesh_net::Source;
#[cfg(feature = "mpi")]
pub use file::FileSource;

/// A source, ready to be read.
pub struct Opened {
    pub source: Box<dyn Source>,
    /// How many samples it has, if that is known.
    pub total: Option<u64>,
}

/// The source that the settings name. `start` is the model with the agent's first atoms, which may say how samples are
/// prepared.
pub fn open(config: &AgentConfig, start: Option<&Model>) -> Result<Option<Opened>> {
    let (rows, state) = (config.agreed.rows, &config.state);
    let Some(source) = &config.source else {
        return Ok(None);
    };
    let mut total = None;
    let source: Box<dyn Source> = match source {
        SourceConfig::File { path, passes } => {
            let source = file::FileSource::open(config, start, path, *passes)?;
            total = Some(source.all());
            Box::new(source)
        }
        SourceConfig::Stdin => Box::new(stdin::LineSource::new(rows, state, std::io::stdin())?),
        SourceConfig::Directory { path } => {
            Box::new(directory::DirectorySource::new(rows, path, state)?)
        }
    };
    Ok(Some(Opened { source, total }))
}
