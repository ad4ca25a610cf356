//! Statistics of each column from the first pass. Their size does not depend on the number of rows.

use super::dialect::{is_almost_number, Dialect};
use super::{text, Field};
use crate::missing::SHOWN;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Values of all columns together that are compared for repeats: 16 bytes each, 16 MB.
const COMPARED: usize = 1 << 20;

/// Whether values repeat. Only the first ones are compared, so that memory is bounded.
#[derive(Clone, Default)]
pub struct Distinct {
    seen: HashSet<u64>,
    repeats: bool,
    full: bool,
}

impl Distinct {
    /// Compares a value with those before, of which `most` are stored.
    pub fn add(&mut self, value: impl Hash, most: usize) {
        if self.repeats || self.full {
            return;
        }
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        self.repeats = !self.seen.insert(hasher.finish());
        self.full = self.seen.len() >= most;
        if self.repeats || self.full {
            self.seen = HashSet::new();
        }
    }

    /// Whether a value came twice.
    pub fn repeats(&self) -> bool {
        self.repeats
    }
}

/// Entries of one kind in a column: how many, and the lines of the first.
#[derive(Clone, Default)]
pub struct Occurrences {
    pub count: usize,
    first: Vec<u64>,
}

impl Occurrences {
    fn add(&mut self, line: u64) {
        self.count += 1;
        if self.first.len() < SHOWN {
            self.first.push(line);
        }
    }

    fn extend(&mut self, later: Vec<u64>) {
        self.first.extend(later);
        self.first.truncate(SHOWN);
    }

    /// The lines of the first entries, rising.
    pub fn lines(&self) -> &[u64] {
        &self.first
    }
}

/// What a column holds.
#[derive(Clone, Default)]
pub struct ColumnStats {
    pub numbers: u64,
    pub texts: u64,
    /// Texts that would be numbers but for commas or separators of thousands.
    pub almost: u64,
    pub missing: Occurrences,
    pub infinite: Occurrences,
    /// The line of the first text, and the text.
    pub first_text: Option<(u64, String)>,
    pub distinct: Distinct,
}

impl ColumnStats {
    /// Adds a field of a table of `width` columns.
    pub fn add(&mut self, bytes: &[u8], line: u64, dialect: Dialect, width: usize) -> Field {
        let field = Field::read(bytes, dialect);
        match field {
            Field::Number(v) => {
                self.numbers += 1;
                if v.is_infinite() {
                    self.infinite.add(line);
                }
            }
            Field::Missing => self.missing.add(line),
            Field::Text => {
                self.texts += 1;
                self.almost += u64::from(is_almost_number(bytes, dialect.separator));
                self.first_text.get_or_insert_with(|| (line, text(bytes)));
            }
        }
        self.distinct.add(bytes.trim_ascii(), compared(width));
        field
    }

    /// Adds a number of a typed column, or a missing one.
    #[cfg(feature = "columnar")]
    pub fn add_number(&mut self, field: Field, row: u64) {
        match field {
            Field::Number(v) => {
                self.numbers += 1;
                if v.is_infinite() {
                    self.infinite.add(row);
                }
            }
            _ => self.missing.add(row),
        }
    }

    /// Adds a text of a typed column of a table of `width` columns, or a missing one.
    #[cfg(feature = "columnar")]
    pub fn add_text(&mut self, text: Option<&str>, row: u64, width: usize) {
        // A column of texts is text even where all are missing.
        self.texts += 1;
        match text {
            Some(text) => {
                self.first_text
                    .get_or_insert_with(|| (row, text.to_string()));
                self.distinct.add(text.as_bytes(), compared(width));
            }
            None => self.missing.add(row),
        }
    }

    /// Adds the field of the first row after all others.
    pub fn add_first(&mut self, bytes: &[u8], line: u64, dialect: Dialect, width: usize) {
        let (missing, infinite) = (self.missing.first.clone(), self.infinite.first.clone());
        self.missing.first.clear();
        self.infinite.first.clear();
        let text = self.first_text.take();
        self.add(bytes, line, dialect, width);
        self.missing.extend(missing);
        self.infinite.extend(infinite);
        self.first_text = self.first_text.take().or(text);
    }

    /// A column is text if at least half of it is; in others, text is a mistake.
    pub fn is_text(&self) -> bool {
        self.texts > 0 && self.texts >= self.numbers
    }
}

/// Values of one column that are compared.
fn compared(width: usize) -> usize {
    (COMPARED / width.max(1)).max(64)
}

/// Whether the first column can be the index that pandas and R write: whole numbers without
/// repeats, in any order (rows are often shuffled, or part of a larger table).
#[derive(Default)]
pub struct Index {
    distinct: Distinct,
    any: bool,
    spoiled: bool,
}

impl Index {
    pub fn add(&mut self, field: Field) {
        match field {
            Field::Number(v) if v.fract() == 0.0 && v.abs() < 9e15 => {
                self.any = true;
                self.distinct.add(v as i64, COMPARED / 4);
            }
            _ => self.spoiled = true,
        }
    }

    pub fn found(&self) -> bool {
        self.any && !self.spoiled && !self.distinct.repeats()
    }
}
