//! How samples are made from data that no model has seen yet.

use super::super::{say, Result};
use super::{DataArgs, How, Kind, Norm, Raw, Reading};
use dictmesh_data::preparation::{patch_side, Centre, FitOptions};
use dictmesh_data::text::is_table_of_documents;
use std::path::Path;

/// How samples are made from the data; the model keeps it.
#[derive(Clone, Debug, clap::Args)]
pub struct PrepareArgs {
    /// The mean to subtract from numbers [default: none]
    #[arg(long, value_name = "WHICH", help_heading = "Samples")]
    pub centre: Option<Centre>,
    /// The norm to which samples are scaled [default: none]
    #[arg(long, value_name = "NORM", help_heading = "Samples")]
    pub norm: Option<Norm>,
    /// The numbers are counts of terms: weight them by TF-IDF
    #[arg(long, help_heading = "Samples")]
    pub counts: bool,
    /// Side of the square patches that pictures are cut into, as 8 or 8x8 [default: 8]
    #[arg(long, value_name = "SIDE", value_parser = patch_side, help_heading = "Samples")]
    pub patch: Option<usize>,
    /// Pixels from one patch to the next [default: half a side]
    #[arg(long, value_name = "N", help_heading = "Samples")]
    pub stride: Option<usize>,
    /// The number of terms with a row of their own, those in most documents first [default: 20000]
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

impl PrepareArgs {
    /// The data, and how they are prepared.
    pub fn open(&self, data: &Path, args: &DataArgs) -> Result<(Raw, How)> {
        let kind = self.kind(data, args)?;
        let raw = Raw::open(data, kind, &args.options(), &Reading::default(), None);
        let raw = raw.map_err(say)?;
        let how = self.options().fit(&raw, &data.display().to_string());
        Ok((raw, how.map_err(say)?))
    }

    /// What the data are, by their flags and name.
    fn kind(&self, data: &Path, args: &DataArgs) -> Result<Kind> {
        let PrepareArgs {
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
        let kind = match Kind::of(data, &args.options()) {
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
        ).into()),
    }
    }

    fn options(&self) -> FitOptions {
        FitOptions {
            centre: self.centre,
            norm: self.norm,
            counts: self.counts,
            patch: self.patch,
            stride: self.stride,
            vocabulary: self.vocabulary,
            hash: self.hash,
            keep_stop_words: self.keep_stop_words,
        }
    }
}
