//! A stream of documents in blocks of samples: raw text, counts, or vectors that are weighted already.

mod open;

pub use open::BlockOptions;

use crate::batches::Batches;
use crate::preparation::{How, Preparation, Result};
use crate::stream::{Content, Record};
use crate::text::{Document, DocumentFile};
use crate::DataError;
use dictmesh::{Model, Norm, Samples};

/// A stream, with what turns its documents into samples.
pub struct Blocks {
    source: Source,
    how: How,
    /// Numbers in a sample.
    rows: usize,
    terms: Option<Vec<String>>,
    text_column: Option<String>,
    /// A remark on how it is read.
    pub note: Option<String>,
    /// The number of documents of the blocks so far.
    read: usize,
}

enum Source {
    /// Documents in files; memory holds one block.
    Files(DocumentFile, Documents),
    Matrix {
        samples: Samples,
        names: Option<Vec<String>>,
        labels: Option<Vec<String>>,
    },
    /// A pipe; memory holds one block.
    Pipe(Batches),
}

type Documents = Box<dyn Iterator<Item = std::result::Result<Document, DataError>> + Send>;

/// The documents of a block.
pub struct Block {
    /// The samples.
    pub x: Samples,
    /// Their names.
    pub names: Vec<String>,
    /// Their labels, if the stream has labels.
    pub labels: Option<Vec<String>>,
}

impl Blocks {
    /// The number of documents; `None` of a pipe.
    pub fn total(&self) -> Option<usize> {
        match &self.source {
            Source::Files(files, _) => Some(files.len()),
            Source::Matrix { samples, .. } => Some(samples.len()),
            Source::Pipe(_) => None,
        }
    }

    /// The number of documents of the blocks so far.
    pub fn read(&self) -> usize {
        self.read
    }

    /// M, the length of a sample.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All labels, if the stream has them and is no pipe. Text takes one more pass.
    pub fn labels(&self) -> Result<Option<Vec<String>>> {
        match &self.source {
            Source::Files(files, _) if files.labelled() => {
                let labels = files.documents()?;
                let label = |d: Document| d.label.unwrap_or_default();
                let labels = labels.map(|document| document.map(label));
                let labels: std::result::Result<_, DataError> = labels.collect();
                Ok(Some(labels?))
            }
            Source::Matrix { labels, .. } => Ok(labels.clone()),
            Source::Files(..) | Source::Pipe(_) => Ok(None),
        }
    }

    /// Whether the stop flag ended the stream.
    pub fn is_interrupted(&self) -> bool {
        matches!(&self.source, Source::Pipe(batches) if batches.is_interrupted())
    }

    /// A description of the documents.
    pub fn what(&self) -> &'static str {
        match &self.how {
            How::Text { .. } => "raw text, weighted by TF-IDF with idf from the past blocks",
            How::Counts { .. } => "counts, weighted by TF-IDF with idf from the past blocks",
            _ => "weights, scaled to norm 1",
        }
    }

    /// The next `count` documents, fewer at the end; `None` after it. Weights come from the blocks
    /// before.
    pub fn next_block(&mut self, count: usize) -> Result<Option<Block>> {
        let at = self.read;
        let records: Vec<Record> = match &mut self.source {
            Source::Files(_, documents) => {
                let block = documents.take(count).map(|found| found.map(record));
                block.collect::<std::result::Result<_, DataError>>()?
            }
            Source::Pipe(batches) => batches.full(count)?.unwrap_or_default(),
            Source::Matrix {
                samples,
                names,
                labels,
            } => {
                let range = at..at.saturating_add(count).min(samples.len());
                if range.is_empty() {
                    return Ok(None);
                }
                let x = samples.range(range.clone());
                let x = match &mut self.how {
                    How::Counts { tfidf } => tfidf.transform_block(&x)?,
                    _ => x.normalised(Norm::L2),
                };
                let name = |j: usize| match names {
                    Some(names) => names[j].clone(),
                    None => format!("document {j}"),
                };
                let block = Block {
                    x,
                    names: range.clone().map(name).collect(),
                    labels: labels.as_ref().map(|labels| labels[range].to_vec()),
                };
                return self.checked(block).map(Some);
            }
        };
        if records.is_empty() {
            return Ok(None);
        }
        let numbered = |(j, record): (usize, &Record)| match &record.content {
            Content::Text(_) => record.name.clone(),
            Content::Numbers(_) => format!("document {}", at + j),
        };
        let block = Block {
            x: self.prepared(&records)?,
            names: records.iter().enumerate().map(numbered).collect(),
            labels: records.iter().map(|r| r.label.clone()).collect(),
        };
        self.checked(block).map(Some)
    }

    /// The samples of the next block; then learns its document frequencies.
    fn prepared(&mut self, records: &[Record]) -> Result<Samples> {
        let rows = self.rows;
        match &mut self.how {
            How::Text { vectoriser } => {
                let text = |record: &Record| match &record.content {
                    Content::Text(text) => text.clone(),
                    Content::Numbers(_) => String::new(),
                };
                let texts: Vec<String> = records.iter().map(text).collect();
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                Ok(vectoriser.transform_block(&texts)?)
            }
            How::Counts { tfidf } => {
                let x = How::default().prepare(rows, records)?;
                Ok(tfidf.transform_block(&x)?)
            }
            how => how.prepare(rows, records),
        }
    }

    /// Refuses a first block without anything in it: every document would be equally new.
    fn checked(&mut self, block: Block) -> Result<Block> {
        let empty = |j: usize| block.x.entries(j).all(|(_, v)| v == 0.0);
        if self.read == 0 && (0..block.x.len()).all(empty) {
            let found = match &self.how {
                How::Text { .. } => "no words but stop words",
                _ => "nothing but zeros",
            };
            return Err(format!(
                "{found} in the first block, so that there is nothing to learn from it; check the file, or give a \
                 larger <first>"
            )
            .into());
        }
        self.read += block.x.len();
        Ok(block)
    }

    /// The term of a row.
    pub fn term(&self, row: usize) -> String {
        let name = self.how.row_name(row, self.terms.as_deref());
        name.unwrap_or_else(|| format!("#{row}"))
    }

    /// Puts what turns new documents into samples into a model.
    pub fn store(&self, model: &mut Model) -> Result<()> {
        model.description.feature_names = self.terms.clone();
        let mut preparation = Preparation::new(self.how.clone());
        preparation.reading.text_column = self.text_column.clone();
        preparation.store(model)
    }
}

fn record(document: Document) -> Record {
    Record {
        line: document.line,
        name: document.name,
        label: document.label,
        content: Content::Text(document.text),
    }
}
