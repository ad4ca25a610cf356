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

/// The source that the settings name, and how many samples it has, if that is known. `start` is the model with the
/// agent's first atoms, which may say how samples are prepared.
pub fn open(
    config: &AgentConfig,
    start: Option<&Model>,
) -> Result<Option<(Box<dyn Source>, Option<u64>)>> {
    let Some(source) = &config.source else {
        return Ok(None);
    };
    Ok(Some(match source {
        SourceConfig::File { path, passes } => {
            let source = file::FileSource::open(config, start, path, *passes)?;
            let all = source.all();
            (Box::new(source), Some(all))
        }
        SourceConfig::Stdin => {
            let source =
                stdin::LineSource::new(config.agreed.rows, &config.state, std::io::stdin())?;
            (Box::new(source), None)
        }
        SourceConfig::Directory { path } => {
            let source = directory::DirectorySource::new(config.agreed.rows, path, &config.state)?;
            (Box::new(source), None)
        }
    }))
}
