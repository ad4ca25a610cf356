//! Unclosed quotation marks: the csv reader takes the rest of the file for one field, without an
//! error.

use super::super::error::{DataError, Result};
use super::super::source::Source;
use std::io::{self, BufRead, Seek, SeekFrom};

/// The state of a reader of quoted fields.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// At the start of a field.
    Start,
    /// In a field without quotes, or behind its closing one.
    Plain,
    Quoted,
    /// Behind a quotation mark in a quoted field: doubled it is text, else it has closed the field.
    Mark,
}

impl At {
    fn after(self, byte: u8, separator: u8) -> At {
        match (self, byte) {
            (At::Start | At::Mark, b'"') => At::Quoted,
            (At::Quoted, b'"') => At::Mark,
            (At::Quoted, _) => At::Quoted,
            (_, byte) if byte == separator || byte == b'\n' || byte == b'\r' => At::Start,
            _ => At::Plain,
        }
    }
}

/// The quotation marks of a stream so far.
pub struct Quotes {
    at: At,
    separator: u8,
}

impl Quotes {
    pub fn new(separator: u8) -> Self {
        Quotes {
            at: At::Start,
            separator,
        }
    }

    /// Adds the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        let after = |at: At, byte: &u8| at.after(*byte, self.separator);
        self.at = bytes.iter().fold(self.at, after);
    }

    /// Whether the last byte is inside quotes.
    pub fn are_open(&self) -> bool {
        self.at == At::Quoted
    }
}

/// The error for a record that begins at this line and ends inside quotes. Only the last one can.
pub fn unclosed(source: &Source, line: u64) -> DataError {
    source
        .error(
            "a field with a quotation mark that nothing closes",
            "quotation marks in pairs",
            "Close it, or double a quotation mark that belongs to the text.",
        )
        .at(format!("line {line} or after it"))
}

/// Whether a file ends inside quotes, by its bytes from the start of the last record.
pub fn ends_open(source: &Source, separator: u8, from: u64) -> Result<bool> {
    let failed = |e: io::Error| source.io_error(&e);
    let mut reader = source.reader();
    reader.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut quotes = Quotes::new(separator);
    loop {
        let bytes = reader.fill_buf().map_err(failed)?;
        if bytes.is_empty() {
            return Ok(quotes.are_open());
        }
        quotes.add(bytes);
        let count = bytes.len();
        reader.consume(count);
    }
}
