//! A stream as blocks of samples: raw text, counts, or vectors that are weighed already.

use super::super::prepare::{How, Norm, Numbers, Preparation};
use super::super::{say, Result};
use dictmesh::{Model, Samples};
use dictmesh_data::preparation::Shape;
use dictmesh_data::text::{
    read_documents, DocumentOptions, Documents, TextOptions, TfIdf, Vectoriser, Weighting,
};
use dictmesh_data::{self as data, Format, ReadOptions};
use std::ops::Range;
use std::path::Path;

/// How a stream is read.
#[derive(Clone, Debug, Default)]
pub struct InputOptions {
    pub format: Option<Format>,
    pub text_column: Option<String>,
    pub label_column: Option<String>,
    /// The file is a matrix of counts.
    pub counts: bool,
    /// The file is a matrix of weights.
    pub tfidf: bool,
    /// How text and counts are weighed.
    pub weighting: Weighting,
}

/// The documents of a stream, with what turns them into samples.
pub struct Input {
    /// One label each, if the stream has them.
    pub labels: Option<Vec<String>>,
    names: Option<Vec<String>>,
    terms: Option<Vec<String>>,
    text_column: Option<String>,
    /// What a person should know about how it was read.
    pub note: Option<String>,
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
        let matrix = matrix_format(path, options);
        let text = Shape::of_text(path, options.format);
        if options.text_column.is_some() && (matrix.is_some() || text != Shape::Records) {
            return Err(format!(
                "{}: --text-column belongs to tables of text (.csv, .tsv) and .jsonl; leave it out, or say with \
                 --format what the stream is",
                path.display()
            ).into());
        }
        let input = match matrix {
            Some(format) => Self::read_matrix(path, format, options)?,
            None => Self::read_text(path, options)?,
        };
        if input.len() == 0 {
            return Err(format!("{}: the stream has no documents", path.display()).into());
        }
        Ok(input)
    }

    fn read_text(path: &Path, options: &InputOptions) -> Result<Input> {
        let read = DocumentOptions {
            format: options.format,
            text_column: options.text_column.clone(),
            label_column: options.label_column.clone(),
        };
        let Documents {
            texts,
            labels,
            names,
            note,
        } = read_documents(path, &read).map_err(say)?;
        let how = TextOptions {
            weighting: options.weighting,
            ..TextOptions::default()
        };
        let vectoriser = Vectoriser::new(how).map_err(say)?;
        Ok(Input {
            labels,
            names: Some(names),
            terms: None,
            kind: Kind::Text(texts, Box::new(vectoriser)),
            text_column: options.text_column.clone(),
            note,
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
            true => Input::counts(table.samples, options.weighting),
            false => Input {
                labels: None,
                names: None,
                terms: None,
                text_column: None,
                note: None,
                kind: Kind::Weighed(table.samples.normalised(dictmesh::Norm::L2)),
            },
        };
        input.labels = table.labels;
        input.names = table.sample_names;
        input.terms = table.feature_names;
        input.note = table.note;
        Ok(input)
    }

    /// Counts, to be weighed as by `weighting`.
    pub fn counts(samples: Samples, weighting: Weighting) -> Input {
        let tfidf = TfIdf::new(samples.rows(), weighting);
        Input {
            labels: None,
            names: None,
            terms: None,
            text_column: None,
            note: None,
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

    /// Numbers in a sample.
    pub fn rows(&self) -> usize {
        match &self.kind {
            Kind::Text(_, vectoriser) => vectoriser.rows(),
            Kind::Counts(x, _) | Kind::Weighed(x) => x.rows(),
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
        let first = range.start == 0;
        let x = self.weighed(range)?;
        let empty = |j: usize| x.entries(j).all(|(_, v)| v == 0.0);
        if !first || !(0..x.len()).all(empty) {
            return Ok(x);
        }
        // Every document would be as new as any other.
        let found = match &self.kind {
            Kind::Text(..) => "no words but stop words",
            Kind::Counts(..) | Kind::Weighed(_) => "nothing but zeros",
        };
        Err(format!(
            "{found} in the first block, so that there is nothing to learn from it; check the file, or give a \
             larger --first"
        ).into())
    }

    fn weighed(&mut self, range: Range<usize>) -> Result<Samples> {
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
            (Kind::Text(_, vectoriser), _) => return vectoriser.describe(row),
            (_, Some(terms)) => terms.get(row).map(String::as_str),
            _ => None,
        };
        known.map_or_else(|| format!("#{row}"), String::from)
    }

    /// Puts what turns new documents into samples into a model.
    pub fn store(&self, model: &mut Model) -> Result<()> {
        model.description.feature_names = self.terms.clone();
        let how = match &self.kind {
            Kind::Text(_, vectoriser) => How::Text {
                vectoriser: vectoriser.clone(),
            },
            Kind::Counts(_, tfidf) => How::Counts {
                tfidf: tfidf.clone(),
            },
            Kind::Weighed(_) => How::Numbers(Numbers {
                norm: Norm::L2,
                ..Numbers::default()
            }),
        };
        let mut preparation = Preparation::new(how);
        preparation.reading.text_column = self.text_column.clone();
        preparation.store(model).map_err(say)
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
