//! Entries sorted by sample with bounded memory: sorted runs in one temporary file, merged while
//! they are read.

use super::error::Result;
use super::source::{spool_error, Bytes, Source};
use crate::entries::{Entries, Entry};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

/// Entries in memory at once: 24 bytes each, and half as much again to sort them.
const RUN: usize = 1 << 20;
/// Entries read at once from each run.
const REFILL: usize = 1 << 10;
const BYTES: usize = 24;

/// Entries on disk, sorted by row; those of one row in the order they came.
pub struct Sorted {
    file: Arc<File>,
    /// First entry of each run and one past its last.
    runs: Vec<(u64, u64)>,
}

impl Sorted {
    /// Sorts by row.
    pub fn new(entries: Entries, source: &Source) -> Result<Self> {
        Sorted::with_runs_of(RUN, entries, source)
    }

    fn with_runs_of(most: usize, entries: Entries, source: &Source) -> Result<Self> {
        let failed = |e: io::Error| spool_error(source.name(), &e);
        let mut out = BufWriter::new(tempfile::tempfile().map_err(failed)?);
        let (mut runs, mut written) = (Vec::new(), 0);
        let mut run: Vec<Entry> = Vec::new();
        let mut flush = |run: &mut Vec<Entry>| -> io::Result<()> {
            run.sort_by_key(|e| e.row);
            for e in &*run {
                out.write_all(&(e.row as u64).to_le_bytes())?;
                out.write_all(&(e.column as u64).to_le_bytes())?;
                out.write_all(&e.value.to_le_bytes())?;
            }
            runs.push((written, written + run.len() as u64));
            written += run.len() as u64;
            run.clear();
            out.flush()
        };
        for entry in entries {
            run.push(entry?);
            if run.len() >= most {
                flush(&mut run).map_err(failed)?;
            }
        }
        flush(&mut run).map_err(failed)?;
        let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
        Ok(Sorted {
            file: Arc::new(file),
            runs,
        })
    }

    /// The entries in order, from the first.
    pub fn entries(&self, source: &Source) -> Result<Entries> {
        let name = source.name().to_string();
        let mut merge = Merge {
            file: Bytes::new(self.file.clone()),
            runs: self.runs.clone(),
            ready: vec![VecDeque::new(); self.runs.len()],
            heads: BinaryHeap::new(),
        };
        for run in 0..merge.runs.len() {
            merge.advance(run).map_err(|e| spool_error(&name, &e))?;
        }
        Ok(Box::new(
            merge.map(move |e| e.map_err(|e| spool_error(&name, &e))),
        ))
    }
}

struct Merge {
    file: Bytes,
    runs: Vec<(u64, u64)>,
    ready: Vec<VecDeque<Entry>>,
    /// The row of the first entry of each run; earlier runs first, to keep the order they came in.
    heads: BinaryHeap<Reverse<(usize, usize)>>,
}

impl Merge {
    /// Puts the next entry of a run among the heads.
    fn advance(&mut self, run: usize) -> io::Result<()> {
        let (from, to) = self.runs[run];
        if self.ready[run].is_empty() && from < to {
            let count = (to - from).min(REFILL as u64);
            self.file.seek(SeekFrom::Start(from * BYTES as u64))?;
            let mut bytes = vec![0; count as usize * BYTES];
            self.file.read_exact(&mut bytes)?;
            self.ready[run].extend(bytes.chunks_exact(BYTES).map(entry));
            self.runs[run].0 += count;
        }
        if let Some(head) = self.ready[run].front() {
            self.heads.push(Reverse((head.row, run)));
        }
        Ok(())
    }
}

impl Iterator for Merge {
    type Item = io::Result<Entry>;
    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((_, run)) = self.heads.pop()?;
        let entry = self.ready[run].pop_front()?;
        match self.advance(run) {
            Ok(()) => Some(Ok(entry)),
            Err(e) => Some(Err(e)),
        }
    }
}

fn entry(bytes: &[u8]) -> Entry {
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        word
    };
    Entry {
        row: u64::from_le_bytes(word(0)) as usize,
        column: u64::from_le_bytes(word(8)) as usize,
        value: f64::from_le_bytes(word(16)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As a stable sort in memory, for every length of run; and it can be read twice.
        #[test]
        fn it_sorts_as_memory_does(
            keys in prop::collection::vec((0_usize..20, 0_usize..5), 0..200), most in 1_usize..40,
        ) {
            let file = tempfile::Builder::new().suffix(".x").tempfile().unwrap();
            std::fs::write(file.path(), "x").unwrap();
            let source = Source::open(file.path()).unwrap();
            let made = keys.iter().enumerate();
            let mut entries: Vec<Entry> = made
                .map(|(at, &(row, column))| Entry { row, column, value: at as f64 })
                .collect();
            let given: Entries = Box::new(entries.clone().into_iter().map(Ok));
            let sorted = Sorted::with_runs_of(most, given, &source).unwrap();
            entries.sort_by_key(|e| e.row);
            for _ in 0..2 {
                let read: Vec<Entry> =
                    sorted.entries(&source).unwrap().collect::<Result<_>>().unwrap();
                prop_assert_eq!(&read, &entries);
            }
        }
    }
}
