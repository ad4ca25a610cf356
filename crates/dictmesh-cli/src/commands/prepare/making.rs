//! How samples are made from data that no model has seen yet.

use super::super::{say, Result};
use super::{
    feature_means, patch_side, Centre, Cut, DataArgs, Feed, How, Kind, Norm, Numbers, Raw, Reading,
};
use crate::text::{is_table_of_documents, TextOptions, TfIdf, Vectoriser, Vocabulary, Weighting};
use std::path::Path;

/// How samples are made from the data; the model keeps it.
#[derive(Clone, Debug, clap::Args)]
pub struct Making {
    /// Which mean is taken off numbers [default: none]
    #[arg(long, value_name = "WHICH", help_heading = "Samples")]
    pub centre: Option<Centre>,
    /// To which length numbers are scaled [default: none]
    #[arg(long, value_name = "NORM", help_heading = "Samples")]
    pub norm: Option<Norm>,
    /// The numbers are counts of terms: weigh them by TF-IDF, with the frequencies of a first pass
    #[arg(long, help_heading = "Samples")]
    pub counts: bool,
    /// Cut pictures into square patches of this side, as 8 or 8x8 [default: 8]
    #[arg(long, value_name = "SIDE", value_parser = patch_side, help_heading = "Samples")]
    pub patch: Option<usize>,
    /// Pixels from one patch to the next [default: half a side]
    #[arg(long, value_name = "N", help_heading = "Samples")]
    pub stride: Option<usize>,
    /// Terms of text that get a row of their own, those in the most documents first [default: 20000]
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "hash",
        help_heading = "Samples"
    )]
    pub vocabulary: Option<usize>,
    /// Hash the terms of text to 2^BITS rows instead of keeping a vocabulary
    #[arg(long, value_name = "BITS", help_heading = "Samples")]
    pub hash: Option<u32>,
    /// Keep English stop words
    #[arg(long, help_heading = "Samples")]
    pub keep_stop_words: bool,
}

impl Making {
    /// The data, and what is done to them.
    pub fn open(&self, data: &Path, args: &DataArgs) -> Result<(Raw, How)> {
        let raw = Raw::open(
            data,
            self.kind(data, args)?,
            args,
            &Reading::default(),
            None,
        )?;
        let how = self.how(data, &raw)?;
        Ok((raw, how))
    }

    /// What the data are, by their flags and name.
    fn kind(&self, data: &Path, args: &DataArgs) -> Result<Kind> {
        let Making {
            centre,
            norm,
            counts,
            patch,
            stride,
            vocabulary,
            hash,
            keep_stop_words,
        } = self;
        let numbers = centre.is_some() || norm.is_some() || *counts;
        let text = vocabulary.is_some() || hash.is_some() || *keep_stop_words;
        let pictures = patch.is_some() || stride.is_some();
        let kind = match Kind::of(data, args) {
            // Without a telling name, the flags say what it is.
            Kind::Numbers if pictures && data.extension().is_none() => Kind::Pictures,
            Kind::Text if pictures && data.is_dir() => Kind::Pictures,
            // A table says by its columns, as it does to score and novelty; --format csv says numbers.
            Kind::Numbers
                if !numbers && args.read.format.is_none() && is_table_of_documents(data) =>
            {
                Kind::Text
            }
            kind => kind,
        };
        let (flags, fits) = match (numbers, text, pictures) {
            (true, _, _) => (
                "--centre, --norm and --counts belong to numbers",
                Kind::Numbers,
            ),
            (_, true, _) => (
                "--vocabulary, --hash and --keep-stop-words belong to text",
                Kind::Text,
            ),
            (_, _, true) => ("--patch and --stride belong to pictures", Kind::Pictures),
            _ => return Ok(kind),
        };
        match kind == fits {
        true => Ok(kind),
        false => Err(format!(
            "{}: {flags}, but this looks like {}; leave them out, or say with --format or --text-column \
             what the data are",
            data.display(),
            kind.words()
        )),
    }
    }

    /// What is done to the data. Frequencies of terms and means of features take a pass of their own, so
    /// that the first sample is prepared like the last, and new ones like both.
    fn how(&self, data: &Path, raw: &Raw) -> Result<How> {
        match raw {
            Raw::Pictures(_) => {
                let side = self.patch.unwrap_or(8);
                Ok(How::Patches(Cut {
                    side,
                    stride: self.stride.unwrap_or(side / 2),
                    white: 1.0,
                }))
            }
            Raw::Documents(documents) => {
                let vocabulary = match (self.hash, self.vocabulary) {
                    (Some(bits), _) => Vocabulary::Hashing { bits },
                    (None, max) => Vocabulary::Growing {
                        max: max.unwrap_or(20_000),
                    },
                };
                let options = TextOptions {
                    vocabulary,
                    stop_words: !self.keep_stop_words,
                    ..TextOptions::default()
                };
                let mut vectoriser = Box::new(Vectoriser::new(options).map_err(say)?);
                match vectoriser.fit(documents.texts.iter().map(String::as_str)) {
                    0 => Err(format!(
                        "{}: no words but stop words; expected documents with words that carry a topic. Check \
                         the file, or give --keep-stop-words.",
                        data.display()
                    )),
                    _ => Ok(How::Text { vectoriser }),
                }
            }
            Raw::Matrix { .. } | Raw::Table(_) => self.numbers(data, raw),
        }
    }

    fn numbers(&self, data: &Path, raw: &Raw) -> Result<How> {
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
                let named = |e| format!("{}: {}", data.display(), say(e));
                tfidf.fit(&part.map_err(say)?).map_err(named)?;
            }
            return Ok(How::Counts { tfidf });
        }
        let centre = self.centre.unwrap_or_default();
        let means = match centre {
            Centre::Feature => Some(feature_means(feed.chunks()?.map(|p| p.map_err(say)), rows)?),
            _ => None,
        };
        Ok(How::Numbers(Numbers {
            centre,
            means,
            norm: self.norm.unwrap_or_default(),
        }))
    }
}
