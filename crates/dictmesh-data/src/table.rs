//! The samples of a file with their names and labels.

use dictmesh::Samples;

/// Samples with their names and labels.
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
    /// A message: which columns are labels and names, and which are left out.
    pub note: Option<String>,
}
