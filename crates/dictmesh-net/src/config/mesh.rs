//! `mesh.toml`: a whole mesh, from which the agents' files follow.

use super::agent::usual_deadline;
use super::{
    check_address, check_atoms, check_deadline, check_name, check_run, check_secrecy, host,
    in_directory, pairs, read, to_toml, AgentConfig, Agreed, ConfigError, NeighbourConfig,
    OtherKind, Policy, Result, SourceConfig, TlsConfig, MOST_AGENTS,
};
use dictmesh::AgentId;
use dictmesh::Topology;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// A whole mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MeshConfig {
    /// The run's name.
    pub run: String,
    /// Fixes everything random.
    #[serde(default)]
    pub seed: u64,
    /// What happens when an agent is lost.
    #[serde(default)]
    pub policy: Policy,
    /// Seconds after which a silent neighbour is lost, under the policy go-on.
    #[serde(default = "usual_deadline")]
    pub deadline: f64,
    /// Whether agents have certificates, in their directories.
    #[serde(default)]
    pub tls: bool,
    /// Whether agents may speak to other machines without.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_text: bool,
    /// Who talks to whom.
    #[serde(deserialize_with = "pairs")]
    pub edges: Vec<(AgentId, AgentId)>,
    /// Where the informed agents' samples come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceConfig>,
    /// What all agents must agree on; constants of the strategy that are left out are computed.
    pub agreed: Agreed,
    /// The agents, from 0.
    pub agents: Vec<AgentEntry>,
}

/// One agent of the mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AgentEntry {
    /// Its name; its directory, beside the mesh's file, is called the same.
    pub name: String,
    /// Where the others reach it, `host:port`.
    pub address: String,
    /// Where it listens at its own host, `host:port`, if not there: at all IPv4 addresses of the host, if `address` has
    /// its name, which the host itself may not know, or know as a loopback address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// N_k, how many atoms it has.
    pub atoms: usize,
    /// Whether it sees the samples.
    #[serde(default)]
    pub informed: bool,
    /// Where its own samples come from, if not from where the others' do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceConfig>,
    /// A model file with its first atoms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<PathBuf>,
    /// Where Prometheus may ask, `host:port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<String>,
    /// Whether it came later: nobody waits for it at the start, and it is taken in at a batch boundary.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joins: bool,
}

/// An agent's file where the mesh's belongs.
const AN_AGENT: OtherKind = OtherKind {
    keys: ["id", "listen"],
    advice: "this is an agent's own file, and the mesh's belongs here, as in mesh.toml; start this one agent with \
             dictmesh agent",
};

impl AgentEntry {
    /// Where it listens.
    fn listening(&self) -> String {
        let by_name = |host: &str| host != "localhost" && host.parse::<IpAddr>().is_err();
        match (
            &self.listen,
            host(&self.address),
            self.address.rsplit_once(':'),
        ) {
            (Some(listen), _, _) => listen.clone(),
            (None, Some(host), Some((_, port))) if by_name(host) => format!("0.0.0.0:{port}"),
            _ => self.address.clone(),
        }
    }
}

impl MeshConfig {
    /// The mesh's own file in its directory.
    pub const FILE: &'static str = "mesh.toml";
    /// The names of an agent's files in its directory.
    pub const AGENT_FILE: &'static str = "agent.toml";
    /// The authority's certificate.
    pub const AUTHORITY: &'static str = "authority.pem";
    /// The agent's certificate.
    pub const CERTIFICATE: &'static str = "certificate.pem";
    /// The agent's private key.
    pub const KEY: &'static str = "private.key";
    /// The agent's atoms when all is learned.
    pub const ATOMS: &'static str = "atoms.safetensors";

    /// From a file, or from `mesh.toml` in a directory, checked, with all constants filled in.
    pub fn load(given: &Path) -> Result<Self> {
        let file = &in_directory(given, Self::FILE);
        if given.is_dir() && !file.exists() {
            let why =
                "there is no mesh.toml in this directory; name one that dictmesh mesh init wrote";
            return Err(ConfigError::new(why).in_file(given));
        }
        let config: MeshConfig = read(file, &AN_AGENT)?;
        config.completed().map_err(|e| e.in_file(file))
    }

    /// As a file has it.
    pub fn to_toml(&self) -> Result<String> {
        to_toml(self)
    }

    /// The graph.
    pub fn topology(&self) -> Result<Topology> {
        let built = Topology::from_edges(self.agents.len(), &self.edges);
        built.map_err(|e| ConfigError::new(format!("edges: {e}")))
    }

    /// Checked, and with all constants filled in.
    pub fn completed(mut self) -> Result<Self> {
        if self.agents.len() > MOST_AGENTS {
            let given = self.agents.len();
            return Err(ConfigError::new(format!(
                "agents: there are {given}, and a mesh has at most {MOST_AGENTS}; give each more atoms instead"
            )));
        }
        let topology = self.topology()?;
        self.check()?;
        let sizes: Vec<usize> = self.agents.iter().map(|agent| agent.atoms).collect();
        if sizes.iter().all(|size| *size == 0) {
            let why = "agents: no agent has an atom; give some agent atoms = 1 or more";
            return Err(ConfigError::new(why));
        }
        let agreed = self.agreed.resolved(&topology, &sizes, self.policy);
        self.agreed = agreed.map_err(|e| ConfigError::new(e.to_string()))?;
        self.agreed.check()?;
        Ok(self)
    }

    fn check(&self) -> Result<()> {
        let wrong = |why: String| Err(ConfigError::new(why));
        check_run(&self.run)?;
        check_deadline(self.deadline)?;
        let own = self.agents.iter().filter_map(|agent| agent.source.as_ref());
        own.chain(&self.source).try_for_each(SourceConfig::check)?;
        let (mut names, mut addresses) = (BTreeSet::new(), BTreeSet::new());
        for agent in &self.agents {
            check_name(&agent.name)?;
            (check_atoms(agent.atoms))
                .map_err(|e| ConfigError::new(format!("agents: {}: {}", agent.name, e.why)))?;
            check_address("address", &agent.address)?;
            if let Some(listen) = &agent.listen {
                check_address("listen", listen)?;
            }
            if !names.insert(&agent.name) {
                return wrong(format!("agents: the name {} is there twice", agent.name));
            }
            if !addresses.insert(&agent.address) && !agent.address.ends_with(":0") {
                return wrong(format!(
                    "agents: the address {} is there twice; every agent listens at its own",
                    agent.address
                ));
            }
            if agent.informed && agent.source.is_none() && self.source.is_none() {
                return wrong(format!(
                    "agents: {} is informed, but there is no [source] for its samples",
                    agent.name
                ));
            }
        }
        if !self.agents.iter().any(|agent| agent.informed) {
            return wrong(
                "agents: no agent is informed; set informed = true for one or more".into(),
            );
        }
        // As the agents would: `launch` writes their files before they look at them.
        let each = self.agents.iter();
        let all = each.flat_map(|agent| [agent.address.clone(), agent.listening()]);
        let all: Vec<String> = all.collect();
        check_secrecy(self.tls, self.plain_text, "tls = true", all.iter())
    }

    /// What agent `k` is told, for a file in its directory beside the mesh's.
    pub fn agent(&self, k: AgentId) -> Result<AgentConfig> {
        let topology = self.topology()?;
        let Some(entry) = self.agents.get(k) else {
            let most = self.agents.len();
            return Err(ConfigError::new(format!(
                "agent {k}: there are {most}, from 0"
            )));
        };
        let neighbours = topology.neighbours(k).iter().map(|l| NeighbourConfig {
            id: *l,
            name: self.agents[*l].name.clone(),
            address: self.agents[*l].address.clone(),
            joins: self.agents[*l].joins,
        });
        // Paths in the mesh's file are seen from its directory, one above the agent's.
        let above = |path: &PathBuf| Path::new("..").join(path);
        let source = entry.source.as_ref().or(self.source.as_ref());
        let source = source
            .filter(|_| entry.informed)
            .map(|source| match source {
                SourceConfig::File { path, passes } => SourceConfig::File {
                    path: above(path),
                    passes: *passes,
                },
                SourceConfig::Directory { path } => SourceConfig::Directory { path: above(path) },
                SourceConfig::Stdin => SourceConfig::Stdin,
            });
        Ok(AgentConfig {
            run: self.run.clone(),
            id: k,
            name: entry.name.clone(),
            listen: entry.listening(),
            state: "state".into(),
            atoms: entry.atoms,
            seed: self.seed,
            start: entry.start.as_ref().map(above),
            output: Some(Self::ATOMS.into()),
            policy: self.policy,
            deadline: self.deadline,
            joins: entry.joins,
            plain_text: self.plain_text,
            metrics: entry.metrics.clone(),
            source,
            tls: self.tls.then(|| TlsConfig {
                authority: Self::AUTHORITY.into(),
                certificate: Self::CERTIFICATE.into(),
                key: Self::KEY.into(),
            }),
            agreed: self.agreed.clone(),
            neighbours: neighbours.collect(),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::agreed::tests::agreed;
    use super::*;

    pub fn mesh() -> MeshConfig {
        let agent = |k: usize| AgentEntry {
            name: format!("agent-{k}"),
            address: format!("127.0.0.1:{}", 7400 + k),
            listen: None,
            atoms: 2,
            informed: k != 1,
            source: None,
            start: None,
            metrics: None,
            joins: false,
        };
        MeshConfig {
            run: "r".into(),
            seed: 3,
            policy: Policy::GoOn,
            deadline: 2.5,
            tls: false,
            plain_text: false,
            edges: vec![(0, 1), (1, 2)],
            source: Some(SourceConfig::File {
                path: "x.npy".into(),
                passes: 2,
            }),
            agreed: agreed(),
            agents: (0..3).map(agent).collect(),
        }
    }

    #[test]
    fn a_mesh_and_its_agents_survive_their_files() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("mesh.toml");
        std::fs::write(&file, mesh().to_toml().unwrap()).unwrap();
        let mesh = MeshConfig::load(&file).unwrap();
        for k in 0..3 {
            let agent = mesh.agent(k).unwrap();
            agent.check().unwrap();
            let directory = place.path().join(&agent.name);
            std::fs::create_dir(&directory).unwrap();
            let file = directory.join(MeshConfig::AGENT_FILE);
            std::fs::write(&file, agent.to_toml().unwrap()).unwrap();
            let read = AgentConfig::load(&file).unwrap();
            assert_eq!(read.state, directory.join("state"));
            assert_eq!(read.agreed, agent.agreed);
            assert_eq!(read.source.is_some(), k != 1);
        }
        assert_eq!(mesh.agent(1).unwrap().neighbours.len(), 2);
    }

    #[test]
    fn what_is_wrong_is_said_in_words() {
        type Change = fn(&mut MeshConfig);
        let changes: [(Change, &str); 16] = [
            (
                |m| m.agents[1].listen = Some("0.0.0.0:7401".into()),
                "0.0.0.0:7401 is not of this machine",
            ),
            (
                |m| m.agents[0].address = "10.1.1.1:5".into(),
                "plain-text = true",
            ),
            (|m| m.agents[0].address = "nonsense".into(), "host:port"),
            (|m| m.agents[0].name = "a b".into(), "named like hosts"),
            (|m| m.agents[1].name = "agent-0".into(), "twice"),
            (
                |m| m.agents.iter_mut().for_each(|a| a.informed = false),
                "no agent is informed",
            ),
            (|m| m.source = None, "no [source]"),
            (|m| m.run = "a\nseed = 7".into(), "a name of one line"),
            (|m| m.run = String::new(), "run = \"\""),
            (|m| m.deadline = f64::INFINITY, "above 0 and below 1e9"),
            (|m| m.edges = vec![(0, 1)], "edges"),
            (|m| m.agreed.batch = 0, "batch = 0"),
            (
                |m| m.agents[1].atoms = 100_000_000_000,
                "agents: agent-1: atoms = 100000000000: an agent has at most 10000000",
            ),
            (
                |m| m.agreed.rows = 4_000_000_000,
                "rows = 4000000000: a sample has at most",
            ),
            (|m| m.agreed.batch = 100_000_000, "take smaller batches"),
            (
                |m| m.agents = vec![m.agents[0].clone(); 6000],
                "there are 6000, and a mesh has at most 5000",
            ),
        ];
        for (change, words) in changes {
            let mut mesh = mesh();
            change(&mut mesh);
            let said = mesh.completed().unwrap_err().to_string();
            assert!(said.contains(words), "{said}");
        }
        let mut far = mesh();
        far.agents[0].address = "10.1.1.1:5".into();
        far.plain_text = true;
        far.completed().unwrap();
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line() {
        let text = mesh().to_toml().unwrap().replace("deadline", "dead-line");
        let said = super::super::parse::<MeshConfig>(&text)
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("dead-line") && said.contains("line "),
            "{said}"
        );
        assert!(said.contains("deadline"), "{said}");
    }

    #[test]
    fn an_edge_has_two_ends() {
        let right = mesh().to_toml().unwrap();
        for wrong in ["[0, 1, 2]", "[0]"] {
            let text = right.replace("[0, 1]", wrong);
            assert_ne!(text, right);
            let said = super::super::parse::<MeshConfig>(&text).unwrap_err();
            let words = format!("{wrong}: an edge has two agents, as in [0, 1]");
            assert!(said.to_string().contains(&words), "{said}");
        }
    }
}
