//! The flags that `learn`, `tune` and `audit` have in common.

use super::prepare::{DataArgs, Feed, Opened, PrepareArgs};
use super::{note, say, Result};
use crate::options::Options;
use dictmesh_apps::HoldoutSplit;
use std::path::{Path, PathBuf};

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

/// Data, with the model to inspect or without one, so that a dictionary is learned first.
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
    /// The model, if one is given, and the samples, split by the seed. Without a model, the task that suits the
    /// samples becomes the choice if none is made.
    pub fn open(
        &self,
        choices: &Choices,
        options: &mut Options,
        quiet: bool,
    ) -> Result<(Option<Opened>, HoldoutSplit)> {
        let seed = options.seed.unwrap_or(0);
        if let Some(model) = &self.model {
            let opened = Opened::new(model, &self.data, &choices.data_args, !quiet)?;
            let split = split(&self.data, &opened.feed(1), seed)?;
            return Ok((Some(opened), split));
        }
        let (raw, how) = choices.prepare.open(&self.data, &choices.data_args)?;
        note(raw.note(), quiet);
        options.problem.task.get_or_insert(how.usual_task().into());
        let feed = Feed {
            raw: &raw,
            how: &how,
            rows: raw.rows(&how),
            batch: 1,
            shuffle: None,
        };
        Ok((None, split(&self.data, &feed, seed)?))
    }
}

/// Some of the prepared samples to learn from and some held out; the others do not stay in memory.
fn split(data: &Path, feed: &Feed<'_>, seed: u64) -> Result<HoldoutSplit> {
    let total = feed.samples().map_err(say)?;
    if total < 2 {
        return Err(format!("{}: {total} samples; at least 2 are needed", data.display()).into());
    }
    HoldoutSplit::of_parts(total, feed.parts(0).map_err(say)?, seed).map_err(say)
}
