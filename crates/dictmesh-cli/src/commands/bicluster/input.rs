//! The table that is decomposed.

use super::super::{say, ReadArgs, Result};
use dictmesh::Matrix;
use dictmesh_data::preparation::{check_flags, Shape};
use dictmesh_data::{self as data, Format, ReadOptions, Source};
use std::path::Path;
use std::sync::Arc;

/// The table, one sample per column.
pub struct Input {
    pub x: Matrix,
    pub row_names: Option<Vec<String>>,
    pub column_names: Option<Vec<String>>,
    pub labels: Option<Vec<String>>,
    /// A remark on how the file was read.
    pub note: Option<String>,
}

/// The table, and the labels of its rows from a file of their own or from one of its columns.
pub fn read(path: &Path, args: &ReadArgs, labels: Option<&Path>) -> Result<Input> {
    let options = ReadOptions {
        transpose: !args.transpose,
        ..args.options()
    };
    let source = Arc::new(Source::open(path).map_err(say)?);
    let format = Format::of(&source, options.format).map_err(say)?;
    check_flags(path, Shape::of_numbers(format), &args.options(), None).map_err(say)?;
    let table = data::read_source(&source, &options).map_err(say)?;
    let (rows, columns) = (table.samples.rows(), table.samples.len());
    if rows == 0 || columns == 0 {
        return Err(format!(
            "{}: {rows} rows and {columns} columns of numbers; expected at least one of each. \
             Check --format, --header and --drop.",
            path.display()
        )
        .into());
    }
    let labels = match labels {
        Some(path) => Some(data::read_labels(path, None, rows).map_err(say)?),
        None => table.feature_labels,
    };
    Ok(Input {
        x: table.samples.to_dense(),
        row_names: table.feature_names,
        column_names: table.sample_names,
        labels,
        note: table.note,
    })
}
