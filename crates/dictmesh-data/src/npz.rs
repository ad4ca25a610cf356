//! Archives of numpy arrays (.npz), dense or as `scipy.sparse.save_npz` writes them. The zip
//! directory is the `zip` crate's, each array inside is [`npy`](super::npy)'s.

mod archive;
mod sparse;

use super::dense::{DenseFile, Values};
use super::error::{DataError, Result};
use super::npy::{check_numbers, not_matrix, not_npy, Header, Numbers};
use super::source::Source;
use archive::{Archive, Unpacked};
pub use sparse::NpzSparse;
use std::sync::Arc;

/// A matrix in an archive.
pub enum Npz {
    Dense(NpzMatrix),
    Sparse(NpzSparse),
}

impl Npz {
    /// Finds the matrix: a scipy sparse one, the array called `name`, or the only array.
    pub fn open(source: Arc<Source>, name: Option<&str>) -> Result<Npz> {
        let archive = Archive::open(source)?;
        if name.is_none() && archive.has("format") && archive.has("shape") {
            return NpzSparse::open(archive).map(Npz::Sparse);
        }
        let names: Vec<&str> = archive.names().collect();
        let name = match (name, &names[..]) {
            (Some(name), _) => name.to_string(),
            (None, [only]) => only.to_string(),
            (None, _) => {
                return Err(archive.source().error(
                    format!("{} arrays ({})", names.len(), names.join(", ")),
                    "one array, or a sparse matrix by scipy.sparse.save_npz",
                    "Name the one to read with <array>.",
                ))
            }
        };
        NpzMatrix::open(archive, name).map(Npz::Dense)
    }
}

/// A dense matrix in an archive.
pub struct NpzMatrix {
    archive: Archive,
    name: String,
    shape: (usize, usize),
    row_major: bool,
}

impl NpzMatrix {
    fn open(archive: Archive, name: String) -> Result<Self> {
        let (header, _) = array(&archive, &name)?;
        let shape = header.matrix_shape();
        let shape =
            shape.map_err(|found| not_matrix(archive.source(), found).at(entry_place(&name)))?;
        Ok(NpzMatrix {
            row_major: header.row_major(),
            archive,
            name,
            shape,
        })
    }
}

impl DenseFile for NpzMatrix {
    fn source(&self) -> &Source {
        self.archive.source()
    }
    fn shape(&self) -> (usize, usize) {
        self.shape
    }
    fn row_major(&self) -> bool {
        self.row_major
    }
    fn values(&self) -> Result<Values> {
        let (_, numbers) = array(&self.archive, &self.name)?;
        let (source, name) = (self.archive.shared_source(), self.name.clone());
        Ok(Box::new(
            numbers.map(move |v| v.map_err(|e| entry_io(&source, &name, &e))),
        ))
    }
}

/// The header of an array and its numbers.
fn array(archive: &Archive, name: &str) -> Result<(Header, Box<dyn Numbers>)> {
    let (header, reader) = opened(archive, name)?;
    let at = |e: DataError| e.at(entry_place(name));
    check_numbers(archive.source(), &header).map_err(at)?;
    let numbers = header.values(reader);
    let numbers = numbers.ok_or_else(|| at(not_npy(archive.source(), "no numbers".into())))?;
    Ok((header, numbers))
}

fn opened(archive: &Archive, name: &str) -> Result<(Header, Unpacked)> {
    let mut reader = archive.reader(name)?;
    let header = Header::read(&mut reader);
    let header = header.map_err(|found| not_npy(archive.source(), found).at(entry_place(name)))?;
    Ok((header, reader))
}

fn entry_place(name: &str) -> String {
    format!("array \"{}\"", name.escape_debug())
}

fn entry_io(source: &Source, name: &str, e: &std::io::Error) -> DataError {
    match e.kind() {
        std::io::ErrorKind::UnexpectedEof => cut_short(source, name),
        _ => damaged(
            source,
            name,
            e.to_string(),
            "an array that can be unpacked".into(),
        ),
    }
}

fn cut_short(source: &Source, name: &str) -> DataError {
    let expected = "as many as its header says".into();
    damaged(source, name, "the numbers end early".into(), expected)
}

fn damaged(source: &Source, name: &str, found: String, expected: String) -> DataError {
    let remedy = "The file is damaged: copy it again, or write it again with scipy or numpy.";
    let error = source.error(found, expected, remedy);
    error.at(entry_place(name))
}
