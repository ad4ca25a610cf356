//! A file that is complete or absent.

use super::partial::undisturbed;
use super::refusal;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Writes a file beside its place and renames it. `what` names it in messages.
pub fn write_file(what: &'static str, path: &Path, content: &[u8]) -> Result<(), String> {
    let mut draft = Draft::create(what, path)?;
    draft.write_all(content).map_err(|e| draft.failed(&e))?;
    draft.finish()
}

/// The file that a path leads to through links, also links to files that do not exist yet, so that the links
/// remain.
pub fn landing(path: &Path) -> PathBuf {
    let mut place = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&place) {
            Ok(to) => place = place.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return place,
        }
    }
    path.to_path_buf()
}

/// The number of links that systems follow; more are a cycle.
const MOST_LINKS: usize = 40;

/// A file under way: written beside its place, and renamed by [`finish`](Draft::finish). Dropped before that, it
/// is removed.
#[derive(Debug)]
pub struct Draft {
    what: &'static str,
    path: PathBuf,
    beside: PathBuf,
    file: Option<BufWriter<File>>,
}

impl Draft {
    /// Starts a file; `what` names it in messages.
    pub fn create(what: &'static str, path: &Path) -> Result<Self, String> {
        let mut draft = Draft {
            what,
            path: landing(path),
            beside: beside(&landing(path)),
            file: None,
        };
        if draft.path.is_dir() {
            return Err(draft.failed(&io::ErrorKind::IsADirectory.into()));
        }
        let file = undisturbed(|parts| {
            let file = File::create_new(&draft.beside)?;
            parts.push(draft.beside.clone());
            Ok(file)
        });
        draft.file = Some(BufWriter::new(file.map_err(|e| draft.failed(&e))?));
        Ok(draft)
    }

    /// Renames the file to its place.
    pub fn finish(mut self) -> Result<(), String> {
        let moved = self.flush().and_then(|()| match self.file.take() {
            Some(file) => {
                file.get_ref().sync_all()?;
                self.close(|draft| fs::rename(&draft.beside, &draft.path))
            }
            None => Ok(()),
        });
        moved.map_err(|e| {
            // If the removal fails too, the first error is reported.
            let _ = self.close(|draft| fs::remove_file(&draft.beside));
            self.failed(&e)
        })
    }

    /// The last operation on the partial file.
    fn close(&self, last: impl FnOnce(&Self) -> io::Result<()>) -> io::Result<()> {
        undisturbed(|parts| {
            parts.retain(|part| *part != self.beside);
            last(self)
        })
    }

    /// The message for an error while writing.
    pub fn failed(&self, e: &io::Error) -> String {
        let (what, shown) = (self.what, self.path.display());
        format!("cannot write {what} to {shown}: {}", reason(&self.path, e))
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Seek for Draft {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.file {
            Some(file) => file.seek(to),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // The buffer is dropped unwritten: the disk may be full.
            drop(file.into_parts());
            let _ = self.close(|draft| fs::remove_file(&draft.beside));
        }
    }
}

/// A hidden name in the same directory, unique to this process.
pub(super) fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

pub(super) fn reason(path: &Path, e: &io::Error) -> String {
    // The parent of a bare name is "", which means here.
    let parent = path.parent().unwrap_or(Path::new(""));
    let missing = !parent.as_os_str().is_empty() && !parent.exists();
    match e.kind() {
        io::ErrorKind::NotFound if missing => "its directory does not exist".into(),
        io::ErrorKind::PermissionDenied => "permission denied in its directory".into(),
        io::ErrorKind::NotADirectory => "its directory is a file".into(),
        io::ErrorKind::NotFound => "no file can be made in its directory".into(),
        _ => refusal(e),
    }
}
