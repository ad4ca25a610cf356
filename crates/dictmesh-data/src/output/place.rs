//! Where results go: a place that can be written to, and that nothing is read from.
//!
//! Errors are messages. Parameters stand in them as in [`DataError`](crate::DataError).

use super::{landing, refusal};
use dictmesh::Model;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Whether a file can be made at this place, before hours of work for it.
pub fn check_place(path: &Path) -> Result<(), String> {
    if path == Path::new("-") {
        return Err(
            "-: results are not written to standard output; name a file (./- if it is to be called so)"
            .into());
    }
    let landing = landing(path);
    let parent = match landing.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    if !parent.is_dir() {
        return Err(format!(
            "{}: the directory {} does not exist; make it first",
            path.display(),
            parent.display()
        ));
    }
    if path.is_dir() {
        return Err(format!(
            "{}: this is a directory; name a file",
            path.display()
        ));
    }
    // A file takes the place of what is there, and a device or a pipe must not be replaced.
    if path.exists() && !path.is_file() {
        return Err(format!(
            "{}: it is there and is not a file; name one",
            path.display()
        ));
    }
    // Files are written beside their place and moved there; this one is gone at once.
    match tempfile::tempfile_in(&parent) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(format!(
            "{}: no file can be made in this directory; choose another place",
            path.display()
        )),
        Err(e) => Err(format!("{}: {}", path.display(), refusal(&e))),
    }
}

/// Refuses to replace a file that is neither a model nor a table that begins with `head`.
pub fn check_replaceable(path: &Path, head: &str) -> Result<(), String> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path);
    let read = file.and_then(|file| file.take(head.len() as u64).read_to_end(&mut bytes));
    let is_own = read.is_ok() && bytes == head.as_bytes();
    match is_own || is_free(path) || Model::load(path).is_ok() {
        true => Ok(()),
        false => Err(format!(
            "{}: this file is there, and dictmesh did not write it; name another file, or give <force> to \
             replace it",
            path.display()
        )),
    }
}

/// As [`check_place`] for a model, which replaces another model and no other file.
pub fn check_model_place(path: &Path) -> Result<(), String> {
    check_place(path)?;
    match is_free(path) || Model::load(path).is_ok() {
        true => Ok(()),
        false => Err(format!(
            "{}: this file is no model of dictmesh, and would be replaced; name another file, or give <force>",
            path.display()
        )),
    }
}

/// Whether there is no file, or an empty one, as mktemp makes it.
fn is_free(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |file| file.len() == 0)
}

/// Refuses to write over what is read, or over another output. A directory is read with the files in it.
pub fn check_apart<'a>(
    outputs: impl IntoIterator<Item = &'a PathBuf>,
    inputs: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), String> {
    let inputs: Vec<PathBuf> = inputs.into_iter().map(|path| place(path)).collect();
    let mut taken = Vec::new();
    for output in outputs {
        let (shown, place) = (output.display(), place(output));
        let read = |input: &PathBuf| *input == place || is_read_with(&place, input);
        if inputs.iter().any(read) {
            return Err(format!(
                "{shown}: this is read, and would be written over; name another file"
            ));
        }
        if taken.contains(&place) {
            return Err(format!(
                "{shown}: two results would go there; name another file for one of them"
            ));
        }
        taken.push(place);
    }
    Ok(())
}

/// The directory of a report and its page, as outputs.
pub fn page_place(report: Option<&PathBuf>) -> Vec<PathBuf> {
    let both = |dir: &PathBuf| [dir.clone(), dir.join("index.html")];
    report.into_iter().flat_map(both).collect()
}

/// Whether a file lies in a directory that is read, and is not hidden from that.
fn is_read_with(file: &Path, directory: &Path) -> bool {
    let hidden = |name: std::path::Component| name.as_os_str().as_encoded_bytes().starts_with(b".");
    let inside = file.strip_prefix(directory);
    file.is_file() && inside.is_ok_and(|inside| !inside.components().any(hidden))
}

/// The one name of a place, whether something is there or not.
fn place(path: &Path) -> PathBuf {
    let landing = landing(path);
    let parent = match landing.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let named = || {
        Some(
            std::fs::canonicalize(parent)
                .ok()?
                .join(landing.file_name()?),
        )
    };
    std::fs::canonicalize(path)
        .ok()
        .or_else(named)
        .unwrap_or(landing.clone())
}
