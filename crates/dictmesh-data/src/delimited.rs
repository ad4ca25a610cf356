//! Tables as text (.csv, .tsv). The `csv` crate handles quoting; this module finds the header,
//! labels and names, and reports entries that are no numbers with line and column.
//!
//! A table is read in two passes: [`infer_layout`] in memory of the order of the columns, then the
//! numbers in parts ([`TableFile`]).

mod check_entries;
mod column_report;
mod column_stats;
mod dialect;
mod feature_match;
mod infer_layout;
mod quotes;
mod table_file;

use super::encoding::decoded;
use super::error::{DataError, Result};
use super::lines::{no_text, too_long, LONGEST};
use super::source::{Bytes, Source};
use csv::ByteRecord;
pub use dialect::separator;
use dialect::Dialect;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
pub use table_file::TableFile;

/// The records of a file.
pub struct Records {
    source: Arc<Source>,
    separator: u8,
    reader: csv::Reader<Limited>,
    record: ByteRecord,
    foreign: Option<u64>,
    /// Where the last record began: its byte and its line.
    last: (u64, u64),
}

impl Records {
    /// From the first line; a header is a record like every other.
    pub fn open(source: &Arc<Source>, separator: u8) -> Result<Self> {
        Ok(Records {
            source: source.clone(),
            separator,
            reader: csv::ReaderBuilder::new()
                .has_headers(false)
                .delimiter(separator)
                .from_reader(Limited {
                    reader: source.reader(),
                    left: LONGEST,
                }),
            record: ByteRecord::new(),
            foreign: None,
            last: (0, 1),
        })
    }

    /// The line of the next record, or `None` at the end.
    pub fn advance(&mut self) -> Result<Option<u64>> {
        self.reader.get_mut().left = LONGEST;
        match self.reader.read_byte_record(&mut self.record) {
            Ok(true) => {
                let position = self.record.position();
                let line = self.line(position);
                self.last = (position.map_or(0, csv::Position::byte), line);
                if self.record.as_slice().contains(&0) {
                    return Err(no_text(self.source.name()).at(format!("line {line}")));
                }
                if self.foreign.is_none() && std::str::from_utf8(self.record.as_slice()).is_err() {
                    self.foreign = Some(line);
                }
                Ok(Some(line))
            }
            Ok(false) => {
                quotes::check_closed(&self.source, self.separator, self.last).map(|()| None)
            }
            Err(e) => Err(self.refused(&e)),
        }
    }

    /// The line in the original file.
    fn line(&self, position: Option<&csv::Position>) -> u64 {
        let line = position.map_or(0, csv::Position::line);
        line.saturating_sub(u64::from(self.source.has_names()))
    }

    /// The first line so far that is not UTF-8.
    pub fn foreign(&self) -> Option<u64> {
        self.foreign
    }

    /// A field of the record; empty if there is none.
    pub fn field(&self, column: usize) -> &[u8] {
        self.record.get(column).unwrap_or_default()
    }

    /// All fields of the record as text.
    pub fn texts(&self) -> Vec<String> {
        self.record.iter().map(text).collect()
    }

    fn refused(&self, e: &csv::Error) -> DataError {
        match e.kind() {
            csv::ErrorKind::UnequalLengths {
                pos,
                expected_len,
                len,
            } => {
                let line = self.line(pos.as_ref());
                let remedy = "Give every line the same number of fields, and quote a field that \
                              holds the separator (from R: write.csv).";
                let found = format!("{len} fields");
                let expected = format!("{expected_len}, as in the first line");
                let error = self.source.error(found, expected, remedy);
                error.at(format!("line {line}"))
            }
            csv::ErrorKind::Io(e) if e.kind() == io::ErrorKind::FileTooLarge => {
                too_long(&self.source).at(format!("line {} or after it", self.last.1 + 1))
            }
            csv::ErrorKind::Io(e) => self.source.io_error(e),
            _ => {
                let remedy = "Write it again as comma- or tab-separated text.";
                self.source.error(e.to_string(), "a table as text", remedy)
            }
        }
    }
}

/// Bytes of one record: an unclosed quotation mark must not read a whole file into memory.
struct Limited {
    reader: BufReader<Bytes>,
    left: u64,
}

impl Read for Limited {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(into)?;
        self.left = self.left.saturating_sub(got as u64);
        match self.left {
            0 => Err(io::ErrorKind::FileTooLarge.into()),
            _ => Ok(got),
        }
    }
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field {
    Number(f64),
    Missing,
    Text,
}

impl Field {
    /// Reads a field of a table of numbers.
    pub fn read(bytes: &[u8], dialect: Dialect) -> Field {
        match dialect.dash_is_missing && bytes.trim_ascii() == b"-" {
            true => Field::Missing,
            false => Field::of(bytes, dialect.separator),
        }
    }

    /// Reads a field; the usual words for "no value" are missing. Where commas do not separate
    /// fields, a number may have a decimal comma.
    pub fn of(bytes: &[u8], separator: u8) -> Field {
        let Ok(field) = std::str::from_utf8(bytes) else {
            return Field::Text;
        };
        let field = field.trim();
        let none = ["", "na", "n/a", "nan", "null", "none", "?"];
        // Most fields begin with a digit or a sign and need no comparison.
        let may_be_none = !matches!(field.as_bytes().first(), Some(b'0'..=b'9' | b'+' | b'-'));
        if may_be_none && none.iter().any(|n| field.eq_ignore_ascii_case(n)) {
            return Field::Missing;
        }
        let number = match separator != b',' && field.contains(',') {
            true => field.replacen(',', ".", 1).parse::<f64>(),
            false => field.parse::<f64>(),
        };
        match number {
            Ok(v) if v.is_nan() => Field::Missing,
            Ok(v) => Field::Number(v),
            Err(_) => Field::Text,
        }
    }
}

/// A field as text.
pub fn text(bytes: &[u8]) -> String {
    decoded(bytes).trim().to_string()
}

/// At most 40 characters of a field.
fn short(field: &str) -> String {
    let cut: String = field.chars().take(40).collect();
    let more = if cut.len() < field.len() { "..." } else { "" };
    format!("{}{more}", cut.escape_debug())
}
