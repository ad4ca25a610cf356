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
use super::source::Source;
#[cfg(feature = "columnar")]
pub use column_stats::{ColumnStats, Index};
use csv::ByteRecord;
pub use dialect::{separator, separator_of, Dialect};
pub use infer_layout::Layout;
use quotes::Quotes;
use std::io::{self, Read};
use std::sync::Arc;
pub use table_file::TableFile;
#[cfg(feature = "columnar")]
pub use table_file::{Cells, Texts};

/// The records of a file.
pub struct Records {
    source: Arc<Source>,
    separator: u8,
    reader: csv::Reader<Limited>,
    record: ByteRecord,
    foreign: Option<u64>,
    /// Where the last record began: its byte and its line.
    last: (u64, u64),
    /// Whether lines end in CR LF. The reader counts the LF with the next record.
    crlf: bool,
}

impl Records {
    /// From the first line; a header is a record like every other.
    pub fn open(source: &Arc<Source>, separator: u8) -> Result<Self> {
        let crlf = ends_in_crlf(&source.head(1 << 16)?);
        let limited = Limited {
            reader: Box::new(source.reader()),
            left: LONGEST,
            quotes: None,
        };
        Ok(Records::new(source, separator, limited, crlf))
    }

    /// The records that `reader` gives, as they arrive; `source` has the name in messages.
    pub fn over(
        source: &Arc<Source>,
        separator: u8,
        reader: Box<dyn Read + Send>,
        crlf: bool,
    ) -> Self {
        let limited = Limited {
            reader,
            left: LONGEST,
            quotes: Some(Quotes::new(separator)),
        };
        Records::new(source, separator, limited, crlf)
    }

    fn new(source: &Arc<Source>, separator: u8, limited: Limited, crlf: bool) -> Self {
        Records {
            source: source.clone(),
            separator,
            reader: csv::ReaderBuilder::new()
                .has_headers(false)
                .delimiter(separator)
                .from_reader(limited),
            record: ByteRecord::new(),
            foreign: None,
            last: (0, 1),
            crlf,
        }
    }

    /// The line of the next record, or `None` at the end.
    pub fn advance(&mut self) -> Result<Option<u64>> {
        self.reader.get_mut().left = LONGEST;
        match self.reader.read_byte_record(&mut self.record) {
            Ok(true) => {
                let line = self.line_of_record();
                let position = self.record.position();
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
                let open = match &self.reader.get_ref().quotes {
                    Some(quotes) => quotes.are_open(),
                    None => quotes::ends_open(&self.source, self.separator, self.last.0)?,
                };
                match open {
                    true => Err(quotes::unclosed(&self.source, self.last.1)),
                    false => Ok(None),
                }
            }
            Err(e) => Err(self.refused(&e)),
        }
    }

    /// The line in the original file on which the record begins. The reader gives the line behind the
    /// record before, which blank lines may follow, and the line behind this one.
    fn line_of_record(&self) -> u64 {
        let behind = self.reader.position().line();
        let inside = self.record.as_slice().iter().filter(|b| **b == b'\n');
        let lines = inside.count() as u64 + u64::from(!self.crlf);
        let least = self.record.position().map_or(0, csv::Position::line);
        self.original(behind.saturating_sub(lines).max(least))
    }

    fn original(&self, line: u64) -> u64 {
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

    /// The fields of the record.
    pub fn fields(&self) -> impl Iterator<Item = &[u8]> {
        self.record.iter()
    }

    /// All fields of the record as text.
    pub fn texts(&self) -> Vec<String> {
        self.record.iter().map(text).collect()
    }

    fn refused(&self, e: &csv::Error) -> DataError {
        match e.kind() {
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => {
                let line = self.line_of_record();
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

/// Whether the first line ends in CR LF; an LF in quotes does not end it.
pub fn ends_in_crlf(head: &[u8]) -> bool {
    let mut quoted = false;
    let end = head.iter().position(|b| {
        quoted ^= *b == b'"';
        *b == b'\n' && !quoted
    });
    end.is_some_and(|end| end > 0 && head[end - 1] == b'\r')
}

/// Bytes of one record: an unclosed quotation mark must not read a whole file into memory.
struct Limited {
    reader: Box<dyn Read + Send>,
    left: u64,
    /// The quotation marks of a stream, which cannot be read twice.
    quotes: Option<Quotes>,
}

impl Read for Limited {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(into)?;
        if let Some(quotes) = &mut self.quotes {
            quotes.add(&into[..got]);
        }
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
