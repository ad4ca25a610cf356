//! What an agent keeps to go on from an earlier sample: the last three batch boundaries.
//!
//! Agents in lock-step are at most one batch apart, so two would do; the third is for a file that is found damaged.
//! A file is written beside its place, brought to the disk and renamed, and holds a checksum.

mod format;

use crate::error::Error;
use dictmesh::mesh::AtomStats;
use dictmesh::problem::Block;
use dictmesh::strategy::PenaltyRule;
use dictmesh::AgentId;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Boundaries kept.
const KEPT: usize = 3;
const PREFIX: &str = "checkpoint-";
/// What to do when nothing can be gone on from.
const ALL_DAMAGED: &str =
    ". Check the disk, and restore the state directory; or remove it and put joins = true into this agent's agent.toml \
     (where dictmesh launch runs it: into its part of mesh.toml): it joins with new atoms. To start again, remove the state directories of all agents";

/// An agent at a batch boundary.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Samples before it.
    pub position: u64,
    pub block: Block,
    pub used: AtomStats,
    pub penalty: PenaltyRule,
}

impl State {
    /// A checksum of the state of the rule that adapts the penalty.
    fn penalty_sum(&self) -> u32 {
        let numbers = self.penalty.to_numbers().into_iter();
        crc32fast::hash(&numbers.flat_map(i64::to_le_bytes).collect::<Vec<u8>>())
    }
}

/// What is kept beside: who was there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Surroundings {
    /// The epoch in which it was written.
    pub epoch: u32,
    /// The neighbours that took part.
    pub active: Vec<AgentId>,
    /// Those who left for good.
    pub gone: Vec<AgentId>,
    /// The stream had ended here.
    pub ended: bool,
    /// And every agent had written that down.
    pub all_ended: bool,
}

/// Whose checkpoints these are, and what they are learned with.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub run: String,
    pub id: AgentId,
    pub rows: usize,
    /// Names and values of the settings without which the atoms would be others.
    pub settings: Vec<(String, String)>,
}

/// The boundaries kept, in memory and, with a directory, on disk.
#[derive(Debug)]
pub(super) struct Checkpoints {
    directory: Option<PathBuf>,
    owner: Owner,
    /// Newest last.
    recent: Vec<State>,
    /// Positions of the files, rising.
    files: Vec<u64>,
    /// The checksum of [`State::penalty`] at each position.
    penalty_sums: BTreeMap<u64, u32>,
}

impl Checkpoints {
    /// Opens the directory, if there is one, and finds what can be gone on from. A damaged file is refused, and
    /// the one before it used; if all are, that is an error. One that was learned with other settings is an error
    /// too, unless nothing was learned yet.
    pub fn open(
        directory: Option<&Path>,
        owner: Owner,
    ) -> Result<(Self, Option<(State, Surroundings)>), Error> {
        let mut all = Checkpoints {
            directory: directory.map(Path::to_path_buf),
            owner,
            recent: Vec::new(),
            files: Vec::new(),
            penalty_sums: BTreeMap::new(),
        };
        let Some(directory) = directory else {
            return Ok((all, None));
        };
        fs::create_dir_all(directory).map_err(failed(directory))?;
        let (mut newest, mut damaged) = (None, None);
        let positions = positions_in(directory)?;
        for position in positions.iter().copied() {
            let path = path_of(directory, position);
            let bytes = fs::read(&path).map_err(failed(&path))?;
            match format::read(&bytes, &all.owner).and_then(|found| placed(found, position)) {
                Ok(found) => {
                    all.files.push(position);
                    (all.penalty_sums).insert(position, found.0.penalty_sum());
                    newest = Some(found);
                }
                Err(format::Refused::Settings(why)) if positions == [0] => {
                    tracing::info!("nothing was learned yet, so learning starts again: {why}");
                    all.files.push(0); // It is written over.
                }
                Err(format::Refused::Foreign(why) | format::Refused::Settings(why)) => {
                    return Err(Error::Checkpoint { path, why })
                }
                Err(format::Refused::Damaged(why)) => {
                    tracing::warn!(file = %path.display(), "checkpoint refused: {why}");
                    damaged = Some((path, why));
                }
            }
        }
        if let (None, Some((path, why))) = (&newest, damaged) {
            let why = format!("{why}, and so is every other in this directory{ALL_DAMAGED}");
            return Err(Error::Checkpoint { path, why });
        }
        if let Some((state, _)) = &newest {
            all.recent.push(state.clone());
        }
        Ok((all, newest))
    }

    /// The checksum of the state of the rule that adapts the penalty, at one of the positions.
    pub fn penalty_sum(&self, position: u64) -> u32 {
        self.penalty_sums.get(&position).copied().unwrap_or(0)
    }

    /// The samples that can be gone on from, falling.
    pub fn positions(&self) -> Vec<u64> {
        let memory = self.recent.iter().map(|state| state.position);
        let mut all: Vec<u64> = memory.chain(self.files.iter().copied()).collect();
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.dedup();
        all
    }

    /// The first sample that anybody can still go back to.
    pub fn oldest(&self) -> u64 {
        self.positions().last().copied().unwrap_or(0)
    }

    /// Keeps a boundary in memory and, if `on_disk`, in a file.
    pub fn keep(
        &mut self,
        state: State,
        around: &Surroundings,
        on_disk: bool,
    ) -> Result<(), Error> {
        if let Some(directory) = self.directory.clone().filter(|_| on_disk) {
            let path = path_of(&directory, state.position);
            let bytes = format::write(&self.owner, &state, around);
            dictmesh::model::write_atomic(&path, |to| to.write_all(&bytes))?;
            self.files.retain(|p| *p != state.position);
            self.files.push(state.position);
            while self.files.len() > KEPT {
                self.remove(self.files[0])?;
            }
        }
        self.recent.retain(|kept| kept.position != state.position);
        (self.penalty_sums).insert(state.position, state.penalty_sum());
        self.recent.push(state);
        if self.recent.len() > KEPT {
            self.recent.remove(0);
        }
        let positions = self.positions();
        (self.penalty_sums).retain(|position, _| positions.contains(position));
        Ok(())
    }

    /// The boundary at `position`; what is newer is forgotten, as it will be done again.
    pub fn go_back(&mut self, position: u64) -> Result<State, Error> {
        let newer: Vec<u64> = self
            .files
            .iter()
            .copied()
            .filter(|p| *p > position)
            .collect();
        newer.iter().try_for_each(|p| self.remove(*p))?;
        self.recent.retain(|state| state.position <= position);
        if let Some(state) = self
            .recent
            .last()
            .filter(|state| state.position == position)
        {
            return Ok(state.clone());
        }
        self.read(position).map(|(state, _)| state)
    }

    /// Forgets all there is.
    pub fn clear(&mut self) -> Result<(), Error> {
        self.recent.clear();
        self.files
            .clone()
            .into_iter()
            .try_for_each(|p| self.remove(p))
    }

    fn remove(&mut self, position: u64) -> Result<(), Error> {
        self.files.retain(|p| *p != position);
        let Some(directory) = &self.directory else {
            return Ok(());
        };
        let path = path_of(directory, position);
        fs::remove_file(&path).map_err(failed(&path))?;
        dictmesh::network::sync_directory(directory).map_err(failed(directory))
    }

    fn read(&self, position: u64) -> Result<(State, Surroundings), Error> {
        let directory = self.directory.as_deref().unwrap_or(Path::new("."));
        let path = path_of(directory, position);
        let bytes = fs::read(&path).map_err(failed(&path))?;
        format::read(&bytes, &self.owner)
            .and_then(|found| placed(found, position))
            .map_err(|refused| Error::Checkpoint {
                path,
                why: refused.why(),
            })
    }
}

/// Those who have left for good, as the newest file in this directory tells that can be read. Nothing is changed: an
/// agent may be at work there.
pub(super) fn gone(directory: &Path, owner: &Owner) -> Vec<AgentId> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let is_one = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
    };
    files.retain(is_one);
    files.sort();
    let read = |path: &PathBuf| format::read(&fs::read(path).ok()?, owner).ok();
    let newest = files.iter().rev().find_map(read);
    newest.map_or_else(Vec::new, |(_, around)| around.gone)
}

/// What was found, if it is of the sample that its name says.
fn placed(
    found: (State, Surroundings),
    position: u64,
) -> Result<(State, Surroundings), format::Refused> {
    match found.0.position {
        p if p == position => Ok(found),
        other => Err(format::Refused::Damaged(format!(
            "it is of sample {other}, and its name says {position}"
        ))),
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io { path, source }
}

fn path_of(directory: &Path, position: u64) -> PathBuf {
    directory.join(format!("{PREFIX}{position:020}"))
}

/// The positions of the checkpoint files, rising. What a killed process left half-written is removed.
fn positions_in(directory: &Path) -> Result<Vec<u64>, Error> {
    let mut positions = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed(directory))? {
        let entry = entry.map_err(failed(directory))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.starts_with(".dictmesh-") && name.ends_with(".part") {
            fs::remove_file(entry.path()).map_err(failed(&entry.path()))?;
        }
        if let Some(position) = name.strip_prefix(PREFIX).and_then(|p| p.parse().ok()) {
            positions.push(position);
        }
    }
    positions.sort_unstable();
    Ok(positions)
}
