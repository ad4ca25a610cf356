//! One more agent for a mesh that exists.

use super::files::{agent_file, appear, check_unchanged, draft, mesh_file, write_credentials};
use super::leaving::has_left;
use super::run_state::learned_all;
use super::{ports, Result};
use crate::certificates::Authority;
use crate::config::{AgentEntry, MeshConfig};
use dictmesh::WeightRule;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// An agent that is to join a mesh.
#[derive(Clone, Debug)]
pub struct Newcomer {
    /// The agents it will talk to.
    pub neighbours: Vec<usize>,
    /// Where it listens; `None` is at the host of its first neighbour, on the next free port.
    pub address: Option<String>,
    /// How many atoms it brings; `None` is as many as its first neighbour has.
    pub atoms: Option<usize>,
    /// Whether it sees the samples.
    pub informed: bool,
}

/// A mesh with a newcomer, the last of its agents. Nothing is written yet.
#[derive(Debug)]
pub struct Grown {
    /// The mesh.
    pub mesh: MeshConfig,
    /// The mesh as its file has it.
    before: MeshConfig,
    directory: PathBuf,
    neighbours: Vec<usize>,
}

impl Newcomer {
    /// The mesh in this directory with the newcomer.
    ///
    /// # Errors
    /// If the run has ended, a neighbour is not there, or the strategy's step does not stand the change.
    pub fn join(&self, directory: &Path) -> Result<Grown> {
        let before = MeshConfig::load(&directory.join(MeshConfig::FILE))?;
        check_going_on(&before, directory)?;
        let id = before.agents.len();
        let entry = self.entry(&before, directory)?;
        let neighbours: BTreeSet<usize> = self.neighbours.iter().copied().collect();
        let mut mesh = before.clone();
        mesh.edges.extend(neighbours.iter().map(|l| (*l, id)));
        mesh.agents.push(entry);
        let mesh = mesh.completed()?;
        let has_left = |k: &usize| has_left(&directory.join(&mesh.agents[*k].name).join("state"));
        let now: BTreeSet<usize> = (0..id).filter(|k| !has_left(k)).collect();
        let then = now.iter().copied().chain([id]).collect();
        mesh.check_step(&now, &then)?;
        Ok(Grown {
            mesh,
            before,
            directory: directory.to_path_buf(),
            neighbours: neighbours.into_iter().collect(),
        })
    }

    /// Its entry in the mesh's file.
    fn entry(&self, mesh: &MeshConfig, directory: &Path) -> Result<AgentEntry> {
        let id = mesh.agents.len();
        if let Some(unknown) = self.neighbours.iter().find(|l| **l >= id) {
            return Err(format!(
                "--neighbours {unknown}: agents are numbered from 0 to {}",
                id - 1
            )
            .into());
        }
        let has_left = |l: &&usize| has_left(&directory.join(&mesh.agents[**l].name).join("state"));
        if let Some(gone) = self.neighbours.iter().find(has_left) {
            return Err(format!(
                "--neighbours {gone}: this agent has left the mesh for good; name one that is there"
            )
            .into());
        }
        if matches!(mesh.agreed.weights, WeightRule::Given(_)) {
            return Err(
                "this mesh has given weights, which have none for another agent; only meshes with metropolis or uniform \
                 weights can grow"
                    .into(),
            );
        }
        let first = self.neighbours.first().map(|l| &mesh.agents[*l]);
        let first = first.ok_or("--neighbours: name at least one")?;
        let atoms = self.atoms.unwrap_or(first.atoms);
        let address = match &self.address {
            Some(address) => address.clone(),
            None => ports::to_listen(mesh, &first.address)?,
        };
        if ports::split(&address).is_some_and(|(_, port)| port == 0) {
            return Err(format!(
                "--address {address}: its neighbours dial it, which needs a port; give HOST:PORT"
            )
            .into());
        }
        let metrics = ports::for_metrics(mesh, &address)?;
        let name = format!("agent-{id}");
        if directory.join(&name).exists() {
            return Err(format!(
                "{}: it is there already, but not in mesh.toml; move it away first",
                directory.join(&name).display()
            )
            .into());
        }
        Ok(AgentEntry {
            name,
            address,
            listen: None,
            atoms,
            informed: self.informed,
            source: None,
            start: None,
            metrics,
            joins: true,
        })
    }
}

impl Grown {
    /// The newcomer's number.
    pub fn id(&self) -> usize {
        self.before.agents.len()
    }

    /// The newcomer.
    pub fn entry(&self) -> &AgentEntry {
        &self.mesh.agents[self.id()]
    }

    /// Writes the newcomer's directory, the mesh's file and the settings of its neighbours, whose names it returns.
    /// Unless `overwrite`, settings that were changed by hand are refused.
    pub fn write(&self, overwrite: bool) -> Result<Vec<String>> {
        let (mesh, directory) = (&self.mesh, &self.directory);
        let name = &self.entry().name;
        let neighbours = || self.neighbours.iter().map(|l| (*l, &mesh.agents[*l].name));
        for (l, name) in neighbours().filter(|_| !overwrite) {
            check_unchanged(&self.before, l, &directory.join(name))?;
        }
        let authority = match mesh.tls {
            true => Some(authority(directory)?),
            false => None,
        };
        let place = directory.join(name);
        let draft = draft(directory)?;
        agent_file(mesh, self.id(), draft.path())?;
        if let Some(authority) = &authority {
            write_credentials(authority, name, draft.path())?;
        }
        appear(draft, &place)?;
        // The whole before the parts: launch writes the parts anew from it.
        if let Err(why) = mesh_file(mesh, directory) {
            let _ = fs::remove_dir_all(&place); // no other file names it
            return Err(why);
        }
        for (l, name) in neighbours() {
            agent_file(mesh, l, &directory.join(name))?;
        }
        Ok(neighbours().map(|(_, name)| name.clone()).collect())
    }
}

fn authority(directory: &Path) -> Result<Authority> {
    let [certificate, key] = ["authority.pem", "authority.key"].map(|name| directory.join(name));
    if !key.exists() {
        return Err(format!(
            "{}: it is not there, and only with it a certificate of this run can be made; run this where it is kept",
            key.display()
        ).into());
    }
    Ok(Authority::load(&certificate, &key)?)
}

/// Refuses a run that has ended: the others would end again before a newcomer was heard, and it would wait for ever.
fn check_going_on(mesh: &MeshConfig, directory: &Path) -> Result<()> {
    for entry in &mesh.agents {
        let place = directory.join(&entry.name);
        let (atoms, state) = (place.join(MeshConfig::ATOMS), place.join("state"));
        if has_left(&state) || !atoms.exists() {
            continue;
        }
        if let Some(learned) = learned_all(&atoms, &state)? {
            return Err(format!(
                "{}: this run has ended after {learned} samples, and nothing is left that a newcomer could learn from; give it \
                 more samples (more passes in mesh.toml, or files to watch and no file named end), run it again, and add \
                 the agent then (to begin it anew, remove state and {} of every agent)",
                directory.display(),
                MeshConfig::ATOMS
            ).into());
        }
    }
    Ok(())
}
