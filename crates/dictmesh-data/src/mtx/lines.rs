//! The lines of a Matrix Market file and what stands in them.

use super::{Header, Symmetry};
use crate::error::{DataError, Result};
use crate::source::{Bytes, Source};
use crate::sparse::Entry;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

/// The format allows 1024 characters a line; some writers put long comments.
const LONGEST_LINE: u64 = 1 << 16;

/// The lines of a file, counted.
pub struct Lines {
    source: Arc<Source>,
    reader: BufReader<Bytes>,
    text: String,
    number: u64,
}

impl Lines {
    /// From the first line.
    pub fn new(source: Arc<Source>) -> Result<Self> {
        Ok(Lines {
            reader: source.reader(),
            source,
            text: String::new(),
            number: 0,
        })
    }

    /// The next line, or `false` at the end of the file.
    fn advance(&mut self) -> Result<bool> {
        self.text.clear();
        self.number += 1;
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        let read = (&mut self.reader)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut bytes)
            .map_err(|e| self.source.io_error(&e))?;
        if read as u64 == LONGEST_LINE {
            return Err(self.wrong("a line without end", "short lines of text"));
        }
        self.text = String::from_utf8(bytes)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        Ok(read > 0)
    }

    /// The next line that is neither blank nor a comment, or `false` at the end of the file.
    fn advance_to_content(&mut self) -> Result<bool> {
        while self.advance()? {
            let text = self.text.trim();
            if !text.is_empty() && !text.starts_with('%') {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn wrong(&self, found: impl Into<String>, expected: impl Into<String>) -> DataError {
        let remedy = "Correct the line, or write the file again (scipy.io.mmwrite).";
        let error = self.source.error(found, expected, remedy);
        error.at(format!("line {}", self.number))
    }

    fn quoted(&self) -> String {
        let line = self.text.trim();
        let short: String = line.chars().take(60).collect();
        let more = if short.len() < line.len() { "..." } else { "" };
        format!("\"{}{more}\"", short.escape_debug())
    }

    /// The banner and the sizes.
    pub fn header(&mut self) -> Result<Header> {
        let (coordinate, pattern, symmetry) = self.banner()?;
        let sizes = if coordinate {
            "the sizes: rows, columns, entries"
        } else {
            "the sizes: rows, columns"
        };
        if !self.advance_to_content()? {
            return Err(self.wrong("the end of the file", sizes));
        }
        let words = self.text.split_whitespace();
        let numbers: Option<Vec<usize>> = words.map(|w| w.parse().ok()).collect();
        let wrong = |lines: &Self| lines.wrong(lines.quoted(), sizes);
        let numbers = numbers.ok_or_else(|| wrong(self))?;
        let (rows, cols) = match (coordinate, &numbers[..]) {
            (true, &[rows, cols, _]) | (false, &[rows, cols]) if rows > 0 && cols > 0 => {
                (rows, cols)
            }
            _ => return Err(wrong(self)),
        };
        if symmetry != Symmetry::General && rows != cols {
            return Err(self.wrong(self.quoted(), "a square, since the matrix is symmetric"));
        }
        let lines = match coordinate {
            true => numbers[2] as u64,
            false => self.values_of((rows, cols), symmetry)?,
        };
        Ok(Header {
            coordinate,
            pattern,
            symmetry,
            rows,
            cols,
            lines,
        })
    }

    /// The banner: whether entries come with their places, whether they have no values, and the symmetry.
    fn banner(&mut self) -> Result<(bool, bool, Symmetry)> {
        self.advance()?;
        let banner = self.text.to_ascii_lowercase();
        let words: Vec<&str> = banner.split_whitespace().collect();
        let expected = "%%MatrixMarket matrix coordinate|array real|integer|pattern \
                        general|symmetric|skew-symmetric";
        let ["%%matrixmarket", "matrix", layout, field, symmetry] = words[..] else {
            return Err(self.wrong(self.quoted(), expected));
        };
        let symmetry = match symmetry {
            "general" => Symmetry::General,
            "symmetric" => Symmetry::Symmetric,
            "skew-symmetric" => Symmetry::Skew,
            _ => return Err(self.wrong(self.quoted(), expected)),
        };
        let (coordinate, pattern) = (layout == "coordinate", field == "pattern");
        let known = matches!(
            field,
            "real" | "double" | "integer" | "unsigned-integer" | "pattern"
        );
        if !known || !(coordinate || layout == "array" && !pattern) {
            return Err(self.wrong(self.quoted(), expected));
        }
        Ok((coordinate, pattern, symmetry))
    }

    /// How many values an array file of these sizes has.
    fn values_of(&self, (rows, cols): (usize, usize), symmetry: Symmetry) -> Result<u64> {
        let all = (rows as u64).checked_mul(cols as u64);
        let all = all.filter(|&n| n <= i64::MAX as u64 / 16);
        let all = all.ok_or_else(|| self.wrong(self.quoted(), "sizes that a file can have"))?;
        Ok(match symmetry {
            Symmetry::General => all,
            Symmetry::Skew => (all - rows as u64) / 2,
            Symmetry::Symmetric => (all + rows as u64) / 2,
        })
    }

    /// An entry of a coordinate file, with `left` more to come.
    pub fn entry(&mut self, header: &Header, left: u64) -> Result<Entry> {
        self.need(left)?;
        let mut words = self.text.split_whitespace();
        let mut index = |most: usize| {
            let word = words.next()?.parse::<usize>().ok()?;
            (1..=most).contains(&word).then(|| word - 1)
        };
        let (row, column) = (index(header.rows), index(header.cols));
        let value = if header.pattern {
            Some(1.0)
        } else {
            words.next().and_then(|w| w.parse().ok())
        };
        match (row, column, value, words.next()) {
            (Some(row), Some(column), Some(value), None) => Ok(Entry { row, column, value }),
            _ => {
                let (rows, cols) = (header.rows, header.cols);
                let value = if header.pattern { "" } else { " and a number" };
                Err(self.wrong(
                    self.quoted(),
                    format!("a row from 1 to {rows}, a column from 1 to {cols}{value}"),
                ))
            }
        }
    }

    /// A number of an array file, with `left` more to come.
    pub fn value(&mut self, left: u64) -> Result<f64> {
        self.need(left)?;
        let value = self.text.trim().parse();
        value.map_err(|_| self.wrong(self.quoted(), "one number"))
    }

    fn need(&mut self, left: u64) -> Result<()> {
        if self.advance_to_content()? {
            return Ok(());
        }
        let more = left.saturating_add(1);
        Err(self.wrong(
            "the end of the file",
            format!("{more} more lines of entries"),
        ))
    }

    /// `Ok` if nothing but blank lines and comments follows.
    pub fn expect_end(&mut self) -> Result<()> {
        if self.advance_to_content()? {
            return Err(self.wrong(
                self.quoted(),
                "the end of the file, after as many entries as the sizes say",
            ));
        }
        Ok(())
    }
}
