//! Opens a stream: by its name, its options and its first bytes.

use super::{Blocks, Source};
use crate::batches::{pipe, Batches};
use crate::format::Format;
use crate::options::ReadOptions;
use crate::preparation::{DataOptions, How, Kind, Norm, Numbers, Result, Shape};
use crate::stream::{Content, Stream};
use crate::text::{DocumentFile, DocumentOptions, TextOptions, TfIdf, Vectoriser, Weighting};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// How a stream is read.
#[derive(Clone, Debug, Default)]
pub struct BlockOptions {
    /// The format, if the name does not tell.
    pub format: Option<Format>,
    /// The column or key of the text.
    pub text_column: Option<String>,
    /// The column of the labels.
    pub label_column: Option<String>,
    /// The records are counts of terms.
    pub counts: bool,
    /// The records are weights.
    pub tfidf: bool,
    /// How text and counts are weighted.
    pub weighting: Weighting,
}

impl Blocks {
    /// Opens a stream: a pipe of lines and files of text are read block by block, a matrix as a whole.
    /// `stop` is called for a pipe; the stream ends when the flag that it returns is set.
    pub fn open(
        path: &Path,
        options: &BlockOptions,
        stop: impl FnOnce() -> Arc<AtomicBool>,
    ) -> Result<Blocks> {
        let matrix = matrix_format(path, options);
        let text = Shape::of_text(path, options.format);
        if options.text_column.is_some() && (matrix.is_some() || text != Shape::Records) {
            return Err(format!(
                "{}: <text_column> belongs to tables of text (.csv, .tsv) and .jsonl; leave it out, or say with \
                 <format> what the stream is",
                path.display()
            )
            .into());
        }
        if let Some(pipe) = Blocks::open_pipe(path, options, matrix.is_none(), stop)? {
            return Ok(pipe);
        }
        let input = match matrix {
            Some(format) => Blocks::read_matrix(path, format, options)?,
            None => Blocks::read_text(path, options)?,
        };
        match input.total() {
            Some(0) => Err(no_documents(path).into()),
            _ => Ok(input),
        }
    }

    fn new(source: Source, how: How, rows: usize) -> Blocks {
        Blocks {
            source,
            how,
            rows,
            terms: None,
            text_column: None,
            note: None,
            read: 0,
        }
    }

    fn open_pipe(
        path: &Path,
        options: &BlockOptions,
        text: bool,
        stop: impl FnOnce() -> Arc<AtomicBool>,
    ) -> Result<Option<Blocks>> {
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
        let records = Stream::new(input, &name, kind, &data)?;
        let batches = Batches::new(records, stop())?;
        let first = batches.first().ok_or_else(|| no_documents(path))?;
        let (how, rows) = match &first.content {
            Content::Text(_) => text_how(options.weighting)?,
            Content::Numbers(x) => (numbers_how(options, true, x.len()), x.len()),
        };
        Ok(Some(Blocks {
            terms: batches.feature_names().map(<[String]>::to_vec),
            text_column: options.text_column.clone(),
            ..Blocks::new(Source::Pipe(batches), how, rows)
        }))
    }

    fn read_text(path: &Path, options: &BlockOptions) -> Result<Blocks> {
        let read = DocumentOptions {
            format: options.format,
            text_column: options.text_column.clone(),
            label_column: options.label_column.clone(),
        };
        let files = DocumentFile::open(path, &read)?;
        let documents = Box::new(files.documents()?);
        let (how, rows) = text_how(options.weighting)?;
        Ok(Blocks {
            text_column: options.text_column.clone(),
            note: files.note().map(String::from),
            ..Blocks::new(Source::Files(files, documents), how, rows)
        })
    }

    fn read_matrix(path: &Path, format: Option<Format>, options: &BlockOptions) -> Result<Blocks> {
        let read = ReadOptions {
            format,
            label_column: options.label_column.clone(),
            ..ReadOptions::default()
        };
        let table = crate::read(path, &read)?;
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
        Ok(Blocks {
            terms: table.feature_names,
            note: table.note,
            ..Blocks::new(source, how, rows)
        })
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
    let vectoriser = Box::new(Vectoriser::new(options)?);
    let rows = vectoriser.rows();
    Ok((How::Text { vectoriser }, rows))
}

/// Counts to be weighted, or with `tfidf` and where `counts` are not, weights.
fn numbers_how(options: &BlockOptions, counts: bool, rows: usize) -> How {
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
fn matrix_format(path: &Path, options: &BlockOptions) -> Option<Option<Format>> {
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
