//! Where an agent's samples come from.

mod directory;
mod file;
mod spool;
mod stdin;

pub use directory::DirectorySource;
pub use file::FileSource;
pub use stdin::LineSource;

use super::run_state::newest_checkpoint;
use super::Result;
use crate::config::{AgentConfig, SourceConfig};
use crate::words::counted;
use crate::Source;
use dictmesh::Model;

/// A source, ready to be read.
pub struct Opened {
    /// Its samples, by their numbers.
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
            let source = FileSource::open(config, start, path, *passes)?;
            total = Some(source.all());
            Box::new(source)
        }
        SourceConfig::Stdin => Box::new(lines(config)?),
        SourceConfig::Directory { path } => Box::new(DirectorySource::new(rows, path, state)?),
    };
    Ok(Some(Opened { source, total }))
}

/// Standard input, and a word on which line it is taken to begin with: only whoever feeds it can know.
fn lines(config: &AgentConfig) -> Result<LineSource> {
    let (rows, state) = (config.agreed.rows, &config.state);
    let source = LineSource::new(rows, state, std::io::stdin())?;
    let learned = newest_checkpoint(state).unwrap_or(0);
    match source.taken() {
        // It is behind the others, has joined them, was not informed before, or has lost files of its own: what it lacks it reads.
        taken if taken < learned => {
            tracing::warn!("the mesh is at sample {learned}; {}", to_go_on(taken))
        }
        0 => tracing::info!("standard input must begin with line 1 of all"),
        taken => tracing::warn!("{}", to_go_on(taken)),
    }
    Ok(source)
}

/// How many samples of its standard input an agent that does not run now has, if it reads one.
pub fn taken(config: &AgentConfig) -> Result<Option<u64>> {
    match config.source {
        Some(SourceConfig::Stdin) => {
            let spool = spool::Spool::open(&config.state, config.agreed.rows)?;
            Ok(Some(spool.next()))
        }
        _ => Ok(None),
    }
}

/// What to feed to an agent that has taken so many samples of its standard input.
pub fn to_go_on(taken: u64) -> String {
    format!(
        "it has {} of standard input and nothing of what was read beyond: feed it line {} of all and those after it \
         (blank lines do not count)",
        counted(taken as usize, "sample"),
        taken + 1
    )
}
