//! Labels in a file of their own.

use super::delimited::{separator, text, Records};
use super::error::{DataError, Result};
use super::npy::Header;
use super::source::Source;
use crate::format::Format;
use std::path::Path;
use std::sync::Arc;

/// The labels in `path`, one for each of `expected` samples: a column of a table (named, or the
/// first), one label a line, or a numpy vector.
pub fn read_labels(path: &Path, column: Option<&str>, expected: usize) -> Result<Vec<String>> {
    let source = Arc::new(Source::open(path)?);
    let labels = match Format::of(&source, None) {
        Ok(Format::Npy) => from_npy(&source)?,
        found => {
            let usual = if matches!(found, Ok(Format::Tsv)) {
                b'\t'
            } else {
                b','
            };
            from_table(&source, separator(&source, usual, false)?, column, expected)?
        }
    };
    check_labels(source.name(), &labels, expected)?;
    Ok(labels)
}

/// `Ok` if there is one label for each sample.
fn check_labels(file: &str, labels: &[String], expected: usize) -> Result<()> {
    if labels.len() == expected {
        return Ok(());
    }
    Err(DataError::new(
        file,
        format!("{} labels", labels.len()),
        format!("{expected}, one for each sample"),
        "Check that the labels belong to this data, and whether it needs <transpose>.",
    ))
}

fn from_table(
    source: &Arc<Source>,
    separator: u8,
    column: Option<&str>,
    expected: usize,
) -> Result<Vec<String>> {
    let mut records = Records::open(source, separator)?;
    records.advance()?;
    let first = records.texts();
    let named = column.and_then(|name| first.iter().position(|f| f == name));
    let at = match (named, column) {
        (Some(at), _) => at,
        (None, None) => 0,
        (None, Some(name)) => {
            let number = name.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            number.filter(|&n| n < first.len()).ok_or_else(|| {
                source.error(
                    format!("no column \"{}\"", name.escape_debug()),
                    format!("one of {}", first.join(", ")),
                    "Correct the name, or give its number from 1.",
                )
            })?
        }
    };
    let mut labels: Vec<String> = first.get(at).cloned().into_iter().collect();
    while records.advance()?.is_some() {
        labels.push(text(records.field(at)));
    }
    // Labels are often text: only their number shows whether there is a header.
    if !labels.is_empty() && (named.is_some() || labels.len() == expected.saturating_add(1)) {
        labels.remove(0);
    }
    Ok(labels)
}

fn from_npy(source: &Source) -> Result<Vec<String>> {
    let wrong = |found: String| {
        source.error(
            found,
            "a vector of labels (numbers or text)",
            "Write it with numpy.save(name, labels).",
        )
    };
    let mut reader = source.reader();
    let header = Header::read(&mut reader).map_err(wrong)?;
    if header.shape().len() != 1 {
        return Err(wrong(format!("an array of shape {:?}", header.shape())));
    }
    if let Some(strings) = header.strings(&mut reader, source.len()) {
        let strings = strings.map_err(|e| source.io_error(&e))?;
        let clean = |s: String| s.trim_end_matches('\0').to_string();
        return Ok(strings.into_iter().map(clean).collect());
    }
    let numbers = header.values(reader);
    let numbers =
        numbers.ok_or_else(|| wrong(format!("an array of type {}", header.type_name())))?;
    let labels = numbers.map(|v| v.map(|v| v.to_string()));
    labels
        .collect::<std::io::Result<_>>()
        .map_err(|e| source.io_error(&e))
}
