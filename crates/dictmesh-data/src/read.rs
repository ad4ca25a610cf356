//! Opens a file by its format; reads it whole or in parts.

use crate::chunks::Chunks;
use crate::delimited::{self, separator};
use crate::dense::{self, DenseReader};
use crate::error::Result;
use crate::format::Format;
use crate::options::ReadOptions;
use crate::source::Source;
use crate::sparse::{self, SparseReader};
use crate::table::Table;
use crate::{mtx, npy, npz};
use std::path::Path;
use std::sync::Arc;

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
