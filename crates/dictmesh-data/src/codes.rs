//! Files of codes and reconstructions, written batch by batch.

use crate::output::{refusal, Draft};
use dictmesh::Matrix;
use npyz::WriterBuilder;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

/// The codes of samples as an .npz of compressed sparse rows, which `scipy.sparse.load_npz` reads.
///
/// Temporary files hold the codes until the end, so that memory does not grow with them. Errors are
/// messages that name the file.
pub struct CodesFile {
    draft: Draft,
    parts: Parts,
    samples: u64,
    entries: u64,
    atoms: usize,
}

/// The arrays of the archive, each in a temporary file.
struct Parts {
    /// Where each row ends among the entries, from the second on.
    end: BufWriter<File>,
    index: BufWriter<File>,
    value: BufWriter<File>,
}

impl CodesFile {
    /// Starts a file for codes of this many atoms.
    pub fn create(path: &Path, atoms: usize) -> Result<Self, String> {
        Ok(CodesFile {
            draft: Draft::create("the codes", path)?,
            parts: Parts {
                end: spool()?,
                index: spool()?,
                value: spool()?,
            },
            samples: 0,
            entries: 0,
            atoms,
        })
    }

    /// Adds the columns of `y`.
    pub fn add(&mut self, y: &Matrix) -> Result<(), String> {
        for y in y.columns() {
            self.add_one(y).map_err(|e| waiting(&e))?;
        }
        Ok(())
    }

    fn add_one(&mut self, y: &[f64]) -> io::Result<()> {
        for (q, y) in y.iter().enumerate().filter(|(_, y)| **y != 0.0) {
            self.parts.index.write_all(&(q as i64).to_le_bytes())?;
            self.parts.value.write_all(&y.to_le_bytes())?;
            self.entries += 1;
        }
        self.samples += 1;
        self.parts.end.write_all(&self.entries.to_le_bytes())
    }

    /// Writes the archive and moves it to its place.
    pub fn finish(self) -> Result<(), String> {
        let CodesFile {
            mut draft,
            parts,
            samples,
            entries,
            atoms,
        } = self;
        let written = write_archive(&mut draft, parts, [samples, atoms as u64], entries);
        written.map_err(|e| draft.failed(&e))?;
        draft.finish()
    }
}

fn spool() -> Result<BufWriter<File>, String> {
    let file = tempfile::tempfile().map_err(|e| waiting(&e))?;
    Ok(BufWriter::new(file))
}

fn write_archive(draft: &mut Draft, parts: Parts, shape: [u64; 2], entries: u64) -> io::Result<()> {
    let mut zip = zip::ZipWriter::new(draft);
    // Flushed here, so that closing the archive, which stays in the buffer, does not meet a full disk.
    let written = write_entries(&mut zip, parts, shape, entries).and_then(|()| zip.flush());
    if written.is_err() {
        // Its destructor would try to close the archive and print the error.
        std::mem::forget(zip);
        return written;
    }
    zip.finish()?;
    Ok(())
}

fn write_entries(
    zip: &mut zip::ZipWriter<&mut Draft>,
    parts: Parts,
    shape: [u64; 2],
    entries: u64,
) -> io::Result<()> {
    let starts = shape[0] + 1;
    let large = 8 * entries.max(starts) >= u64::from(u32::MAX);
    let options = zip::write::SimpleFileOptions::default().large_file(large);
    let mut entry = |name: &str, header: Vec<u8>, content: &mut dyn Read| -> io::Result<()> {
        zip.start_file(format!("{name}.npy"), options)?;
        zip.write_all(&header)?;
        io::copy(content, zip).map(|_| ())
    };
    let shape = shape.map(u64::to_le_bytes).concat();
    let of_first = 0_u64.to_le_bytes();
    entry(
        "indices",
        header::<i64>(&[entries])?,
        &mut again(parts.index)?,
    )?;
    entry(
        "indptr",
        header::<i64>(&[starts])?,
        &mut of_first.as_slice().chain(again(parts.end)?),
    )?;
    entry("format", Vec::new(), &mut &format_entry()?[..])?;
    entry("shape", header::<i64>(&[2])?, &mut &shape[..])?;
    entry("data", header::<f64>(&[entries])?, &mut again(parts.value)?)
}

/// A temporary file from its beginning.
fn again(file: BufWriter<File>) -> io::Result<BufReader<File>> {
    let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(BufReader::new(file))
}

fn waiting(e: &io::Error) -> String {
    let directory = std::env::temp_dir();
    format!(
        "the results cannot be kept in a temporary file in {}: {} (set TMPDIR)",
        directory.display(),
        refusal(e)
    )
}

/// Vectors as the rows of an .npy. A temporary file holds them until their number is known.
pub struct RowsFile {
    draft: Draft,
    values: BufWriter<File>,
    samples: u64,
    rows: usize,
}

impl RowsFile {
    /// Starts a file of rows of this length.
    pub fn create(path: &Path, rows: usize) -> Result<Self, String> {
        Ok(RowsFile {
            draft: Draft::create("the reconstruction", path)?,
            values: spool()?,
            samples: 0,
            rows,
        })
    }

    /// Adds the columns of `x` as rows.
    pub fn add(&mut self, x: &Matrix) -> Result<(), String> {
        for v in x.as_slice() {
            let written = self.values.write_all(&v.to_le_bytes());
            written.map_err(|e| waiting(&e))?;
        }
        self.samples += x.cols() as u64;
        Ok(())
    }

    /// Writes the file and moves it to its place.
    pub fn finish(self) -> Result<(), String> {
        let mut draft = self.draft;
        let written = write_rows(&mut draft, self.values, [self.samples, self.rows as u64]);
        written.map_err(|e| draft.failed(&e))?;
        draft.finish()
    }
}

fn write_rows(draft: &mut Draft, values: BufWriter<File>, shape: [u64; 2]) -> io::Result<()> {
    draft.write_all(&header::<f64>(&shape)?)?;
    io::copy(&mut again(values)?, draft).map(|_| ())
}

/// The head of an .npy of this shape; the numbers follow it in little-endian order.
fn header<T: npyz::AutoSerialize>(shape: &[u64]) -> io::Result<Vec<u8>> {
    let dtype = match T::default_dtype() {
        npyz::DType::Plain(plain) => plain.to_string().replace('>', "<"),
        other => other.descr(),
    };
    let dtype: npyz::TypeStr = dtype.parse().map_err(io::Error::other)?;
    let mut out = Vec::new();
    npyz::WriteOptions::<T>::new()
        .dtype(npyz::DType::Plain(dtype))
        .shape(shape)
        .writer(&mut out)
        .begin_nd()?;
    Ok(out)
}

/// The word "csr" as scipy writes it: a zero-dimensional array of three bytes.
fn format_entry() -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let dtype: npyz::TypeStr = "|S3".parse().map_err(io::Error::other)?;
    let mut writer = npyz::WriteOptions::new()
        .dtype(npyz::DType::Plain(dtype))
        .shape(&[])
        .writer(&mut out)
        .begin_nd()?;
    writer.push(b"csr".as_slice())?;
    writer.finish()?;
    Ok(out)
}
