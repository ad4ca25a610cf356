//! Unclosed quotation marks: the csv reader takes the rest of the file for one field, without an
//! error.

use super::super::error::Result;
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

/// Refuses a table whose last record, which begins at this byte and line, ends inside quotes. Only the last
/// one can.
pub fn check_closed(source: &Source, separator: u8, (byte, line): (u64, u64)) -> Result<()> {
    match ends_quoted(source, separator, byte).map_err(|e| source.io_error(&e))? {
        false => Ok(()),
        true => Err(source
            .error(
                "a field with a quotation mark that nothing closes",
                "quotation marks in pairs",
                "Close it, or double a quotation mark that belongs to the text.",
            )
            .at(format!("line {line} or after it"))),
    }
}

fn ends_quoted(source: &Source, separator: u8, from: u64) -> io::Result<bool> {
    let mut reader = source.reader();
    reader.seek(SeekFrom::Start(from))?;
    let mut at = At::Start;
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(at == At::Quoted);
        }
        at = bytes.iter().fold(at, |at, byte| at.after(*byte, separator));
        let count = bytes.len();
        reader.consume(count);
    }
}
