//! Stored entries of a sparse matrix.

use crate::error::Result;

/// One stored entry of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Row in the file; after `SparseReader`, the sample.
    pub row: usize,
    /// Column in the file; after `SparseReader`, the feature.
    pub column: usize,
    /// Its value.
    pub value: f64,
}

/// Entries one after the other.
pub type Entries = Box<dyn Iterator<Item = Result<Entry>> + Send>;
