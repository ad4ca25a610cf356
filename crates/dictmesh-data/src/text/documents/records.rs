//! Documents in a column of a table, or under a key of JSON lines.

use super::{each_line, foreign_note, DocumentOptions, Documents};
use crate::delimited::{separator, Records};
use crate::encoding::{decoded, foreign_words};
use crate::error::{DataError, Result};
use crate::lines::TEXT;
use crate::source::Source;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Default names of the label.
const LABEL: [&str; 4] = ["label", "topic", "class", "category"];

/// Reads the text column of a table; its first line is a header.
pub fn read_table(source: &Arc<Source>, usual: u8, options: &DocumentOptions) -> Result<Documents> {
    let separator = separator(source, usual, options.format.is_some())?;
    let mut records = Records::open(source, separator)?;
    records.advance()?;
    let header = records.texts();
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
            known
                .or(only)
                .ok_or_else(|| no_column(source, "text", &header))?
        }
    };
    let label = match &options.label_column {
        Some(name) => Some(asked(name)?),
        None => LABEL.iter().find_map(|name| find(name)),
    };
    let mut documents = Documents {
        labels: label.map(|_| Vec::new()),
        ..Documents::default()
    };
    while let Some(line) = records.advance()? {
        let field = |at: usize| decoded(records.field(at)).into_owned();
        documents.texts.push(field(text));
        documents.names.push(format!("line {line}"));
        if let (Some(labels), Some(at)) = (&mut documents.labels, label) {
            labels.push(field(at).trim().to_string());
        }
    }
    let words = |column: usize| format!("column {} ({:?})", column + 1, header[column]);
    let found = (words(text), label.map(words));
    documents.note = match header.len() {
        1 => foreign_note(source, records.foreign()),
        _ => found_note(source, found, options, records.foreign()),
    };
    Ok(documents)
}

/// Records that are inspected for documents.
const LOOK: u32 = 100;

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
    let (mut rows, mut wordy, mut numbers) = (0, 0, vec![0; header.len()]);
    while rows < LOOK && records.advance()?.is_some() {
        rows += 1;
        let fields = records.texts();
        wordy += u32::from(fields[text].contains(' '));
        for (count, field) in numbers.iter_mut().zip(&fields) {
            *count += u32::from(field.parse::<f64>().is_ok());
        }
    }
    let columns = numbers.iter().filter(|count| **count * 2 > rows).count();
    Ok(wordy * 2 > rows && columns <= 2)
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
        "Name the column with --text-column or --label-column, or give its number from 1.",
    );
    error.at("line 1")
}

/// Reads an object a line.
pub fn read_json_lines(source: &Arc<Source>, options: &DocumentOptions) -> Result<Documents> {
    let mut documents = Documents::default();
    let mut labels = Vec::new();
    // The first line settles what the text and the label are called.
    let mut keys: Option<(String, Option<String>)> = None;
    let mut alone = false;
    let foreign = each_line(source, &mut |number, line| {
        if line.trim().is_empty() {
            return Ok(());
        }
        let place = format!("line {number}");
        let wrong = |found: String| {
            let expected = "one JSON object a line, like {\"text\": \"...\", \"label\": \"...\"}";
            let remedy = "Write one object a line (from an array: jq -c '.[]'), and name the key \
                          of the text with --text-column.";
            source.error(found, expected, remedy).at(&place)
        };
        let value: Value = serde_json::from_str(line).map_err(|e| {
            // The parser counts lines within the line.
            let reason = e.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default();
            wrong(format!("no JSON at column {} ({reason})", e.column()))
        })?;
        let Value::Object(object) = value else {
            return Err(wrong("JSON, but no object".into()));
        };
        let (text, label) = keys.get_or_insert_with(|| {
            alone = object.len() == 1;
            chosen_keys(&object, options)
        });
        let Some(Value::String(found)) = object.get(text) else {
            return Err(wrong(missing(&object, text)));
        };
        documents.texts.push(found.clone());
        documents.names.push(place.clone());
        if let Some(label) = label {
            labels.push(match object.get(label) {
                Some(Value::String(label)) => label.clone(),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
                _ => return Err(wrong(missing(&object, label))),
            });
        }
        Ok(())
    })?;
    let words = |key: &String| format!("the key {key:?}");
    documents.note = match &keys {
        Some((text, label)) if !alone => {
            let found = (words(text), label.as_ref().map(words));
            found_note(source, found, options, foreign)
        }
        _ => foreign_note(source, foreign),
    };
    documents.labels = keys.and_then(|(_, label)| label).map(|_| labels);
    Ok(documents)
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
