//! Matrix Market files (.mtx), read as a stream.
//!
//! Written here because none of the crates serves: matrix-market-rs 0.1, sprs 0.11 and
//! nalgebra-sparse 0.12 all hold the whole matrix (no chunks). Besides, the first subtracts 1 from
//! an index 0, the first two reserve whatever the header claims and name no line in an error, the
//! second loops for ever when the file ends after its banner, and the third reads the text into
//! one string.

mod lines;

use super::dense::{DenseFile, Values};
use super::error::Result;
use super::source::Source;
use super::sparse::{Entries, Entry, Rising, SparseFile};
use lines::Lines;
use std::sync::Arc;

/// The content of the banner and the size line.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Header {
    coordinate: bool,
    pattern: bool,
    symmetry: Symmetry,
    rows: usize,
    cols: usize,
    /// Lines of entries to come.
    lines: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

/// A matrix in a .mtx file.
pub enum Mtx {
    Sparse(MtxMatrix),
    Dense(MtxMatrix),
}

/// A matrix in a .mtx file: `matrix coordinate` is sparse, `matrix array` is dense by columns.
pub struct MtxMatrix {
    source: Arc<Source>,
    header: Header,
}

impl Mtx {
    /// Reads the banner and the sizes.
    pub fn open(source: Arc<Source>) -> Result<Mtx> {
        let header = Lines::new(source.clone())?.header()?;
        let matrix = MtxMatrix { source, header };
        Ok(if header.coordinate {
            Mtx::Sparse(matrix)
        } else {
            Mtx::Dense(matrix)
        })
    }
}

impl SparseFile for MtxMatrix {
    fn source(&self) -> &Source {
        &self.source
    }
    fn shape(&self) -> (usize, usize) {
        (self.header.rows, self.header.cols)
    }
    fn rising(&self) -> Rising {
        Rising::Unknown
    }
    fn entries(&self) -> Result<Entries> {
        let mut lines = Lines::new(self.source.clone())?;
        let header = lines.header()?;
        let mut left = header.lines;
        // The other half of a symmetric matrix.
        let mut mirrored: Option<Entry> = None;
        let mut done = false;
        Ok(Box::new(std::iter::from_fn(move || {
            if let Some(entry) = mirrored.take() {
                return Some(Ok(entry));
            }
            if done {
                return None;
            }
            let read = if left == 0 {
                done = true;
                return lines.expect_end().err().map(Err);
            } else {
                left -= 1;
                lines.entry(&header, left)
            };
            match &read {
                Err(_) => done = true,
                Ok(e) if e.row != e.column && header.symmetry != Symmetry::General => {
                    let skew = header.symmetry == Symmetry::Skew;
                    mirrored = Some(Entry {
                        row: e.column,
                        column: e.row,
                        value: if skew { -e.value } else { e.value },
                    });
                }
                Ok(_) => {}
            }
            Some(read)
        })))
    }
}

impl DenseFile for MtxMatrix {
    fn source(&self) -> &Source {
        &self.source
    }
    fn shape(&self) -> (usize, usize) {
        (self.header.rows, self.header.cols)
    }
    fn row_major(&self) -> bool {
        false
    }
    /// A symmetric array holds only its lower triangle, which memory holds.
    fn values(&self) -> Result<Values> {
        let mut lines = Lines::new(self.source.clone())?;
        let header = lines.header()?;
        let mut left = header.lines;
        let mut stored = std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            left -= 1;
            let value = lines.value(left);
            if value.is_err() {
                left = 0;
            }
            Some(match (value, left) {
                (Ok(v), 0) => lines.expect_end().map(|()| v),
                (value, _) => value,
            })
        });
        if header.symmetry == Symmetry::General {
            return Ok(Box::new(stored));
        }
        let triangle = stored.by_ref().collect::<Result<Vec<f64>>>()?;
        let n = header.rows;
        let skew = header.symmetry == Symmetry::Skew;
        // Columns of the lower triangle; a skew one leaves out its zero diagonal.
        let start = move |j: usize| {
            let full = j * (2 * n - j + 1) / 2;
            if skew {
                full - j
            } else {
                full
            }
        };
        Ok(Box::new((0..n * n).map(move |at| {
            let (i, j) = (at % n, at / n);
            let (low, high) = (i.max(j), i.min(j));
            Ok(match (skew, low == high) {
                (true, true) => 0.0,
                (true, false) => {
                    let v = triangle[start(high) + low - high - 1];
                    if i < j {
                        -v
                    } else {
                        v
                    }
                }
                (false, _) => triangle[start(high) + low - high],
            })
        })))
    }
}
