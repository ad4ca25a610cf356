//! How far a run has come in its data.

use super::LearnError;
use dictmesh::Model;
use serde::{Deserialize, Serialize};
use std::path::Path;

const KEY: &str = "learning";

/// How far a run has come in its data. A model carries it, so that it can go on there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// The file's name, without its directories.
    data: String,
    /// What its content is known by.
    fingerprint: String,
    /// Samples of a pass.
    samples: usize,
    /// Samples learned so far, over all passes.
    pub learned: u64,
}

impl Position {
    /// Before the first sample.
    pub fn start(data: &Path, fingerprint: String, samples: usize) -> Self {
        let name = data.file_name().unwrap_or(data.as_os_str());
        Position {
            data: name.to_string_lossy().into_owned(),
            fingerprint,
            samples,
            learned: 0,
        }
    }

    /// Whether these are the data that a model was begun with.
    pub fn is_of(&self, model: &Model) -> bool {
        let value = model.description.extra.get(KEY).cloned();
        let found = value.and_then(|v| serde_json::from_value::<Position>(v).ok());
        found.is_some_and(|p| (p.samples, &p.fingerprint) == (self.samples, &self.fingerprint))
    }

    /// Where a model stopped in these data, of which `self` is the start; for other data, this start. Beside it, a note
    /// if the data have changed since.
    ///
    /// # Errors
    /// [`LearnError::Changed`] if the data changed in the middle of a pass.
    pub fn or_where_it_stopped(self, model: &Model) -> Result<(Self, Option<String>), LearnError> {
        let value = model.description.extra.get(KEY).cloned();
        let found = value.and_then(|v| serde_json::from_value::<Position>(v).ok());
        let content = |p: &Position| (p.samples, p.fingerprint.clone());
        match found {
            Some(p) if content(&p) == content(&self) => Ok((p, None)),
            Some(p) if p.data == self.data && p.samples > 0 => {
                let changed = format!(
                    "{}: it has changed since: {} samples with the fingerprint {}, and it had {} with {}",
                    self.data, self.samples, self.fingerprint, p.samples, p.fingerprint
                );
                let at = p.learned % p.samples as u64;
                if at > 0 {
                    return Err(LearnError::Changed(format!(
                        "{changed}. Learning stopped at sample {at} of a pass, and cannot go on there in other \
                         data: give the data as they were, or these under another name, to be learned from \
                         their start"
                    )));
                }
                let note = format!("{changed}; it is learned from its start");
                Ok((self, Some(note)))
            }
            _ => Ok((self, None)),
        }
    }

    /// Puts it into a model.
    pub fn store(&self, model: &mut Model) {
        // A struct of numbers and texts always has a value.
        if let Ok(value) = serde_json::to_value(self) {
            model.description.extra.insert(KEY.to_string(), value);
        }
    }
}
