//! Numbers as JSON lines: an array or an object a line.
//!
//! ```text
//! [1.5, 2, null]                  {"height": 1.5, "width": 2, "kind": "a"}
//! ```
//!
//! The keys of the first object are the names of the columns. `null` and an absent key are missing
//! entries. Texts are labels or names, as in any table. A file is copied into a temporary table; a
//! stream is parsed as it arrives.

use crate::error::{DataError, Result};
use crate::json;
use crate::lines::{TextLines, TEXT};
use crate::source::{spool_error, Source};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Whether the first line of a file is an array, or an object with more numbers than texts, none of
/// them several words or under a name of texts. False of named pipes, which cannot be read twice.
pub fn holds_numbers(path: &Path) -> bool {
    if path != Path::new("-") && !path.is_file() {
        return false;
    }
    // A damaged file is reported when it is read.
    let Ok(source) = Source::open(path) else {
        return false;
    };
    let mut lines = TextLines::open(&Arc::new(source));
    while let Ok(Some((_, line))) = lines.advance() {
        if line.trim().is_empty() {
            continue;
        }
        return is_numbers(&line);
    }
    false
}

/// The same of a first line.
pub fn is_numbers(line: &str) -> bool {
    match serde_json::from_str(line) {
        Ok(Value::Array(_)) => true,
        Ok(Value::Object(object)) => is_row(&object),
        _ => false,
    }
}

fn is_row(object: &Map<String, Value>) -> bool {
    let count = |is: fn(&Value) -> bool| object.values().filter(|v| is(v)).count();
    let wordy = |v: &Value| v.as_str().is_some_and(|text| text.contains(' '));
    let named = TEXT.iter().any(|name| object.contains_key(*name));
    !named && !object.values().any(wordy) && count(Value::is_number) > count(Value::is_string)
}

/// A field of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// `null`, or a key that is absent.
    Missing,
    /// A number as it is written; true is 1 and false 0.
    Number(String),
    /// A text.
    Text(String),
}

impl Cell {
    /// The field as a table has it without quotes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Cell::Missing => b"",
            Cell::Number(text) | Cell::Text(text) => text.as_bytes(),
        }
    }

    /// The field in a line of its own in a table with commas.
    fn quoted(&self) -> String {
        match self {
            // Quotes, or a line of one missing entry would be blank.
            Cell::Missing => "\"\"".into(),
            Cell::Number(text) => text.clone(),
            Cell::Text(text) => quoted(text),
        }
    }
}

/// The lines as rows of a table.
pub struct JsonRows {
    lines: TextLines,
    source: Arc<Source>,
    /// The keys of the first object; none of arrays.
    names: Option<Vec<String>>,
    any: bool,
}

impl JsonRows {
    pub fn new(lines: TextLines, source: &Arc<Source>) -> Self {
        JsonRows {
            lines,
            source: source.clone(),
            names: None,
            any: false,
        }
    }

    /// The keys of the first object, once a line is read.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// The number of the next line and its fields, none of a blank line; `None` at the end.
    pub fn advance(&mut self) -> Result<Option<(u64, Vec<Cell>)>> {
        let (number, parsed) = match self.lines.advance()? {
            None => return Ok(None),
            Some((number, line)) if line.trim().is_empty() => {
                return Ok(Some((number, Vec::new())))
            }
            Some((number, line)) => (number, json::parse_with_keys(&line)),
        };
        let fields = parsed.and_then(|(value, keys)| self.fields(value, keys));
        let fields = fields.map_err(|found| self.wrong(found).at(format!("line {number}")))?;
        self.any = true;
        Ok(Some((number, fields)))
    }

    /// `keys` are those of an object, in their order.
    fn fields(
        &mut self,
        value: Value,
        keys: Vec<String>,
    ) -> std::result::Result<Vec<Cell>, String> {
        match value {
            Value::Array(_) if self.names.is_some() => Err("an array after objects".into()),
            Value::Array(values) if values.is_empty() => Err("an array without entries".into()),
            Value::Array(values) => values.into_iter().map(cell).collect(),
            Value::Object(_) if self.any && self.names.is_none() => {
                Err("an object after arrays".into())
            }
            Value::Object(mut object) => {
                let names: &Vec<String> = self.names.get_or_insert(keys);
                let fields = names.iter().map(|name| match object.remove(name) {
                    Some(value) => cell(value),
                    None => Ok(Cell::Missing),
                });
                let fields = fields.collect::<std::result::Result<_, String>>()?;
                match object.keys().next() {
                    Some(key) => Err(format!("a key {key:?} that the first object lacks")),
                    None => Ok(fields),
                }
            }
            other => Err(format!("{other}, neither an array nor an object")),
        }
    }

    fn wrong(&self, found: String) -> DataError {
        self.source.error(
            found,
            "numbers: an array a line, or an object a line with the keys of the first",
            "Write one array or object a line (from an array of them: jq -c '.[]').",
        )
    }
}

fn cell(value: Value) -> std::result::Result<Cell, String> {
    match value {
        Value::Null => Ok(Cell::Missing),
        Value::Bool(b) => Ok(Cell::Number(u8::from(b).to_string())),
        Value::Number(n) => Ok(Cell::Number(n.to_string())),
        Value::String(text) => Ok(Cell::Text(text)),
        Value::Array(_) | Value::Object(_) => Err(format!("{value} inside a line")),
    }
}

/// The same numbers as a table with commas. Blank lines stay, so that lines keep their numbers.
pub fn to_table(source: &Arc<Source>) -> Result<Source> {
    let failed = |e: io::Error| spool_error(source.name(), &e);
    let mut out = BufWriter::new(tempfile::tempfile().map_err(failed)?);
    let mut rows = JsonRows::new(TextLines::open(source), source);
    let mut headed = false;
    while let Some((_, fields)) = rows.advance()? {
        if let (Some(names), false) = (rows.names(), headed) {
            write_line(&mut out, names.iter().map(|name| quoted(name))).map_err(failed)?;
            headed = true;
        }
        write_line(&mut out, fields.iter().map(Cell::quoted)).map_err(failed)?;
    }
    let file = out.into_inner().map_err(|e| failed(e.into_error()))?;
    let len = file.metadata().map_err(failed)?.len();
    Ok(source.with_names(file, len, headed))
}

fn write_line(out: &mut BufWriter<File>, fields: impl Iterator<Item = String>) -> io::Result<()> {
    writeln!(out, "{}", fields.collect::<Vec<_>>().join(","))
}

/// A text as one field in one line.
fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('"', "\"\"").replace(['\n', '\r'], " ")
    )
}
