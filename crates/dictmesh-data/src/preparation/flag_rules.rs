//! Which reading options belong to which files: one that would be ignored is refused.

use super::Result;
use crate::format::Format;
use crate::options::{Nan, ReadOptions};
use std::path::Path;

/// What a file is, as far as reading options are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Numbers in columns with names: .csv, .tsv
    Table,
    /// Typed columns with names: .parquet, .arrow
    Columns,
    /// Matrices in an archive: .npz
    Archive,
    /// A matrix without names: .npy, .mtx
    Matrix,
    /// Text in a column or under a key: .csv, .tsv, .jsonl
    Records,
    /// Text without columns: one document a line, or a directory
    Lines,
    /// Pictures.
    Pictures,
}

impl Shape {
    /// Of a file of numbers.
    pub fn of_numbers(format: Format) -> Shape {
        match format {
            Format::Npz => Shape::Archive,
            Format::Parquet | Format::Arrow => Shape::Columns,
            Format::Npy | Format::Mtx | Format::Svmlight => Shape::Matrix,
            _ => Shape::Table,
        }
    }

    /// Of text at `path`; `asked` overrides its name.
    pub fn of_text(path: &Path, asked: Option<Format>) -> Shape {
        match asked.or(Format::by_name(path)) {
            _ if path.is_dir() => Shape::Lines,
            Some(Format::Csv | Format::Tsv | Format::Jsonl | Format::Parquet | Format::Arrow) => {
                Shape::Records
            }
            _ => Shape::Lines,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Shape::Table => "a table of numbers",
            Shape::Columns => "a table of typed columns",
            Shape::Archive => "an archive of matrices (.npz)",
            Shape::Matrix => "a matrix without named columns",
            Shape::Records => "text in a column",
            Shape::Lines => "text without columns",
            Shape::Pictures => "pictures",
        }
    }
}

/// `Ok` if every reading option that was given means something for such a file.
pub fn check_flags(
    path: &Path,
    shape: Shape,
    options: &ReadOptions,
    text_column: Option<&str>,
) -> Result<()> {
    use Shape::{Archive, Columns, Matrix, Records, Table};
    let numbers: &[Shape] = &[Table, Columns, Archive, Matrix];
    let flags: [(&str, bool, &[Shape], &str); 8] = [
        ("<transpose>", options.transpose, numbers, "numbers"),
        ("<nan>", options.nan != Nan::Error, numbers, "numbers"),
        (
            "<label_column>",
            options.label_column.is_some(),
            &[Table, Columns, Records],
            "tables (.csv, .tsv, .parquet, .arrow) and .jsonl",
        ),
        (
            "<name_column>",
            options.name_column.is_some(),
            &[Table, Columns],
            "tables of numbers (.csv, .tsv, .parquet, .arrow)",
        ),
        (
            "<drop>",
            !options.drop_columns.is_empty(),
            &[Table, Columns],
            "tables of numbers (.csv, .tsv, .parquet, .arrow)",
        ),
        (
            "<header>",
            options.header.is_some(),
            &[Table],
            "tables of numbers (.csv, .tsv)",
        ),
        ("<array>", options.array.is_some(), &[Archive], ".npz"),
        (
            "<text_column>",
            text_column.is_some(),
            &[Records],
            "tables (.csv, .tsv, .parquet, .arrow) and .jsonl",
        ),
    ];
    for (flag, given, fits, belongs) in flags {
        if given && !fits.contains(&shape) {
            return Err(format!(
                "{}: {flag} belongs to {belongs}, but this is {}; leave it out, or say with <format> what the \
                 data are",
                path.display(),
                shape.words()
            )
            .into());
        }
    }
    Ok(())
}
