//! The rows of a stream of numbers: a table, or JSON lines.

use super::record::{Content, Record};
use crate::delimited::{self, ends_in_crlf, separator_of, Dialect, Field, Layout, Records};
use crate::error::{DataError, Result};
use crate::format::Format;
use crate::json_table::JsonRows;
use crate::lines::TextLines;
use crate::missing::{infinite_error, missing_error};
use crate::options::{Nan, ReadOptions};
use crate::source::Source;
use std::io::BufRead;
use std::sync::Arc;

/// The lines of a table or of JSON.
enum Lines {
    Table(Records),
    Json(JsonRows),
}

impl Lines {
    /// The next line that is not blank, and its fields.
    fn advance(&mut self) -> Result<Option<(u64, Vec<Vec<u8>>)>> {
        match self {
            Lines::Table(records) => Ok(records.advance()?.map(|line| {
                let fields = records.fields().map(<[u8]>::to_vec);
                (line, fields.collect())
            })),
            Lines::Json(rows) => loop {
                let Some((line, cells)) = rows.advance()? else {
                    return Ok(None);
                };
                if !cells.is_empty() {
                    let fields = cells.iter().map(|cell| cell.as_bytes().to_vec());
                    return Ok(Some((line, fields.collect())));
                }
            },
        }
    }
}

/// Rows of numbers.
pub struct Rows {
    source: Arc<Source>,
    lines: Lines,
    dialect: Dialect,
    options: ReadOptions,
    /// The roles of the columns, by the first line.
    layout: Option<Layout>,
}

impl Rows {
    pub fn new(
        source: &Arc<Source>,
        input: Box<dyn BufRead + Send>,
        first: &[u8],
        format: Format,
        options: &ReadOptions,
    ) -> Self {
        let separator = separator_of(first, format.separator(), options.format.is_some());
        let json = format == Format::Jsonl;
        Rows {
            source: source.clone(),
            lines: match json {
                true => Lines::Json(JsonRows::new(TextLines::over(source, input), source)),
                false => {
                    let input = Box::new(input);
                    Lines::Table(Records::over(source, separator, input, ends_in_crlf(first)))
                }
            },
            dialect: Dialect {
                separator: if json { b',' } else { separator },
                dash_is_missing: options.nan != Nan::Error,
            },
            options: options.clone(),
            layout: None,
        }
    }

    /// The names of the features, after the first row; `None` without a header.
    pub fn names(&self) -> Option<Vec<String>> {
        self.layout.as_ref()?.names_of_numbers()
    }

    /// The next row as record `number`, of `rows` numbers if that is known.
    pub fn advance(&mut self, number: usize, rows: Option<usize>) -> Result<Option<Record>> {
        let Some((mut line, mut fields)) = self.lines.advance()? else {
            return Ok(None);
        };
        if self.layout.is_none() {
            let names = match &self.lines {
                Lines::Json(json) => json.names().map(<[String]>::to_vec),
                Lines::Table(_) => Layout::header_of(&fields, self.dialect, &self.options),
            };
            if names.is_some() && matches!(self.lines, Lines::Table(_)) {
                match self.lines.advance()? {
                    Some(next) => (line, fields) = next,
                    None => return Ok(None),
                }
            }
            let layout =
                Layout::of_first(&self.source, names, &fields, self.dialect, &self.options)?;
            if let Some(rows) = rows.filter(|rows| *rows != layout.numbers.len()) {
                return Err(self.wrong_width(&layout, rows).at(format!("line {line}")));
            }
            self.layout = Some(layout);
        }
        let Some(layout) = &self.layout else {
            return Ok(None);
        };
        if fields.len() != layout.width {
            return Err(self
                .ragged(fields.len(), layout.width)
                .at(format!("line {line}")));
        }
        let numbers = layout.numbers.iter().map(|&column| {
            let place = || layout.place(line, column);
            match Field::read(&fields[column], self.dialect) {
                Field::Number(v) if v.is_infinite() => {
                    Err(infinite_error(&self.source, 1, &[place()]))
                }
                Field::Number(v) => Ok(v),
                Field::Missing if self.options.nan == Nan::Zero => Ok(0.0),
                Field::Missing => Err(missing_error(&self.source, 1, &[place()])),
                Field::Text => {
                    let text = delimited::text(&fields[column]);
                    Err(layout.text_among_numbers(&self.source, line, column, &text))
                }
            }
        });
        let numbers = numbers.collect::<Result<Vec<f64>>>()?;
        let text = |column: Option<usize>| column.map(|column| delimited::text(&fields[column]));
        Ok(Some(Record {
            line,
            name: text(layout.names).unwrap_or_else(|| number.to_string()),
            label: text(layout.label),
            content: Content::Numbers(numbers),
        }))
    }

    fn ragged(&self, found: usize, expected: usize) -> DataError {
        self.source.error(
            format!("{found} fields"),
            format!("{expected}, as in the first line"),
            "Give every line the same number of fields.",
        )
    }

    fn wrong_width(&self, layout: &Layout, rows: usize) -> DataError {
        let left_out: Vec<String> = layout
            .left_out
            .iter()
            .map(|c| layout.describe(*c))
            .collect();
        let left_out = match left_out.is_empty() {
            true => String::new(),
            false => format!(" (left out {}: text)", left_out.join(", ")),
        };
        self.source.error(
            format!("{} numbers a line{left_out}", layout.numbers.len()),
            format!("{rows}, as in the samples that the model learned from"),
            "Check the columns, or whether this is the right model.",
        )
    }
}
