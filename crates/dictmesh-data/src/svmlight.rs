//! svmlight and libsvm files: `label index:value index:value ... # comment`, a sample a line.
//!
//! Indices count from 1. An index 0 is refused: a file that counts from 0 cannot be told from one
//! that counts from 1 if it happens to have no entry 0. `qid:` is ignored. Entries that are not
//! written are zero.

use crate::error::{DataError, Result};
use crate::lines::TextLines;
use crate::source::Source;
use crate::sparse::{Entries, Entry, Rising, SparseFile};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// A sparse matrix with a label for each row.
pub struct SvmlightFile {
    source: Arc<Source>,
    shape: (usize, usize),
}

impl SvmlightFile {
    /// Reads the file once to find its shape; it has at least `width` columns.
    pub fn open(source: Arc<Source>, width: usize) -> Result<Self> {
        let (mut rows, mut most) = (0, None);
        let mut lines = TextLines::open(&source);
        while let Some((number, line)) = lines.advance()? {
            let Some((_, entries)) = split(&line) else {
                continue;
            };
            rows += 1;
            for (index, _) in parsed(&source, number, entries)? {
                most = most.max(Some(index));
            }
        }
        let Some(most) = most else {
            return Err(wrong(&source, "no entries".into()));
        };
        let cols = most.max(width);
        Ok(SvmlightFile {
            source,
            shape: (rows, cols),
        })
    }

    /// The label of each row.
    pub fn labels(&self) -> Result<Vec<String>> {
        let mut labels = Vec::new();
        let mut lines = TextLines::open(&self.source);
        while let Some((_, line)) = lines.advance()? {
            labels.extend(split(&line).map(|(label, _)| label.to_string()));
        }
        Ok(labels)
    }
}

impl SparseFile for SvmlightFile {
    fn source(&self) -> &Source {
        &self.source
    }
    fn shape(&self) -> (usize, usize) {
        self.shape
    }
    fn rising(&self) -> Rising {
        Rising::Rows
    }
    fn entries(&self) -> Result<Entries> {
        let source = self.source.clone();
        let mut lines = TextLines::open(&source);
        let (mut row, mut waiting, mut done) = (0, VecDeque::new(), false);
        Ok(Box::new(std::iter::from_fn(move || loop {
            if let Some(entry) = waiting.pop_front() {
                return Some(Ok(entry));
            }
            if done {
                return None;
            }
            let read = (|| {
                let Some((number, line)) = lines.advance()? else {
                    done = true;
                    return Ok(());
                };
                if let Some((_, entries)) = split(&line) {
                    let entries = parsed(&source, number, entries)?.into_iter();
                    waiting.extend(entries.map(|(index, value)| Entry {
                        row,
                        column: index.saturating_sub(1),
                        value,
                    }));
                    row += 1;
                }
                Ok(())
            })();
            if let Err(e) = read {
                done = true;
                return Some(Err(e));
            }
        })))
    }
}

/// The label and the entries of a line; `None` of a blank line or a comment.
fn split(line: &str) -> Option<(&str, &str)> {
    let line = line.split('#').next().unwrap_or_default().trim();
    match line.split_once(char::is_whitespace) {
        _ if line.is_empty() => None,
        Some(parts) => Some(parts),
        None => Some((line, "")),
    }
}

fn parsed(source: &Source, number: u64, entries: &str) -> Result<Vec<(usize, f64)>> {
    let fields = entries.split_whitespace();
    let fields = fields.filter(|field| !field.starts_with("qid:"));
    let entry = |field: &str| {
        let (index, value) = field.split_once(':')?;
        Some((index.parse::<usize>().ok()?, value.parse::<f64>().ok()?))
    };
    let mut seen = HashSet::new();
    fields
        .map(|field| {
            if let Some((index, _)) = entry(field).filter(|(index, _)| !seen.insert(*index)) {
                let error = source.error(
                    format!("the index {index} twice"),
                    "each index once in a line",
                    "Add up or remove the entries.",
                );
                return Err(error.at(format!("line {number}")));
            }
            if let Some((0, _)) = entry(field) {
                let error = source.error(
                    format!("\"{field}\": an index 0"),
                    "indices from 1 on",
                    "Write the file with indices from 1 (scikit-learn: zero_based=False).",
                );
                return Err(error.at(format!("line {number}")));
            }
            entry(field).ok_or_else(|| {
                let shown: String = field.chars().take(40).collect();
                let error = wrong(source, format!("\"{}\"", shown.escape_debug()));
                error.at(format!("line {number}"))
            })
        })
        .collect()
}

fn wrong(source: &Source, found: String) -> DataError {
    source.error(
        found,
        "lines like \"1 3:0.5 7:2\": a label, then index:value",
        "Write the file again as svmlight, or say with <format> what it is.",
    )
}
