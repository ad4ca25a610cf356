//! How a file is read.

use crate::format::Format;
use serde::{Deserialize, Serialize};

/// How to read a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// The format; by default that of the name or of the first bytes.
    pub format: Option<Format>,
    /// Columns are samples; by default rows are.
    pub transpose: bool,
    /// The treatment of missing entries.
    pub nan: Nan,
    /// The label column of a table, by name or by number from 1; by default the only column of
    /// text whose values repeat.
    pub label_column: Option<String>,
    /// The column of a table that names the samples, by name or by number from 1; by default an index
    /// without a name in front, or the first column of text without repeats.
    pub name_column: Option<String>,
    /// Columns of a table to leave out, by name or by number from 1.
    pub drop_columns: Vec<String>,
    /// Whether the first line of a table is a header; inferred by default.
    pub header: Option<bool>,
    /// The array to read from an .npz with several.
    pub array: Option<String>,
    /// The features a model learned from: of a table with names, these are taken, in this order.
    pub features: Option<Vec<String>>,
    /// The least number of features, for formats that do not write zeros (svmlight).
    pub width: usize,
    /// Ignore label and dropped columns that are absent: they belong to another file.
    pub if_there: bool,
}

/// The treatment of missing entries (NaN). Infinities are always an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
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
