//! A new mesh: where its agents are, what each has, and its files.

use super::error::failed;
use super::files::{agent_file, appear, draft, mesh_file, write_credentials};
use super::{ports, Result};
use crate::certificates::Authority;
use crate::config::{is_loopback, AgentEntry, MeshConfig, SourceConfig};
use std::fs;
use std::path::Path;

/// What single precision met, times the graph's connectivity, on every graph that was tried; docs/benchmarks.md has the figures.
const SINGLE: f64 = 5e-6;

/// Where the agents of a mesh listen, and what each has.
#[derive(Clone, Debug)]
pub struct Placement<'a> {
    /// One host for all agents, or one for each, with commas between them.
    pub hosts: &'a str,
    /// The first port; agents at one host take this and those after it.
    pub port: u16,
    /// The first port at which agents answer Prometheus, if they do.
    pub metrics: Option<u16>,
    /// The number of atoms of each agent.
    pub atoms: Vec<usize>,
    /// The agents that see the samples; `None` for all.
    pub informed: Option<&'a [usize]>,
}

impl Placement<'_> {
    /// The agents as the mesh's file has them, no two of one machine at one port.
    pub fn entries(&self) -> Result<Vec<AgentEntry>> {
        let n = self.atoms.len();
        let hosts: Vec<&str> = self.hosts.split(',').map(str::trim).collect();
        if hosts.len() != 1 && hosts.len() != n {
            return Err(format!(
                "--hosts names {} hosts for {n} agents; name one for all, or one for each",
                hosts.len()
            )
            .into());
        }
        let agent = |(i, atoms): (usize, usize)| -> Result<AgentEntry> {
            let host = hosts
                .get(i)
                .filter(|_| hosts.len() > 1)
                .unwrap_or(&hosts[0]);
            let same = hosts.iter().take(i).filter(|h| *h == host).count();
            let offset = if hosts.len() > 1 { same } else { i };
            Ok(AgentEntry {
                name: format!("agent-{i}"),
                address: format!("{host}:{}", port(self.port, offset)?),
                listen: None,
                atoms,
                informed: self.informed.is_none_or(|list| list.contains(&i)),
                source: None,
                start: None,
                joins: false,
                metrics: match self.metrics {
                    Some(first) => Some(format!("127.0.0.1:{}", port(first, offset)?)),
                    None => None,
                },
            })
        };
        let agents: Vec<AgentEntry> = self
            .atoms
            .iter()
            .copied()
            .enumerate()
            .map(agent)
            .collect::<Result<_>>()?;
        ports::check_apart(&agents)?;
        Ok(agents)
    }
}

/// Refuses agents that would talk to other machines in plain text.
pub fn check_secrecy(agents: &[AgentEntry]) -> Result<()> {
    let far = agents.iter().find(|agent| !is_loopback(&agent.address));
    match far {
        None => Ok(()),
        Some(agent) => Err(format!(
            "{} is not of this machine: messages could be read and changed on the way. Give --tls for certificates, or \
             --plain-text to allow it",
            agent.address
        ).into()),
    }
}

fn port(first: u16, offset: usize) -> Result<u16> {
    let port = usize::from(first) + offset;
    u16::try_from(port)
        .map_err(|_| format!("port {port}: ports end at 65535; begin with a smaller one").into())
}

/// Writes a mesh into a directory that is not there yet: its file, a directory for each agent, and with TLS an authority
/// and certificates.
///
/// Guarantees: all of it appears, or nothing does.
pub fn create(mesh: &MeshConfig, directory: &Path) -> Result<()> {
    let parent = match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(|e| failed(parent, &e))?;
    let draft = draft(parent)?;
    write(mesh, draft.path())?;
    appear(draft, directory)
}

fn write(mesh: &MeshConfig, directory: &Path) -> Result<()> {
    let authority = match mesh.tls {
        true => Some(Authority::new(&mesh.run)?),
        false => None,
    };
    if let Some(authority) = &authority {
        let (certificate, key) = ("authority.pem", "authority.key");
        let written = authority
            .credentials()
            .write(&directory.join(certificate), &directory.join(key));
        written?;
    }
    for (k, entry) in mesh.agents.iter().enumerate() {
        let place = directory.join(&entry.name);
        fs::create_dir(&place).map_err(|e| failed(&place, &e))?;
        agent_file(mesh, k, &place)?;
        if let Some(authority) = &authority {
            write_credentials(authority, &entry.name, &place)?;
        }
    }
    mesh_file(mesh, directory)
}

/// How many agents take their samples from standard input.
pub fn readers(mesh: &MeshConfig) -> usize {
    let source = |agent: &AgentEntry| agent.source.clone().or(mesh.source.clone());
    let reads =
        |agent: &&AgentEntry| agent.informed && matches!(source(agent), Some(SourceConfig::Stdin));
    mesh.agents.iter().filter(reads).count()
}

/// The smallest tolerance that dual vectors in single precision are known to meet in this graph, if that of the mesh is
/// below it: rounding counts the more, the longer the way through the graph is.
pub fn doubtful_tolerance(mesh: &MeshConfig) -> Option<f64> {
    let single = mesh.agreed.float32;
    let tolerance = mesh.agreed.stopping.tolerance.filter(|_| single)?;
    let connectivity = mesh.topology().ok()?.spectrum().laplacian_second;
    let met = SINGLE / connectivity;
    (mesh.agents.len() > 1 && tolerance < met).then_some(met)
}
