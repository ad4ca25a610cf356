//! Calibration: scores that a model keeps of samples it has learned from. A new sample is novel by
//! comparison with them.

use crate::coding::{scores, Method, Scores};
use crate::novelty::Threshold;
use dictmesh::mesh::Mesh;
use dictmesh::problem::samples::Samples;
use dictmesh::{Error, Model};
use serde::Serialize;
use std::ops::ControlFlow;

/// The largest number of scores in a model.
pub const KEPT_SCORES: usize = 1000;

/// The largest number of entries of samples that are scored together.
const ENTRIES: usize = 1 << 22;
/// The largest number of samples that are scored together.
const TOGETHER: usize = 256;
/// With more atoms, W'W of all of them is not stored, and the mesh scores.
const EXACT_ATOMS: usize = 4096;

const KEY: &str = "scores";

/// Where a threshold comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdFrom {
    /// The caller gave it.
    Given,
    /// A quantile of the scores that the model keeps.
    Model,
    /// A quantile of the very samples that are scored.
    Samples,
}

/// Scores of samples that a model has learned from, ascending.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calibration {
    scores: Vec<f64>,
}

impl Calibration {
    /// The last [`KEPT_SCORES`] of `scores`; `None` without any.
    pub fn new(scores: &[f64]) -> Option<Self> {
        let mut scores = scores[scores.len().saturating_sub(KEPT_SCORES)..].to_vec();
        scores.sort_by(f64::total_cmp);
        (!scores.is_empty()).then_some(Calibration { scores })
    }

    /// The scores in a model; `None` if it keeps none.
    pub fn of(model: &Model) -> Option<Self> {
        let value = model.description.extra.get(KEY)?;
        let scores = value.as_array()?.iter();
        let scores: Option<Vec<f64>> = scores.map(serde_json::Value::as_f64).collect();
        Calibration::new(&scores?)
    }

    /// Puts the scores into a model, in place of those it keeps.
    pub fn store(&self, model: &mut Model) {
        let value = self.scores.as_slice().into();
        model.description.extra.insert(KEY.to_string(), value);
    }

    /// The scores, ascending.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }
}

/// The threshold for `scored` samples, and where it comes from: as given, else the quantile of the
/// model's scores, else of the samples themselves. `None` for a quantile of nothing. The relative
/// margin is the `tolerance` of the scores, see [`Threshold::choose`].
pub fn choose(
    threshold: Threshold,
    kept: Option<&Calibration>,
    scored: &[f64],
    tolerance: f64,
) -> (Option<f64>, ThresholdFrom) {
    let (from, reference) = match (threshold, kept) {
        (Threshold::Given(_), _) => (ThresholdFrom::Given, scored),
        (Threshold::Quantile(_), Some(kept)) => (ThresholdFrom::Model, kept.scores()),
        (Threshold::Quantile(_), None) => (ThresholdFrom::Samples, scored),
    };
    (threshold.choose(reference, tolerance), from)
}

/// The scores of at most [`KEPT_SCORES`] of `samples` samples that a mesh has learned from, evenly
/// spaced over `parts`. They depend on the mesh and the data only, so that a resumed run has the
/// same. `observer` receives the number scored and the number to score; if it breaks, the result is
/// empty.
///
/// Errors: those of `parts`; samples of another dimension than the atoms.
pub fn learned_scores<E: From<Error>>(
    mesh: &Mesh,
    parts: impl Iterator<Item = Result<Samples, E>>,
    samples: usize,
    observer: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Scores, E> {
    let every = samples.div_ceil(KEPT_SCORES).max(1);
    let together = (ENTRIES / mesh.rows().max(1)).clamp(1, TOGETHER);
    let method = match mesh.atoms() <= EXACT_ATOMS {
        true => Method::Exact,
        false => Method::Mesh,
    };
    let (mut found, mut skip) = (Scores::none(), 0);
    for part in parts {
        let part = part?;
        let chosen: Vec<usize> = (skip..part.len()).step_by(every).collect();
        skip = (skip + every * chosen.len()).saturating_sub(part.len());
        for chosen in chosen.chunks(together) {
            if observer(found.scores.len(), samples.div_ceil(every)).is_break() {
                return Ok(Scores::none());
            }
            found.extend(scores(mesh, &part.select(chosen), method)?);
        }
    }
    Ok(found)
}
