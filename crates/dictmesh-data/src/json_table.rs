//! Numbers as JSON lines, copied into a temporary table: an array or an object a line.
//!
//! ```text
//! [1.5, 2, null]                  {"height": 1.5, "width": 2, "kind": "a"}
//! ```
//!
//! The keys of the first object are the names of the columns. `null` and an absent key are missing
//! entries. Texts are labels or names, as in any table.

use crate::error::{DataError, Result};
use crate::lines::{TextLines, TEXT};
use crate::source::{spool_error, Source};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

/// Whether the first line of a file is an array, or an object with more numbers than texts, none of
/// them several words or under a name of texts. False of pipes, which cannot be read twice.
pub fn holds_numbers(path: &Path) -> bool {
    if !path.is_file() {
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
        return match serde_json::from_str(&line) {
            Ok(Value::Array(_)) => true,
            Ok(Value::Object(object)) => is_row(&object),
            _ => false,
        };
    }
    false
}

fn is_row(object: &Map<String, Value>) -> bool {
    let count = |is: fn(&Value) -> bool| object.values().filter(|v| is(v)).count();
    let wordy = |v: &Value| v.as_str().is_some_and(|text| text.contains(' '));
    let named = TEXT.iter().any(|name| object.contains_key(*name));
    !named && !object.values().any(wordy) && count(Value::is_number) > count(Value::is_string)
}

/// The same numbers as a table with commas.
pub fn to_table(source: &Arc<Source>) -> Result<Source> {
    let failed = |e: io::Error| spool_error(source.name(), &e);
    let file = tempfile::tempfile().map_err(failed)?;
    let mut table = Table {
        out: BufWriter::new(file),
        names: None,
        source,
    };
    let mut lines = TextLines::open(source);
    while let Some((number, line)) = lines.advance()? {
        table
            .add(&line)
            .map_err(|e| e.at(format!("line {number}")))?;
    }
    table.finish()
}

struct Table<'a> {
    out: BufWriter<File>,
    /// The keys of the first object; none of arrays.
    names: Option<Vec<String>>,
    source: &'a Source,
}

impl Table<'_> {
    fn add(&mut self, line: &str) -> Result<()> {
        // A blank line stays one, so that lines keep their numbers.
        if line.trim().is_empty() {
            return self.write(&[]);
        }
        let value = serde_json::from_str(line).map_err(|e| {
            let reason = e.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default();
            self.wrong(format!("no JSON at column {} ({reason})", e.column()))
        })?;
        match value {
            Value::Array(values) if self.names.is_none() => {
                let fields = values.iter().map(|v| self.field(v));
                let fields = fields.collect::<Result<Vec<String>>>()?;
                self.write(&fields)
            }
            Value::Object(object) => self.object(&object),
            Value::Array(_) => Err(self.wrong("an array after objects".into())),
            other => Err(self.wrong(format!("{other}, neither an array nor an object"))),
        }
    }

    fn object(&mut self, object: &Map<String, Value>) -> Result<()> {
        if self.names.is_none() {
            let names: Vec<String> = object.keys().cloned().collect();
            let header: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            self.write(&header)?;
            self.names = Some(names);
        }
        let names = self.names.as_deref().unwrap_or_default();
        if let Some(key) = object.keys().find(|k| !names.contains(k)) {
            return Err(self.wrong(format!("a key {key:?} that the first object lacks")));
        }
        let field = |name| {
            object
                .get(name)
                .map_or(Ok(String::new()), |v| self.field(v))
        };
        let fields = names.iter().map(field).collect::<Result<Vec<String>>>()?;
        self.write(&fields)
    }

    fn field(&self, value: &Value) -> Result<String> {
        match value {
            Value::Null => Ok(String::new()),
            Value::Bool(b) => Ok(u8::from(*b).to_string()),
            Value::Number(n) => Ok(n.to_string()),
            Value::String(text) => Ok(quoted(text)),
            Value::Array(_) | Value::Object(_) => Err(self.wrong(format!("{value} inside a line"))),
        }
    }

    fn write(&mut self, fields: &[String]) -> Result<()> {
        let written = writeln!(self.out, "{}", fields.join(","));
        written.map_err(|e| spool_error(self.source.name(), &e))
    }

    fn wrong(&self, found: String) -> DataError {
        self.source.error(
            found,
            "numbers: an array a line, or an object a line with the keys of the first",
            "Write one array or object a line (from an array of them: jq -c '.[]').",
        )
    }

    fn finish(self) -> Result<Source> {
        let failed = |e: io::Error| spool_error(self.source.name(), &e);
        let file = self.out.into_inner();
        let file = file.map_err(|e| failed(e.into_error()))?;
        let len = file.metadata().map_err(failed)?.len();
        Ok(self.source.with_names(file, len, self.names.is_some()))
    }
}

/// A text as one field in one line.
fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('"', "\"\"").replace(['\n', '\r'], " ")
    )
}
