//! Tables as text (.csv, .tsv): quoting is the `csv` crate's; here a header, columns of text and
//! labels are found, and everything that is no number is reported with its line and column.
//!
//! The file is read twice: first to see what each column holds, then for the numbers, so that no
//! number is ever kept as text.

mod column_report;
mod dialect;
mod feature_match;
mod infer_layout;
mod quotes;

use super::encoding::decoded;
use super::error::{DataError, Result};
use super::missing::{settle, Fill};
use super::source::{Bytes, Source};
use crate::dense;
use crate::options::{Nan, ReadOptions};
use crate::table::Table;
use csv::ByteRecord;
pub use dialect::separator;
use dictmesh::{Matrix, Samples};
pub use infer_layout::Layout;
use std::collections::HashSet;
use std::io::BufReader;
use std::sync::Arc;

/// Reads a table.
pub fn read(source: &Arc<Source>, separator: u8, options: &ReadOptions) -> Result<Table> {
    let layout = Layout::find(source, separator, options)?;
    let rows = Rows::read(source, separator, &layout)?;
    let Rows {
        mut numbers,
        lines,
        mut texts,
        foreign,
    } = rows;
    let (count, width) = (lines.len(), layout.numbers.len());
    let named = |at: usize| layout.describe(layout.numbers[at]);
    fill(&mut numbers, width, options, source, &|row, column| {
        format!("line {}, {}", lines[row], named(column))
    })?;
    let refused = |e: dictmesh::Error| dense::core_error(source, &e);
    let mut x = Matrix::from_vec(width, count, numbers).map_err(|e| refused(e.into()))?;
    if options.transpose {
        x = x.transpose();
    }

    let label = match layout.label {
        Some(column) => Some(column),
        None => found_label(source, &layout, &texts)?,
    };
    let at = texts.iter().position(|t| Some(t.0) == label);
    let labels = at.map(|at| texts.remove(at).1);
    let at = match layout.names {
        Some(column) => texts.iter().position(|t| t.0 == column),
        None => texts.iter().position(|t| all_distinct(&t.1)),
    };
    let names = at.map(|at| texts.remove(at));
    let note = column_report::ColumnReport {
        label,
        names: names.as_ref().map(|n| n.0),
        left_out: texts.iter().map(|t| t.0).collect(),
        foreign,
    }
    .note(source.name(), &layout);
    let row_names = names.map(|n| n.1);
    let column_names = layout.names_of_numbers();
    let samples = Samples::dense(x).map_err(refused)?;
    let table = Table {
        samples,
        labels,
        sample_names: row_names,
        feature_names: column_names,
        feature_labels: None,
        note,
    };
    match options.transpose {
        true => feature_match::rows_of_model(turned(table), source, options.features.as_deref()),
        false => Ok(table),
    }
}

/// What is said of the rows is said of features, and of samples what is said of the columns.
fn turned(table: Table) -> Table {
    Table {
        labels: None,
        sample_names: table.feature_names,
        feature_names: table.sample_names,
        feature_labels: table.labels,
        ..table
    }
}

/// The one column of text whose values repeat.
fn found_label(
    source: &Source,
    layout: &Layout,
    texts: &[(usize, Vec<String>)],
) -> Result<Option<usize>> {
    let free = texts.iter().filter(|t| Some(t.0) != layout.names);
    let repeats = free.filter(|(_, values)| !all_distinct(values));
    let columns: Vec<usize> = repeats.map(|&(column, _)| column).collect();
    match columns[..] {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        // A model that knows its columns needs no label.
        _ if layout.extra.is_some() => Ok(None),
        _ => {
            let names: Vec<String> = columns.iter().map(|&c| layout.describe(c)).collect();
            Err(source.error(
                format!("{} columns of text ({})", names.len(), names.join("; ")),
                "one column of labels",
                "Say which with --label-column NAME (the others are then left out), or leave out all of \
                 them with --drop NAME.",
            ))
        }
    }
}

fn all_distinct(values: &[String]) -> bool {
    let mut seen = HashSet::with_capacity(values.len());
    values.iter().all(|v| seen.insert(v))
}

fn fill(
    numbers: &mut [f64],
    width: usize,
    options: &ReadOptions,
    source: &Source,
    place: &dyn Fn(usize, usize) -> String,
) -> Result<()> {
    // A feature is a column, or a row if the table is transposed.
    let feature = |at: usize| {
        if options.transpose {
            at / width
        } else {
            at % width
        }
    };
    let fill = match options.nan {
        Nan::Error => Fill::Error,
        Nan::Zero => Fill::Zero,
        Nan::Mean => {
            let features = numbers.len().checked_sub(1).map_or(0, feature) + 1;
            let mut sums = vec![(0.0, 0_usize); features.max(width)];
            for (at, v) in numbers.iter().enumerate().filter(|(_, v)| v.is_finite()) {
                let sum = &mut sums[feature(at)];
                *sum = (sum.0 + v, sum.1 + 1);
            }
            Fill::Mean(sums.iter().map(|&(sum, n)| sum / n as f64).collect())
        }
    };
    let values = numbers.iter_mut().enumerate();
    if options.transpose {
        let values = values.map(|(at, v)| (at % width, at / width, v));
        settle(values, &fill, source, &|column, row| place(row, column))
    } else {
        let values = values.map(|(at, v)| (at / width, at % width, v));
        settle(values, &fill, source, place)
    }
}

/// What the second look collects.
struct Rows {
    /// Row by row.
    numbers: Vec<f64>,
    /// The line of each row.
    lines: Vec<u64>,
    /// The columns of text, and the label.
    texts: Vec<(usize, Vec<String>)>,
    /// The first line that is not UTF-8.
    foreign: Option<u64>,
}

impl Rows {
    fn read(source: &Source, separator: u8, layout: &Layout) -> Result<Rows> {
        let mut rows = Rows {
            numbers: Vec::new(),
            lines: Vec::new(),
            texts: layout.texts.iter().map(|&c| (c, Vec::new())).collect(),
            foreign: None,
        };
        let mut records = Records::open(source, separator)?;
        let mut skip = layout.header.is_some();
        while let Some(line) = records.advance()? {
            if std::mem::take(&mut skip) {
                continue;
            }
            rows.lines.push(line);
            for &column in &layout.numbers {
                let field = records.field(column);
                match Field::of(field, separator) {
                    Field::Number(v) => rows.numbers.push(v),
                    Field::Missing => rows.numbers.push(f64::NAN),
                    Field::Text => {
                        return Err(layout.text_among_numbers(source, line, column, field))
                    }
                }
            }
            for (column, values) in &mut rows.texts {
                values.push(text(records.field(*column)));
            }
        }
        rows.foreign = records.foreign();
        Ok(rows)
    }
}

/// The records of a file.
pub struct Records<'a> {
    source: &'a Source,
    separator: u8,
    reader: csv::Reader<BufReader<Bytes>>,
    record: ByteRecord,
    foreign: Option<u64>,
    /// Where the last record began: its byte and its line.
    last: (u64, u64),
}

impl<'a> Records<'a> {
    /// From the first line; a header is a record like every other.
    pub fn open(source: &'a Source, separator: u8) -> Result<Self> {
        Ok(Records {
            source,
            separator,
            reader: csv::ReaderBuilder::new()
                .has_headers(false)
                .delimiter(separator)
                .from_reader(source.reader()),
            record: ByteRecord::new(),
            foreign: None,
            last: (0, 1),
        })
    }

    /// The line of the next record, or `None` at the end.
    pub fn advance(&mut self) -> Result<Option<u64>> {
        match self.reader.read_byte_record(&mut self.record) {
            Ok(true) => {
                let position = self.record.position();
                let line = position.map_or(0, csv::Position::line);
                self.last = (position.map_or(0, csv::Position::byte), line);
                if self.foreign.is_none() && std::str::from_utf8(self.record.as_slice()).is_err() {
                    self.foreign = Some(line);
                }
                Ok(Some(line))
            }
            Ok(false) => {
                quotes::check_closed(self.source, self.separator, self.last).map(|()| None)
            }
            Err(e) => Err(self.refused(&e)),
        }
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
                let line = pos.as_ref().map_or(0, csv::Position::line);
                let remedy = "Give every line the same number of fields, and quote a field that \
                              holds the separator (from R: write.csv).";
                let found = format!("{len} fields");
                let expected = format!("{expected_len}, as in the first line");
                let error = self.source.error(found, expected, remedy);
                error.at(format!("line {line}"))
            }
            csv::ErrorKind::Io(e) => self.source.io_error(e),
            _ => {
                let remedy = "Write it again as comma- or tab-separated text.";
                self.source.error(e.to_string(), "a table as text", remedy)
            }
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
    /// Reads a field; what people write for "no value" is missing. Where commas do not separate fields,
    /// a number may have a decimal comma.
    pub fn of(bytes: &[u8], separator: u8) -> Field {
        let Ok(field) = std::str::from_utf8(bytes) else {
            return Field::Text;
        };
        let field = field.trim();
        let none = ["", "na", "n/a", "nan", "null", "none", "?"];
        if none.iter().any(|n| field.eq_ignore_ascii_case(n)) {
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
