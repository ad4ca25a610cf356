//! Whether an agent's run has come to its end, as its files tell.

use super::Result;
use dictmesh::Model;
use std::fs;
use std::path::Path;

/// How many samples an agent has learned in all, if it has come to its end and has not gone on since.
pub fn learned_all(atoms: &Path, state: &Path) -> Result<Option<u64>> {
    let learned = Model::load(atoms)?.description.progress.samples_learned;
    let ended = newest_checkpoint(state).is_none_or(|at| at <= learned);
    Ok(ended.then_some(learned))
}

/// The sample of the newest checkpoint in this directory.
pub fn newest_checkpoint(state: &Path) -> Option<u64> {
    let names = fs::read_dir(state).ok()?.flatten().map(|e| e.file_name());
    let sample =
        |name: std::ffi::OsString| name.to_str()?.strip_prefix("checkpoint-")?.parse().ok();
    names.filter_map(sample).max()
}
