//! A file that can be opened again and again, even if it came through a pipe.

mod bytes;
mod unpack;

use super::error::{DataError, Result};
pub use bytes::Bytes;
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
pub use unpack::is_packed;

/// The name of standard input in messages.
const STDIN_NAME: &str = "standard input";

/// The copy of standard input, and its number of bytes.
static STDIN: Mutex<Option<(Arc<File>, u64)>> = Mutex::new(None);

/// A file to read. Input from a pipe, compressed files and UTF-16 text are first copied to a
/// temporary file, so that readers can seek and read twice in bounded memory. That file has no name:
/// it vanishes with the process.
#[derive(Debug)]
pub struct Source {
    name: String,
    path: PathBuf,
    file: Arc<File>,
    len: u64,
    /// Whether the first line is a header that the original file does not have.
    named: bool,
}

impl Source {
    /// The content of the file at `path`: unpacked, and UTF-16 text as UTF-8. `-` is standard input.
    ///
    /// Errors: an empty file, a device, and damaged compression or UTF-16.
    pub fn open(path: &Path) -> Result<Self> {
        unpack::unpacked(Source::open_as_is(path)?)?.filled()
    }

    /// The bytes of the file at `path`; `-` is standard input. An empty file and a device are
    /// refused.
    pub fn open_as_is(path: &Path) -> Result<Self> {
        let source = if path == Path::new("-") {
            Source::stdin(path)?
        } else {
            let name = path.display().to_string();
            let mut file = File::open(path).map_err(|e| match path.is_dir() {
                // Windows denies permission to open one.
                true => DataError::io(&name, &io::ErrorKind::IsADirectory.into()),
                false => DataError::io(&name, &e),
            })?;
            let about = file.metadata().map_err(|e| DataError::io(&name, &e))?;
            if about.is_dir() {
                return Err(DataError::io(&name, &io::ErrorKind::IsADirectory.into()));
            }
            if about.is_file() {
                Source {
                    name,
                    path: path.to_path_buf(),
                    file: Arc::new(file),
                    len: about.len(),
                    named: false,
                }
            } else {
                check_kind(&name, &about, &mut file)?;
                Source::spool(name, path, &mut file)?
            }
        };
        source.filled()
    }

    /// Standard input. It is copied once, so that it can be opened again.
    fn stdin(path: &Path) -> Result<Self> {
        let mut copied = STDIN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((file, len)) = &*copied {
            return Ok(Source {
                name: STDIN_NAME.into(),
                path: path.to_path_buf(),
                file: file.clone(),
                len: *len,
                named: false,
            });
        }
        let stdin = io::stdin();
        // Without metadata it is read as a pipe.
        if let (false, Ok(about)) = (stdin.is_terminal(), about_stdin()) {
            check_kind(STDIN_NAME, &about, &mut stdin.lock())?;
        }
        let source = Source::spool(STDIN_NAME.into(), path, &mut stdin.lock())?;
        *copied = Some((source.file.clone(), source.len));
        Ok(source)
    }

    /// A source without content, for messages about a stream of this name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let file = tempfile::tempfile().map_err(|e| spool_error(name, &e))?;
        Ok(Source {
            name: name.into(),
            path: PathBuf::from("-"),
            file: Arc::new(file),
            len: 0,
            named: false,
        })
    }

    fn filled(self) -> Result<Self> {
        match self.len {
            0 => Err(self.error(
                "the file is empty",
                "data",
                "Check that it was written completely.",
            )),
            _ => Ok(self),
        }
    }

    fn spool(name: String, path: &Path, from: &mut dyn Read) -> Result<Self> {
        let mut spool = tempfile::tempfile().map_err(|e| spool_error(&name, &e))?;
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
            len += got as u64;
            let kept = io::Write::write_all(&mut spool, &buffer[..got]);
            kept.map_err(|e| spool_full(&name, len, &e))?;
        }
        Ok(Source {
            name,
            path: path.to_path_buf(),
            file: Arc::new(spool),
            len,
            named: false,
        })
    }

    /// Whether line 1 is a header that was added: lines of the original file begin at line 2.
    pub(crate) fn has_names(&self) -> bool {
        self.named
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name's extension in lower case, without that of a compression, or "".
    pub fn extension(&self) -> String {
        extension(&self.path)
    }

    /// The same file with other bytes.
    fn replaced(&self, file: File, len: u64) -> Source {
        Source {
            name: self.name.clone(),
            path: self.path.clone(),
            file: Arc::new(file),
            len,
            named: false,
        }
    }

    /// The same file as a table; `named` if its first line was added as a header.
    pub(crate) fn with_names(&self, file: File, len: u64, named: bool) -> Source {
        Source {
            named,
            ..self.replaced(file, len)
        }
    }

    /// The number of bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// A new reader from the first byte, independent of every other.
    pub fn reader(&self) -> BufReader<Bytes> {
        BufReader::with_capacity(1 << 16, Bytes::new(self.file.clone()))
    }

    /// The first bytes, at most `count`.
    pub fn head(&self, count: usize) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        let mut reader = self.reader().take(count as u64);
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

/// The extension of a name in lower case, without that of a compression: "csv" of `a.csv.gz`.
pub fn extension(path: &Path) -> String {
    let of = |path: &Path| {
        let extension = path.extension().and_then(|e| e.to_str());
        extension.unwrap_or("").to_ascii_lowercase()
    };
    match of(path).as_str() {
        "gz" | "zst" => of(Path::new(path.file_stem().unwrap_or_default())),
        extension => extension.to_string(),
    }
}

/// The first bytes of standard input, which stay there. Waits for them; none at the end.
pub fn stdin_head() -> Result<Vec<u8>> {
    let mut stdin = io::stdin().lock();
    let head = stdin
        .fill_buf()
        .map_err(|e| DataError::io(STDIN_NAME, &e))?;
    Ok(head.to_vec())
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

/// The same while copying what comes through a pipe, of which `len` bytes had come: maybe it never ends.
fn spool_full(name: &str, len: u64, e: &io::Error) -> DataError {
    let mut error = spool_error(name, e);
    error.found = format!("{len} bytes came, and then {}", error.found);
    error.remedy = format!(
        "Check that what writes into the pipe comes to an end. {}",
        error.remedy
    );
    error
}

/// What standard input is.
#[cfg(unix)]
fn about_stdin() -> io::Result<Metadata> {
    use std::os::fd::AsFd;
    File::from(io::stdin().as_fd().try_clone_to_owned()?).metadata()
}

#[cfg(not(unix))]
fn about_stdin() -> io::Result<Metadata> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Refuses a device: /dev/zero and its like never end. One that has nothing to give, /dev/null, is left to
/// be found empty.
#[cfg(unix)]
fn check_kind(name: &str, about: &Metadata, device: &mut dyn Read) -> Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let kind = about.file_type();
    if !kind.is_char_device() && !kind.is_block_device() {
        return Ok(());
    }
    match device.read(&mut [0]) {
        Ok(0) => Ok(()),
        _ => Err(DataError::new(
            name,
            "a device, which may never end",
            "a file or a pipe",
            "Name a file, or copy what you want of it into one (head -c 1000000).",
        )),
    }
}

#[cfg(not(unix))]
fn check_kind(_: &str, _: &Metadata, _: &mut dyn Read) -> Result<()> {
    Ok(())
}
