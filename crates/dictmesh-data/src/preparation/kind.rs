//! What raw data are, by name and options.

use super::{DataOptions, Result};
use crate::error::DataError;
use crate::format::Format;
use std::path::{Path, PathBuf};

/// What raw data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A matrix or a table of numbers.
    Numbers,
    /// Documents.
    Text,
    /// Pictures.
    Pictures,
}

const PICTURES: [&str; 6] = ["png", "jpg", "jpeg", "pgm", "ppm", "pnm"];

impl Kind {
    /// What a path and its flags look like.
    pub fn of(path: &Path, args: &DataOptions) -> Kind {
        let format = args.read.format;
        if args.text_column.is_some() || format.is_some_and(Format::is_text) {
            return Kind::Text;
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
            (_, Some(format)) if format.is_text() => Kind::Text,
            _ => Kind::Numbers,
        }
    }

    /// Whether data that look like `seen` may be this after all: a table may hold text or numbers, and a
    /// name may say nothing.
    pub(super) fn may_be(self, seen: Kind, path: &Path, args: &DataOptions) -> bool {
        let format = args.read.format.or(by_name(path));
        let says_nothing = format.is_none() && !is_picture(path) && !path.is_dir();
        match self {
            _ if self == seen => true,
            Kind::Text => seen == Kind::Numbers && !format.is_some_and(Format::is_matrix),
            Kind::Numbers => false,
            Kind::Pictures => says_nothing || path.is_dir(),
        }
    }

    /// It in a word.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Numbers => "numbers",
            Kind::Text => "text",
            Kind::Pictures => "pictures",
        }
    }
}

fn by_name(path: &Path) -> Option<Format> {
    let extension = path.extension().and_then(|e| e.to_str());
    Format::by_extension(extension?)
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
