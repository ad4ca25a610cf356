//! The preparation of data that no model has seen yet.

use super::{feature_means, Centre, Cut, Feed, How, Norm, Numbers, Raw, Result};
use crate::error::Error;
use crate::text::{DocumentFile, TextOptions, TfIdf, Vectoriser, Vocabulary, Weighting};

/// The side of patches in pixels, unless given.
const PATCH: usize = 8;
/// Terms with a row of their own, unless given.
const VOCABULARY: usize = 20_000;

/// Choices for the preparation of new data. Those of another kind of data are ignored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FitOptions {
    /// Which mean is subtracted from numbers; by default none.
    pub centre: Option<Centre>,
    /// The norm that samples of numbers are scaled to; by default none.
    pub norm: Option<Norm>,
    /// Numbers are counts of terms, weighted by TF-IDF.
    pub counts: bool,
    /// The side of square patches in pixels; by default 8.
    pub patch: Option<usize>,
    /// Pixels from one patch to the next; by default half a side.
    pub stride: Option<usize>,
    /// Terms of text with a row of their own, the most frequent first; by default 20000.
    pub vocabulary: Option<usize>,
    /// Hash terms to 2^bits rows instead of keeping a vocabulary.
    pub hash: Option<u32>,
    /// Keep English stop words.
    pub keep_stop_words: bool,
}

impl FitOptions {
    /// Fits the preparation to `raw`; `name` is what errors call it.
    ///
    /// Document frequencies and feature means take one pass over the data. All samples, the first
    /// included, are then prepared alike.
    pub fn fit(&self, raw: &Raw, name: &str) -> Result<How> {
        match raw {
            Raw::Pictures(_) => {
                let side = self.patch.unwrap_or(PATCH);
                Ok(How::Patches(Cut {
                    side,
                    stride: self.stride.unwrap_or(side / 2),
                    white: 1.0,
                }))
            }
            Raw::Documents(documents) => self.text(documents, name),
            Raw::Matrix { .. } | Raw::Table(_) => self.numbers(raw, name),
        }
    }

    fn text(&self, documents: &DocumentFile, name: &str) -> Result<How> {
        let vocabulary = match (self.hash, self.vocabulary) {
            (Some(bits), _) => Vocabulary::Hashing { bits },
            (None, max) => Vocabulary::Growing {
                max: max.unwrap_or(VOCABULARY),
            },
        };
        let options = TextOptions {
            vocabulary,
            stop_words: !self.keep_stop_words,
            ..TextOptions::default()
        };
        let mut vectoriser = Box::new(Vectoriser::new(options)?);
        for document in documents.documents()? {
            vectoriser.count(&document?.text);
        }
        match vectoriser.settle() {
            0 => Err(Error::Mismatch(format!(
                "{name}: no words but stop words; expected documents with words that carry a topic. Check \
                 the file, or set <keep_stop_words>."
            ))),
            _ => Ok(How::Text { vectoriser }),
        }
    }

    fn numbers(&self, raw: &Raw, name: &str) -> Result<How> {
        let plain = How::default();
        let rows = raw.features().unwrap_or(0);
        let feed = Feed {
            raw,
            how: &plain,
            rows,
            batch: 1,
            shuffle: None,
        };
        if self.counts {
            let mut tfidf = TfIdf::new(rows, Weighting::default());
            for part in feed.chunks()? {
                let in_file = |error| Error::InFile {
                    file: name.into(),
                    error,
                };
                tfidf.fit(&part?).map_err(in_file)?;
            }
            return Ok(How::Counts { tfidf });
        }
        let centre = self.centre.unwrap_or_default();
        let means = match centre {
            Centre::Feature => {
                let parts = feed.chunks()?.map(|part| Ok(part?));
                Some(feature_means(parts, rows)?)
            }
            _ => None,
        };
        Ok(How::Numbers(Numbers {
            centre,
            means,
            norm: self.norm.unwrap_or_default(),
        }))
    }
}
