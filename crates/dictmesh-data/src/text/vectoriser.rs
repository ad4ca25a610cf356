//! From documents to samples.

use super::tfidf::{sparse, TfIdf, Weighting};
use super::tokens::{is_stop_word, tokens};
use super::vocabulary::{Terms, Vocabulary};
use dictmesh::{Result, Samples};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// The options of a vectoriser.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextOptions {
    /// How terms get rows.
    pub vocabulary: Vocabulary,
    /// Whether English stop words are left out.
    pub stop_words: bool,
    /// How terms are weighed.
    pub weighting: Weighting,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            vocabulary: Vocabulary::Growing { max: 20_000 },
            stop_words: true,
            weighting: Weighting::default(),
        }
    }
}

/// Turns a stream of documents into samples, in one pass, with weights from the past only.
///
/// It is plain data: serialised with a model, it treats new text as it treated the stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Plain", try_from = "Plain")]
pub struct Vectoriser {
    stop_words: bool,
    terms: Terms,
    tfidf: TfIdf,
}

/// The name of the row that words without a row share.
pub const UNKNOWN: &str = "(words never seen)";

/// The distinct words of a document with their counts, in the order of their first mention.
type Bag<'a> = Vec<(Cow<'a, str>, f64)>;

impl Vectoriser {
    /// Before the first document.
    pub fn new(options: TextOptions) -> Result<Self> {
        options.vocabulary.check()?;
        Ok(Vectoriser {
            stop_words: options.stop_words,
            terms: Terms::new(options.vocabulary),
            tfidf: TfIdf::new(options.vocabulary.rows(), options.weighting),
        })
    }

    /// The dimension of the samples, the same from first to last.
    pub fn rows(&self) -> usize {
        self.tfidf.rows()
    }

    /// How many documents were learned.
    pub fn documents(&self) -> u64 {
        self.tfidf.documents()
    }

    /// The samples of a block by the document frequencies of the blocks before; then learns those
    /// of this block. The first block has no past and takes its own.
    ///
    /// A term never seen before has a row at once (if there is one left): what is new in a document
    /// is what a novelty score must see.
    pub fn transform_block<T: AsRef<str>>(&mut self, documents: &[T]) -> Result<Samples> {
        let bags: Vec<Bag> = documents.iter().map(|d| self.bag(d.as_ref())).collect();
        if self.documents() == 0 {
            self.learn(&bags);
            return self.block(&bags, 0);
        }
        let samples = self.block(&bags, 1)?;
        self.learn(&bags);
        Ok(samples)
    }

    /// Learns the terms and document frequencies of all `documents` before any is weighed, and fixes the
    /// vocabulary: the terms in the most documents get the rows. For data that is there as a whole and
    /// will be gone through more than once; returns how many rows have a term.
    pub fn fit<'a>(&mut self, documents: impl Iterator<Item = &'a str>) -> usize {
        documents.for_each(|document| self.count(document));
        self.settle()
    }

    /// Counts the terms of one document of a [`fit`](Vectoriser::fit) in parts.
    pub fn count(&mut self, document: &str) {
        let bag = self.bag(document);
        self.learn(&[bag]);
    }

    /// Fixes the vocabulary after the last [`count`](Vectoriser::count). Returns the number of rows that
    /// have a term.
    pub fn settle(&mut self) -> usize {
        let with = self.terms.settle(self.tfidf.weighting().min_documents);
        if let Vocabulary::Growing { max } = self.terms.kind {
            self.tfidf.resize(max);
        }
        for (row, with) in with.into_iter().enumerate() {
            self.tfidf.set_documents_with(row, with);
        }
        self.terms.by_row.len()
    }

    /// The samples of new documents by the frequencies of the past. It learns nothing.
    ///
    /// Of a growing vocabulary, the terms of a document that have no row share the first free one: it
    /// gets the norm of what they would weigh in rows of their own. No atom has learned that row, so
    /// that new words cost what they would cost (with the squared residual, exactly that).
    pub fn transform<T: AsRef<str>>(&self, documents: &[T]) -> Result<Samples> {
        let columns = documents.iter().map(|document| {
            let (mut known, mut unknown) = (Vec::new(), 0.0);
            for (term, count) in self.bag(document.as_ref()) {
                match self.terms.row(&term) {
                    Some(row) => known.push((row, count)),
                    None => unknown += self.tfidf.weight(count, 0).powi(2),
                }
            }
            let free = self.terms.free_row().filter(|_| unknown > 0.0);
            self.column(known.into_iter(), free.map(|row| (row, unknown.sqrt())), 1)
        });
        sparse(self.rows(), columns)
    }

    /// The words of a document that have no row, those with the most mentions first.
    pub fn unknown(&self, document: &str) -> Vec<String> {
        let mut bag = self.bag(document);
        bag.retain(|(term, _)| self.terms.row(term).is_none());
        bag.sort_by(|a, b| b.1.total_cmp(&a.1));
        bag.into_iter().map(|(term, _)| term.into_owned()).collect()
    }

    /// The name of a row for display.
    pub fn describe(&self, row: usize) -> String {
        match self.term(row) {
            Some(term) => term.to_string(),
            None if self.terms.free_row() == Some(row) => UNKNOWN.into(),
            None => format!("#{row}"),
        }
    }

    /// The options that it was made with.
    pub fn options(&self) -> TextOptions {
        TextOptions {
            vocabulary: self.terms.kind,
            stop_words: self.stop_words,
            weighting: *self.tfidf.weighting(),
        }
    }

    /// The weight of one mention of the term of `row` in a new document, before the document is scaled.
    ///
    /// Panics if there is no such row.
    pub fn idf(&self, row: usize) -> f64 {
        self.tfidf.weight(1.0, self.tfidf.documents_with(row))
    }

    /// How terms get rows.
    pub fn vocabulary(&self) -> Vocabulary {
        self.terms.kind
    }

    /// The term of a row; with hashing, the first that was seen there.
    pub fn term(&self, row: usize) -> Option<&str> {
        self.terms.by_row.get(&row).map(String::as_str)
    }

    /// The rows that have a term, with it.
    pub fn terms(&self) -> impl Iterator<Item = (usize, &str)> {
        self.terms.by_row.iter().map(|(row, t)| (*row, t.as_str()))
    }

    fn bag<'a>(&self, document: &'a str) -> Bag<'a> {
        let mut at: HashMap<Cow<str>, usize> = HashMap::new();
        let mut bag: Bag = Vec::new();
        for token in tokens(document) {
            if self.stop_words && is_stop_word(&token) {
                continue;
            }
            match at.get(&token) {
                Some(&at) => bag[at].1 += 1.0,
                None => {
                    at.insert(token.clone(), bag.len());
                    bag.push((token, 1.0));
                }
            }
        }
        bag
    }

    /// The samples of a block, giving rows to new terms on the way.
    fn block(&mut self, bags: &[Bag], own: u32) -> Result<Samples> {
        let least = self.tfidf.weighting().min_documents;
        let mut columns = Vec::with_capacity(bags.len());
        for bag in bags {
            let mut counted = Vec::with_capacity(bag.len());
            for (term, count) in bag {
                let row = self.terms.row(term).or_else(|| {
                    let (row, with) = self.terms.admit(term, own, least)?;
                    self.tfidf.set_documents_with(row, with);
                    Some(row)
                });
                counted.extend(row.map(|row| (row, *count)));
            }
            columns.push(self.column(counted.into_iter(), None, own));
        }
        sparse(self.rows(), columns.into_iter())
    }

    /// One sample: counts by row (those that share a row add up), weighed; `more` is the weight of a row
    /// behind all of them.
    fn column(
        &self,
        counted: impl Iterator<Item = (usize, f64)>,
        more: Option<(usize, f64)>,
        own: u32,
    ) -> Vec<(usize, f64)> {
        let mut rows: BTreeMap<usize, f64> = BTreeMap::new();
        for (row, count) in counted {
            *rows.entry(row).or_default() += count;
        }
        let mut column: Vec<(usize, f64)> = rows.into_iter().collect();
        self.tfidf.weights(&mut column, own);
        column.extend(more);
        self.tfidf.scale(&mut column);
        column
    }

    fn learn(&mut self, bags: &[Bag]) {
        let hashing = matches!(self.terms.kind, Vocabulary::Hashing { .. });
        for bag in bags {
            let mut rows: Vec<usize> = Vec::with_capacity(bag.len());
            for (term, _) in bag {
                match self.terms.row(term) {
                    Some(row) => {
                        rows.push(row);
                        if hashing {
                            let name = || term.to_string();
                            self.terms.by_row.entry(row).or_insert_with(name);
                        }
                    }
                    None => self.terms.wait(term),
                }
            }
            rows.sort_unstable();
            rows.dedup();
            self.tfidf.learn_rows(rows.into_iter());
        }
        self.terms.forget_rare();
    }
}

/// A vectoriser as it is saved.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    options: TextOptions,
    documents: u64,
    /// Row, term and the number of documents that had it; rows without a term are left out.
    terms: Vec<(usize, String, u32)>,
    /// Terms without a row yet.
    waiting: BTreeMap<String, u32>,
}

impl From<Vectoriser> for Plain {
    fn from(v: Vectoriser) -> Plain {
        let options = v.options();
        let terms = v.terms.by_row.into_iter();
        Plain {
            options,
            documents: v.tfidf.documents(),
            terms: terms
                .map(|(row, term)| (row, term, v.tfidf.documents_with(row)))
                .collect(),
            waiting: v.terms.waiting.into_iter().collect(),
        }
    }
}

impl TryFrom<Plain> for Vectoriser {
    type Error = String;
    fn try_from(plain: Plain) -> std::result::Result<Self, String> {
        let options = plain.options;
        let mut vectoriser = Vectoriser::new(options).map_err(|e| e.to_string())?;
        let by_row = plain.terms.iter().map(|(row, t, _)| (*row, t.clone()));
        let by_row: BTreeMap<usize, String> = by_row.collect();
        let once = by_row.len() == plain.terms.len();
        let waiting = plain.waiting.into_iter().collect();
        let terms = Terms::from_parts(options.vocabulary, by_row, waiting);
        vectoriser.terms = terms.filter(|_| once).ok_or(
            "the terms of the vocabulary do not fit their rows: the model was changed or damaged, \
             learn it again",
        )?;
        vectoriser.tfidf.set_documents(plain.documents);
        for (row, _, with) in plain.terms {
            vectoriser.tfidf.set_documents_with(row, with);
        }
        Ok(vectoriser)
    }
}
