//! Documents in a column of a table, or under a key of JSON lines.

use super::{foreign_note, Document, DocumentOptions, DocumentReader};
use crate::delimited::{separator, Records};
use crate::encoding::{decoded, foreign_words};
use crate::error::{DataError, Result};
use crate::json;
use crate::lines::{TextLines, TEXT};
use crate::source::Source;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Default names of the label.
const LABEL: [&str; 4] = ["label", "topic", "class", "category"];

/// The columns of a table with texts and labels.
pub struct TextColumns {
    header: Vec<String>,
    pub text: usize,
    pub label: Option<usize>,
}

impl TextColumns {
    /// By the names in the header.
    pub fn find(
        source: &Source,
        header: Vec<String>,
        options: &DocumentOptions,
    ) -> Result<TextColumns> {
        let find = |name: &str| header.iter().position(|h| h.eq_ignore_ascii_case(name));
        let asked = |name: &str| {
            let number = name.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            let at = find(name).or(number.filter(|&n| n < header.len()));
            at.ok_or_else(|| no_column(source, name, &header))
        };
        let text = match &options.text_column {
            Some(name) => asked(name)?,
            None => {
                let known = TEXT.iter().find_map(|name| find(name));
                let only = (header.len() == 1).then_some(0);
                let found = known.or(only);
                found.ok_or_else(|| no_column(source, "text", &header))?
            }
        };
        let label = match &options.label_column {
            Some(name) => Some(asked(name)?),
            None => LABEL.iter().find_map(|name| find(name)),
        };
        Ok(TextColumns {
            header,
            text,
            label,
        })
    }

    /// The message about which columns were found; `foreign` is the first line that is not UTF-8.
    pub fn note(
        &self,
        source: &Source,
        options: &DocumentOptions,
        foreign: Option<u64>,
    ) -> Option<String> {
        let found = (
            self.describe(self.text),
            self.label.map(|c| self.describe(c)),
        );
        match self.header.len() {
            1 => foreign_note(source, foreign),
            _ => found_note(source, found, options, foreign),
        }
    }

    fn describe(&self, column: usize) -> String {
        format!("column {} ({:?})", column + 1, self.header[column])
    }

    /// The error for a text column of another type.
    #[cfg(feature = "columnar")]
    pub fn no_texts(&self, source: &Source) -> DataError {
        source.error(
            format!("no texts in {}", self.describe(self.text)),
            "a column of texts",
            "Name the column with <text_column>.",
        )
    }
}

/// The text column of a table, record by record; its first line is a header.
pub struct TableReader {
    source: Arc<Source>,
    records: Records,
    columns: TextColumns,
}

impl TableReader {
    /// Reads the header and finds the columns.
    pub fn open(
        mut records: Records,
        source: &Arc<Source>,
        options: &DocumentOptions,
    ) -> Result<Self> {
        records.advance()?;
        Ok(TableReader {
            source: source.clone(),
            columns: TextColumns::find(source, records.texts(), options)?,
            records,
        })
    }
}

impl DocumentReader for TableReader {
    fn advance(&mut self) -> Result<Option<Document>> {
        let Some(line) = self.records.advance()? else {
            return Ok(None);
        };
        let field = |at: usize| decoded(self.records.field(at)).into_owned();
        Ok(Some(Document {
            text: field(self.columns.text),
            label: self.columns.label.map(|at| field(at).trim().to_string()),
            name: format!("line {line}"),
            line,
        }))
    }

    fn note(&self, options: &DocumentOptions) -> Option<String> {
        self.columns
            .note(&self.source, options, self.records.foreign())
    }
}

/// Records that are inspected for documents.
pub const LOOK: usize = 100;

/// Whether a table has a column of several words that is called like one of texts, and no more numbers
/// beside it than an identity and a label.
pub fn holds_documents(source: &Arc<Source>, usual: u8) -> Result<bool> {
    let mut records = Records::open(source, separator(source, usual, false)?)?;
    records.advance()?;
    let header = records.texts();
    let find = |name: &&str| header.iter().position(|h| h.eq_ignore_ascii_case(name));
    let Some(text) = TEXT.iter().find_map(find) else {
        return Ok(false);
    };
    let (mut rows, mut wordy, mut numbers) = (0, 0, vec![0_usize; header.len()]);
    while rows < LOOK && records.advance()?.is_some() {
        rows += 1;
        let fields = records.texts();
        wordy += usize::from(fields[text].contains(' '));
        for (count, field) in numbers.iter_mut().zip(&fields) {
            *count += usize::from(field.parse::<f64>().is_ok());
        }
    }
    let columns = numbers.iter().filter(|count| **count * 2 > rows).count();
    Ok(wordy * 2 > rows && columns <= 2)
}

/// The same of typed columns: their names and first texts, none where a column has numbers.
#[cfg(feature = "columnar")]
pub fn columns_hold_documents(columns: &[(String, Option<Vec<String>>)]) -> bool {
    let find = |name: &&str| columns.iter().find(|(h, _)| h.eq_ignore_ascii_case(name));
    let Some((_, Some(texts))) = TEXT.iter().find_map(find) else {
        return false;
    };
    let wordy = texts.iter().filter(|text| text.contains(' ')).count();
    let numbers = columns.iter().filter(|(_, texts)| texts.is_none()).count();
    wordy * 2 > texts.len() && numbers <= 2
}

/// The message about text and labels that the options do not name.
fn found_note(
    source: &Source,
    (text, label): (String, Option<String>),
    options: &DocumentOptions,
    foreign: Option<u64>,
) -> Option<String> {
    let mut parts = Vec::new();
    if options.text_column.is_none() {
        parts.push(format!("text is {text}"));
    }
    if let (Some(label), None) = (label, &options.label_column) {
        parts.push(format!("labels are {label}"));
    }
    parts.extend(foreign.map(foreign_words));
    (!parts.is_empty()).then(|| format!("{}: {}", source.name(), parts.join("; ")))
}

fn no_column(source: &Source, name: &str, header: &[String]) -> DataError {
    let mut known: Vec<String> = header.iter().take(8).map(|h| format!("{h:?}")).collect();
    if header.len() > known.len() {
        known.push("...".into());
    }
    let error = source.error(
        format!("no column {name:?} (but {})", known.join(", ")),
        "the name of a column as the header in line 1 has it",
        "Name the column with <text_column> or <label_column>, or give its number from 1.",
    );
    error.at("line 1")
}

/// The text under a key of JSON lines, an object a line. Blank lines are skipped.
pub struct JsonReader {
    source: Arc<Source>,
    lines: TextLines,
    options: DocumentOptions,
    /// What the text and the label are called, by the first object.
    keys: Option<(String, Option<String>)>,
    /// Whether the first object has one key.
    alone: bool,
}

impl JsonReader {
    pub fn new(lines: TextLines, source: &Arc<Source>, options: &DocumentOptions) -> Self {
        JsonReader {
            source: source.clone(),
            lines,
            options: options.clone(),
            keys: None,
            alone: false,
        }
    }

    fn document(&mut self, line: u64, value: Value) -> std::result::Result<Document, String> {
        let Value::Object(object) = value else {
            return Err("JSON, but no object".into());
        };
        let (text, label) = self.keys.get_or_insert_with(|| {
            self.alone = object.len() == 1;
            chosen_keys(&object, &self.options)
        });
        let Some(Value::String(found)) = object.get(text) else {
            return Err(missing(&object, text));
        };
        let label = match label {
            None => None,
            Some(key) => Some(match object.get(key) {
                Some(Value::String(label)) => label.clone(),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
                _ => return Err(missing(&object, key)),
            }),
        };
        Ok(Document {
            text: found.clone(),
            label,
            name: format!("line {line}"),
            line,
        })
    }
}

impl DocumentReader for JsonReader {
    fn advance(&mut self) -> Result<Option<Document>> {
        loop {
            let (line, parsed) = match self.lines.advance()? {
                None => return Ok(None),
                Some((_, text)) if text.trim().is_empty() => continue,
                Some((line, text)) => (line, json::parse(&text)),
            };
            let document = parsed.and_then(|value| self.document(line, value));
            return document.map(Some).map_err(|found| {
                let expected =
                    "one JSON object a line, like {\"text\": \"...\", \"label\": \"...\"}";
                let remedy =
                    "Write one object a line (from an array: jq -c '.[]'), and name the key \
                              of the text with <text_column>.";
                let error = self.source.error(found, expected, remedy);
                error.at(format!("line {line}"))
            });
        }
    }

    fn note(&self, options: &DocumentOptions) -> Option<String> {
        let words = |key: &String| format!("the key {key:?}");
        match &self.keys {
            Some((text, label)) if !self.alone => {
                let found = (words(text), label.as_ref().map(words));
                found_note(&self.source, found, options, self.lines.foreign())
            }
            _ => foreign_note(&self.source, self.lines.foreign()),
        }
    }
}

/// The keys of the text and the label: those of the options, or those of an object.
fn chosen_keys(object: &Map<String, Value>, options: &DocumentOptions) -> (String, Option<String>) {
    let known = |names: &[&str]| {
        let name = names.iter().find(|n| object.contains_key(**n));
        name.map(|n| n.to_string())
    };
    let text = options.text_column.clone().or_else(|| known(&TEXT));
    let label = options.label_column.clone().or_else(|| known(&LABEL));
    (text.unwrap_or_else(|| "text".into()), label)
}

fn missing(object: &Map<String, Value>, key: &str) -> String {
    let known: Vec<String> = object.keys().take(8).map(|k| format!("{k:?}")).collect();
    match object.contains_key(key) {
        true => format!("something under the key {key:?} that is no text"),
        false => format!("no key {key:?} (but {})", known.join(", ")),
    }
}
