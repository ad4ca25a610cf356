//! A model with new data for it.

use super::super::{load_model, note, past, say, Result};
use super::{DataArgs, Feed, Preparation, Raw};
use crate::memory::Sizes;
use dictmesh::Mesh;
use std::path::Path;

/// A model at work on new data.
pub struct Opened {
    pub mesh: Mesh,
    pub preparation: Preparation,
    pub raw: Raw,
    /// The names of the features, if the model has them.
    pub names: Option<Vec<String>>,
    /// What samples that the model learned from scored, if it knows.
    pub past: Option<Vec<f64>>,
}

impl Opened {
    /// Loads a model and opens data that it can take. With `warn`, says so if features have other names.
    pub fn new(model: &Path, data: &Path, args: &DataArgs, warn: bool) -> Result<Self> {
        let model = load_model(model)?;
        let preparation = Preparation::of(&model).map_err(say)?;
        let mesh = Mesh::from_model(&model).map_err(say)?;
        let past = past::of(&model);
        let names = model.description.feature_names;
        let (rows, args) = (mesh.rows(), args.options());
        let raw = Raw::for_model(data, &args, &preparation, rows, names.as_deref());
        let raw = raw.map_err(say)?;
        note(raw.note(), !warn);
        if let (true, Some(known), Some(given)) = (warn, &names, raw.feature_names()) {
            if let Some((known, given)) = known.iter().zip(given).find(|(a, b)| a != b) {
                eprintln!(
                    "dictmesh: {}: a column is called \"{given}\" where the model learned from \"{known}\"; \
                     check that the columns are the same and in the same order",
                    data.display()
                );
            }
        }
        Ok(Opened {
            mesh,
            preparation,
            raw,
            names,
            past,
        })
    }

    /// Whether there is memory to code `batch` samples together, in one place if `exact`; `model` is its file.
    pub fn check_memory(&self, model: &Path, batch: usize, exact: bool) -> Result<()> {
        let batch = batch.min(self.feed(batch).samples().map_err(say)?);
        Ok(Sizes::of(&self.mesh, batch, exact).check(&model.display().to_string())?)
    }

    /// The samples, prepared, in parts of whole batches.
    pub fn feed(&self, batch: usize) -> Feed<'_> {
        Feed {
            raw: &self.raw,
            how: &self.preparation.how,
            rows: self.mesh.rows(),
            batch,
            shuffle: None,
        }
    }
}
