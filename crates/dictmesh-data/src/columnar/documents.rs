//! Documents in a column of texts.

use super::{Columns, Holds};
use crate::delimited::Texts;
use crate::error::Result;
use crate::format::Format;
use crate::source::Source;
use crate::text::{Document, DocumentOptions, DocumentReader, TextColumns};
use std::sync::Arc;

/// Documents in a column of texts.
pub struct ColumnDocuments {
    texts: Texts,
    labels: Option<Texts>,
    note: Option<String>,
    row: u64,
}

impl ColumnDocuments {
    /// Finds the columns as in a table with a header.
    pub fn open(source: &Arc<Source>, format: Format, options: &DocumentOptions) -> Result<Self> {
        let columns = Columns::open(source, format, &[])?;
        let chosen = TextColumns::find(source, columns.names(), options)?;
        if columns.columns[chosen.text].holds != Holds::Texts {
            return Err(chosen.no_texts(source));
        }
        Ok(ColumnDocuments {
            texts: columns.texts(chosen.text)?,
            labels: chosen.label.map(|label| columns.texts(label)).transpose()?,
            note: chosen.note(source, options, None),
            row: 0,
        })
    }
}

impl DocumentReader for ColumnDocuments {
    fn advance(&mut self) -> Result<Option<Document>> {
        let Some(text) = self.texts.next().transpose()? else {
            return Ok(None);
        };
        self.row += 1;
        let label = self.labels.as_mut().map(|labels| labels.next().transpose());
        Ok(Some(Document {
            text,
            label: label.transpose()?.map(Option::unwrap_or_default),
            name: format!("row {}", self.row),
            line: self.row,
        }))
    }

    fn note(&self, _: &DocumentOptions) -> Option<String> {
        self.note.clone()
    }
}

/// The names of all columns, and the first texts of each: none where a column holds no texts.
pub fn first_texts(
    source: &Arc<Source>,
    format: Format,
    count: usize,
) -> Result<Vec<(String, Option<Vec<String>>)>> {
    let columns = Columns::open(source, format, &[])?;
    let all = columns.columns.iter().enumerate().map(|(at, column)| {
        let texts = (column.holds == Holds::Texts).then(|| columns.texts(at));
        let texts = texts.map(|texts| texts?.take(count).collect()).transpose();
        Ok((column.name.clone(), texts?))
    });
    all.collect()
}
