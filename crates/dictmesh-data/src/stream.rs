//! Records of a stream, parsed as they arrive.
//!
//! ```
//! use dictmesh_data::preparation::{DataOptions, Kind};
//! use dictmesh_data::{Content, Stream};
//! let input = "height,width\n1.5,2\n3,4\n".as_bytes();
//! let stream = Stream::new(input, "standard input", Kind::Numbers, &DataOptions::default())?;
//! let contents: Result<Vec<Content>, _> = stream.map(|record| Ok(record?.content)).collect();
//! let numbers = |x: [f64; 2]| Content::Numbers(x.to_vec());
//! assert_eq!(contents?, [numbers([1.5, 2.0]), numbers([3.0, 4.0])]);
//! # Ok::<(), dictmesh_data::DataError>(())
//! ```

mod record;
mod rows;

use crate::error::Result;
use crate::format::Format;
use crate::json;
use crate::lines::LONGEST;
use crate::options::Nan;
use crate::preparation::{check_flags, DataOptions, How, Kind, Preparation, Shape};
use crate::source::{stdin_head, Source};
use crate::text::{self, DocumentOptions, DocumentReader};
use dictmesh::{Matrix, Samples};
pub use record::{Content, Record};
use rows::Rows;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

/// The records of a stream of lines.
///
/// The iterator blocks until the next line has arrived, and parses no line ahead. The first line is
/// read by the first call of `next`. After an error there is no further record.
///
/// Columns of numbers follow the rules of a file, with three differences, as only the first line is
/// known: it is a header if it has the names of the model's features, or text and no numbers; names
/// are those of the named column or of an index without a name; labels are those of the named column.
pub struct Stream {
    source: Arc<Source>,
    kind: Kind,
    options: DataOptions,
    /// Numbers in a sample, if they are known.
    rows: Option<usize>,
    state: State,
    /// Records so far.
    count: usize,
}

enum State {
    Waiting(Box<dyn BufRead + Send>),
    Documents(Box<dyn DocumentReader>),
    Rows(Box<Rows>),
    Ended,
}

impl Stream {
    /// Raw data of a kind, without a model. `name` is for messages.
    ///
    /// Errors: options that need the whole input (`transpose`, missing entries by their mean), and
    /// formats that are not lines.
    pub fn new(
        input: impl Read + Send + 'static,
        name: &str,
        kind: Kind,
        options: &DataOptions,
    ) -> Result<Self> {
        let source = Arc::new(Source::named(name)?);
        let found = match () {
            () if options.read.transpose => "columns as samples",
            () if options.read.nan == Nan::Mean => "missing entries that get their feature's mean",
            () if kind == Kind::Pictures => "pictures",
            () if !options.read.format.is_none_or(Format::is_lines) => "a format that is not lines",
            () => {
                return Ok(Stream {
                    source,
                    kind,
                    options: options.clone(),
                    rows: None,
                    state: State::Waiting(Box::new(BufReader::with_capacity(1 << 16, input))),
                    count: 0,
                })
            }
        };
        let expected = "lines of text or numbers, which can be used one by one";
        Err(source.error(found, expected, "Give a file, which can be read twice."))
    }

    /// Raw data for a model of `rows` rows (`None`: as many as the first record has), read by `options`,
    /// and by the model's where they are silent; `features` are the names of what the model learned from.
    pub fn for_model(
        input: impl Read + Send + 'static,
        name: &str,
        options: &DataOptions,
        model: &Preparation,
        rows: Option<usize>,
        features: Option<&[String]>,
    ) -> crate::preparation::Result<Self> {
        let kind = model.how.kind();
        let format = options.read.format;
        let shape = match kind {
            Kind::Text => Shape::of_text(Path::new(name), format),
            _ => Shape::of_numbers(format.unwrap_or(Format::Csv)),
        };
        let column = options.text_column.as_deref();
        check_flags(Path::new(name), shape, &options.read, column)?;
        let by_mean = options.read.nan == Nan::Mean;
        let mut options = model.reading.data_options(options, features);
        if options.read.nan == Nan::Mean && !by_mean {
            // The model was learned from a file with means; an entry that is missing here is an error.
            options.read.nan = Nan::Error;
        }
        let mut stream = Stream::new(input, name, kind, &options)?;
        stream.rows = rows.filter(|_| kind == Kind::Numbers);
        Ok(stream)
    }

    /// Whether standard input can be read as it arrives: lines that are not compressed and not
    /// UTF-16, and options that need no second pass. Waits for the first bytes and leaves them there.
    pub fn fits_stdin(kind: Kind, options: &DataOptions) -> Result<bool> {
        let read = &options.read;
        if kind == Kind::Pictures || read.transpose || read.nan == Nan::Mean {
            return Ok(false);
        }
        if !read.format.is_none_or(Format::is_lines) {
            return Ok(false);
        }
        let head = stdin_head()?;
        Ok(!crate::source::is_packed(&head) && Format::by_head(&head).is_none_or(Format::is_lines))
    }

    /// The names of the features, after the first record; `None` of text and without a header.
    pub fn feature_names(&self) -> Option<Vec<String>> {
        match &self.state {
            State::Rows(rows) => rows.names(),
            _ => None,
        }
    }

    /// The first bytes, up to the first line's end.
    fn first_line(&self, input: &mut dyn BufRead) -> Result<Vec<u8>> {
        let mut line = Vec::new();
        let read = input.take(LONGEST).read_until(b'\n', &mut line);
        read.map_err(|e| self.source.io_error(&e))?;
        match line.is_empty() {
            true => Err(self.source.error(
                "the input is empty",
                "data",
                "Check that it was written completely.",
            )),
            false => Ok(line),
        }
    }

    fn begin(&self, mut input: Box<dyn BufRead + Send>) -> Result<State> {
        let first = self.first_line(&mut input)?;
        let replay = Box::new(Cursor::new(first.clone()).chain(input));
        let (read, first) = (&self.options.read, &first[..]);
        let format = read.format.or(json::begins(first).then_some(Format::Jsonl));
        Ok(match self.kind {
            Kind::Text => {
                let options = DocumentOptions {
                    format,
                    text_column: self.options.text_column.clone(),
                    label_column: read.label_column.clone(),
                };
                State::Documents(text::over(&self.source, replay, first, &options)?)
            }
            _ => {
                let format = format.unwrap_or(Format::Csv);
                let rows = Rows::new(&self.source, replay, first, format, read);
                State::Rows(Box::new(rows))
            }
        })
    }

    fn advance(&mut self) -> Result<Option<Record>> {
        if matches!(self.state, State::Waiting(_)) {
            if let State::Waiting(input) = std::mem::replace(&mut self.state, State::Ended) {
                self.state = self.begin(input)?;
            }
        }
        let record = match &mut self.state {
            State::Documents(reader) => reader.advance()?.map(|document| Record {
                line: document.line,
                name: document.name,
                label: document.label,
                content: Content::Text(document.text),
            }),
            State::Rows(rows) => rows.advance(self.count, self.rows)?,
            State::Waiting(_) | State::Ended => None,
        };
        self.count += 1;
        Ok(record)
    }
}

impl Iterator for Stream {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.state = State::Ended;
        }
        next
    }
}

impl How {
    /// The samples of records, prepared; `rows` is M.
    pub fn prepare(&self, rows: usize, records: &[Record]) -> crate::preparation::Result<Samples> {
        let mixed = || "the data and the model's preparation are of different kinds".into();
        if let How::Text { vectoriser } = self {
            let texts = records.iter().map(|record| match &record.content {
                Content::Text(text) => Ok(text.as_str()),
                Content::Numbers(_) => Err(mixed()),
            });
            let texts = texts.collect::<crate::preparation::Result<Vec<&str>>>()?;
            return Ok(vectoriser.transform(&texts)?);
        }
        let mut values = Vec::with_capacity(rows.saturating_mul(records.len()));
        for record in records {
            match &record.content {
                Content::Numbers(numbers) => values.extend(numbers),
                Content::Text(_) => return Err(mixed()),
            }
        }
        let x = Matrix::from_vec(rows, records.len(), values).map_err(dictmesh::Error::from)?;
        let x = Samples::dense(x)?;
        match self {
            How::Numbers(numbers) => numbers.apply(x),
            How::Counts { tfidf } => Ok(tfidf.transform(&x)?),
            How::Text { .. } | How::Patches(_) => Err(mixed()),
        }
    }
}
