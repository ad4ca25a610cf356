//! Files of numbers: .npy, .npz (dense and scipy sparse), .mtx, .csv/.tsv, and pictures.
//!
//! A [`Table`] comes from [`read`]; a matrix larger than memory comes in parts from [`chunks`].
//! Sparse stays sparse. No bytes make a reader panic, and none takes more memory than the file
//! has content for, whatever its header claims.
//!
//! | format | by | why |
//! |---|---|---|
//! | .npy | `npyz` | streams, seeks, knows every dtype (ndarray-npy reads whole arrays only) |
//! | .npz | `zip` for the directory, `flate2` for the entries | three entries are read side by side; npyz's own npz goes through zip 0.6 |
//! | .csv, .tsv | `csv` | |
//! | .mtx | [`mtx`] | no crate reads it as a stream; see there |
//! | pictures | `image` | png, jpeg and pnm only |

mod delimited;
mod dense;
mod encoding;
mod error;
mod jpeg;
mod labels;
mod missing;
mod mtx;
mod npy;
mod npz;
mod picture;
mod sort;
mod source;
mod sparse;
#[cfg(test)]
mod tests;

pub use delimited::{separator, Records};
use dense::DenseReader;
use dictmesh::Samples;
pub use encoding::{decoded, foreign_words};
pub use error::{DataError, Result};
pub use labels::read_labels;
pub use picture::{check_image_name, encode_image, image_head, read_image, Image};
use serde::{Deserialize, Serialize};
pub use source::Source;
use sparse::SparseReader;
use std::path::Path;
use std::sync::Arc;

/// Samples with what their file says about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// One column per sample.
    pub samples: Samples,
    /// One label per sample: the label column of a table whose rows are samples.
    pub labels: Option<Vec<String>>,
    /// One name per sample: an index, a column of text without repeats, or a transposed table's header.
    pub sample_names: Option<Vec<String>>,
    /// One name per feature: the header, or a transposed table's column of text without repeats.
    pub feature_names: Option<Vec<String>>,
    /// One label per feature: the label column of a transposed table.
    pub feature_labels: Option<Vec<String>>,
    /// What was taken for labels and names or left out, for a person to read.
    pub note: Option<String>,
}

/// How to read a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// The format, if the name does not tell it.
    pub format: Option<Format>,
    /// Columns are samples; by default rows are.
    pub transpose: bool,
    /// What missing entries get.
    pub nan: Nan,
    /// The label column of a table, by name or by number from 1; by default the only column of
    /// text whose values repeat.
    pub label_column: Option<String>,
    /// The column of a table that names the samples, by name or by number from 1; by default an index
    /// without a name in front, or the first column of text without repeats.
    pub name_column: Option<String>,
    /// Columns of a table to leave out, by name or by number from 1.
    pub drop_columns: Vec<String>,
    /// Whether the first line of a table is a header; by default, as it looks.
    pub header: Option<bool>,
    /// The array to read from an .npz with several.
    pub array: Option<String>,
    /// The features a model learned from: of a table with names, these are taken, in this order.
    pub features: Option<Vec<String>>,
    /// Pass over a label column or columns to leave out that are not there: another file had them.
    pub if_there: bool,
}

/// What missing entries (NaN) get. Infinities are always an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Nan {
    /// An error that counts and locates them
    #[default]
    Error,
    /// The mean of the feature over the samples that have it
    Mean,
    /// 0
    Zero,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A numpy array
    Npy,
    /// An archive of numpy arrays, or a scipy sparse matrix
    Npz,
    /// Matrix Market
    Mtx,
    /// Comma-separated values
    Csv,
    /// Tab-separated values
    Tsv,
    /// Text, one document a line
    Lines,
    /// Text, a JSON object a line
    Jsonl,
}

impl Format {
    /// The format an extension says.
    pub fn by_extension(extension: &str) -> Option<Format> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "npy" => Format::Npy,
            "npz" => Format::Npz,
            "mtx" => Format::Mtx,
            "csv" => Format::Csv,
            "tsv" | "tab" => Format::Tsv,
            "txt" => Format::Lines,
            "jsonl" | "ndjson" | "json" => Format::Jsonl,
            _ => return None,
        })
    }

    /// Whether it can hold nothing but a matrix.
    pub fn is_matrix(self) -> bool {
        matches!(self, Format::Npy | Format::Npz | Format::Mtx)
    }

    /// Whether it can hold nothing but text.
    pub fn is_text(self) -> bool {
        matches!(self, Format::Lines | Format::Jsonl)
    }

    /// The format that is asked for, or that the extension says, or that the first bytes show.
    /// Text on standard input is taken for a table.
    pub fn of(source: &Source, asked: Option<Format>) -> Result<Format> {
        if let Some(format) = asked.or(Format::by_extension(&source.extension())) {
            return Ok(format);
        }
        let head = source.head(16)?;
        if head.starts_with(b"\x93NUMPY") {
            Ok(Format::Npy)
        } else if head.starts_with(b"PK\x03\x04") {
            Ok(Format::Npz)
        } else if head.starts_with(b"%%MatrixMarket") {
            Ok(Format::Mtx)
        } else if source.extension().is_empty() && source.name() == "standard input" {
            Ok(Format::Csv)
        } else {
            Err(source.error(
                format!("a name that ends in \".{}\"", source.extension()),
                ".npy, .npz, .mtx, .csv or .tsv",
                "Say what it is with --format.",
            ))
        }
    }
}

/// Reads a whole file; `-` is standard input.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Table> {
    read_source(&Arc::new(Source::open(path)?), options)
}

/// Reads a whole file that is open already.
pub fn read_source(source: &Arc<Source>, options: &ReadOptions) -> Result<Table> {
    let samples = match open(source.clone(), options)? {
        Opened::Dense(file) => file.read()?,
        Opened::Sparse(file) => file.read()?,
        Opened::Table(source, separator) => return delimited::read(&source, separator, options),
    };
    Ok(Table {
        samples,
        labels: None,
        sample_names: None,
        feature_names: None,
        feature_labels: None,
        note: None,
    })
}

/// How many samples and features a file has.
pub fn size(source: &Arc<Source>, options: &ReadOptions) -> Result<(usize, usize)> {
    Ok(match open(source.clone(), options)? {
        Opened::Dense(file) => file.size(),
        Opened::Sparse(file) => file.size(),
        Opened::Table(source, separator) => {
            let all = delimited::read(&source, separator, options)?.samples;
            (all.len(), all.rows())
        }
    })
}

/// Reads a file in parts of `count` samples (the last may have fewer), so that it need not fit into
/// memory. A .csv or .tsv is read whole. What comes through a pipe, and a file whose samples do not
/// follow each other, is first brought into order in a temporary file; `Nan::Mean` takes one more
/// pass. With `Nan::Error`, the error counts the missing entries of the part it met.
pub fn chunks(source: &Arc<Source>, options: &ReadOptions, count: usize) -> Result<Chunks> {
    Ok(match open(source.clone(), options)? {
        Opened::Dense(file) => Chunks {
            parts: Box::new(file.chunks(count)?),
        },
        Opened::Sparse(file) => Chunks {
            parts: Box::new(file.chunks(count)?),
        },
        Opened::Table(source, separator) => {
            Chunks::of(delimited::read(&source, separator, options)?.samples, count)
        }
    })
}

/// The parts of a file. After an error there is no further part.
pub struct Chunks {
    parts: Box<dyn Iterator<Item = Result<Samples>> + Send>,
}

impl Chunks {
    /// Samples that are in memory, `count` at a time.
    pub fn of(all: Samples, count: usize) -> Chunks {
        let (samples, count) = (all.len(), count.max(1));
        let starts = (0..samples).step_by(count);
        let parts = starts.map(move |s| Ok(all.range(s..(s + count).min(samples))));
        Chunks {
            parts: Box::new(parts),
        }
    }
}

impl Iterator for Chunks {
    type Item = Result<Samples>;
    fn next(&mut self) -> Option<Self::Item> {
        self.parts.next()
    }
}

/// Samples and features of a stored matrix of rows x columns.
fn oriented((rows, columns): (usize, usize), transpose: bool) -> (usize, usize) {
    match transpose {
        true => (columns, rows),
        false => (rows, columns),
    }
}

/// The parts of `samples` samples, `count` at a time, as `part` reads them by the number of the first and
/// how many. After an error there is no further part.
fn in_parts(
    samples: usize,
    count: usize,
    mut part: impl FnMut(usize, usize) -> Result<Samples>,
) -> impl Iterator<Item = Result<Samples>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let count = count.max(1).min(samples.checked_sub(next)?);
        if count == 0 {
            return None;
        }
        let read = part(next, count);
        next = match read.is_ok() {
            true => next + count,
            false => samples,
        };
        Some(read)
    })
}

enum Opened {
    Dense(DenseReader),
    Sparse(SparseReader),
    Table(Arc<Source>, u8),
}

fn open(source: Arc<Source>, options: &ReadOptions) -> Result<Opened> {
    let format = Format::of(&source, options.format)?;
    let dense = |file: Box<dyn dense::DenseFile>| Opened::Dense(DenseReader::new(file, options));
    let sparse =
        |file: Box<dyn sparse::SparseFile>| SparseReader::new(file, options).map(Opened::Sparse);
    Ok(match format {
        Format::Npy => dense(Box::new(npy::NpyMatrix::open(source)?)),
        Format::Npz => match npz::Npz::open(source, options.array.as_deref())? {
            npz::Npz::Dense(file) => dense(Box::new(file)),
            npz::Npz::Sparse(file) => sparse(Box::new(file))?,
        },
        Format::Mtx => match mtx::Mtx::open(source)? {
            mtx::Mtx::Dense(file) => dense(Box::new(file)),
            mtx::Mtx::Sparse(file) => sparse(Box::new(file))?,
        },
        Format::Csv | Format::Tsv => {
            let usual = if format == Format::Csv { b',' } else { b'\t' };
            let separator = separator(&source, usual, options.format.is_some())?;
            Opened::Table(source, separator)
        }
        Format::Lines | Format::Jsonl => return Err(source.error(
            "text",
            "numbers: .npy, .npz, .mtx, .csv or .tsv",
            "Text is read by learn, score, infer and novelty; if these are numbers, say what they \
                 are with --format.",
        )),
    })
}
