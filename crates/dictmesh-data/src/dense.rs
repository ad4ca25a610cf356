//! Dense matrices from any file: whole, or a few samples at a time.

use super::error::{DataError, Result};
use super::missing::{settle, Fill};
use super::source::{spool_error, Source};
use crate::chunks::{in_parts, oriented};
use crate::options::{Nan, ReadOptions};
use dictmesh::{Matrix, Samples};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

/// Numbers of a file in the order of the file.
pub type Values = Box<dyn Iterator<Item = Result<f64>> + Send>;

/// Numbers at any place of a file.
pub trait Scalars: Send {
    /// Fills `out` with the numbers from `index` on.
    fn read_from(&mut self, index: u64, out: &mut [f64]) -> io::Result<()>;
}

/// A file that holds a dense matrix.
pub trait DenseFile: Send {
    /// The file.
    fn source(&self) -> &Source;
    /// Rows and columns as stored; the product fits into `u64`.
    fn shape(&self) -> (usize, usize);
    /// Whether rows (not columns) are contiguous.
    fn row_major(&self) -> bool;
    /// All numbers in the order of the file, from the first.
    fn values(&self) -> Result<Values>;
    /// Random access, if the file allows it without unpacking.
    fn scalars(&self) -> Option<Result<Box<dyn Scalars>>> {
        None
    }
}

/// The samples of a dense file, read in one go or in chunks.
pub struct DenseReader {
    file: Box<dyn DenseFile>,
    transpose: bool,
    nan: Nan,
}

impl DenseReader {
    /// Samples are the rows of the file, or its columns if transposed.
    pub fn new(file: Box<dyn DenseFile>, options: &ReadOptions) -> Self {
        DenseReader {
            file,
            transpose: options.transpose,
            nan: options.nan,
        }
    }

    /// Number of samples and of features.
    pub fn size(&self) -> (usize, usize) {
        oriented(self.file.shape(), self.transpose)
    }

    /// Whether the numbers of one sample follow each other in the file.
    fn contiguous(&self) -> bool {
        self.file.row_major() != self.transpose
    }

    /// All samples.
    pub fn read(&self) -> Result<Samples> {
        let (samples, features) = self.size();
        let mut values = self.file.values()?;
        let data = take(
            &mut values,
            samples.saturating_mul(features),
            self.file.source(),
        )?;
        let mut x = if self.contiguous() {
            matrix(features, samples, data, self.file.source())?
        } else {
            matrix(samples, features, data, self.file.source())?.transpose()
        };
        let fill = Fill::of(self.nan, || Ok(Fill::Mean(means(&x))))?;
        self.settle(&mut x, 0, &fill)?;
        finish(x, self.file.source())
    }

    /// The samples, `count` at a time.
    pub fn chunks(self, count: usize) -> Result<impl Iterator<Item = Result<Samples>> + Send> {
        let fill = Fill::of(self.nan, || self.means_by_streaming().map(Fill::Mean))?;
        let mut from = if self.contiguous() {
            From::Sequence(self.file.values()?)
        } else {
            From::Places(match self.file.scalars() {
                Some(scalars) => scalars?,
                None => Box::new(Spooled::new(&*self.file)?),
            })
        };
        let samples = self.size().0;
        Ok(in_parts(samples, count, move |first, count| {
            let mut x = self.part(&mut from, first, count)?;
            self.settle(&mut x, first, &fill)?;
            finish(x, self.file.source())
        }))
    }

    /// Samples `first` and on, as they are stored.
    fn part(&self, from: &mut From, first: usize, count: usize) -> Result<Matrix> {
        let (samples, features) = self.size();
        let source = self.file.source();
        match from {
            From::Sequence(values) => {
                let data = take(values, count.saturating_mul(features), source)?;
                matrix(features, count, data, source)
            }
            From::Places(scalars) => {
                // The file was checked to be as long as it claims.
                let mut across = Matrix::zeros(count, features);
                for feature in 0..features {
                    let at = feature as u64 * samples as u64 + first as u64;
                    scalars
                        .read_from(at, across.column_mut(feature))
                        .map_err(|e| source.io_error(&e))?;
                }
                Ok(across.transpose())
            }
        }
    }

    fn settle(&self, x: &mut Matrix, first: usize, fill: &Fill) -> Result<()> {
        let features = x.rows();
        let values = x.as_mut_slice().iter_mut().enumerate();
        let values = values.map(|(at, v)| (first + at / features, at % features, v));
        let place = |sample, feature| place(self.transpose, sample, feature);
        settle(values, fill, self.file.source(), &place)
    }

    fn means_by_streaming(&self) -> Result<Vec<f64>> {
        let (samples, features) = self.size();
        // Grown by what the file really holds, not by what its header claims.
        let mut sums: Vec<(f64, u64)> = Vec::new();
        let mut values = self.file.values()?;
        for at in 0..(samples as u64).saturating_mul(features as u64) {
            let value = next(&mut values, at, self.file.source())?;
            let feature = if self.contiguous() {
                at % features as u64
            } else {
                at / samples as u64
            } as usize;
            if feature >= sums.len() {
                sums.resize(feature + 1, (0.0, 0));
            }
            if value.is_finite() {
                sums[feature].0 += value;
                sums[feature].1 += 1;
            }
        }
        Ok(sums.iter().map(|&(sum, n)| sum / n as f64).collect())
    }
}

/// The row and column of an entry in the file.
pub fn place(transpose: bool, sample: usize, feature: usize) -> String {
    let (row, column) = if transpose {
        (feature, sample)
    } else {
        (sample, feature)
    };
    format!("row {row}, column {column} (from 0)")
}

enum From {
    Sequence(Values),
    Places(Box<dyn Scalars>),
}

/// A matrix unpacked into a temporary file, for access across the order of the file.
struct Spooled(io::BufReader<std::fs::File>);

impl Spooled {
    fn new(file: &dyn DenseFile) -> Result<Self> {
        let failed = |e: io::Error| spool_error(file.source().name(), &e);
        let mut out = BufWriter::new(tempfile::tempfile().map_err(failed)?);
        let (rows, cols) = file.shape();
        let mut values = file.values()?;
        for at in 0..(rows as u64).saturating_mul(cols as u64) {
            let value = next(&mut values, at, file.source())?;
            out.write_all(&value.to_le_bytes()).map_err(failed)?;
        }
        let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
        Ok(Spooled(io::BufReader::new(file)))
    }
}

impl Scalars for Spooled {
    fn read_from(&mut self, index: u64, out: &mut [f64]) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(index * 8))?;
        let mut bytes = [0; 8];
        for slot in out {
            self.0.read_exact(&mut bytes)?;
            *slot = f64::from_le_bytes(bytes);
        }
        Ok(())
    }
}

/// The next `count` numbers; memory grows with what is there, not with `count`.
fn take(values: &mut Values, count: usize, source: &Source) -> Result<Vec<f64>> {
    let mut data = Vec::with_capacity(count.min(1 << 16));
    for at in 0..count {
        data.push(next(values, at as u64, source)?);
    }
    Ok(data)
}

fn next(values: &mut Values, at: u64, source: &Source) -> Result<f64> {
    values.next().unwrap_or_else(|| {
        Err(source.error(
            format!("the numbers end after {at}"),
            "as many as the header says",
            "The file was cut short: copy or write it again.",
        ))
    })
}

/// The mean of each row (feature) over its finite entries; NaN where there is none.
fn means(x: &Matrix) -> Vec<f64> {
    let mut sums = vec![(0.0, 0_u64); x.rows()];
    for column in x.columns() {
        for (sum, v) in sums.iter_mut().zip(column).filter(|(_, v)| v.is_finite()) {
            sum.0 += v;
            sum.1 += 1;
        }
    }
    sums.iter().map(|&(sum, n)| sum / n as f64).collect()
}

fn matrix(rows: usize, cols: usize, data: Vec<f64>, source: &Source) -> Result<Matrix> {
    Matrix::from_vec(rows, cols, data).map_err(|e| core_error(source, &e.into()))
}

fn finish(x: Matrix, source: &Source) -> Result<Samples> {
    Samples::dense(x).map_err(|e| core_error(source, &e))
}

/// An error of the library as an error of a file.
pub fn core_error(source: &Source, e: &dictmesh::Error) -> DataError {
    source.error(
        e.to_string(),
        "samples of finite numbers",
        "Check how the file was written.",
    )
}
