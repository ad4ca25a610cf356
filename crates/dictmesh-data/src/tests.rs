//! Laws of the readers, over all formats.

mod bytes;
#[cfg(feature = "columnar")]
mod columnar;
mod compressed;
#[cfg(feature = "columnar")]
mod damaged_columns;
mod errors;
mod formats;
mod json_lines;
mod memory;
mod pictures;
mod preparation;
mod streams;
mod svmlight;
mod tables;

use super::*;
use dictmesh::Samples;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// A file that numpy or scipy wrote (see `make.py` there).
fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/files")
        .join(name)
}

/// A file of the real data, in the directory that DICTMESH_DATA names (else in shared/data beside the
/// repository), or none, with a word, where it is not there.
fn real_data(name: &str) -> Option<PathBuf> {
    let directory = std::env::var_os("DICTMESH_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = directory.join(name);
    if !path.exists() {
        println!(
            "skipped: no {name} in {} (set DICTMESH_DATA)",
            directory.display()
        );
        return None;
    }
    Some(path)
}

/// [`chunks`] of the file at `path`.
fn chunks_at(path: &Path, options: &ReadOptions, count: usize) -> Result<Chunks> {
    chunks(&Arc::new(Source::open(path)?), options, count)
}

/// One matrix in every format.
const SAME: [&str; 15] = [
    "f8.npy",
    "f4-fortran.npy",
    "i8.npy",
    "i2-big-endian.npy",
    "u1-fortran.npy",
    "dense-stored.npz",
    "dense-deflated.npz",
    "dense-fortran.npz",
    "csr-unsorted.npz",
    "csr-stored.npz",
    "csc.npz",
    "coo-duplicates.npz",
    "coordinate.mtx",
    "coordinate-by-columns.mtx",
    "array.mtx",
];

/// A file made in the test, in a directory that goes away with it.
struct Made {
    _directory: TempDir,
    path: PathBuf,
}

fn made(name: &str, content: impl AsRef<[u8]>) -> Made {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    Made {
        _directory: directory,
        path,
    }
}

fn read_made(name: &str, content: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Table> {
    read(&made(name, content).path, options)
}

/// The columns as plain vectors.
fn columns(samples: &Samples) -> Vec<Vec<f64>> {
    let dense = samples.to_dense();
    dense.columns().map(<[f64]>::to_vec).collect()
}

/// A .npy file of `<f8` with this shape and these numbers.
fn npy(shape: &[u64], fortran: bool, values: &[f64]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
    let shape = shape.join(", ");
    let mut bytes = npy_header(&format!(
        "{{'descr': '<f8', 'fortran_order': {order}, 'shape': ({shape}), }}"
    ));
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    bytes
}

fn npy_header(text: &str) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16 + 1).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.push(b'\n');
    bytes
}

/// An archive of these arrays.
fn npz(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in arrays {
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}
