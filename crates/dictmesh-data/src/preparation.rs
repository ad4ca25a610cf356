//! How raw data become samples. A model file carries it, so that new data need no options.

mod cut;
mod feed;
mod fingerprint;
mod fit;
mod flag_rules;
mod kind;
mod numbers;
mod raw;

pub use cut::{patch_side, turned, Cut};
pub use feed::{Feed, Parts};
pub use fit::FitOptions;
pub use flag_rules::{check_flags, Shape};
pub use kind::Kind;
pub use numbers::{feature_means, Centre, Norm, Numbers};
pub use raw::{PictureFile, Raw};

use crate::error::Error;
use crate::format::FORMATS;
use crate::options::{Nan, ReadOptions};
use crate::text::{DocumentOptions, TfIdf, Vectoriser, Vocabulary};
use dictmesh::Model;
use serde::{Deserialize, Serialize};

/// A result with the error of preparation.
pub type Result<T> = std::result::Result<T, Error>;

/// The version that this program writes.
const VERSION: u32 = 1;

fn first_version() -> u32 {
    1
}

/// How raw data become the samples of a model.
///
/// ```
/// use dictmesh_data::preparation::{How, Preparation};
/// let plain = Preparation::new(How::default());
/// assert_eq!(plain.how.describe(), "numbers as they are");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// The version of this description. Files from before it was written have version 1.
    #[serde(default = "first_version")]
    version: u32,
    /// What is done to the data.
    pub how: How,
    /// How the files are read.
    #[serde(default)]
    pub reading: Reading,
}

/// What is done to raw data of each kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum How {
    /// Numbers, centred and scaled.
    Numbers(Numbers),
    /// Counts of terms, weighted by TF-IDF.
    Counts {
        /// The weights.
        tfidf: TfIdf,
    },
    /// Raw text, turned into weights of terms.
    Text {
        /// Its vocabulary and weights.
        vectoriser: Box<Vectoriser>,
    },
    /// Pictures, cut into patches.
    Patches(Cut),
}

impl Default for How {
    fn default() -> Self {
        How::Numbers(Numbers::default())
    }
}

/// The reading options of a model; those given with new data take precedence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// Columns are samples.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub transpose: bool,
    /// The value of missing entries.
    pub nan: Nan,
    /// The column of labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_column: Option<String>,
    /// The column of names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_column: Option<String>,
    /// Columns left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<String>,
    /// Whether the first line is a header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// The column of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_column: Option<String>,
}

/// How raw data of any kind are read.
#[derive(Clone, Debug, Default)]
pub struct DataOptions {
    /// How numbers are read; format and label column count for text too.
    pub read: ReadOptions,
    /// The column of a table, or the key of JSON lines, with the text of a document.
    pub text_column: Option<String>,
}

impl Reading {
    /// The reading part of `args`.
    pub fn of(args: &DataOptions) -> Self {
        Reading {
            transpose: args.read.transpose,
            nan: args.read.nan,
            label_column: args.read.label_column.clone(),
            name_column: args.read.name_column.clone(),
            drop: args.read.drop_columns.clone(),
            header: args.read.header,
            text_column: args.text_column.clone(),
        }
    }

    /// How to read numbers: `given`, with the defaults replaced by `self`.
    fn options(&self, given: &ReadOptions) -> ReadOptions {
        let given = given.clone();
        ReadOptions {
            transpose: given.transpose || self.transpose,
            nan: match given.nan {
                Nan::Error => self.nan,
                nan => nan,
            },
            // New data may well come without the columns that were not learned from.
            if_there: given.label_column.is_none()
                && given.name_column.is_none()
                && given.drop_columns.is_empty(),
            label_column: given.label_column.or(self.label_column.clone()),
            name_column: given.name_column.or(self.name_column.clone()),
            drop_columns: match given.drop_columns.is_empty() {
                true => self.drop.clone(),
                false => given.drop_columns,
            },
            header: given.header.or(self.header),
            ..given
        }
    }

    /// How to read data of any kind for a model that learned from `features`: `given`, with the defaults
    /// replaced by `self`.
    pub(crate) fn data_options(
        &self,
        given: &DataOptions,
        features: Option<&[String]>,
    ) -> DataOptions {
        let column = given.text_column.clone();
        DataOptions {
            read: ReadOptions {
                features: features.map(<[String]>::to_vec),
                ..self.options(&given.read)
            },
            text_column: column.or(self.text_column.clone()),
        }
    }

    /// How to read text.
    fn documents(&self, args: &DataOptions) -> DocumentOptions {
        let column = args.text_column.clone();
        DocumentOptions {
            format: args.read.format,
            text_column: column.or(self.text_column.clone()),
            label_column: args.read.label_column.clone(),
        }
    }
}

const KEY: &str = "preparation";

impl Preparation {
    /// This treatment of data read without options.
    pub fn new(how: How) -> Self {
        Preparation {
            version: VERSION,
            how,
            reading: Reading::default(),
        }
    }

    /// The preparation in a model file. A model without one takes numbers as they are.
    ///
    /// Errors: a description that is damaged, or of a later version.
    pub fn of(model: &Model) -> Result<Self> {
        let Some(value) = model.description.extra.get(KEY) else {
            return Ok(Preparation::new(How::default()));
        };
        let version = value.get("version").and_then(serde_json::Value::as_u64);
        if version.is_some_and(|version| version > VERSION.into()) {
            return Err(Error::Mismatch(format!(
                "the model's preparation of samples has version {}, and this program reads up to {VERSION}; \
                 use the version that wrote the model, or learn it again",
                version.unwrap_or(0)
            )));
        }
        serde_json::from_value(value.clone()).map_err(|e| {
            Error::Mismatch(format!(
                "the model's preparation of samples cannot be read ({e}); was it written by another \
                 version? Learn it again, or use that version"
            ))
        })
    }

    /// The same for data read in this manner.
    pub fn with_reading(self, reading: Reading) -> Self {
        Preparation { reading, ..self }
    }

    /// Puts it into a model.
    pub fn store(&self, model: &mut Model) -> Result<()> {
        let value = serde_json::to_value(self).map_err(|e| e.to_string())?;
        model.description.extra.insert(KEY.to_string(), value);
        Ok(())
    }
}

impl How {
    /// What raw data it takes.
    pub fn kind(&self) -> Kind {
        match self {
            How::Numbers(_) | How::Counts { .. } => Kind::Numbers,
            How::Text { .. } => Kind::Text,
            How::Patches(_) => Kind::Pictures,
        }
    }

    /// A description of the data that a model with this preparation and `rows` rows takes.
    pub fn expects(&self, rows: usize) -> String {
        match self {
            How::Numbers(_) => format!("samples of {rows} numbers ({FORMATS})"),
            How::Counts { .. } => {
                format!("counts of {rows} terms a document ({FORMATS})")
            }
            How::Text { .. } => "raw text (a directory, one document a line, or .csv, .tsv, .jsonl or \
                                 .parquet with a column of text)"
                .into(),
            How::Patches(cut) => format!(
                "pictures (.png, .jpg, .pgm, .ppm, .tif or a directory of them), which it cuts into patches of \
                 {side} x {side}",
                side = cut.side
            ),
        }
    }

    /// A description in one line.
    pub fn describe(&self) -> String {
        match self {
            How::Numbers(Numbers { centre, norm, .. }) => {
                let centre = match centre {
                    Centre::None => "as they are",
                    Centre::Sample => "without each sample's mean",
                    Centre::Feature => "without each feature's mean",
                };
                let norm = match norm {
                    Norm::None => "",
                    Norm::L2 => ", scaled to |x|_2 = 1",
                    Norm::L1 => ", scaled to |x|_1 = 1",
                };
                format!("numbers {centre}{norm}")
            }
            How::Counts { tfidf } => format!(
                "counts of {} terms, weighted by TF-IDF with the frequencies of {} documents",
                tfidf.rows(),
                tfidf.documents()
            ),
            How::Text { vectoriser } => {
                let words = match vectoriser.vocabulary() {
                    Vocabulary::Growing { .. } => {
                        format!("a vocabulary of {} terms", vectoriser.terms().count())
                    }
                    Vocabulary::Hashing { bits } => format!("terms hashed to {bits} bits"),
                };
                format!(
                    "text, {words}, weighted by TF-IDF with the frequencies of {} documents",
                    vectoriser.documents()
                )
            }
            How::Patches(cut) => format!(
                "patches of {0} x {0} pixels of grey pictures, every {1}, without each patch's mean, white \
                 is {2}",
                cut.side, cut.stride, cut.white
            ),
        }
    }

    /// The name of a row of the samples, if it has one.
    pub fn row_name(&self, row: usize, names: Option<&[String]>) -> Option<String> {
        match self {
            How::Text { vectoriser } => Some(vectoriser.describe(row)),
            How::Patches(_) => None,
            _ => names.and_then(|names| names.get(row).cloned()),
        }
    }

    /// The default task of such samples. Weights of terms are non-negative and stay so.
    pub fn usual_task(&self) -> &'static str {
        match self {
            How::Text { .. } | How::Counts { .. } => "nmf",
            _ => "sparse-svd",
        }
    }
}
