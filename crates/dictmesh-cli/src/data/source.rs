//! A file that can be opened again and again, even if it came through a pipe.

use super::error::{DataError, Result};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file to read: what arrives through a pipe is first kept in a temporary file, so that every
/// reader can look twice and seek without holding it in memory.
#[derive(Debug)]
pub struct Source {
    name: String,
    path: PathBuf,
    /// Deleted with the source.
    spool: Option<NamedTempFile>,
    len: u64,
}

impl Source {
    /// The file at `path`; `-` is standard input. An empty file is refused.
    pub fn open(path: &Path) -> Result<Self> {
        let source = if path == Path::new("-") {
            Source::spool("standard input".into(), path, &mut io::stdin().lock())?
        } else {
            let name = path.display().to_string();
            let mut file = File::open(path).map_err(|e| DataError::io(&name, &e))?;
            let about = file.metadata().map_err(|e| DataError::io(&name, &e))?;
            if about.is_dir() {
                return Err(DataError::io(&name, &io::ErrorKind::IsADirectory.into()));
            }
            if about.is_file() {
                Source {
                    name,
                    path: path.to_path_buf(),
                    spool: None,
                    len: about.len(),
                }
            } else {
                Source::spool(name, path, &mut file)?
            }
        };
        if source.len == 0 {
            return Err(source.error(
                "the file is empty",
                "data",
                "Check that what wrote it came to its end.",
            ));
        }
        Ok(source)
    }

    fn spool(name: String, path: &Path, from: &mut dyn Read) -> Result<Self> {
        let mut spool = NamedTempFile::new().map_err(|e| spool_error(&name, &e))?;
        let mut buffer = vec![0; 1 << 16];
        let mut len = 0;
        // Not io::copy: a failed read and a full disk are different news.
        loop {
            let got = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(got) => got,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(DataError::io(name, &e)),
            };
            io::Write::write_all(&mut spool, &buffer[..got]).map_err(|e| spool_error(&name, &e))?;
            len += got as u64;
        }
        Ok(Source {
            name,
            path: path.to_path_buf(),
            spool: Some(spool),
            len,
        })
    }

    /// What to call it in a message.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name's extension in lower case, or "".
    pub fn extension(&self) -> String {
        let extension = self.path.extension().and_then(|e| e.to_str());
        extension.unwrap_or("").to_ascii_lowercase()
    }

    /// The number of bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// A new reader from the first byte, independent of every other.
    pub fn reader(&self) -> Result<BufReader<File>> {
        let file = match &self.spool {
            Some(spool) => spool.reopen(),
            None => File::open(&self.path),
        };
        let file = file.map_err(|e| self.io_error(&e))?;
        Ok(BufReader::with_capacity(1 << 16, file))
    }

    /// The first bytes, at most `count`.
    pub fn head(&self, count: usize) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        let mut reader = self.reader()?.take(count as u64);
        reader
            .read_to_end(&mut head)
            .map_err(|e| self.io_error(&e))?;
        Ok(head)
    }

    /// An error about this file.
    pub fn error(
        &self,
        found: impl Into<String>,
        expected: impl Into<String>,
        remedy: impl Into<String>,
    ) -> DataError {
        DataError::new(&self.name, found, expected, remedy)
    }

    /// The operating system's refusal to read this file.
    pub fn io_error(&self, e: &io::Error) -> DataError {
        DataError::io(&self.name, e)
    }
}

/// A temporary file could not be used while reading `name`.
pub fn spool_error(name: &str, e: &io::Error) -> DataError {
    DataError::new(
        name,
        format!(
            "a temporary file in {} cannot be used ({e})",
            std::env::temp_dir().display()
        ),
        "room there for a copy of the data",
        "Free some space, or set TMPDIR to a directory that has it.",
    )
}
