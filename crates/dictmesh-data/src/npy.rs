//! Numpy arrays (.npy): the format is [`npyz`]'s; here are the checks against damaged headers and
//! the conversion of every number type to `f64`.

mod header;

use super::dense::{DenseFile, Scalars, Values};
use super::error::{DataError, Result};
use super::source::{Bytes, Source};
pub use header::{Header, Numbers};
use std::io::{self, Seek};
use std::sync::Arc;

/// A matrix in a .npy file.
pub struct NpyMatrix {
    source: Arc<Source>,
    header: Header,
    shape: (usize, usize),
}

impl NpyMatrix {
    /// Reads the header and checks it against the length of the file.
    pub fn open(source: Arc<Source>) -> Result<Self> {
        let mut reader = source.reader();
        let header = Header::read(&mut reader).map_err(|found| not_npy(&source, found))?;
        let shape = header
            .matrix_shape()
            .map_err(|found| not_matrix(&source, found))?;
        check_numbers(&source, &header)?;
        let need = header.item_bytes().unwrap_or(1).saturating_mul(header.len);
        let have = source.len().saturating_sub(header.bytes);
        if have < need {
            return Err(source.error(
                format!("the file ends after {have} of the {need} bytes of its numbers"),
                format!("an array of shape {:?}", header.shape()),
                "It was cut short: copy or write it again.",
            ));
        }
        Ok(NpyMatrix {
            source,
            header,
            shape,
        })
    }

    fn data(&self) -> Result<io::BufReader<Bytes>> {
        let mut reader = self.source.reader();
        let to = io::SeekFrom::Start(self.header.bytes);
        reader.seek(to).map_err(|e| self.source.io_error(&e))?;
        Ok(reader)
    }
}

impl DenseFile for NpyMatrix {
    fn source(&self) -> &Source {
        &self.source
    }
    fn shape(&self) -> (usize, usize) {
        self.shape
    }
    fn row_major(&self) -> bool {
        self.header.row_major()
    }
    fn values(&self) -> Result<Values> {
        let numbers = self.header.values(self.data()?);
        let numbers = numbers.ok_or_else(|| wrong_type(&self.source, &self.header))?;
        let source = self.source.clone();
        Ok(Box::new(
            numbers.map(move |v| v.map_err(|e| source.io_error(&e))),
        ))
    }
    fn scalars(&self) -> Option<Result<Box<dyn Scalars>>> {
        Some(self.data().and_then(|reader| {
            let scalars = self.header.scalars(reader);
            scalars.ok_or_else(|| wrong_type(&self.source, &self.header))
        }))
    }
}

/// The error for bytes that are no array.
pub fn not_npy(source: &Source, found: String) -> DataError {
    source.error(
        found,
        "an array as numpy.save writes it",
        "Write it again with numpy.save, or say the right <format>.",
    )
}

/// The error for an array that is no matrix.
pub fn not_matrix(source: &Source, found: String) -> DataError {
    source.error(
        found,
        "two dimensions, both above 0",
        "Reshape it: a.reshape(1, -1) is one sample, a.reshape(-1, 1) is one feature.",
    )
}

/// `Ok` if the array holds real numbers.
pub fn check_numbers(source: &Source, header: &Header) -> Result<()> {
    match header.values(io::empty()) {
        Some(_) => Ok(()),
        None => Err(wrong_type(source, header)),
    }
}

fn wrong_type(source: &Source, header: &Header) -> DataError {
    source.error(
        format!("an array of type {}", header.type_name()),
        "real numbers (f4, f8, an integer type or bool)",
        "Convert it: numpy.save(name, a.astype(float)).",
    )
}
