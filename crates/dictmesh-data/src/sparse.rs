//! Sparse matrices from any file: whole, or a few samples at a time. Sparse stays sparse.

use super::dense::{core_error, place};
use super::error::Result;
use super::missing::{settle, Fill};
use super::sort::Sorted;
use super::source::Source;
use crate::chunks::{in_parts, oriented};
pub use crate::entries::{Entries, Entry};
use crate::options::{Nan, ReadOptions};
use dictmesh::Samples;
use std::collections::HashMap;
use std::iter::Peekable;

/// Which index never falls from one entry of a file to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rising {
    Rows,
    Columns,
    /// Unknown before reading.
    Unknown,
}

/// A file that holds a sparse matrix.
pub trait SparseFile: Send {
    /// The file.
    fn source(&self) -> &Source;
    /// Rows and columns.
    fn shape(&self) -> (usize, usize);
    /// The order of the entries.
    fn rising(&self) -> Rising;
    /// All entries, each inside the shape, from the first; those at the same place add up.
    fn entries(&self) -> Result<Entries>;
}

/// The samples of a sparse file, read in one go or in chunks.
pub struct SparseReader {
    file: Box<dyn SparseFile>,
    transpose: bool,
    nan: Nan,
}

impl SparseReader {
    /// Samples are the rows of the file, or its columns if transposed.
    pub fn new(file: Box<dyn SparseFile>, options: &ReadOptions) -> Result<Self> {
        let (rows, cols) = file.shape();
        let source = file.source();
        // Empty rows cost a file nothing, but they cost us: a damaged size must not take memory.
        let most = (source.len().saturating_mul(1024)).max(1 << 20);
        if rows == 0 || cols == 0 || rows as u64 > most || cols as u64 > most {
            return Err(source.error(
                format!("a matrix of {rows} x {cols} in {} bytes", source.len()),
                "a shape above 0 that the file can hold",
                "Its shape is damaged or wrong: write the file again.",
            ));
        }
        Ok(SparseReader {
            transpose: options.transpose,
            nan: options.nan,
            file,
        })
    }

    /// Number of samples and of features.
    pub fn size(&self) -> (usize, usize) {
        oriented(self.file.shape(), self.transpose)
    }

    /// The entries with the sample as their row.
    fn by_sample(&self) -> Result<Entries> {
        let entries = self.file.entries()?;
        if !self.transpose {
            return Ok(entries);
        }
        Ok(Box::new(entries.map(|e| {
            e.map(|e| Entry {
                row: e.column,
                column: e.row,
                value: e.value,
            })
        })))
    }

    /// All samples.
    pub fn read(self) -> Result<Samples> {
        let mut entries = self.by_sample()?.collect::<Result<Vec<_>>>()?;
        if !entries.is_sorted_by_key(|e| e.row) {
            entries.sort_by_key(|e| e.row);
        }
        let (samples, features) = self.size();
        let mut entries: Entries = Box::new(entries.into_iter().map(Ok));
        let mut all = Columns::read(&mut (&mut entries).peekable(), 0, samples)?;
        let fill = Fill::of(self.nan, || {
            let mut sums = HashMap::new();
            all.add_to(&mut sums);
            Ok(means(sums, samples))
        })?;
        self.settle(&mut all, 0, &fill)?;
        all.samples(features, self.file.source())
    }

    /// The samples, `count` at a time. Entries that come in another order are first sorted on disk.
    pub fn chunks(self, count: usize) -> Result<impl Iterator<Item = Result<Samples>> + Send> {
        let by_sample = if self.transpose {
            Rising::Columns
        } else {
            Rising::Rows
        };
        let sorted = match self.file.rising() {
            Rising::Unknown if self.rises()? => None,
            rising if rising == by_sample => None,
            _ => Some(Sorted::new(self.by_sample()?, self.file.source())?),
        };
        let open = || match &sorted {
            Some(sorted) => sorted.entries(self.file.source()),
            None => self.by_sample(),
        };
        let (samples, features) = self.size();
        let fill = Fill::of(self.nan, || {
            let mut entries = open()?.peekable();
            let mut sums = HashMap::new();
            for sample in 0..samples {
                Columns::read(&mut entries, sample, 1)?.add_to(&mut sums);
            }
            Ok(means(sums, samples))
        })?;
        let mut entries = open()?.peekable();
        Ok(in_parts(samples, count, move |first, count| {
            // Its temporary file must outlive the entries.
            let _ = &sorted;
            let mut columns = Columns::read(&mut entries, first, count)?;
            self.settle(&mut columns, first, &fill)?;
            columns.samples(features, self.file.source())
        }))
    }

    fn rises(&self) -> Result<bool> {
        let mut last = 0;
        for entry in self.by_sample()? {
            let sample = entry?.row;
            if sample < last {
                return Ok(false);
            }
            last = sample;
        }
        Ok(true)
    }

    fn settle(&self, columns: &mut Columns, first: usize, fill: &Fill) -> Result<()> {
        let Columns { start, row, value } = columns;
        let ends = start[1..].iter().enumerate();
        let samples = ends.flat_map(|(j, &end)| std::iter::repeat_n(j, end - start[j]));
        let values = samples.zip(row.iter()).zip(value.iter_mut());
        let values = values.map(|((j, &feature), v)| (first + j, feature, v));
        let place = |sample, feature| place(self.transpose, sample, feature);
        settle(values, fill, self.file.source(), &place)
    }
}

/// Samples in compressed-column form.
struct Columns {
    start: Vec<usize>,
    row: Vec<usize>,
    value: Vec<f64>,
}

impl Columns {
    /// Samples `first..first + count` of entries whose sample never falls. Within a sample the
    /// features are sorted here, and entries at the same place added.
    fn read<I>(entries: &mut Peekable<I>, first: usize, count: usize) -> Result<Self>
    where
        I: Iterator<Item = Result<Entry>>,
    {
        let (mut start, mut row, mut value) = (vec![0], Vec::<usize>::new(), Vec::new());
        let mut one: Vec<(usize, f64)> = Vec::new();
        for sample in first..first + count {
            one.clear();
            while let Some(entry) = entries.next_if(|e| !matches!(e, Ok(e) if e.row != sample)) {
                let entry = entry?;
                one.push((entry.column, entry.value));
            }
            one.sort_by_key(|e| e.0);
            let from = row.len();
            for &(feature, v) in &one {
                match value.last_mut() {
                    Some(sum) if row.len() > from && row.last() == Some(&feature) => *sum += v,
                    _ => {
                        row.push(feature);
                        value.push(v);
                    }
                }
            }
            start.push(row.len());
        }
        Ok(Columns { start, row, value })
    }

    /// Adds the sum of each feature and the number of its NaNs.
    fn add_to(&self, sums: &mut HashMap<usize, (f64, usize)>) {
        for (&feature, v) in self.row.iter().zip(&self.value) {
            let sum = sums.entry(feature).or_default();
            if v.is_nan() {
                sum.1 += 1;
            } else {
                sum.0 += v;
            }
        }
    }

    fn samples(self, features: usize, source: &Source) -> Result<Samples> {
        Samples::sparse(features, self.start, self.row, self.value)
            .map_err(|e| core_error(source, &e))
    }
}

/// The mean of every feature with a NaN; the entries that are not stored count as zeros.
fn means(sums: HashMap<usize, (f64, usize)>, samples: usize) -> Fill {
    let with_nan = sums.into_iter().filter(|(_, (_, nans))| *nans > 0);
    let mean = |(feature, (sum, nans)): (usize, (f64, usize))| {
        (feature, sum / samples.saturating_sub(nans) as f64)
    };
    Fill::SparseMean(with_nan.map(mean).collect())
}
