//! `dictmesh man`: a manual page of each command.

use super::{refusal, Result};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory for them; created if missing
    pub directory: PathBuf,
}

pub fn run(args: &Args, command: clap::Command) -> Result<()> {
    let written = std::fs::create_dir_all(&args.directory)
        .and_then(|()| clap_mangen::generate_to(command, &args.directory));
    written.map_err(|e| format!("{}: {}", args.directory.display(), refusal(&e)).into())
}
