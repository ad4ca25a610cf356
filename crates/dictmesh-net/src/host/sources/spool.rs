//! Samples that cannot be read a second time, kept on disk until nobody can ask for them again.
//!
//! Files of at most [`LENGTH`] samples, each named by its first sample's number. A record is the sample's M numbers,
//! little-endian, and a CRC-32 of them; what a crash left torn at the end is cut off.

use super::super::error::failed;
use super::super::Result;
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const LENGTH: u64 = 1024;
const PREFIX: &str = "spool-";

/// Numbered samples, in memory and on disk.
pub struct Spool {
    directory: PathBuf,
    rows: usize,
    /// The number of the first sample kept.
    first: u64,
    kept: VecDeque<Vec<f64>>,
    /// The file being written, and its first sample.
    open: Option<(File, u64)>,
}

impl Spool {
    /// What was kept before in this directory, or nothing.
    pub fn open(directory: &Path, rows: usize) -> Result<Self> {
        fs::create_dir_all(directory).map_err(|e| failed(directory, &e))?;
        let mut spool = Spool {
            directory: directory.to_path_buf(),
            rows,
            first: 0,
            kept: VecDeque::new(),
            open: None,
        };
        for (i, begins) in spool.files()?.into_iter().enumerate() {
            if i == 0 {
                spool.first = begins;
            }
            if spool.next() != begins {
                return Err(format!(
                    "{}: expected sample {} to be the next; remove the spool files to begin anew",
                    spool.path(begins).display(),
                    spool.next()
                )
                .into());
            }
            spool.read(begins)?;
        }
        Ok(spool)
    }

    /// The number that the next sample gets.
    pub fn next(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// Samples from `position` on, `count` at most.
    pub fn range(&self, position: u64, count: usize) -> Result<Vec<&[f64]>> {
        let Some(from) = position.checked_sub(self.first) else {
            return Err(format!(
                "sample {position} is not kept any more; the first is {}",
                self.first
            )
            .into());
        };
        let samples = self.kept.iter().skip(from as usize).take(count);
        Ok(samples.map(Vec::as_slice).collect())
    }

    /// Keeps a sample.
    pub fn push(&mut self, sample: Vec<f64>) -> Result<()> {
        let next = self.next();
        if (self.open.as_ref()).is_none_or(|open| next - open.1 >= LENGTH) {
            self.sync()?;
            let path = self.path(next);
            let file = OpenOptions::new().create_new(true).append(true).open(&path);
            self.open = Some((file.map_err(|e| failed(&path, &e))?, next));
            // Without it a power cut may take the file with all that was brought to the disk in it.
            keep_names(&self.directory)?;
        }
        if let Some((file, begins)) = &mut self.open {
            let written = file.write_all(&record(&sample));
            let path = self.directory.join(name(*begins));
            written.map_err(|e| failed(&path, &e))?;
        }
        self.kept.push_back(sample);
        Ok(())
    }

    /// Brings it to the disk.
    pub fn sync(&mut self) -> Result<()> {
        match &self.open {
            Some((file, begins)) => (file.sync_data()).map_err(|e| failed(&self.path(*begins), &e)),
            None => Ok(()),
        }
    }

    /// Samples before this one are not needed any more.
    pub fn forget(&mut self, position: u64) -> Result<()> {
        // Whole files go; the memory follows them, so that both tell the same.
        let files = self.files()?;
        let kept = files.iter().rposition(|begins| *begins <= position);
        let kept = kept.unwrap_or(0);
        for begins in &files[..kept] {
            let path = self.path(*begins);
            fs::remove_file(&path).map_err(|e| failed(&path, &e))?;
        }
        if let Some(first) = files.get(kept) {
            self.kept.drain(..(first - self.first) as usize);
            self.first = *first;
        }
        Ok(())
    }

    fn path(&self, begins: u64) -> PathBuf {
        self.directory.join(name(begins))
    }

    /// The first samples of the files, rising.
    fn files(&self) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        let listed = fs::read_dir(&self.directory).map_err(|e| failed(&self.directory, &e))?;
        for entry in listed {
            let name = entry.map_err(|e| failed(&self.directory, &e))?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
            found.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Reads a file up to its last whole record, and goes on writing there.
    fn read(&mut self, begins: u64) -> Result<()> {
        let path = self.path(begins);
        let bytes = fs::read(&path).map_err(|e| failed(&path, &e))?;
        let length = 8 * self.rows + 4;
        let mut whole = 0;
        for bytes in bytes.chunks_exact(length) {
            let (numbers, crc) = bytes.split_at(8 * self.rows);
            if crc != crc32(numbers) {
                break;
            }
            let numbers = numbers.as_chunks::<8>().0.iter();
            (self.kept).push_back(numbers.map(|b| f64::from_le_bytes(*b)).collect());
            whole += length;
        }
        if whole < bytes.len() {
            tracing::warn!(
                file = %path.display(), "torn after sample {}, and cut off there: samples after it are to be fed again",
                self.next()
            );
        }
        let cut = || -> io::Result<File> {
            let file = OpenOptions::new().append(true).open(&path)?;
            file.set_len(whole as u64)?;
            Ok(file)
        };
        self.open = Some((cut().map_err(|e| failed(&path, &e))?, begins));
        Ok(())
    }
}

/// Brings the names of a directory's files to the disk.
#[cfg(unix)]
pub fn keep_names(directory: &Path) -> Result<()> {
    let kept = File::open(directory).and_then(|directory| directory.sync_all());
    kept.map_err(|e| failed(directory, &e))
}

/// Elsewhere a directory is no file that could be brought to the disk.
#[cfg(not(unix))]
pub fn keep_names(_: &Path) -> Result<()> {
    Ok(())
}

fn name(begins: u64) -> String {
    format!("{PREFIX}{begins:020}")
}

fn record(sample: &[f64]) -> Vec<u8> {
    let mut bytes: Vec<u8> = sample.iter().flat_map(|v| v.to_le_bytes()).collect();
    let crc = crc32(&bytes);
    bytes.extend_from_slice(&crc);
    bytes
}

fn crc32(bytes: &[u8]) -> [u8; 4] {
    crc32fast::hash(bytes).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_there_again_and_torn_ends_are_cut_off() {
        let place = tempfile::tempdir().unwrap();
        let sample = |i: u64| vec![i as f64, 0.5];
        let mut spool = Spool::open(place.path(), 2).unwrap();
        for i in 0..2500 {
            spool.push(sample(i)).unwrap();
        }
        spool.forget(1100).unwrap();
        assert_eq!((spool.first, spool.next()), (1024, 2500));
        assert!(spool.range(1000, 1).is_err());
        drop(spool);
        // Torn in the middle of a record, as by a power cut.
        let last = place.path().join(name(2048));
        let bytes = fs::read(&last).unwrap();
        fs::write(&last, &bytes[..bytes.len() - 7]).unwrap();
        let mut spool = Spool::open(place.path(), 2).unwrap();
        assert_eq!((spool.first, spool.next()), (1024, 2499));
        spool.push(sample(2499)).unwrap();
        drop(spool);
        let spool = Spool::open(place.path(), 2).unwrap();
        let all = spool.range(1024, 10_000).unwrap();
        assert_eq!(all.len(), 2500 - 1024);
        assert!((1024..).zip(all).all(|(i, s)| s == sample(i)));
    }
}
