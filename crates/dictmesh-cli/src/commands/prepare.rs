//! The flags by which data are read and prepared, and models at work on new data.

mod opened;
mod prepare_args;

pub use dictmesh_data::preparation::{
    turned, Cut, Feed, How, Kind, Norm, Preparation, Raw, Reading,
};
pub use opened::{LoadedModel, Opened};
pub use prepare_args::PrepareArgs;

use super::ReadArgs;
use dictmesh_data::preparation::DataOptions;

/// How raw data of any kind are read.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DataArgs {
    #[command(flatten)]
    pub read: ReadArgs,
    /// The column of a table, or the key of JSON lines, with the text of a document
    #[arg(long, value_name = "COLUMN", help_heading = "Reading")]
    pub text_column: Option<String>,
}

impl DataArgs {
    /// What the flags say.
    pub fn options(&self) -> DataOptions {
        DataOptions {
            read: self.read.options(),
            text_column: self.text_column.clone(),
        }
    }
}
