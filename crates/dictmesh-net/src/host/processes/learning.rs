//! Learning by a process for each agent of a mesh: the same start, samples and batches as in one process.

use super::super::error::failed;
use super::super::Result;
use super::group::{Group, Program};
use super::members::{write_agents, LOG};
use crate::config::{AgentEntry, Agreed, MeshConfig, Policy, SourceConfig};
use dictmesh::accel::Accels;
use dictmesh::model::Description;
use dictmesh::{Mesh, Model, Update};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

/// An agent's first atoms, in its directory.
const START: &str = "start.safetensors";

/// Learning from a file by processes of this machine, whose files are in a directory of their own.
#[derive(Clone, Copy, Debug)]
pub struct OverProcesses<'a> {
    /// The directory.
    pub place: &'a Path,
    /// The samples.
    pub data: &'a Path,
    /// How often agents go through them.
    pub passes: u64,
    /// Samples of a part of the data.
    pub part: usize,
    /// Samples of a pass.
    pub samples: usize,
    /// Whether dual vectors are sent in single precision.
    pub float32: bool,
    /// Whether masks hide each agent's part of a sum; `None` is on, or as the run was begun.
    pub masks: Option<bool>,
}

impl OverProcesses<'_> {
    /// The agents of `mesh`, described by `description`, as processes. Makes the directory.
    pub fn begin(&self, mesh: &Mesh, description: &Description) -> Result<MeshConfig> {
        let is_schedule = matches!(description.update, Update::Schedule { .. });
        if is_schedule && self.passes > 1 && self.samples > self.part {
            return Err(
                "--update schedule counts blocks, which end with each pass in the middle of a part: with --over \
                 processes give one pass, or another update"
                    .into(),
            );
        }
        let (path, ports) = (absolute(self.data)?, ports(mesh.agents())?);
        let agent = |(k, port): (usize, &TcpListener)| -> Result<AgentEntry> {
            let name = format!("agent-{k}");
            Ok(AgentEntry {
                address: address(port)?,
                listen: None,
                atoms: mesh.block(k).len(),
                informed: description.informed.contains(&k),
                source: None,
                start: Some(Path::new(&name).join(START)),
                metrics: None,
                joins: false,
                name,
            })
        };
        let config = MeshConfig {
            run: format!("learn-{}", std::process::id()),
            seed: description.seed,
            policy: Policy::Wait,
            deadline: 10.0,
            tls: false,
            plain_text: false,
            edges: description.edges.clone(),
            source: Some(SourceConfig::File {
                path,
                passes: self.passes,
            }),
            agreed: Agreed {
                rows: description.rows,
                batch: description.batch,
                block: Some(self.part.min(self.samples).max(1) as u64),
                weights: description.weights.clone(),
                score: true,
                float32: self.float32,
                masks: self.masks.unwrap_or(true),
                task: description.task.clone(),
                strategy: description.strategy.clone(),
                stopping: description.stopping,
                update: description.update,
            },
            agents: ports.iter().enumerate().map(agent).collect::<Result<_>>()?,
        };
        let config = config.completed()?;
        fs::create_dir(self.place).map_err(|e| failed(self.place, &e))?;
        Ok(config)
    }

    /// The mesh of an interrupted run, at addresses that are free now; `is_of` tells whether a model was begun with these
    /// data.
    ///
    /// # Errors
    /// If data or options differ from those that the run was begun with.
    pub fn again(&self, is_of: impl FnOnce(&Model) -> bool) -> Result<MeshConfig> {
        let place = self.place;
        let mut mesh = MeshConfig::load(&place.join("mesh.toml"))?;
        let data = absolute(self.data)?;
        match &mesh.source {
            Some(SourceConfig::File { path, .. }) if *path != data => {
                return Err(format!(
                    "{}: its agents learn from {}; give that, or begin anew without --resume",
                    place.display(),
                    path.display()
                )
                .into());
            }
            _ => {}
        }
        if !is_of(&Model::load(place.join(&mesh.agents[0].name).join(START))?) {
            return Err(format!(
                "{}: the data have changed since {} was begun; give them as they were, or begin anew without --resume",
                data.display(),
                place.display()
            ).into());
        }
        if mesh.agreed.float32 != self.float32 {
            return Err(match self.float32 {
                true => format!(
                    "--float32: the agents of {} send double precision, and go on so; leave it out",
                    place.display()
                ),
                false => format!(
                    "{}: it was begun with --float32; give it again",
                    place.display()
                ),
            }
            .into());
        }
        // What is learned does not depend on them.
        mesh.agreed.masks = self.masks.unwrap_or(mesh.agreed.masks);
        let ports = ports(mesh.agents.len())?;
        for (agent, port) in mesh.agents.iter_mut().zip(&ports) {
            agent.address = address(port)?;
        }
        Ok(mesh)
    }

    /// Starts the agents with the atoms of `start`.
    pub fn start(
        &self,
        mesh: &MeshConfig,
        start: &Model,
        accels: &Accels,
        program: Program,
    ) -> Result<Group> {
        let (place, file) = (self.place, self.place.join(MeshConfig::FILE));
        fs::write(&file, mesh.to_toml()?).map_err(|e| failed(place, &e))?;
        // Their addresses are others each time, and the directory is no place for people.
        let members = write_agents(mesh, place, true, accels)?;
        for (k, agent) in mesh.agents.iter().enumerate() {
            let path = place.join(&agent.name).join(START);
            if !path.exists() {
                start.save_agent(k, path)?;
            }
        }
        Group::start(members, program)
    }

    /// Copies the logs that a message names out of the directory of the agents, which is removed, to
    /// files beside the model. Returns the message with their names.
    pub fn keep_logs(&self, why: &str, mesh: &MeshConfig, output: &Path) -> String {
        let mut said = why.to_string();
        for agent in &mesh.agents {
            let log = self.place.join(&agent.name).join(LOG);
            let shown = log.display().to_string();
            let mut kept = output.as_os_str().to_os_string();
            kept.push(format!(".{}.log", agent.name));
            if said.contains(&shown) && fs::copy(&log, &kept).is_ok() {
                said = said.replace(&shown, &PathBuf::from(kept).display().to_string());
            }
        }
        said
    }
}

/// The model that a run of [`OverProcesses`] began with, which was interrupted in this directory, and its passes.
pub fn interrupted(place: &Path, passes: Option<usize>) -> Result<(Model, usize)> {
    let mesh = MeshConfig::load(&place.join("mesh.toml"))?;
    let by_learn = |agent: &AgentEntry| place.join(&agent.name).join(START).exists();
    let source = (mesh.source.as_ref()).filter(|_| mesh.agents.iter().all(by_learn));
    let Some(SourceConfig::File { passes: was, .. }) = source else {
        return Err(format!(
            "--resume {}: it was not begun by learn; go on with it by dictmesh launch {0}/mesh.toml",
            place.display()
        ).into());
    };
    let was = *was as usize;
    if let Some(given) = passes.filter(|given| *given != was) {
        return Err(format!(
            "--passes {given}: {} was begun with --passes {was}, which its agents go by; give the same, or leave it out",
            place.display()
        ).into());
    }
    let part = |agent: &AgentEntry| Model::load(place.join(&agent.name).join(START));
    let parts: Vec<Model> = mesh
        .agents
        .iter()
        .map(part)
        .collect::<dictmesh::Result<_>>()?;
    Ok((Model::join(parts)?, was))
}

/// Ports of this machine, held together so that all are different; they are free when the agents come.
fn ports(count: usize) -> Result<Vec<TcpListener>> {
    let port = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let ports: io::Result<_> = (0..count).map(port).collect();
    ports.map_err(|e| failed(Path::new("127.0.0.1"), &e))
}

/// The address of a port that is held.
fn address(port: &TcpListener) -> Result<String> {
    let address = port
        .local_addr()
        .map_err(|e| failed(Path::new("127.0.0.1"), &e))?;
    Ok(address.to_string())
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| format!("{}: {e}", path.display()).into())
}
