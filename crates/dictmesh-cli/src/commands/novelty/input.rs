//! A stream in blocks of samples: raw text, counts, or vectors that are weighted already.

use super::super::prepare::{How, Norm, Numbers, Preparation};
use super::super::stream::{pipe, Batches};
use super::super::{fail, say, Result};
use crate::interrupt;
use dictmesh::{Model, Samples};
use dictmesh_data::preparation::{DataOptions, Kind, Shape};
use dictmesh_data::text::{
    Document, DocumentFile, DocumentOptions, TextOptions, TfIdf, Vectoriser, Weighting,
};
use dictmesh_data::{self as data, Content, Format, ReadOptions, Record, Stream};
use std::path::Path;

/// How a stream is read.
#[derive(Clone, Debug, Default)]
pub struct InputOptions {
    pub format: Option<Format>,
    pub text_column: Option<String>,
    pub label_column: Option<String>,
    /// The records are counts of terms.
    pub counts: bool,
    /// The records are weights.
    pub tfidf: bool,
    /// How text and counts are weighted.
    pub weighting: Weighting,
}

/// A stream, with what turns its documents into samples.
pub struct Input {
    source: Source,
    how: How,
    /// Numbers in a sample.
    rows: usize,
    terms: Option<Vec<String>>,
    text_column: Option<String>,
    /// A message about how it is read.
    pub note: Option<String>,
    /// Documents of the blocks so far.
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

type Documents = Box<dyn Iterator<Item = std::result::Result<Document, data::DataError>> + Send>;

/// The documents of a block.
pub struct Block {
    pub x: Samples,
    pub names: Vec<String>,
    pub labels: Option<Vec<String>>,
}

impl Input {
    /// Opens a stream: a pipe with text in lines is read block by block, everything else as a whole.
    pub fn open(path: &Path, options: &InputOptions) -> Result<Input> {
        let matrix = matrix_format(path, options);
        let text = Shape::of_text(path, options.format);
        if options.text_column.is_some() && (matrix.is_some() || text != Shape::Records) {
            return fail(format!(
                "{}: --text-column belongs to tables of text (.csv, .tsv) and .jsonl; leave it out, or say with \
                 --format what the stream is",
                path.display()
            ));
        }
        if let Some(pipe) = Input::open_pipe(path, options, matrix.is_none())? {
            return Ok(pipe);
        }
        let input = match matrix {
            Some(format) => Input::read_matrix(path, format, options)?,
            None => Input::read_text(path, options)?,
        };
        match input.total() {
            Some(0) => fail(no_documents(path)),
            _ => Ok(input),
        }
    }

    fn new(source: Source, how: How, rows: usize) -> Input {
        Input {
            source,
            how,
            rows,
            terms: None,
            text_column: None,
            note: None,
            read: 0,
        }
    }

    fn open_pipe(path: &Path, options: &InputOptions, text: bool) -> Result<Option<Input>> {
        let data = DataOptions {
            read: ReadOptions {
                format: options.format,
                label_column: options.label_column.clone(),
                ..ReadOptions::default()
            },
            text_column: options.text_column.clone(),
        };
        let kind = match text {
            true => Kind::Text,
            false => Kind::Numbers,
        };
        let Some((input, name)) = pipe(path, kind, &data)? else {
            return Ok(None);
        };
        let records = Stream::new(input, &name, kind, &data).map_err(say)?;
        let batches = Batches::new(records, interrupt::gently())?;
        let first = batches.first().ok_or_else(|| no_documents(path))?;
        let (how, rows) = match &first.content {
            Content::Text(_) => text_how(options.weighting)?,
            Content::Numbers(x) => (numbers_how(options, true, x.len()), x.len()),
        };
        Ok(Some(Input {
            terms: batches.feature_names().map(<[String]>::to_vec),
            text_column: options.text_column.clone(),
            ..Input::new(Source::Pipe(batches), how, rows)
        }))
    }

    fn read_text(path: &Path, options: &InputOptions) -> Result<Input> {
        let read = DocumentOptions {
            format: options.format,
            text_column: options.text_column.clone(),
            label_column: options.label_column.clone(),
        };
        let files = DocumentFile::open(path, &read).map_err(say)?;
        let documents = Box::new(files.documents().map_err(say)?);
        let (how, rows) = text_how(options.weighting)?;
        Ok(Input {
            text_column: options.text_column.clone(),
            note: files.note().map(String::from),
            ..Input::new(Source::Files(files, documents), how, rows)
        })
    }

    fn read_matrix(path: &Path, format: Option<Format>, options: &InputOptions) -> Result<Input> {
        let read = ReadOptions {
            format,
            label_column: options.label_column.clone(),
            ..ReadOptions::default()
        };
        let table = data::read(path, &read).map_err(say)?;
        let samples = table.samples;
        let whole = || {
            (0..samples.len()).all(|j| {
                let mut entries = samples.entries(j);
                entries.all(|(_, v)| v >= 0.0 && v.fract() == 0.0)
            })
        };
        let rows = samples.rows();
        let how = numbers_how(options, options.counts || whole(), rows);
        let source = Source::Matrix {
            samples,
            names: table.sample_names,
            labels: table.labels,
        };
        Ok(Input {
            terms: table.feature_names,
            note: table.note,
            ..Input::new(source, how, rows)
        })
    }

    /// The number of documents; `None` of a pipe.
    pub fn total(&self) -> Option<usize> {
        match &self.source {
            Source::Files(files, _) => Some(files.len()),
            Source::Matrix { samples, .. } => Some(samples.len()),
            Source::Pipe(_) => None,
        }
    }

    /// Documents of the blocks so far.
    pub fn read(&self) -> usize {
        self.read
    }

    /// Numbers in a sample.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All labels, if the stream has them and is no pipe. Text takes one more pass.
    pub fn labels(&self) -> Result<Option<Vec<String>>> {
        match &self.source {
            Source::Files(files, _) if files.labelled() => {
                let labels = files.documents().map_err(say)?;
                let label = |d: Document| d.label.unwrap_or_default();
                let labels = labels.map(|document| document.map(label));
                labels
                    .collect::<std::result::Result<_, _>>()
                    .map(Some)
                    .map_err(say)
            }
            Source::Matrix { labels, .. } => Ok(labels.clone()),
            Source::Files(..) | Source::Pipe(_) => Ok(None),
        }
    }

    /// Whether Ctrl-C ended the stream.
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
                block.collect::<std::result::Result<_, _>>().map_err(say)?
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
                    How::Counts { tfidf } => tfidf.transform_block(&x).map_err(say)?,
                    _ => x.normalised(dictmesh::Norm::L2),
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
                vectoriser.transform_block(&texts).map_err(say)
            }
            How::Counts { tfidf } => {
                let x = How::default().prepare(rows, records).map_err(say)?;
                tfidf.transform_block(&x).map_err(say)
            }
            how => how.prepare(rows, records).map_err(say),
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
            return fail(format!(
                "{found} in the first block, so that there is nothing to learn from it; check the file, or give a \
                 larger --first"
            ));
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
        preparation.store(model).map_err(say)
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

fn no_documents(path: &Path) -> String {
    format!("{}: the stream has no documents", path.display())
}

fn text_how(weighting: Weighting) -> Result<(How, usize)> {
    let options = TextOptions {
        weighting,
        ..TextOptions::default()
    };
    let vectoriser = Box::new(Vectoriser::new(options).map_err(say)?);
    let rows = vectoriser.rows();
    Ok((How::Text { vectoriser }, rows))
}

/// Counts to be weighted, or with --tfidf and where `counts` are not, weights.
fn numbers_how(options: &InputOptions, counts: bool, rows: usize) -> How {
    match counts && !options.tfidf {
        true => How::Counts {
            tfidf: TfIdf::new(rows, options.weighting),
        },
        false => How::Numbers(Numbers {
            norm: Norm::L2,
            ..Numbers::default()
        }),
    }
}

/// `Some` if the stream is a matrix, with the format to force.
fn matrix_format(path: &Path, options: &InputOptions) -> Option<Option<Format>> {
    let numbers = options.counts || options.tfidf;
    match options.format {
        Some(format) if format.is_matrix() => Some(Some(format)),
        Some(format) => numbers.then_some(Some(format)),
        None => {
            let matrix = Format::by_name(path);
            (numbers || matrix.is_some_and(Format::is_matrix)).then_some(None)
        }
    }
}
