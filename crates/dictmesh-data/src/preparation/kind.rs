//! What raw data are, by name and options.

use super::{DataOptions, Result};
use crate::error::DataError;
use crate::format::Format;
use crate::json_table::holds_numbers;
use std::path::{Path, PathBuf};

/// The kind of raw data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A matrix or a table of numbers.
    Numbers,
    /// Documents.
    Text,
    /// Pictures.
    Pictures,
}

const PICTURES: [&str; 8] = ["png", "jpg", "jpeg", "pgm", "ppm", "pnm", "tif", "tiff"];

impl Kind {
    /// The kind that a path and its options suggest.
    pub fn of(path: &Path, args: &DataOptions) -> Kind {
        let format = args.read.format;
        if args.text_column.is_some() {
            return Kind::Text;
        }
        if let Some(format) = format.filter(|f| f.is_text()) {
            return match format == Format::Jsonl && holds_numbers(path) {
                true => Kind::Numbers,
                false => Kind::Text,
            };
        }
        if format.is_some() {
            return Kind::Numbers;
        }
        if path.is_dir() {
            return match pictures_in(path) {
                Ok(found) if !found.is_empty() => Kind::Pictures,
                _ => Kind::Text,
            };
        }
        match (is_picture(path), by_name(path)) {
            (true, _) => Kind::Pictures,
            (_, Some(Format::Jsonl)) if holds_numbers(path) => Kind::Numbers,
            (_, Some(format)) if format.is_text() => Kind::Text,
            _ => Kind::Numbers,
        }
    }

    /// Whether data that suggest `seen` may be of this kind: a table may hold text or numbers, and a
    /// name may have no extension.
    pub(super) fn may_be(self, seen: Kind, path: &Path, args: &DataOptions) -> bool {
        let format = args.read.format.or(by_name(path));
        let says_nothing = format.is_none() && !is_picture(path) && !path.is_dir();
        match self {
            _ if self == seen => true,
            Kind::Text => seen == Kind::Numbers && !format.is_some_and(Format::is_matrix),
            Kind::Numbers => format == Some(Format::Jsonl),
            Kind::Pictures => says_nothing || path.is_dir(),
        }
    }

    /// The kind as a noun.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Numbers => "numbers",
            Kind::Text => "text",
            Kind::Pictures => "pictures",
        }
    }
}

fn by_name(path: &Path) -> Option<Format> {
    Format::by_name(path)
}

fn is_picture(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    PICTURES.iter().any(|p| p.eq_ignore_ascii_case(extension))
}

/// The pictures right in a directory, by name; none if other files are there too.
pub(super) fn pictures_in(directory: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e: std::io::Error| DataError::io(directory.display().to_string(), &e);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let hidden = path
            .file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with('.'));
        match (hidden, is_picture(&path)) {
            (true, _) => {}
            (_, true) => found.push(path),
            _ => return Ok(Vec::new()),
        }
    }
    found.sort();
    Ok(found)
}
