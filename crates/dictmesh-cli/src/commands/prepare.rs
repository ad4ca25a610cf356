//! How raw data become samples. A model carries it, so that new data need no flags to get the same.

mod cut;
mod feed;
mod fingerprint;
mod making;
mod numbers;
mod opened;
mod raw;

pub use cut::{patch_side, turned, Cut};
pub use feed::{Feed, Parts};
pub use making::Making;
pub use numbers::{feature_means, Centre, Norm, Numbers};
pub use opened::Opened;
pub use raw::{Kind, Raw};

use super::{say, ReadArgs, Result};
use crate::data::{Nan, ReadOptions};
use crate::text::{DocumentOptions, TfIdf, Vectoriser, Vocabulary};
use dictmesh::Model;
use serde::{Deserialize, Serialize};

/// How a model's samples are made from what a person has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
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
    /// Counts of terms, weighed by TF-IDF.
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

/// The reading flags a model was learned with; those given with new data win.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// Columns are samples.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub transpose: bool,
    /// What missing entries get.
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
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DataArgs {
    #[command(flatten)]
    pub read: ReadArgs,
    /// The column of a table, or the key of JSON lines, with the text of a document
    #[arg(long, value_name = "COLUMN", help_heading = "Reading")]
    pub text_column: Option<String>,
}

impl Reading {
    /// What the flags say.
    pub fn of(args: &DataArgs) -> Self {
        Reading {
            transpose: args.read.transpose,
            nan: args.read.nan,
            label_column: args.read.label_column.clone(),
            name_column: args.read.name_column.clone(),
            drop: args.read.drop.clone(),
            header: args.read.header,
            text_column: args.text_column.clone(),
        }
    }

    /// How to read numbers with these flags, and with what was said before where they are silent.
    fn options(&self, args: &ReadArgs) -> ReadOptions {
        let given = args.options();
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

    /// How to read text.
    fn documents(&self, args: &DataArgs) -> DocumentOptions {
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
    /// This treatment of data read without flags.
    pub fn new(how: How) -> Self {
        Preparation {
            how,
            reading: Reading::default(),
        }
    }

    /// The one a model carries; a model without one takes numbers as they are.
    pub fn of(model: &Model) -> Result<Self> {
        match model.description.extra.get(KEY) {
            None => Ok(Preparation::new(How::default())),
            Some(value) => serde_json::from_value(value.clone()).map_err(|e| {
                format!(
                    "the model's preparation of samples cannot be read ({e}); was it written by another \
                     version? Learn it again, or use that version"
                )
            }),
        }
    }

    /// Puts it into a model.
    pub fn store(&self, model: &mut Model) -> Result<()> {
        let value = serde_json::to_value(self).map_err(say)?;
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

    /// The data a model with this preparation and `rows` rows expects.
    pub fn expects(&self, rows: usize) -> String {
        match self {
            How::Numbers(_) => format!("samples of {rows} numbers (.npy, .npz, .mtx, .csv or .tsv)"),
            How::Counts { .. } => {
                format!("counts of {rows} terms a document (.npy, .npz, .mtx, .csv or .tsv)")
            }
            How::Text { .. } => "raw text (a directory, one document a line, or .csv, .tsv or .jsonl with \
                                 a column of text)"
                .into(),
            How::Patches(cut) => format!(
                "pictures (.png, .jpg, .pgm, .ppm or a directory of them), which it cuts into patches of \
                 {side} x {side}",
                side = cut.side
            ),
        }
    }

    /// It in a line.
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
                "counts of {} terms, weighed by TF-IDF with the frequencies of {} documents",
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
                    "text, {words}, weighed by TF-IDF with the frequencies of {} documents",
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

    /// What a row of the samples stands for, if that has a name.
    pub fn row_name(&self, row: usize, names: Option<&[String]>) -> Option<String> {
        match self {
            How::Text { vectoriser } => Some(vectoriser.describe(row)),
            How::Patches(_) => None,
            _ => names.and_then(|names| names.get(row).cloned()),
        }
    }

    /// The task that suits such samples: what counts words has no words to take away.
    pub fn usual_task(&self) -> &'static str {
        match self {
            How::Text { .. } | How::Counts { .. } => "nmf",
            _ => "sparse-svd",
        }
    }
}
