//! Raw text: a directory, one document a line, or a column of a table or of JSON lines.

mod records;
#[cfg(test)]
mod tests;

use crate::encoding::{decoded, foreign_words, utf16};
use crate::error::{DataError, Result};
use crate::format::Format;
use crate::lines::{no_text, TextLines};
use crate::source::Source;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Documents with their labels and names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Documents {
    /// The texts, in the order of the stream.
    pub texts: Vec<String>,
    /// One label each.
    pub labels: Option<Vec<String>>,
    /// One name each: the file in a directory, or the line.
    pub names: Vec<String>,
    /// A message about how they were read, if there is one.
    pub note: Option<String>,
}

/// How to read documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentOptions {
    /// The format; by default that of the name.
    pub format: Option<Format>,
    /// The column or key of the text; by default "text", or what else it may be called.
    pub text_column: Option<String>,
    /// The column or key of the label; by default "label", if there is one.
    pub label_column: Option<String>,
}

/// Reads documents; `-` is standard input, one document a line unless the options say otherwise.
///
/// A directory is read with all directories in it, sorted by path (hidden ones are left out). If all
/// files are in directories of the first level, those are the labels. A blank line is an empty
/// document, so that lines stay aligned with labels kept elsewhere. What is not UTF-8 is read as
/// Western European, with a note; a file with zero bytes is no text and is refused.
pub fn read_documents(path: &Path, options: &DocumentOptions) -> Result<Documents> {
    let documents = if path != Path::new("-") && path.is_dir() {
        read_directory(path)?
    } else {
        let source = Arc::new(Source::open(path)?);
        let named = Format::by_extension(&source.extension());
        match options.format.or(named).unwrap_or(Format::Lines) {
            Format::Lines => read_lines(&source)?,
            Format::Csv => records::read_table(&source, b',', options)?,
            Format::Tsv => records::read_table(&source, b'\t', options)?,
            Format::Jsonl => records::read_json_lines(&source, options)?,
            Format::Npy | Format::Npz | Format::Mtx | Format::Svmlight => {
                return Err(source.error(
                    "a matrix",
                    "raw text: a directory, one document a line (.txt), or .csv, .tsv or .jsonl with a \
                     column of text",
                    "Give the texts themselves; if this is text, say how with --format.",
                ))
            }
        }
    };
    if documents.texts.iter().all(|t| t.trim().is_empty()) {
        return Err(DataError::new(
            path.display().to_string(),
            "no text",
            "at least one document with words in it",
            "Check the name, and --text-column if it is a table.",
        ));
    }
    Ok(documents)
}

/// Whether a file is a table of documents that [`read_documents`] finds without options. False of
/// pipes, which cannot be read twice.
pub fn is_table_of_documents(path: &Path) -> bool {
    let usual = match Format::by_name(path) {
        Some(Format::Csv) if path.is_file() => b',',
        Some(Format::Tsv) if path.is_file() => b'\t',
        _ => return false,
    };
    // A damaged file is reported when it is read.
    let found =
        Source::open(path).and_then(|source| records::holds_documents(&Arc::new(source), usual));
    found.unwrap_or(false)
}

fn read_lines(source: &Arc<Source>) -> Result<Documents> {
    let mut documents = Documents::default();
    let foreign = each_line(source, &mut |number, line| {
        documents.texts.push(line.to_string());
        documents.names.push(format!("line {number}"));
        Ok(())
    })?;
    Ok(Documents {
        note: foreign_note(source, foreign),
        ..documents
    })
}

/// The message about a file whose first line that is not UTF-8 is `line`.
fn foreign_note(source: &Source, line: Option<u64>) -> Option<String> {
    line.map(|line| format!("{}: {}", source.name(), foreign_words(line)))
}

/// Calls `take` with the number and the text of each line. Returns the first line that is not UTF-8.
fn each_line(
    source: &Arc<Source>,
    take: &mut dyn FnMut(u64, &str) -> Result<()>,
) -> Result<Option<u64>> {
    let mut lines = TextLines::open(source);
    while let Some((number, line)) = lines.advance()? {
        take(number, &line)?;
    }
    Ok(lines.foreign())
}

fn read_directory(root: &Path) -> Result<Documents> {
    let files = collect_files(root)?;
    if files.is_empty() {
        return Err(DataError::new(
            root.display().to_string(),
            "a directory without files",
            "one file per document",
            "Check the name, or give a file with one document a line.",
        ));
    }
    let mut documents = Documents::default();
    let mut labels = Some(Vec::new());
    for path in files {
        let name = path.strip_prefix(root).unwrap_or(&path);
        let mut parts = name.components();
        let first = parts
            .next()
            .map(|c| c.as_os_str().to_string_lossy().into_owned());
        // A file right in the directory has no label, and then none has.
        labels = match (labels, first, parts.next()) {
            (Some(mut labels), Some(first), Some(_)) => {
                labels.push(first);
                Some(labels)
            }
            _ => None,
        };
        documents.names.push(name.display().to_string());
        let bytes = read_file(&path)?;
        let text = decoded(&bytes);
        if documents.note.is_none() && matches!(text, Cow::Owned(_)) {
            let good = bytes.utf8_chunks().next().map_or("", |c| c.valid());
            let line = good.matches('\n').count() as u64 + 1;
            documents.note = Some(format!("{}: {}", path.display(), foreign_words(line)));
        }
        documents.texts.push(text.into_owned());
    }
    documents.labels = labels;
    Ok(documents)
}

/// The files in a directory and in those below it. Links to directories are followed after all else, and only
/// to those not read yet, so that no document comes twice and a circle ends.
fn collect_files(root: &Path) -> Result<Vec<PathBuf>> {
    let (mut files, mut seen) = (Vec::new(), BTreeSet::new());
    let (mut waiting, mut links) = (vec![root.to_path_buf()], BTreeSet::new());
    while let Some(directory) = waiting.pop().or_else(|| links.pop_first()) {
        let failed = |e: std::io::Error| DataError::io(directory.display().to_string(), &e);
        if !seen.insert(directory.canonicalize().map_err(failed)?) {
            continue;
        }
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            } else if path.is_dir() && path.is_symlink() {
                links.insert(path);
            } else if path.is_dir() {
                waiting.push(path);
            } else if path.is_file() || !path.exists() {
                files.push(path);
            } else {
                return Err(no_file(&path));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// A pipe would be waited for, and a device may never end.
fn no_file(path: &Path) -> DataError {
    DataError::new(
        path.display().to_string(),
        "a pipe, a socket or a device",
        "nothing but files and directories in a directory of documents",
        "Take it out of the directory.",
    )
}

/// The bytes of a file that is one document; here it may be empty.
fn read_file(path: &Path) -> Result<Vec<u8>> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(|e| DataError::io(&name, &e))?;
    if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = bytes[..] {
        let text = utf16(&bytes).ok_or_else(|| {
            DataError::new(
                &name,
                "no valid UTF-16",
                "text in UTF-16 or UTF-8",
                "The file is cut off or damaged: write it again, best in UTF-8.",
            )
        });
        bytes = text?.into_bytes();
    }
    if bytes.contains(&0) {
        return Err(no_text(&name));
    }
    Ok(bytes)
}
