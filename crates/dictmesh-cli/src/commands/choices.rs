//! The flags that `learn`, `tune` and `audit` have in common.

use super::divided::{divide, fresh, Divided};
use super::prepare::{DataArgs, Opened, PrepareArgs};
use super::Result;
use crate::options::Options;
use std::path::PathBuf;

/// How samples, problem and mesh are chosen.
#[derive(Clone, Debug, clap::Args)]
pub struct Choices {
    /// Choices from a TOML file; flags win. Its keys are the flags of the headings The problem, The mesh,
    /// Inference and Learning, without their dashes in front: gamma = 0.1, atoms-set = "unit-ball"
    #[arg(long, value_name = "TOML")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub making: PrepareArgs,
    #[command(flatten)]
    pub data_args: DataArgs,
    /// Those of the flags alone.
    #[command(flatten)]
    pub flags: Options,
}

impl Choices {
    /// Those of the flags, and of the file where flags say nothing.
    pub fn options(&self) -> Result<Options> {
        let flags = self.flags.clone();
        Ok(match &self.config {
            Some(path) => flags.or(Options::from_toml(path)?),
            None => flags,
        })
    }
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
                let (making, data_args) = (&choices.making, &choices.data_args);
                let divided = fresh(&self.data, making, data_args, quiet, options)?;
                Ok((None, divided))
            }
        }
    }
}
