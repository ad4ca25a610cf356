//! Opens a file by its format; reads it whole or in parts.

use crate::chunks::Chunks;
use crate::delimited::TableFile;
use crate::dense::{self, DenseReader};
use crate::error::Result;
use crate::format::{Format, FORMATS};
use crate::options::ReadOptions;
use crate::source::Source;
use crate::sparse::{self, SparseReader};
use crate::svmlight::SvmlightFile;
use crate::table::Table;
use crate::{json_table, mtx, npy, npz};
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
        Opened::Table(file) => return file.read(),
    };
    Ok(Table {
        samples,
        labels: svmlight_labels(source, options)?,
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
        Opened::Table(file) => file.size(),
    })
}

/// Reads a file in parts of `count` samples (the last may have fewer); memory holds one part.
///
/// Input from a pipe, compressed files, and files whose samples are not contiguous are first copied
/// to a temporary file. `Nan::Mean` takes one more pass. With `Nan::Error`, the error of a matrix
/// counts the missing entries of one part, that of a table those of the whole file.
pub fn chunks(source: &Arc<Source>, options: &ReadOptions, count: usize) -> Result<Chunks> {
    Ok(match open(source.clone(), options)? {
        Opened::Dense(file) => Chunks {
            parts: Box::new(file.chunks(count)?),
        },
        Opened::Sparse(file) => Chunks {
            parts: Box::new(file.chunks(count)?),
        },
        Opened::Table(file) => file.chunks(count)?,
    })
}

enum Opened {
    Dense(DenseReader),
    Sparse(SparseReader),
    Table(Box<TableFile>),
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
            Opened::Table(Box::new(TableFile::open(source, usual, options)?))
        }
        Format::Svmlight => sparse(Box::new(SvmlightFile::open(source, options.width)?))?,
        Format::Jsonl => {
            let table = Arc::new(json_table::to_table(&source)?);
            Opened::Table(Box::new(TableFile::open(table, b',', options)?))
        }
        Format::Parquet | Format::Arrow => {
            Opened::Table(Box::new(open_columnar(source, format, options)?))
        }
        Format::Lines => return Err(source.error(
            "text",
            format!("numbers: {FORMATS}"),
            "Text is read by learn, score, infer and novelty; if these are numbers, say what they \
                 are with <format>.",
        )),
    })
}

#[cfg(feature = "columnar")]
use crate::columnar::open_table as open_columnar;

#[cfg(not(feature = "columnar"))]
fn open_columnar(source: Arc<Source>, _: Format, _: &ReadOptions) -> Result<TableFile> {
    Err(no_columnar(&source))
}

/// The error of a build without the feature `columnar`.
#[cfg(not(feature = "columnar"))]
pub(crate) fn no_columnar(source: &Source) -> crate::error::DataError {
    source.error(
        "a Parquet or Arrow file, which this build does not read",
        "another format, or a build with the feature columnar",
        "Convert the file, for example to .npy or .csv, or use a released binary.",
    )
}

fn svmlight_labels(source: &Arc<Source>, options: &ReadOptions) -> Result<Option<Vec<String>>> {
    match Format::of(source, options.format)? {
        Format::Svmlight if !options.transpose => {
            let file = SvmlightFile::open(source.clone(), options.width)?;
            file.labels().map(Some)
        }
        _ => Ok(None),
    }
}

/// The table in a file of a format that has columns; `None` of other formats.
pub fn open_table(
    source: &Arc<Source>,
    format: Format,
    options: &ReadOptions,
) -> Result<Option<TableFile>> {
    if !matches!(format, Format::Csv | Format::Tsv | Format::Jsonl) && !format.is_columnar() {
        return Ok(None);
    }
    match open(source.clone(), options)? {
        Opened::Table(table) => Ok(Some(*table)),
        _ => Ok(None),
    }
}

/// The atoms in a file of numbers, as columns of `rows` numbers each. In the file they are rows; they are
/// columns if its rows have another length and its columns have `rows` numbers.
///
/// Errors: neither fits.
pub fn read_atoms(path: &Path, rows: usize) -> Result<dictmesh::Matrix> {
    let source = Arc::new(Source::open(path)?);
    let atoms = read_source(&source, &ReadOptions::default())?
        .samples
        .to_dense();
    match (atoms.rows(), atoms.cols()) {
        (found, _) if found == rows => Ok(atoms),
        (_, found) if found == rows => Ok(atoms.transpose()),
        (width, height) => Err(source.error(
            format!("a matrix of {height} x {width}"),
            format!("atoms of {rows} numbers, as rows or as columns"),
            "Check that the dictionary belongs to these samples and their preparation.",
        )),
    }
}
