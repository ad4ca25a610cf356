//! Readers of one open file that do not disturb each other.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

/// A reader with a place of its own in a file that others read too. So a file without a name can be read
/// from several places, and a file that is replaced meanwhile stays the one that was opened.
#[derive(Clone, Debug)]
pub struct Bytes {
    file: Arc<File>,
    at: u64,
}

impl Bytes {
    /// From the first byte.
    pub fn new(file: Arc<File>) -> Self {
        Bytes { file, at: 0 }
    }
}

impl Read for Bytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let got = std::os::unix::fs::FileExt::read_at(&*self.file, into, self.at)?;
        #[cfg(windows)]
        let got = std::os::windows::fs::FileExt::seek_read(&*self.file, into, self.at)?;
        self.at += got as u64;
        Ok(got)
    }
}

impl Seek for Bytes {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let moved = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.file.metadata()?.len().checked_add_signed(by),
        };
        self.at = moved.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
