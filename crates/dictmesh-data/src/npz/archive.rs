//! The entries of a zip archive as readers of their own, unpacked while they are read.

use crate::error::{DataError, Result};
use crate::source::{Bytes, Source};
use flate2::read::DeflateDecoder;
use flate2::Crc;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::sync::Arc;
use zip::CompressionMethod;

/// The directory of an archive of arrays.
pub struct Archive {
    source: Arc<Source>,
    entries: Vec<Packed>,
}

/// Where an entry is and how it is packed.
struct Packed {
    name: String,
    start: u64,
    bytes: u64,
    deflated: bool,
    unpacked: u64,
    crc: u32,
}

impl Archive {
    /// Reads the directory.
    pub fn open(source: Arc<Source>) -> Result<Self> {
        let remedy = "Write it again with numpy.savez or scipy.sparse.save_npz, or copy it again.";
        let broken = |e: zip::result::ZipError| {
            let found = format!("no readable zip archive ({e})");
            source.error(found, "an archive of numpy arrays", remedy)
        };
        let mut zip = zip::ZipArchive::new(source.reader()).map_err(broken)?;
        let mut entries = Vec::new();
        for index in 0..zip.len() {
            let entry = zip.by_index_raw(index).map_err(broken)?;
            let name = entry.name().map_err(broken)?.into_owned();
            let Some(name) = name.strip_suffix(".npy") else {
                continue;
            };
            let method = entry.compression();
            let known = [CompressionMethod::Stored, CompressionMethod::Deflated].contains(&method);
            if entry.encrypted() || !known {
                let found = format!("packed as {method:?}, encrypted: {}", entry.encrypted());
                let error = source.error(found, "stored or deflated, not encrypted", remedy);
                return Err(error.at(super::entry_place(name)));
            }
            entries.push(Packed {
                name: name.to_string(),
                start: entry.data_start().unwrap_or(u64::MAX),
                bytes: entry.compressed_size(),
                deflated: method == CompressionMethod::Deflated,
                unpacked: entry.size(),
                crc: entry.crc32(),
            });
        }
        if entries.is_empty() {
            return Err(source.error("no numpy array", "entries whose names end in .npy", remedy));
        }
        Ok(Archive { source, entries })
    }

    /// The file.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The file, to keep.
    pub fn shared_source(&self) -> Arc<Source> {
        self.source.clone()
    }

    /// The names of the arrays.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|e| e.name.as_str())
    }

    /// Whether there is such an array.
    pub fn has(&self, name: &str) -> bool {
        self.names().any(|n| n == name)
    }

    /// The bytes of an array, from the first.
    pub fn reader(&self, name: &str) -> Result<Unpacked> {
        let entry = self.entries.iter().find(|e| e.name == name);
        let entry = entry.ok_or_else(|| self.absent(name))?;
        let mut file = self.source.reader();
        file.seek(SeekFrom::Start(entry.start))
            .map_err(|e| self.source.io_error(&e))?;
        let packed = file.take(entry.bytes);
        Ok(BufReader::with_capacity(
            1 << 16,
            Checked {
                reader: if entry.deflated {
                    Packing::Deflated(Box::new(DeflateDecoder::new(packed)))
                } else {
                    Packing::Stored(packed)
                },
                left: entry.unpacked,
                sum: Crc::new(),
                expected: entry.crc,
            },
        ))
    }

    fn absent(&self, name: &str) -> DataError {
        let names: Vec<&str> = self.names().collect();
        self.source.error(
            format!(
                "no array \"{}\" (but {})",
                name.escape_debug(),
                names.join(", ")
            ),
            "that array in the archive",
            "Name one of those with <array>, or write a sparse matrix with scipy.sparse.save_npz.",
        )
    }
}

/// The unpacked bytes of an entry.
pub type Unpacked = BufReader<Checked>;

enum Packing {
    Stored(Take<BufReader<Bytes>>),
    Deflated(Box<DeflateDecoder<Take<BufReader<Bytes>>>>),
}

/// Compares the check sum at the last byte: a reader of numbers need not ask for more.
pub struct Checked {
    reader: Packing,
    left: u64,
    sum: Crc,
    expected: u32,
}

impl Read for Checked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let buffer = &mut buffer[..most];
        if buffer.is_empty() {
            return Ok(0);
        }
        let got = match &mut self.reader {
            Packing::Stored(reader) => reader.read(buffer)?,
            Packing::Deflated(reader) => reader.read(buffer)?,
        };
        if got == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.sum.update(&buffer[..got]);
        self.left -= got as u64;
        if self.left == 0 && self.sum.sum() != self.expected {
            let found = "a check sum that does not fit the bytes";
            return Err(io::Error::new(io::ErrorKind::InvalidData, found));
        }
        Ok(got)
    }
}
