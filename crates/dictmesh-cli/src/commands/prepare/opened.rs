//! A model with new data for it.

use super::super::{load_model, note, say, Result};
use super::{DataArgs, Feed, Preparation, Raw};
use crate::interrupt;
use crate::memory;
use dictmesh::{Mesh, Samples};
use dictmesh_apps::calibration::Calibration;
use dictmesh_apps::coding::Method;
use dictmesh_apps::memory::Sizes;
use dictmesh_data::{pipe, Batches, Record, Stream};
use std::path::Path;

/// A model from a file.
pub struct LoadedModel {
    pub mesh: Mesh,
    pub preparation: Preparation,
    /// The names of the features, if the model has them.
    pub names: Option<Vec<String>>,
    /// The scores that the model keeps of samples it has learned from.
    pub past: Option<Calibration>,
}

impl LoadedModel {
    pub fn load(model: &Path) -> Result<Self> {
        let model = load_model(model)?;
        Ok(LoadedModel {
            preparation: Preparation::of(&model).map_err(say)?,
            mesh: Mesh::from_model(&model).map_err(say)?,
            past: Calibration::of(&model),
            names: model.description.feature_names,
        })
    }

    /// A mesh without names of features and past scores.
    pub fn plain(mesh: Mesh, preparation: Preparation) -> Self {
        LoadedModel {
            mesh,
            preparation,
            names: None,
            past: None,
        }
    }

    /// The data as a stream, if they are a pipe with text in lines. From then on, Ctrl-C ends the
    /// stream, not the program.
    pub fn stream(&self, data: &Path, args: &DataArgs) -> Result<Option<Batches>> {
        let (model, options) = (&self.preparation, args.options());
        let kind = model.how.kind();
        let Some((input, name)) = pipe(data, kind, &options)? else {
            return Ok(None);
        };
        let (rows, names) = (self.mesh.rows(), self.names.as_deref());
        let records = Stream::for_model(input, &name, &options, model, Some(rows), names);
        Ok(Some(Batches::new(
            records.map_err(say)?,
            interrupt::gently(),
        )?))
    }

    /// The samples of records, prepared.
    pub fn prepare(&self, records: &[Record]) -> Result<Samples> {
        let how = &self.preparation.how;
        how.prepare(self.mesh.rows(), records).map_err(say)
    }

    /// Opens data that the model can take. With `warn`, says so if features have other names.
    pub fn open(self, data: &Path, args: &DataArgs, warn: bool) -> Result<Opened> {
        let (rows, args) = (self.mesh.rows(), args.options());
        let names = self.names.as_deref();
        let raw = Raw::for_model(data, &args, &self.preparation, rows, names).map_err(say)?;
        note(raw.note(), !warn);
        if let (true, Some(known), Some(given)) = (warn, &self.names, raw.feature_names()) {
            if let Some((known, given)) = known.iter().zip(given).find(|(a, b)| a != b) {
                eprintln!(
                    "dictmesh: {}: a column is called \"{given}\" where the model learned from \"{known}\"; \
                     check that the columns are the same and in the same order",
                    data.display()
                );
            }
        }
        Ok(Opened { model: self, raw })
    }

    /// Whether there is memory to code `batch` samples together; `model` is its file.
    pub fn check_memory(&self, model: &Path, batch: usize, method: Method) -> Result<()> {
        let sizes = Sizes::of(&self.mesh, batch, method == Method::Exact);
        memory::check(&sizes, &model.display().to_string())
    }
}

/// A model at work on new data.
pub struct Opened {
    pub model: LoadedModel,
    pub raw: Raw,
}

impl Opened {
    /// Loads a model and opens data that it can take, see [`LoadedModel::open`].
    pub fn new(model: &Path, data: &Path, args: &DataArgs, warn: bool) -> Result<Self> {
        LoadedModel::load(model)?.open(data, args, warn)
    }

    /// As [`LoadedModel::check_memory`], with no more samples than there are.
    pub fn check_memory(&self, model: &Path, batch: usize, method: Method) -> Result<()> {
        let batch = batch.min(self.feed(batch).samples().map_err(say)?);
        self.model.check_memory(model, batch, method)
    }

    /// The samples, prepared, in parts of whole batches.
    pub fn feed(&self, batch: usize) -> Feed<'_> {
        Feed {
            raw: &self.raw,
            how: &self.model.preparation.how,
            rows: self.model.mesh.rows(),
            batch,
            shuffle: None,
        }
    }
}
