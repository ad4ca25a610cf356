//! What separates the fields of a table, and what separates the units of a number from its decimals.

use super::Field;
use crate::error::{DataError, Result};
use crate::source::Source;

/// How the fields of a table are separated and read.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    pub separator: u8,
    /// Whether a field that is a single dash is missing.
    pub dash_is_missing: bool,
}

/// Lines that show the separator.
const LOOK: usize = 20;

const KNOWN: [u8; 3] = [b',', b'\t', b';'];

/// The separator of the first line: the expected one, or the only other one in it. With `asked`, the
/// caller chose the expected one, and only semicolons (which have no format of their own) replace
/// it. Semicolons win over decimal commas.
pub fn separator(source: &Source, expected: u8, asked: bool) -> Result<u8> {
    Ok(separator_of(&source.head(1 << 16)?, expected, asked))
}

/// The separator of a file that begins with `head`.
pub fn separator_of(head: &[u8], expected: u8, asked: bool) -> u8 {
    let line = head.split(|&b| b == b'\n').next().unwrap_or_default();
    let mut quoted = false;
    let mut seen = [false; 3];
    for b in line {
        quoted ^= *b == b'"';
        if let Some(at) = KNOWN.iter().position(|k| k == b && !quoted) {
            seen[at] = true;
        }
    }
    match seen {
        [true, false, true] if has_decimal_commas(head) => b';',
        [false, false, true] => b';',
        [true, false, false] if !asked => b',',
        [false, true, false] if !asked => b'\t',
        _ => expected,
    }
}

/// Whether the first lines have equally many semicolons, and commas only in numbers and quotes.
fn has_decimal_commas(head: &[u8]) -> bool {
    let lines: Vec<&[u8]> = head.split(|&b| b == b'\n').take(LOOK).collect();
    // The last one may be cut off.
    let whole = match lines.len() {
        0 | 1 => &lines[..],
        many => &lines[..many - 1],
    };
    let width = |line: &[u8]| line.split(|&b| b == b';').count();
    let plain = |field: &[u8]| {
        !field.contains(&b',')
            || field.starts_with(b"\"")
            || matches!(Field::of(field, b';'), Field::Number(_))
    };
    let mut lines = whole.iter();
    lines.all(|line| width(line) == width(whole[0]) && line.split(|&b| b == b';').all(plain))
}

/// How the numbers of a table are written: the first line with a comma in a number, and with a point.
#[derive(Clone, Copy, Debug, Default)]
pub struct Decimals {
    comma: Option<u64>,
    point: Option<u64>,
}

impl Decimals {
    /// Adds a number of a line.
    pub fn add(&mut self, number: &[u8], line: u64) {
        if number.contains(&b',') {
            self.comma.get_or_insert(line);
        } else if number.contains(&b'.') {
            self.point.get_or_insert(line);
        }
    }

    /// Whether there are decimal commas. Points beside them are ambiguous: 1.234 may be 1234.
    pub fn are_commas(&self, source: &Source) -> Result<bool> {
        match (self.comma, self.point) {
            (Some(comma), Some(point)) => Err(source.error(
                format!("a number with a decimal comma in line {comma}, and one with a point in line {point}"),
                "one of them throughout",
                "Write all numbers with a decimal point and without separators of thousands.",
            )),
            (comma, _) => Ok(comma.is_some()),
        }
    }
}

/// Whether a text would be a number but for a comma where commas separate fields (it came in quotes), or for
/// points that separate thousands before a decimal comma.
pub fn is_almost_number(field: &[u8], separator: u8) -> bool {
    let is_number = |field: &[u8]| matches!(Field::of(field, b';'), Field::Number(_));
    if separator == b',' {
        return is_number(field);
    }
    let plain: Vec<u8> = field.iter().copied().filter(|b| *b != b'.').collect();
    field.contains(&b',') && is_number(&plain)
}

/// The error for a column of such texts: 1,234 may be 1234 or 1.234.
pub fn no_plain_numbers(source: &Source, column: &str) -> DataError {
    let error = source.error(
        "numbers with commas or separators of thousands in them",
        "a decimal point, and no separators of thousands",
        "Write them plainly (1234.5); decimal commas (1234,5) are read where ; separates the columns.",
    );
    error.at(column)
}
