//! A learned model as plain data, with save and load.
//!
//! ```
//! use dictmesh::problem::Task;
//! use dictmesh::{Mesh, Model, Samples, AtomInit, Topology};
//! use std::ops::ControlFlow::Continue;
//!
//! let x = Samples::dense_from_columns(3, &[[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]])?;
//! let mut mesh = Mesh::builder(Task::sparse_svd(0.1, 0.1)?, Topology::path(2)?)
//!     .build(3, &[2, 1], AtomInit::Random)?;
//! mesh.learn(&x, |_| Continue(()))?;
//!
//! let directory = tempfile::tempdir().unwrap();
//! let file = directory.path().join("learned.safetensors");
//! mesh.to_model().save(&file)?;
//!
//! // Learning continues with bit-identical results:
//! let mut again = Mesh::from_model(&Model::load(&file)?)?;
//! mesh.learn(&x, |_| Continue(()))?;
//! again.learn(&x, |_| Continue(()))?;
//! assert_eq!(again.dictionary(), mesh.dictionary());
//!
//! // Or each agent saves its own block; joining requires all of them:
//! let files = [directory.path().join("0"), directory.path().join("1")];
//! mesh.to_model().save_agent(0, &files[0])?;
//! mesh.to_model().save_agent(1, &files[1])?;
//! let parts = vec![Model::load(&files[1])?, Model::load(&files[0])?];
//! assert_eq!(Model::join(parts)?, mesh.to_model());
//! # Ok::<(), dictmesh::Error>(())
//! ```
//!
//! # The file
//!
//! A [safetensors](https://github.com/huggingface/safetensors) file. For each agent k whose block
//! it holds:
//!
//! | tensor | type | shape | |
//! |---|---|---|---|
//! | `agent.{k}.atoms` | F64 | N_k x M | one atom per row |
//! | `agent.{k}.energy` | F64 | N_k | S_q of [`Update::Adaptive`] |
//! | `agent.{k}.samples` | U64 | N_k | number of samples in which each atom fired |
//!
//! The metadata has `format` = `dictmesh-model`, `version` = `1`, `description` (the
//! [`Description`] as JSON) and `checksum`. The checksum is eight hexadecimal digits: the CRC-32
//! (as in zip and png) of the header as compact JSON with sorted keys and without this entry,
//! followed by the tensors' data. Unknown tensors, metadata and top-level fields of the description
//! are ignored, so that later versions may add some. An incompatible change raises the version, and
//! older programs reject the file.
//!
//! Guarantees:
//!
//! - Numbers are stored bit-identically, and equal models give equal bytes.
//! - [`Model::save`] is atomic: at any time the file is either the old one or the new one.
//! - Reading uses at most a small multiple of the file's size in memory.
//! - Arbitrary bytes give a model that passes [`Model::check`] or an error, never a panic.
//! - Damage within 32 consecutive bits is always detected; other damage is missed once in 2^32.
//!
//! Not guaranteed: secrecy or authenticity. The file contains the atoms in plain form, and the
//! checksum can be recomputed.

mod check;
mod format;
mod join;
mod restore;
pub(crate) mod store;

use crate::error::{Error, Result};
use crate::graph::AgentId;
use crate::graph::WeightRule;
pub use crate::mesh::Progress;
use crate::mesh::Stopping;
use crate::mesh::Update;
use crate::problem::TaskSpec;
use crate::registry::Registry;
use crate::spec::Spec;
use dictmesh_kernels::matrix::Matrix;
use format::Fault;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub use store::write_atomic;

/// A learned model, with everything needed to use it or to continue learning.
///
/// The fields are plain data and may become inconsistent when they are changed.
/// [`check`](Model::check) runs whenever a model is saved, loaded or turned into a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Everything except the atoms.
    pub description: Description,
    /// The blocks of all agents or of some, in ascending order of the agent.
    pub blocks: Vec<BlockData>,
}

fn all() -> String {
    "all".to_string()
}

/// Names of speed-ups, or in older files `true` for all and `false` for none.
fn accel_names<'de, D: serde::Deserializer<'de>>(from: D) -> std::result::Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "accel is \"all\", \"none\" or names of speed-ups separated by commas"
    )]
    enum Either {
        OnOrOff(bool),
        Names(String),
    }
    Ok(match Either::deserialize(from)? {
        Either::OnOrOff(true) => all(),
        Either::OnOrOff(false) => "none".to_string(),
        Either::Names(names) => names,
    })
}

/// A mesh without its atoms: its options and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The problem to solve.
    pub task: TaskSpec,
    /// N, the number of agents of the mesh, including those without a block here.
    pub agents: usize,
    /// The edges of the graph.
    pub edges: Vec<(AgentId, AgentId)>,
    /// The rule of the combination weights.
    pub weights: WeightRule,
    /// The inference strategy as given, before constants are resolved; not `auto`, but its choice.
    pub strategy: Spec,
    /// The stopping rule of one batch.
    pub stopping: Stopping,
    /// The dictionary update.
    pub update: Update,
    /// Samples per update.
    pub batch: usize,
    /// Whether learning warm-starts each batch from the final iterates of the previous one.
    pub warm_start: bool,
    /// The speed-ups: "all", "none" or comma-separated names. Older files have it under
    /// `reduction`.
    #[serde(default = "all", alias = "reduction", deserialize_with = "accel_names")]
    pub accel: String,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The informed agents.
    pub informed: Vec<AgentId>,
    /// M, the dimension of a sample.
    pub rows: usize,
    /// The names of the M entries of a sample, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature_names: Option<Vec<String>>,
    /// The progress counters.
    pub progress: Progress,
    /// The program that wrote the file; set on writing.
    #[serde(default)]
    pub written_by: String,
    /// Application data, stored unchanged: preprocessing of samples, thresholds, notes.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// One agent's block: its atoms and their statistics.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockData {
    /// The agent's number.
    pub agent: AgentId,
    /// W_k, M x N_k, shared with the mesh that it came from.
    pub atoms: Arc<Matrix>,
    /// S_q of each atom, the discounted sum of y_q^2.
    pub energy: Vec<f64>,
    /// The number of samples in which each atom fired since its initialisation.
    pub samples: Vec<u64>,
}

/// Replaces the path of a model that is not in a file.
const IN_MEMORY: &str = "(in memory)";

impl Model {
    /// The major version of the file format that this program writes. It reads all versions up to
    /// it.
    pub const VERSION: u32 = 1;

    /// The value of [`Description::written_by`] in files of this program.
    pub const WRITTEN_BY: &'static str = concat!("dictmesh ", env!("CARGO_PKG_VERSION"));

    /// Writes the model to a file, replacing an existing one.
    ///
    /// The write is atomic: a temporary file in the same directory is written, synced and renamed.
    /// If writing or renaming fails, the old file is unchanged and no other file is left. A
    /// symbolic link is replaced, not followed. File permissions follow the umask.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let header = format::header(self).map_err(|e| refused(path, e.to_string()))?;
        store::write_atomic(path, |out| {
            out.write_all(&header)?;
            format::write_data(self, out)
        })
    }

    /// Writes agent `k`'s block alone with the same description, so that the file contains no other
    /// agent's atoms. As [`save`](Model::save) otherwise.
    pub fn save_agent(&self, k: AgentId, path: impl AsRef<Path>) -> Result<()> {
        let Some(block) = self.blocks.iter().find(|block| block.agent == k) else {
            let here: Vec<AgentId> = self.blocks.iter().map(|block| block.agent).collect();
            return Err(Error::parameter(
                "agent",
                k,
                format!("the model holds {}", blocks_of(&here)),
            ));
        };
        let alone = Model {
            description: self.description.clone(),
            blocks: vec![block.clone()],
        };
        alone.save(path)
    }

    /// Reads and checks a model file.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the file cannot be read; [`Error::Model`] if it is not a model file,
    /// damaged, truncated, of a newer version, or fails [`check`](Model::check).
    pub fn load(path: impl AsRef<Path>) -> Result<Model> {
        Model::load_with(path, &Registry::default())
    }

    /// As [`load`](Model::load), with the pieces of `registry`.
    pub fn load_with(path: impl AsRef<Path>, registry: &Registry) -> Result<Model> {
        let path = path.as_ref();
        let fault = |fault| match fault {
            Fault::Io(source) => Error::Io {
                path: path.to_path_buf(),
                source,
            },
            Fault::Why(why) => refused(path, why),
        };
        let (mut file, len) = store::open(path).map_err(fault)?;
        format::read(&mut file, len, registry).map_err(fault)
    }

    /// The bytes of the file that [`save`](Model::save) would write.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = format::header(self)?;
        format::write_data(self, &mut bytes).map_err(in_memory)?;
        Ok(bytes)
    }

    /// The model from the bytes of a file; as [`load`](Model::load).
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        Model::from_bytes_with(bytes, &Registry::default())
    }

    /// As [`from_bytes`](Model::from_bytes), with the pieces of `registry`.
    pub fn from_bytes_with(bytes: &[u8], registry: &Registry) -> Result<Model> {
        format::read(&mut { bytes }, bytes.len() as u64, registry).map_err(|fault| match fault {
            Fault::Io(source) => in_memory(source),
            Fault::Why(why) => refused(Path::new(IN_MEMORY), why),
        })
    }
}

fn refused(path: &Path, why: String) -> Error {
    Error::Model {
        path: path.to_path_buf(),
        why,
    }
}

fn in_memory(source: std::io::Error) -> Error {
    Error::Io {
        path: PathBuf::from(IN_MEMORY),
        source,
    }
}

/// "the block of agent 2", "the blocks of agents 0, 1 and 5", "... and 90 more".
fn blocks_of(agents: &[AgentId]) -> String {
    const SHOWN: usize = 20;
    let mut names: Vec<String> = agents.iter().take(SHOWN).map(|k| k.to_string()).collect();
    if agents.len() > SHOWN {
        names.push(format!("{} more", agents.len() - SHOWN));
    }
    match names.split_last() {
        None => "no agent's block".to_string(),
        Some((only, [])) => format!("the block of agent {only}"),
        Some((last, rest)) => format!("the blocks of agents {} and {last}", rest.join(", ")),
    }
}
