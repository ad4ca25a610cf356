//! Raw text: a directory, one document a line, or a column of a table or of JSON lines. It is read
//! document by document.

mod records;
#[cfg(test)]
mod tests;

#[cfg(feature = "columnar")]
use crate::columnar::{self, ColumnDocuments};
use crate::delimited::{ends_in_crlf, separator, separator_of, Records};
use crate::encoding::{decoded, foreign_words, utf16};
use crate::error::{DataError, Result};
use crate::format::Format;
use crate::json;
use crate::lines::{no_text, TextLines};
use crate::source::Source;
#[cfg(feature = "columnar")]
pub(crate) use records::TextColumns;
use records::{JsonReader, TableReader};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The text.
    pub text: String,
    /// The label, if the documents have labels.
    pub label: Option<String>,
    /// The file in a directory, or the line.
    pub name: String,
    /// The line on which it begins, from 1.
    pub line: u64,
}

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

/// Documents one after the other.
pub(crate) trait DocumentReader: Send {
    /// The next document; `None` after the last.
    fn advance(&mut self) -> Result<Option<Document>>;
    /// A message about how the documents so far were read, if there is one.
    fn note(&self, options: &DocumentOptions) -> Option<String>;
}

/// Documents that `reader` gives, as they arrive; `first` holds their first line.
pub(crate) fn over(
    source: &Arc<Source>,
    reader: Box<dyn BufRead + Send>,
    first: &[u8],
    options: &DocumentOptions,
) -> Result<Box<dyn DocumentReader>> {
    Ok(match options.format.unwrap_or(Format::Lines) {
        format @ (Format::Csv | Format::Tsv) => {
            let separator = separator_of(first, format.separator(), true);
            let records = Records::over(source, separator, Box::new(reader), ends_in_crlf(first));
            Box::new(TableReader::open(records, source, options)?)
        }
        Format::Jsonl => {
            let lines = TextLines::over(source, reader);
            Box::new(JsonReader::new(lines, source, options))
        }
        _ => Box::new(LineReader {
            source: source.clone(),
            lines: TextLines::over(source, reader),
        }),
    })
}

/// Documents in a file or a directory, read in parts.
///
/// Opening takes one pass that counts and checks them; memory holds one document, and the names of
/// the files in a directory.
pub struct DocumentFile {
    place: Place,
    options: DocumentOptions,
    count: usize,
    bytes: u64,
    labelled: bool,
    note: Option<String>,
}

enum Place {
    File(Arc<Source>, Format),
    Directory {
        root: PathBuf,
        files: Arc<Vec<PathBuf>>,
        labelled: bool,
    },
}

impl DocumentFile {
    /// Opens documents; `-` is standard input, one document a line unless the options say otherwise.
    ///
    /// A directory is read with all directories in it, sorted by path (hidden ones are left out). If
    /// all files are in directories of the first level, those are the labels. A blank line is an empty
    /// document, so that lines stay aligned with labels kept elsewhere. What is not UTF-8 is read as
    /// Western European, with a note; a file with zero bytes is no text and is refused.
    pub fn open(path: &Path, options: &DocumentOptions) -> Result<Self> {
        let place = match path != Path::new("-") && path.is_dir() {
            true => Place::directory(path)?,
            false => {
                let source = Arc::new(Source::open(path)?);
                let named = Format::by_extension(&source.extension());
                let format = match options.format.or(named) {
                    Some(format) => format,
                    None if path == Path::new("-") && begins_json(&source)? => Format::Jsonl,
                    None => Format::Lines,
                };
                Place::File(source, format)
            }
        };
        let mut file = DocumentFile {
            place,
            options: options.clone(),
            count: 0,
            bytes: 0,
            labelled: false,
            note: None,
        };
        let mut reader = file.place.reader(options)?;
        let mut any = false;
        while let Some(document) = reader.advance()? {
            file.count += 1;
            file.bytes += document.text.len() as u64;
            file.labelled |= document.label.is_some();
            any |= !document.text.trim().is_empty();
        }
        file.note = reader.note(options);
        match any {
            true => Ok(file),
            false => Err(DataError::new(
                path.display().to_string(),
                "no text",
                "at least one document with words in it",
                "Check the name, and <text_column> if it is a table.",
            )),
        }
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The bytes of all texts.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether documents have labels.
    pub fn labelled(&self) -> bool {
        self.labelled
    }

    /// A message about how the documents were read, if there is one.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The documents in order, read anew. After an error there is no further one.
    pub fn documents(&self) -> Result<impl Iterator<Item = Result<Document>> + Send + use<>> {
        let mut reader = self.place.reader(&self.options)?;
        let mut left = self.count;
        Ok(std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let document = reader.advance().transpose();
            if !matches!(document, Some(Ok(_))) {
                left = 0;
            }
            document
        }))
    }

    /// The texts of the documents with these numbers (from 0), in this order.
    pub fn select(&self, numbers: &[usize]) -> Result<Vec<String>> {
        let mut texts = vec![String::new(); numbers.len()];
        let end = numbers.iter().max().map_or(0, |last| last + 1);
        for (at, document) in self.documents()?.take(end).enumerate() {
            let document = document?;
            let places = numbers.iter().zip(&mut texts).filter(|(n, _)| **n == at);
            places.for_each(|(_, text)| text.clone_from(&document.text));
        }
        Ok(texts)
    }
}

impl Place {
    fn directory(root: &Path) -> Result<Place> {
        let files = collect_files(root)?;
        if files.is_empty() {
            return Err(DataError::new(
                root.display().to_string(),
                "a directory without files",
                "one file per document",
                "Check the name, or give a file with one document a line.",
            ));
        }
        // A file right in the directory has no label, and then none has.
        let inside = |path: &PathBuf| path.parent() != Some(root);
        Ok(Place::Directory {
            root: root.to_path_buf(),
            labelled: files.iter().all(inside),
            files: Arc::new(files),
        })
    }

    fn reader(&self, options: &DocumentOptions) -> Result<Box<dyn DocumentReader>> {
        Ok(match self {
            Place::Directory {
                root,
                files,
                labelled,
            } => Box::new(DirectoryReader {
                root: root.clone(),
                files: files.clone(),
                labelled: *labelled,
                next: 0,
                note: None,
            }),
            Place::File(source, format @ (Format::Csv | Format::Tsv)) => {
                let separator = separator(source, format.separator(), options.format.is_some())?;
                let records = Records::open(source, separator)?;
                Box::new(TableReader::open(records, source, options)?)
            }
            Place::File(source, Format::Jsonl) => {
                let lines = TextLines::open(source);
                Box::new(JsonReader::new(lines, source, options))
            }
            Place::File(source, Format::Lines) => Box::new(LineReader {
                source: source.clone(),
                lines: TextLines::open(source),
            }),
            #[cfg(feature = "columnar")]
            Place::File(source, format @ (Format::Parquet | Format::Arrow)) => {
                Box::new(ColumnDocuments::open(source, *format, options)?)
            }
            #[cfg(not(feature = "columnar"))]
            Place::File(source, Format::Parquet | Format::Arrow) => {
                return Err(crate::read::no_columnar(source))
            }
            Place::File(source, _) => {
                return Err(source.error(
                    "a matrix",
                    "raw text: a directory, one document a line (.txt), or .csv, .tsv or .jsonl with a \
                     column of text",
                    "Give the texts themselves; if this is text, say how with <format>.",
                ))
            }
        })
    }
}

/// Whether the first line is JSON.
fn begins_json(source: &Arc<Source>) -> Result<bool> {
    let line = TextLines::open(source)
        .advance()?
        .map(|(_, line)| json::begins(line.as_bytes()));
    Ok(line.unwrap_or(false))
}

/// All documents of [`DocumentFile::open`] in memory.
pub fn read_documents(path: &Path, options: &DocumentOptions) -> Result<Documents> {
    let file = DocumentFile::open(path, options)?;
    let mut all = Documents {
        labels: file.labelled.then(Vec::new),
        note: file.note.clone(),
        ..Documents::default()
    };
    for document in file.documents()? {
        let document = document?;
        all.texts.push(document.text);
        all.names.push(document.name);
        if let Some(labels) = &mut all.labels {
            labels.push(document.label.unwrap_or_default());
        }
    }
    Ok(all)
}

/// Whether a file is a table of documents that [`read_documents`] finds without options. False of
/// pipes, which cannot be read twice.
pub fn is_table_of_documents(path: &Path) -> bool {
    let holds = |source: Arc<Source>| match Format::by_name(path) {
        Some(format @ (Format::Csv | Format::Tsv)) => {
            records::holds_documents(&source, format.separator())
        }
        #[cfg(feature = "columnar")]
        Some(format @ (Format::Parquet | Format::Arrow)) => {
            let columns = columnar::first_texts(&source, format, records::LOOK)?;
            Ok(records::columns_hold_documents(&columns))
        }
        _ => Ok(false),
    };
    // A damaged file is reported when it is read.
    path.is_file()
        && Source::open(path)
            .and_then(|source| holds(Arc::new(source)))
            .unwrap_or(false)
}

/// The message about a file whose first line that is not UTF-8 is `line`.
fn foreign_note(source: &Source, line: Option<u64>) -> Option<String> {
    line.map(|line| format!("{}: {}", source.name(), foreign_words(line)))
}

/// One document a line.
struct LineReader {
    source: Arc<Source>,
    lines: TextLines,
}

impl DocumentReader for LineReader {
    fn advance(&mut self) -> Result<Option<Document>> {
        let line = self.lines.advance()?;
        Ok(line.map(|(line, text)| Document {
            text: text.into_owned(),
            label: None,
            name: format!("line {line}"),
            line,
        }))
    }

    fn note(&self, _: &DocumentOptions) -> Option<String> {
        foreign_note(&self.source, self.lines.foreign())
    }
}

/// One document a file.
struct DirectoryReader {
    root: PathBuf,
    files: Arc<Vec<PathBuf>>,
    labelled: bool,
    next: usize,
    note: Option<String>,
}

impl DocumentReader for DirectoryReader {
    fn advance(&mut self) -> Result<Option<Document>> {
        let Some(path) = self.files.get(self.next) else {
            return Ok(None);
        };
        self.next += 1;
        let name = path.strip_prefix(&self.root).unwrap_or(path);
        let first = name.components().next();
        let label = first.map(|c| c.as_os_str().to_string_lossy().into_owned());
        let bytes = read_file(path)?;
        let text = decoded(&bytes);
        if self.note.is_none() && matches!(text, Cow::Owned(_)) {
            let good = bytes.utf8_chunks().next().map_or("", |c| c.valid());
            let line = good.matches('\n').count() as u64 + 1;
            self.note = Some(format!("{}: {}", path.display(), foreign_words(line)));
        }
        Ok(Some(Document {
            text: text.into_owned(),
            label: label.filter(|_| self.labelled),
            name: name.display().to_string(),
            line: 1,
        }))
    }

    fn note(&self, _: &DocumentOptions) -> Option<String> {
        self.note.clone()
    }
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
