//! The flags that `learn`, `tune` and `audit` have in common.

use super::divided::{divide, fresh, Divided};
use super::prepare::{DataArgs, Opened, PrepareArgs};
use super::Result;
use crate::options::Options;
use std::path::PathBuf;

/// How samples, problem and mesh are chosen.
#[derive(Clone, Debug, clap::Args)]
pub struct Choices {
    /// The file that some of the flags come from.
    #[arg(from_global)]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub prepare: PrepareArgs,
    #[command(flatten)]
    pub data_args: DataArgs,
    #[command(flatten)]
    pub options: Options,
}

/// What is looked into: data, with a dictionary there is or one that is still to be learned.
#[derive(Clone, Debug, clap::Args)]
pub struct Subject {
    /// The samples: numbers, text or pictures, as `learn` takes them
    pub data: PathBuf,
    /// Take the dictionary, the task and the mesh from this model, rather than learn one first
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["centre", "norm", "counts", "patch", "stride",
        "vocabulary", "hash", "keep_stop_words", "task", "residual", "regularizer", "atoms_set", "gamma",
        "delta", "beta", "eta", "radius", "lo", "hi", "atoms", "agents", "topology", "weights", "informed",
        "batch", "passes", "update"])]
    pub model: Option<PathBuf>,
}

impl Subject {
    /// The model, if there is one, and samples drawn by the seed. Without a model the task that suits them becomes
    /// the choice, where there was none.
    pub fn open(
        &self,
        choices: &Choices,
        options: &mut Options,
        quiet: bool,
    ) -> Result<(Option<Opened>, Divided)> {
        match &self.model {
            Some(model) => {
                let opened = Opened::new(model, &self.data, &choices.data_args, !quiet)?;
                let divided = divide(&self.data, &opened.feed(1), options.seed.unwrap_or(0))?;
                Ok((Some(opened), divided))
            }
            None => {
                let (prepare, data_args) = (&choices.prepare, &choices.data_args);
                let divided = fresh(&self.data, prepare, data_args, quiet, options)?;
                Ok((None, divided))
            }
        }
    }
}
