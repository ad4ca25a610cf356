//! What samples are coded by, a model or a dictionary from elsewhere, and the samples.

use super::prepare::{DataArgs, LoadedModel, Opened};
use super::{fail, note, say, Result};
use crate::interrupt;
use crate::options::{MethodArgs, ProblemArgs};
use dictmesh::problem::TaskSpec;
use dictmesh_apps::coding::{around, Method};
use dictmesh_data::preparation::{How, Kind, Preparation, Raw};
use dictmesh_data::{pipe, read_atoms, Batches, Content, Stream};
use std::path::{Path, PathBuf};

/// The task of a dictionary from elsewhere, if no flag names one.
const TASK: &str = "sparse-svd";

/// The arguments of the commands that code samples.
#[derive(Clone, Debug, clap::Args)]
pub struct ModelArgs {
    /// The model; left out with --dictionary
    model: PathBuf,
    /// The samples, as the model was learned from: numbers, counts, raw text or pictures; - is
    /// standard input. The model stores their preparation. Lines that come through a pipe are used as
    /// they arrive
    #[arg(required_unless_present = "dictionary")]
    data: Option<PathBuf>,
    /// Code numbers, as they are, by the atoms in this matrix, its rows or its columns, in place of a
    /// model; the flags of the problem belong to it
    #[arg(long, value_name = "FILE", help_heading = "The problem")]
    dictionary: Option<PathBuf>,
    #[command(flatten)]
    problem: ProblemArgs,
}

/// The samples of a command, and what codes them.
pub enum Input {
    /// Records that are used as they arrive.
    Stream(LoadedModel, Batches),
    /// Data that can be read twice.
    File(Opened),
}

impl ModelArgs {
    /// The file of the model, or of the dictionary.
    pub fn coder(&self) -> &PathBuf {
        self.dictionary.as_ref().unwrap_or(&self.model)
    }

    /// The samples.
    pub fn data(&self) -> &PathBuf {
        // With --dictionary they are the only argument.
        self.data.as_ref().unwrap_or(&self.model)
    }

    /// Refuses flags and arguments that would be ignored.
    pub fn check(&self) -> Result<()> {
        match (&self.dictionary, &self.data, self.problem.given()) {
            (Some(_), Some(_), _) => fail(format!(
                "--dictionary {}: it takes the place of the model; leave {} out",
                self.coder().display(),
                self.model.display()
            )),
            (None, _, Some(flag)) => fail(format!(
                "--{flag}: {} codes by the problem that it was learned with; leave --{flag} out, or give a \
                 matrix of atoms by --dictionary",
                self.model.display()
            )),
            _ => Ok(()),
        }
    }

    /// Opens the model and the samples.
    pub fn open(
        &self,
        method: &MethodArgs,
        args: &DataArgs,
        warn: bool,
    ) -> Result<(Input, Method)> {
        self.check()?;
        match &self.dictionary {
            Some(file) => {
                let task = self.problem.task(TaskSpec::preset(TASK).map_err(say)?)?;
                self.open_for_atoms(file, &task, method, args, warn)
            }
            None => {
                let mut model = LoadedModel::load(&self.model)?;
                let method = method.apply(&mut model.mesh)?;
                let input = match model.stream(self.data(), args)? {
                    Some(batches) => Input::Stream(model, batches),
                    None => Input::File(model.open(self.data(), args, warn)?),
                };
                Ok((input, method))
            }
        }
    }

    fn open_for_atoms(
        &self,
        file: &Path,
        task: &TaskSpec,
        method: &MethodArgs,
        args: &DataArgs,
        warn: bool,
    ) -> Result<(Input, Method)> {
        let options = args.options();
        let preparation = Preparation::new(How::default());
        // The length of a sample says whether atoms are rows or columns.
        let model = |rows| -> Result<(LoadedModel, Method)> {
            let mut mesh = around(task, read_atoms(file, rows).map_err(say)?).map_err(say)?;
            let method = method.apply(&mut mesh)?;
            let preparation = preparation.clone();
            Ok((LoadedModel::plain(mesh, preparation), method))
        };
        if let Some((input, name)) = pipe(self.data(), Kind::Numbers, &options)? {
            let records = Stream::for_model(input, &name, &options, &preparation, None, None);
            let batches = Batches::new(records.map_err(say)?, interrupt::gently())?;
            let rows = match batches.first().map(|record| &record.content) {
                Some(Content::Numbers(numbers)) => numbers.len(),
                _ => return Err(no_samples(self.data())),
            };
            let (model, method) = model(rows)?;
            return Ok((Input::Stream(model, batches), method));
        }
        let raw = Raw::for_dictionary(self.data(), &options).map_err(say)?;
        note(raw.note(), !warn);
        let (model, method) = model(raw.features().unwrap_or(0))?;
        Ok((Input::File(Opened { model, raw }), method))
    }
}

/// A stream that ended before its first record.
pub fn no_samples(data: &Path) -> super::Failure {
    format!(
        "{}: it has no samples; check that what writes into the pipe comes to its end",
        data.display()
    )
    .into()
}
