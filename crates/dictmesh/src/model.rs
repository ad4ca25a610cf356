//! A learned model as plain data, saved and loaded.
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
//! // Learning goes on as if it had never been interrupted:
//! let mut again = Mesh::from_model(&Model::load(&file)?)?;
//! mesh.learn(&x, |_| Continue(()))?;
//! again.learn(&x, |_| Continue(()))?;
//! assert_eq!(again.dictionary(), mesh.dictionary());
//!
//! // Or each agent saves its own block, and only who has them all can put them together:
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
//! A [safetensors](https://github.com/huggingface/safetensors) file, which any program that reads
//! these opens. For each agent k whose block it holds:
//!
//! | tensor | type | shape | |
//! |---|---|---|---|
//! | `agent.{k}.atoms` | F64 | N_k x M | one atom per row |
//! | `agent.{k}.energy` | F64 | N_k | S_q of [`Update::Adaptive`] |
//! | `agent.{k}.samples` | U64 | N_k | samples each atom took part in |
//!
//! and as metadata `format` = `dictmesh-model`, `version` = `1`, `description`: the [`Description`] as
//! JSON, and `checksum`: eight hexadecimal digits, the CRC-32 (that of zip and png) of the header as
//! compact JSON with sorted keys and without this entry, followed by the tensors' data. Tensors, metadata and fields of the description that this version does
//! not know are passed over, so that later versions may add some; a change that would mislead an
//! older program raises the version, and the older program refuses the file.
//!
//! Guaranteed: numbers are stored bit-identically; equal models give equal bytes; a file of
//! this name is at any time the old one or the new one, whole ([`Model::save`]); reading takes no
//! more memory than a small multiple of the file's size, and bytes of any kind give a model that
//! keeps all the rules or an error, never a panic; damage of up to 32 bits in a row is always noticed, and
//! other damage but for one case in 2^32. Not guaranteed: secrecy. Who may read the file may read the
//! atoms in it, and who may write it may change them and the checksum.

mod check;
mod format;
mod join;
mod restore;
mod store;

pub use store::{sync_directory, write_whole};

use crate::error::{Error, Result};
use crate::graph::AgentId;
use crate::graph::WeightRule;
use crate::mesh::learning::Update;
pub use crate::mesh::Progress;
use crate::mesh::Stopping;
use crate::problem::TaskSpec;
use crate::registry::Registry;
use crate::spec::Spec;
use dictmesh_kernels::matrix::Matrix;
use format::Fault;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What was learned, and all that is needed to use it or to learn on.
///
/// Plain data: nothing keeps the fields consistent while they are changed, but
/// [`check`](Model::check) is made whenever a model is saved, loaded or turned into a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Everything but the atoms.
    pub description: Description,
    /// The agents' blocks, rising in their number: those of all agents, or of some.
    pub blocks: Vec<BlockData>,
}

fn all() -> String {
    "all".to_string()
}

/// Speed-ups by their names, or as older files have them: `true` for all, `false` for none.
fn accel_names<'de, D: serde::Deserializer<'de>>(from: D) -> std::result::Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
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

/// A mesh without its atoms: the choices made for it, and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// What is being solved.
    pub task: TaskSpec,
    /// N, the number of agents of the mesh, whether or not their blocks are here.
    pub agents: usize,
    /// Who talks to whom.
    pub edges: Vec<(AgentId, AgentId)>,
    /// The rule of the combination weights.
    pub weights: WeightRule,
    /// The inference strategy, as it was given.
    pub strategy: Spec,
    /// When the rounds of one batch end.
    pub stopping: Stopping,
    /// The dictionary update.
    pub update: Update,
    /// Samples per update.
    pub batch: usize,
    /// Whether learning starts each batch from where the last one ended.
    pub warm_start: bool,
    /// The speed-ups: "all", "none" or names separated by commas. Older files have `reduction` in its place.
    #[serde(default = "all", alias = "reduction", deserialize_with = "accel_names")]
    pub accel: String,
    /// The seed of everything random.
    pub seed: u64,
    /// The agents that samples reach.
    pub informed: Vec<AgentId>,
    /// M, the dimension of a sample.
    pub rows: usize,
    /// The names of the M entries of a sample, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature_names: Option<Vec<String>>,
    /// How far the mesh came.
    pub progress: Progress,
    /// The program that wrote the file; writing fills it in.
    #[serde(default)]
    pub written_by: String,
    /// Free room, kept as it is: how samples are prepared, thresholds, notes.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// One agent's block: its atoms and what it remembers of their use.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockData {
    /// The agent's number.
    pub agent: AgentId,
    /// W_k, M x N_k.
    pub atoms: Matrix,
    /// S_q of each atom, the discounted sum of y_q^2.
    pub energy: Vec<f64>,
    /// How many samples each atom took part in since it was started.
    pub samples: Vec<u64>,
}

/// What stands for the path of a model that is not in a file.
const IN_MEMORY: &str = "(in memory)";

impl Model {
    /// The number before the dot in the version of the file format this program writes; it reads
    /// all files up to it.
    pub const VERSION: u32 = 1;

    /// What [`Description::written_by`] becomes in a file that this program writes.
    pub const WRITTEN_BY: &'static str = concat!("dictmesh ", env!("CARGO_PKG_VERSION"));

    /// Writes the model to a file, in place of one that may be there.
    ///
    /// The file appears whole or not at all: it is written under a passing name beside its place, put
    /// on the disk, and renamed. If anything fails, the old file is untouched and nothing else is
    /// left. A symbolic link is replaced, not followed. Who may read the file is as for any new file
    /// (the umask decides).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let header = format::header(self).map_err(|e| refused(path, e.to_string()))?;
        store::write_whole(path, |out| {
            out.write_all(&header)?;
            format::write_data(self, out)
        })
    }

    /// Writes agent `k`'s block alone, with the same description, so that its file shows no other agent's
    /// atoms. As [`save`](Model::save) otherwise.
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

    /// The model in a file, checked.
    ///
    /// [`Error::Io`] if the file cannot be read; [`Error::Model`] if it is no model file, damaged, cut
    /// short, of a newer version, or breaks a rule of [`check`](Model::check).
    pub fn load(path: impl AsRef<Path>) -> Result<Model> {
        Model::load_with(path, &Registry::default())
    }

    /// The same for tasks of the pieces that `registry` has.
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

    /// The model in the bytes of a file; as [`load`](Model::load).
    pub fn from_bytes(bytes: &[u8]) -> Result<Model> {
        Model::from_bytes_with(bytes, &Registry::default())
    }

    /// The same for tasks of the pieces that `registry` has.
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
