//! `agent.toml`: one agent.

use super::{
    check_address, check_atoms, check_deadline, check_name, check_run, check_secrecy, in_directory,
    parse, read, to_toml, Agreed, ConfigError, MeshConfig, OtherKind, Policy, Result,
};
use dictmesh::AgentId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All that one agent is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AgentConfig {
    /// The run's name, the same at all agents.
    pub run: String,
    /// Its number, from 0.
    pub id: AgentId,
    /// Its name, which its certificate is for.
    pub name: String,
    /// Where it listens, `host:port`.
    pub listen: String,
    /// The directory where it keeps its checkpoints.
    pub state: PathBuf,
    /// N_k, how many atoms it has.
    pub atoms: usize,
    /// Fixes its first atoms, with its id.
    #[serde(default)]
    pub seed: u64,
    /// A model file with its first atoms; without, they are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<PathBuf>,
    /// Where its own atoms go in the end; without, they stay in the state directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// What happens when a neighbour is lost.
    #[serde(default)]
    pub policy: Policy,
    /// Seconds after which a silent neighbour is lost, under the policy go-on.
    #[serde(default = "usual_deadline")]
    pub deadline: f64,
    /// Whether it comes into a mesh that is running already, with atoms that have not seen the samples so far.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joins: bool,
    /// Whether to speak to other machines without TLS.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_text: bool,
    /// Where Prometheus may ask, `host:port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<String>,
    /// Where its samples come from, if it is informed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceConfig>,
    /// Its certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsConfig>,
    /// What all agents must agree on.
    pub agreed: Agreed,
    /// The other ends of its edges.
    #[serde(default)]
    pub neighbours: Vec<NeighbourConfig>,
}

/// 10 s.
pub(super) fn usual_deadline() -> f64 {
    10.0
}

/// The other end of an edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NeighbourConfig {
    /// Its number.
    pub id: AgentId,
    /// The name its certificate is for.
    pub name: String,
    /// Where it listens, `host:port`.
    pub address: String,
    /// Whether it comes later: nobody waits for it, and it is taken in at a sample boundary.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joins: bool,
}

/// Where samples come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", deny_unknown_fields, rename_all = "kebab-case")]
pub enum SourceConfig {
    /// A file or directory of data, as `dictmesh learn` takes it; several passes are several runs through it.
    File {
        /// The data.
        path: PathBuf,
        /// How often to go through it.
        #[serde(default = "once")]
        passes: u64,
    },
    /// Standard input: a sample a line, numbers with commas or blanks between them.
    Stdin,
    /// A directory: files of samples that appear in it are taken in the order of their names. A file named `end`
    /// ends the stream.
    Directory {
        /// The directory.
        path: PathBuf,
    },
}

impl SourceConfig {
    /// Whether samples can come from it.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            SourceConfig::File { passes: 0, .. } => Err(ConfigError::new(
                "[source] passes = 0: at least 1 is needed, which goes through the data once",
            )),
            _ => Ok(()),
        }
    }
}

fn once() -> u64 {
    1
}

/// PEM files of one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlsConfig {
    /// The certificate of the run's authority.
    pub authority: PathBuf,
    /// This agent's.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// A mesh's file where an agent's belongs.
const A_MESH: OtherKind = OtherKind {
    keys: ["agents", "edges"],
    advice: "this is a mesh's file, and an agent's own belongs here, as in agent-0/agent.toml; start the whole mesh with \
             dictmesh launch",
};

impl AgentConfig {
    /// From a file, or from `agent.toml` in a directory, checked; its paths become those that this process can use.
    pub fn load(given: &Path) -> Result<Self> {
        let file = &in_directory(given, MeshConfig::AGENT_FILE);
        if given.is_dir() && !file.exists() {
            let why = "there is no agent.toml in this directory; name an agent's own, as in agent-0, or its settings";
            return Err(ConfigError::new(why).in_file(given));
        }
        let mut config: AgentConfig = read(file, &A_MESH)?;
        config.check().map_err(|e| e.in_file(file))?;
        config.at(file.parent().unwrap_or(Path::new("")));
        Ok(config)
    }

    /// As a file has it, with its paths as they stand there; not checked.
    pub fn from_toml(text: &str) -> Result<Self> {
        parse(text)
    }

    /// As a file has it.
    pub fn to_toml(&self) -> Result<String> {
        to_toml(self)
    }

    /// Relative paths are in this directory.
    fn at(&mut self, directory: &Path) {
        let mut paths = vec![&mut self.state];
        paths.extend(self.start.as_mut());
        paths.extend(self.output.as_mut());
        if let Some(tls) = &mut self.tls {
            paths.extend([&mut tls.authority, &mut tls.certificate, &mut tls.key]);
        }
        match &mut self.source {
            Some(SourceConfig::File { path, .. } | SourceConfig::Directory { path }) => {
                paths.push(path);
            }
            Some(SourceConfig::Stdin) | None => {}
        }
        for path in paths {
            *path = directory.join(&path);
        }
    }

    /// Whether an agent can run with it.
    pub fn check(&self) -> Result<()> {
        let wrong = |why: String| Err(ConfigError::new(why));
        check_name(&self.name)?;
        check_atoms(self.atoms)?;
        check_address("listen", &self.listen)?;
        if let Some(address) = &self.metrics {
            check_address("metrics", address)?;
        }
        self.source.as_ref().map_or(Ok(()), SourceConfig::check)?;
        let mut ids = BTreeSet::from([self.id]);
        for neighbour in &self.neighbours {
            check_name(&neighbour.name)?;
            check_address("address", &neighbour.address)?;
            if !ids.insert(neighbour.id) {
                return wrong(format!(
                    "neighbours: agent {} is there twice, or is this agent itself; list each neighbour once",
                    neighbour.id
                ));
            }
        }
        check_run(&self.run)?;
        check_deadline(self.deadline)?;
        let addresses = self.neighbours.iter().map(|n| &n.address);
        let all = addresses.chain(std::iter::once(&self.listen));
        check_secrecy(self.tls.is_some(), self.plain_text, "[tls]", all)?;
        self.agreed.check()
    }
}
