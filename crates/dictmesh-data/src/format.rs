//! File formats, by name or by first bytes.

use crate::error::Result;
use crate::source::{extension, Source};
use std::path::Path;

/// Extensions of files of numbers.
pub(crate) const FORMATS: &str = ".npy, .npz, .mtx, .csv, .tsv, .svm, .jsonl, .parquet or .arrow";

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
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
    /// JSON, a line a document or a sample
    Jsonl,
    /// svmlight or libsvm
    Svmlight,
    /// Apache Parquet
    Parquet,
    /// Arrow IPC or Feather
    Arrow,
}

impl Format {
    /// The format of an extension.
    pub fn by_extension(extension: &str) -> Option<Format> {
        Some(match extension.to_ascii_lowercase().as_str() {
            "npy" => Format::Npy,
            "npz" => Format::Npz,
            "mtx" => Format::Mtx,
            "csv" => Format::Csv,
            "tsv" | "tab" => Format::Tsv,
            "txt" => Format::Lines,
            "jsonl" | "ndjson" | "json" => Format::Jsonl,
            "svm" | "svmlight" | "libsvm" => Format::Svmlight,
            "parquet" | "pq" => Format::Parquet,
            "arrow" | "arrows" | "feather" | "ipc" => Format::Arrow,
            _ => return None,
        })
    }

    /// The format of a name; `.gz` and `.zst` are ignored.
    pub fn by_name(path: &Path) -> Option<Format> {
        Format::by_extension(&extension(path))
    }

    /// The usual separator of a table.
    pub(crate) fn separator(self) -> u8 {
        match self {
            Format::Tsv => b'\t',
            _ => b',',
        }
    }

    /// Whether it holds nothing but a matrix.
    pub fn is_matrix(self) -> bool {
        matches!(
            self,
            Format::Npy | Format::Npz | Format::Mtx | Format::Svmlight
        )
    }

    /// Whether it is text by default.
    pub fn is_text(self) -> bool {
        matches!(self, Format::Lines | Format::Jsonl)
    }

    /// The format that the first bytes show; `None` of text.
    pub(crate) fn by_head(head: &[u8]) -> Option<Format> {
        let formats: [(&[u8], Format); 8] = [
            (b"PAR1", Format::Parquet),
            (b"ARROW1", Format::Arrow),
            (b"\xff\xff\xff\xff", Format::Arrow),
            (b"\x93NUMPY", Format::Npy),
            (b"PK\x03\x04", Format::Npz),
            (b"%%MatrixMarket", Format::Mtx),
            (b"[", Format::Jsonl),
            (b"{", Format::Jsonl),
        ];
        let found = formats.iter().find(|(begin, _)| head.starts_with(begin));
        found.map(|(_, format)| *format)
    }

    /// Whether it has columns of numbers and texts by type.
    pub(crate) fn is_columnar(self) -> bool {
        matches!(self, Format::Parquet | Format::Arrow)
    }

    /// Whether each line is a record of its own.
    pub(crate) fn is_lines(self) -> bool {
        matches!(
            self,
            Format::Csv | Format::Tsv | Format::Lines | Format::Jsonl
        )
    }

    /// The format that the caller asks for, else that of the extension, else that of the first bytes.
    /// Text on standard input is taken for a table.
    pub fn of(source: &Source, asked: Option<Format>) -> Result<Format> {
        if let Some(format) = asked.or(Format::by_extension(&source.extension())) {
            return Ok(format);
        }
        if let Some(format) = Format::by_head(&source.head(16)?) {
            Ok(format)
        } else if source.extension().is_empty() && source.name() == "standard input" {
            Ok(Format::Csv)
        } else {
            Err(source.error(
                format!("a name that ends in \".{}\"", source.extension()),
                FORMATS,
                "Say what it is with <format>.",
            ))
        }
    }
}
