//! Sparse matrices as `scipy.sparse.save_npz` writes them: compressed by rows or columns, or as
//! triplets.

use super::archive::Archive;
use super::{array, cut_short, damaged, entry_io, entry_place, opened};
use crate::error::Result;
use crate::npy::Numbers;
use crate::source::Source;
use crate::sparse::{Entries, Entry, Rising, SparseFile};
use std::sync::Arc;

/// A sparse matrix in an archive, as scipy writes it.
pub struct NpzSparse {
    archive: Archive,
    layout: Layout,
    shape: (usize, usize),
    entries: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Csr,
    Csc,
    Coo,
}

impl NpzSparse {
    /// Reads the headers and checks that the lengths fit together.
    pub fn open(archive: Archive) -> Result<Self> {
        let source = archive.shared_source();
        let layout = match read_format(&archive)?.as_str() {
            "csr" => Layout::Csr,
            "csc" => Layout::Csc,
            "coo" => Layout::Coo,
            other => {
                let found = format!("a sparse matrix of format \"{}\"", other.escape_debug());
                let remedy = "Convert it: scipy.sparse.save_npz(name, m.tocsr()).";
                let error = source.error(found, "format csr, csc or coo", remedy);
                return Err(error.at(entry_place("format")));
            }
        };
        let (header, mut numbers) = array(&archive, "shape")?;
        let mut next = || numbers.next().and_then(|v| v.ok()).and_then(whole);
        let shape = match (header.shape(), next(), next()) {
            (&[2], Some(rows), Some(cols)) if rows > 0 && cols > 0 => (rows, cols),
            _ => {
                let found = "not the two sizes of a matrix";
                let remedy = "Write it again with scipy.sparse.save_npz.";
                let error = source.error(found, "rows and columns, both above 0", remedy);
                return Err(error.at(entry_place("shape")));
            }
        };
        let entries = array(&archive, "data")?.0.len;
        let lengths = match layout {
            Layout::Csr => [("indices", entries), ("indptr", shape.0 as u64 + 1)],
            Layout::Csc => [("indices", entries), ("indptr", shape.1 as u64 + 1)],
            Layout::Coo => [("row", entries), ("col", entries)],
        };
        for (name, expected) in lengths {
            let found = array(&archive, name)?.0.len;
            if found != expected {
                let found = format!("{found} numbers");
                let expected = format!("{expected}, by the shape and the data");
                return Err(damaged(&source, name, found, expected));
            }
        }
        Ok(NpzSparse {
            archive,
            layout,
            shape,
            entries,
        })
    }

    fn column_of_indices(&self, name: &'static str, below: usize) -> Result<Indices> {
        let (_, numbers) = array(&self.archive, name)?;
        Ok(Indices {
            numbers,
            source: self.archive.shared_source(),
            name,
            below,
        })
    }
}

impl SparseFile for NpzSparse {
    fn source(&self) -> &Source {
        self.archive.source()
    }
    fn shape(&self) -> (usize, usize) {
        self.shape
    }
    fn rising(&self) -> Rising {
        match self.layout {
            Layout::Csr => Rising::Rows,
            Layout::Csc => Rising::Columns,
            Layout::Coo => Rising::Unknown,
        }
    }
    /// Each of the three arrays has its own reader, so that none has to be in memory.
    fn entries(&self) -> Result<Entries> {
        let (rows, cols) = self.shape;
        let (_, mut data) = array(&self.archive, "data")?;
        let source = self.archive.shared_source();
        let mut value = move || match data.next() {
            Some(v) => v.map_err(|e| entry_io(&source, "data", &e)),
            None => Err(cut_short(&source, "data")),
        };
        let mut left = self.entries;
        if self.layout == Layout::Coo {
            let mut row = self.column_of_indices("row", rows)?;
            let mut column = self.column_of_indices("col", cols)?;
            return Ok(Box::new(std::iter::from_fn(move || {
                left = left.checked_sub(1)?;
                let mut entry = || {
                    Ok(Entry {
                        row: row.next()?,
                        column: column.next()?,
                        value: value()?,
                    })
                };
                Some(entry().inspect_err(|_| left = 0))
            })));
        }
        let (major, minor) = match self.layout {
            Layout::Csr => (rows, cols),
            _ => (cols, rows),
        };
        let most = usize::try_from(left).unwrap_or(usize::MAX);
        let mut ends = self.column_of_indices("indptr", most.saturating_add(1))?;
        ends.start()?;
        let mut indices = self.column_of_indices("indices", minor)?;
        let by_rows = self.layout == Layout::Csr;
        let (mut line, mut at, mut end) = (0, 0, 0);
        let mut step = move || -> Result<Option<Entry>> {
            while at == end {
                if line == major {
                    return ends.finish(at, most).map(|()| None);
                }
                end = ends.not_below(at)?;
                line += 1;
            }
            at += 1;
            let (index, value) = (indices.next()?, value()?);
            let (row, column) = if by_rows {
                (line - 1, index)
            } else {
                (index, line - 1)
            };
            Ok(Some(Entry { row, column, value }))
        };
        let mut done = false;
        Ok(Box::new(std::iter::from_fn(move || {
            if done {
                return None;
            }
            let entry = step().transpose();
            done = !matches!(entry, Some(Ok(_)));
            entry
        })))
    }
}

/// An array of indices, each checked.
struct Indices {
    numbers: Box<dyn Numbers>,
    source: Arc<Source>,
    name: &'static str,
    below: usize,
}

impl Indices {
    fn next(&mut self) -> Result<usize> {
        let value = match self.numbers.next() {
            Some(v) => v.map_err(|e| entry_io(&self.source, self.name, &e))?,
            None => return Err(cut_short(&self.source, self.name)),
        };
        whole(value).filter(|&i| i < self.below).ok_or_else(|| {
            let expected = format!("whole numbers from 0 to {}", self.below.saturating_sub(1));
            damaged(&self.source, self.name, value.to_string(), expected)
        })
    }

    fn start(&mut self) -> Result<()> {
        match self.next()? {
            0 => Ok(()),
            first => Err(damaged(
                &self.source,
                self.name,
                first.to_string(),
                "0 first".into(),
            )),
        }
    }

    fn not_below(&mut self, least: usize) -> Result<usize> {
        let next = self.next()?;
        if next >= least {
            return Ok(next);
        }
        let found = format!("{next} after {least}");
        let expected = "numbers that never fall".into();
        Err(damaged(&self.source, self.name, found, expected))
    }

    fn finish(&self, at: usize, entries: usize) -> Result<()> {
        if at == entries {
            return Ok(());
        }
        let expected = format!("{entries}, the number of entries, last");
        Err(damaged(&self.source, self.name, at.to_string(), expected))
    }
}

/// The name of a sparse format: a string of bytes, or of characters.
fn read_format(archive: &Archive) -> Result<String> {
    let (header, reader) = opened(archive, "format")?;
    let strings = header.strings(reader, 64).and_then(|s| s.ok());
    let text = strings.and_then(|s| s.into_iter().next());
    Ok(text.unwrap_or_default().trim_end_matches('\0').to_string())
}

fn whole(v: f64) -> Option<usize> {
    ((0.0..9e15).contains(&v) && v.fract() == 0.0).then_some(v as usize)
}
