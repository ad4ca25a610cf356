//! Files of codes and reconstructions, written batch by batch.

use crate::output::{refusal, Draft};
use dictmesh::Matrix;
use npyz::WriterBuilder;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

/// The codes of samples as an .npz of compressed sparse rows, which `scipy.sparse.load_npz` reads.
///
/// Memory holds one number per sample; temporary files hold the entries until the end. Errors are
/// messages that name the file.
pub struct CodesFile {
    draft: Draft,
    start: Vec<i64>,
    index: BufWriter<File>,
    value: BufWriter<File>,
    atoms: usize,
}

impl CodesFile {
    /// Starts a file for codes of this many atoms.
    pub fn create(path: &Path, atoms: usize) -> Result<Self, String> {
        Ok(CodesFile {
            draft: Draft::create("the codes", path)?,
            start: vec![0],
            index: BufWriter::new(tempfile::tempfile().map_err(|e| waiting(&e))?),
            value: BufWriter::new(tempfile::tempfile().map_err(|e| waiting(&e))?),
            atoms,
        })
    }

    /// Adds the columns of `y`.
    pub fn add(&mut self, y: &Matrix) -> Result<(), String> {
        for y in y.columns() {
            let mut end = self.start.last().copied().unwrap_or(0);
            for (q, y) in y.iter().enumerate().filter(|(_, y)| **y != 0.0) {
                let index = self.index.write_all(&(q as i64).to_le_bytes());
                let both = index.and_then(|()| self.value.write_all(&y.to_le_bytes()));
                both.map_err(|e| waiting(&e))?;
                end += 1;
            }
            self.start.push(end);
        }
        Ok(())
    }

    /// Writes the archive and moves it to its place.
    pub fn finish(self) -> Result<(), String> {
        let CodesFile {
            mut draft,
            start,
            index,
            value,
            atoms,
        } = self;
        let written = write_archive(&mut draft, &start, index, value, atoms);
        written.map_err(|e| draft.failed(&e))?;
        draft.finish()
    }
}

fn write_archive(
    draft: &mut Draft,
    start: &[i64],
    index: BufWriter<File>,
    value: BufWriter<File>,
    atoms: usize,
) -> io::Result<()> {
    let mut zip = zip::ZipWriter::new(draft);
    // Flushed here, so that closing the archive, which stays in the buffer, does not meet a full disk.
    let written = write_entries(&mut zip, start, index, value, atoms).and_then(|()| zip.flush());
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
    start: &[i64],
    index: BufWriter<File>,
    value: BufWriter<File>,
    atoms: usize,
) -> io::Result<()> {
    let entries = start.last().copied().unwrap_or(0) as u64;
    let shape = [start.len() as i64 - 1, atoms as i64];
    let large = 8 * entries.max(start.len() as u64) >= u64::from(u32::MAX);
    let options = zip::write::SimpleFileOptions::default().large_file(large);
    let mut entry = |name: &str, header: Vec<u8>, content: &mut dyn Read| -> io::Result<()> {
        zip.start_file(format!("{name}.npy"), options)?;
        zip.write_all(&header)?;
        io::copy(content, zip).map(|_| ())
    };
    let numbers = |n: &[i64]| n.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    entry("indices", header::<i64>(&[entries])?, &mut again(index)?)?;
    entry(
        "indptr",
        header::<i64>(&[start.len() as u64])?,
        &mut &numbers(start)[..],
    )?;
    entry("format", Vec::new(), &mut &format_entry()?[..])?;
    entry("shape", header::<i64>(&[2])?, &mut &numbers(&shape)[..])?;
    entry("data", header::<f64>(&[entries])?, &mut again(value)?)
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
        "the codes cannot be kept in a temporary file in {}: {} (set TMPDIR)",
        directory.display(),
        refusal(e)
    )
}

/// Vectors as the rows of an .npy.
pub struct RowsFile {
    draft: Draft,
}

impl RowsFile {
    /// Starts a file of this many rows of this length.
    pub fn create(path: &Path, samples: usize, rows: usize) -> Result<Self, String> {
        let mut draft = Draft::create("the reconstruction", path)?;
        let header = header::<f64>(&[samples as u64, rows as u64]).map_err(|e| e.to_string())?;
        draft.write_all(&header).map_err(|e| draft.failed(&e))?;
        Ok(RowsFile { draft })
    }

    /// Adds the columns of `x` as rows.
    pub fn add(&mut self, x: &Matrix) -> Result<(), String> {
        for v in x.as_slice() {
            let written = self.draft.write_all(&v.to_le_bytes());
            written.map_err(|e| self.draft.failed(&e))?;
        }
        Ok(())
    }

    /// Moves the file to its place.
    pub fn finish(self) -> Result<(), String> {
        self.draft.finish()
    }
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
