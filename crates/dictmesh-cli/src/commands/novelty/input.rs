//! A stream as blocks of samples: raw text, counts, or vectors that are weighed already.

use super::super::{say, Norm, Preparation, Result};
use crate::data::{self, Format, ReadOptions};
use crate::text::{
    read_documents, DocumentFormat, DocumentOptions, Documents, TextOptions, TfIdf, Vectoriser,
    Weighting,
};
use dictmesh::{Model, Samples};
use std::ops::Range;
use std::path::Path;

/// The format of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StreamFormat {
    /// One document a line
    Lines,
    /// Comma-separated, with a column of text (or numbers, with --counts or --tfidf)
    Csv,
    /// Tab-separated, likewise
    Tsv,
    /// A JSON object a line, with a key for the text
    Jsonl,
    /// A numpy array
    Npy,
    /// An archive of numpy arrays, or a scipy sparse matrix
    Npz,
    /// Matrix Market
    Mtx,
}

/// How a stream is read.
#[derive(Clone, Debug, Default)]
pub struct InputOptions {
    pub format: Option<StreamFormat>,
    pub text_column: Option<String>,
    pub label_column: Option<String>,
    /// The file is a matrix of counts.
    pub counts: bool,
    /// The file is a matrix of weights.
    pub tfidf: bool,
}

/// The documents of a stream, with what turns them into samples.
pub struct Input {
    /// One label each, if the stream has them.
    pub labels: Option<Vec<String>>,
    names: Option<Vec<String>>,
    terms: Option<Vec<String>>,
    kind: Kind,
}

enum Kind {
    Text(Vec<String>, Box<Vectoriser>),
    Counts(Samples, TfIdf),
    Weighed(Samples),
}

impl Input {
    /// Reads a stream; errors name the file and say what to do.
    pub fn read(path: &Path, options: &InputOptions) -> Result<Input> {
        let input = match matrix_format(path, options) {
            Some(format) => Self::read_matrix(path, format, options)?,
            None => Self::read_text(path, options)?,
        };
        if input.len() == 0 {
            return Err(format!("{}: the stream has no documents", path.display()));
        }
        Ok(input)
    }

    fn read_text(path: &Path, options: &InputOptions) -> Result<Input> {
        let format = match options.format {
            Some(StreamFormat::Lines) => Some(DocumentFormat::Lines),
            Some(StreamFormat::Csv) => Some(DocumentFormat::Csv),
            Some(StreamFormat::Tsv) => Some(DocumentFormat::Tsv),
            Some(StreamFormat::Jsonl) => Some(DocumentFormat::Jsonl),
            _ => None,
        };
        let read = DocumentOptions {
            format,
            text_column: options.text_column.clone(),
            label_column: options.label_column.clone(),
        };
        let Documents {
            texts,
            labels,
            names,
        } = read_documents(path, &read).map_err(say)?;
        let vectoriser = Vectoriser::new(TextOptions::default()).map_err(say)?;
        Ok(Input {
            labels,
            names: Some(names),
            terms: None,
            kind: Kind::Text(texts, Box::new(vectoriser)),
        })
    }

    fn read_matrix(path: &Path, format: Option<Format>, options: &InputOptions) -> Result<Input> {
        let read = ReadOptions {
            format,
            label_column: options.label_column.clone(),
            ..ReadOptions::default()
        };
        let table = data::read(path, &read).map_err(say)?;
        let whole = || {
            (0..table.samples.len()).all(|j| {
                let mut entries = table.samples.entries(j);
                entries.all(|(_, v)| v >= 0.0 && v.fract() == 0.0)
            })
        };
        let counts = options.counts || (!options.tfidf && whole());
        let mut input = match counts {
            true => Input::counts(table.samples, Weighting::default()),
            false => Input {
                labels: None,
                names: None,
                terms: None,
                kind: Kind::Weighed(table.samples.normalised(dictmesh::Norm::L2)),
            },
        };
        input.labels = table.labels;
        input.names = table.sample_names;
        input.terms = table.feature_names;
        Ok(input)
    }

    /// Counts, to be weighed as by `weighting`.
    pub fn counts(samples: Samples, weighting: Weighting) -> Input {
        let tfidf = TfIdf::new(samples.rows(), weighting);
        Input {
            labels: None,
            names: None,
            terms: None,
            kind: Kind::Counts(samples, tfidf),
        }
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        match &self.kind {
            Kind::Text(texts, _) => texts.len(),
            Kind::Counts(x, _) | Kind::Weighed(x) => x.len(),
        }
    }

    /// What is in it, for people.
    pub fn what(&self) -> &'static str {
        match &self.kind {
            Kind::Text(..) => "raw text, weighed by TF-IDF with idf from the past blocks",
            Kind::Counts(..) => "counts, weighed by TF-IDF with idf from the past blocks",
            Kind::Weighed(_) => "weights, scaled to norm 1",
        }
    }

    /// The samples of the next block. Blocks must be asked for in order, each once: weights come
    /// from what was asked for before.
    pub fn block(&mut self, range: Range<usize>) -> Result<Samples> {
        match &mut self.kind {
            Kind::Text(texts, vectoriser) => {
                let texts: Vec<&str> = texts[range].iter().map(String::as_str).collect();
                vectoriser.transform_block(&texts).map_err(say)
            }
            Kind::Counts(x, tfidf) => tfidf.transform_block(&x.range(range)).map_err(say),
            Kind::Weighed(x) => Ok(x.range(range)),
        }
    }

    /// The name of a document.
    pub fn name(&self, j: usize) -> String {
        match &self.names {
            Some(names) => names[j].clone(),
            None => format!("document {j}"),
        }
    }

    /// The term of a row.
    pub fn term(&self, row: usize) -> String {
        let known = match (&self.kind, &self.terms) {
            (Kind::Text(_, vectoriser), _) => vectoriser.term(row),
            (_, Some(terms)) => terms.get(row).map(String::as_str),
            _ => None,
        };
        known.map_or_else(|| format!("#{row}"), String::from)
    }

    /// Puts what turns new documents into samples into a model.
    pub fn store(&self, model: &mut Model) -> Result<()> {
        let extra = &mut model.description.extra;
        match &self.kind {
            Kind::Text(_, vectoriser) => {
                let value = serde_json::to_value(vectoriser).map_err(say)?;
                extra.insert("vectoriser".into(), value);
            }
            Kind::Counts(_, tfidf) => {
                let value = serde_json::to_value(tfidf).map_err(say)?;
                extra.insert("tfidf".into(), value);
            }
            Kind::Weighed(_) => {
                let norm = Norm::L2;
                let preparation = Preparation {
                    norm,
                    ..Preparation::default()
                };
                preparation.store(model)?;
            }
        }
        Ok(())
    }
}

/// `Some` if the stream is a matrix, with the format to force.
fn matrix_format(path: &Path, options: &InputOptions) -> Option<Option<Format>> {
    let named = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let numbers = options.counts || options.tfidf;
    match options.format {
        Some(StreamFormat::Npy) => Some(Some(Format::Npy)),
        Some(StreamFormat::Npz) => Some(Some(Format::Npz)),
        Some(StreamFormat::Mtx) => Some(Some(Format::Mtx)),
        Some(StreamFormat::Csv) if numbers => Some(Some(Format::Csv)),
        Some(StreamFormat::Tsv) if numbers => Some(Some(Format::Tsv)),
        Some(_) => None,
        None => {
            let matrix = ["npy", "npz", "mtx"].iter();
            let matrix = matrix.clone().any(|e| named.eq_ignore_ascii_case(e));
            (numbers || matrix).then_some(None)
        }
    }
}
