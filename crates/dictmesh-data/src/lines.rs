//! Text files, line by line.

use crate::encoding::decoded;
use crate::error::{DataError, Result};
use crate::source::Source;
use std::borrow::Cow;
use std::io::{BufRead, Read};
use std::sync::Arc;

/// The longest line or record in bytes. A file without line ends would otherwise fill the memory.
pub const LONGEST: u64 = 1 << 27;

/// Default names of a column of text.
pub const TEXT: [&str; 5] = ["text", "content", "body", "document", "message"];

/// The lines of a file.
pub struct TextLines {
    source: Arc<Source>,
    reader: Box<dyn BufRead + Send>,
    bytes: Vec<u8>,
    number: u64,
    foreign: Option<u64>,
}

impl TextLines {
    /// From the first line.
    pub fn open(source: &Arc<Source>) -> Self {
        TextLines::over(source, Box::new(source.reader()))
    }

    /// The lines that `reader` gives, as they arrive; `source` has the name in messages.
    pub fn over(source: &Arc<Source>, reader: Box<dyn BufRead + Send>) -> Self {
        TextLines {
            source: source.clone(),
            reader,
            bytes: Vec::new(),
            number: 0,
            foreign: None,
        }
    }

    /// The next line without its end, and its number from 1; `None` after the last.
    ///
    /// Errors: zero bytes, a line longer than [`LONGEST`], and failed reads.
    pub fn advance(&mut self) -> Result<Option<(u64, Cow<'_, str>)>> {
        self.bytes.clear();
        self.number += 1;
        let mut limited = (&mut self.reader).take(LONGEST);
        let read = limited.read_until(b'\n', &mut self.bytes);
        let read = read.map_err(|e| self.source.io_error(&e))? as u64;
        if read == 0 {
            return Ok(None);
        }
        let place = || format!("line {}", self.number);
        if self.bytes.contains(&0) {
            return Err(no_text(self.source.name()).at(place()));
        }
        if read == LONGEST && self.bytes.last() != Some(&b'\n') {
            return Err(too_long(&self.source).at(place()));
        }
        let is_utf8 = std::str::from_utf8(&self.bytes).is_ok();
        if !is_utf8 {
            self.foreign.get_or_insert(self.number);
        }
        // A byte-order mark is no part of the first line.
        let ends = |c| c == '\n' || c == '\r';
        let line = match decoded(&self.bytes) {
            Cow::Borrowed(line) => Cow::Borrowed(line.trim_start_matches('\u{feff}')),
            owned => owned,
        };
        let line = match line {
            Cow::Borrowed(line) => Cow::Borrowed(line.trim_end_matches(ends)),
            Cow::Owned(line) => Cow::Owned(line.trim_end_matches(ends).to_string()),
        };
        Ok(Some((self.number, line)))
    }

    /// The first line so far that is not UTF-8.
    pub fn foreign(&self) -> Option<u64> {
        self.foreign
    }
}

/// The error for a line or a record longer than [`LONGEST`].
pub fn too_long(source: &Source) -> DataError {
    source.error(
        format!("more than {} MB without an end", LONGEST >> 20),
        "lines of text",
        "Check that the file has line ends, and that quotation marks are in pairs.",
    )
}

/// The error for zero bytes.
pub fn no_text(name: &str) -> DataError {
    DataError::new(
        name,
        "zero bytes, so that this is no text",
        "text in UTF-8, or in UTF-16 with a byte-order mark",
        "Convert it (iconv -t utf-8), or take the file out of the directory.",
    )
}
