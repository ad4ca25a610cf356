//! Settings files: `agent.toml` for one agent, `mesh.toml` for a whole mesh, from which the agents' files follow.
//!
//! Plain data for people and files. Paths in a file are relative to where the file is.

mod agent;
mod agreed;
mod mesh;
mod steps;

pub use agent::{AgentConfig, NeighbourConfig, SourceConfig, TlsConfig};
pub use agreed::Agreed;
pub use mesh::{AgentEntry, MeshConfig};

use dictmesh::AgentId;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// A settings file that does not serve. It says where, what is there and what can be.
#[derive(Debug, thiserror::Error)]
#[error("{}{why}", file.as_ref().map(|f| format!("{}: ", f.display())).unwrap_or_default())]
pub struct ConfigError {
    file: Option<PathBuf>,
    why: String,
}

impl ConfigError {
    fn new(why: impl Into<String>) -> Self {
        ConfigError {
            file: None,
            why: why.into(),
        }
    }

    fn in_file(mut self, file: &Path) -> Self {
        self.file = Some(file.to_path_buf());
        self
    }
}

type Result<T> = std::result::Result<T, ConfigError>;

/// What happens when a neighbour is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The others wait for it, as long as it takes: the result is that of an undisturbed run.
    #[default]
    Wait,
    /// After the deadline the others go on without its atoms, and take it back when it returns.
    GoOn,
}

/// Bytes of a settings file at most.
const LONGEST: u64 = 16 << 20;

/// What a file of the other kind is known by, and what to do with it.
struct OtherKind {
    keys: [&'static str; 2],
    advice: &'static str,
}

impl OtherKind {
    fn has_written(&self, text: &str) -> bool {
        let table: std::result::Result<toml::Table, _> = toml::from_str(text);
        table.is_ok_and(|table| self.keys.iter().all(|key| table.contains_key(*key)))
    }
}

fn read<T: DeserializeOwned>(file: &Path, other: &OtherKind) -> Result<T> {
    let wrong = |why: String| ConfigError::new(why).in_file(file);
    let length = match fs::metadata(file) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(wrong(
                "there is no such file; dictmesh mesh init writes it".into(),
            ));
        }
        found => found.map_err(|e| wrong(e.to_string()))?.len(),
    };
    if length > LONGEST {
        return Err(wrong(format!("{length} bytes are no settings file")));
    }
    let text = fs::read_to_string(file).map_err(|e| wrong(e.to_string()))?;
    parse(&text).map_err(|e| match other.has_written(&text) {
        true => wrong(other.advice.into()),
        false => e.in_file(file),
    })
}

/// Refuses NaN by its name: a piece would take it for omitted, as JSON has no such number. An
/// infinite constant of a strategy is refused for the same reason.
fn check_numbers(name: &str, value: &toml::Value) -> Result<()> {
    let inner = |key: &str| match name.is_empty() {
        true => key.to_string(),
        false => format!("{name}.{key}"),
    };
    match value {
        toml::Value::Float(v) if v.is_nan() || (v.is_infinite() && name.contains("strategy.")) => {
            Err(ConfigError::new(format!(
                "{name} = {v}: give a finite number, or leave it out"
            )))
        }
        toml::Value::Table(table) => {
            (table.iter()).try_for_each(|(key, value)| check_numbers(&inner(key), value))
        }
        toml::Value::Array(items) => {
            (items.iter()).try_for_each(|value| check_numbers(name, value))
        }
        _ => Ok(()),
    }
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    // What is no TOML is refused below, with its line.
    if let Ok(table) = toml::from_str::<toml::Table>(text) {
        check_numbers("", &toml::Value::Table(table))?;
    }
    toml::from_str(text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start.min(text.len()));
        let number = text.as_bytes()[..at]
            .iter()
            .filter(|b| **b == b'\n')
            .count();
        let line = text.lines().nth(number).unwrap_or_default().trim();
        let message = e.message().replace('`', "\"");
        ConfigError::new(format!("line {}: {line}: {message}", number + 1))
    })
}

fn to_toml(value: &impl Serialize) -> Result<String> {
    toml::to_string(value).map_err(|e| ConfigError::new(e.to_string()))
}

/// Two agents an edge: a third would be passed over.
fn pairs<'d, D: Deserializer<'d>>(
    from: D,
) -> std::result::Result<Vec<(AgentId, AgentId)>, D::Error> {
    let edges = Vec::<Vec<AgentId>>::deserialize(from)?.into_iter();
    let pair = |edge: Vec<AgentId>| match edge[..] {
        [a, b] => Ok((a, b)),
        _ => Err(D::Error::custom(format!(
            "{edge:?}: an edge has two agents, as in [0, 1]"
        ))),
    };
    edges.map(pair).collect()
}

/// The host of `host:port`, if it is written like that.
fn host(address: &str) -> Option<&str> {
    let (host, port) = address.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then_some(host)
}

/// Whether an address can be reached from this machine only.
pub fn is_loopback(address: &str) -> bool {
    host(address).is_some_and(|host| {
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

fn check_address(what: &str, address: &str) -> Result<()> {
    match host(address) {
        Some(_) => Ok(()),
        None => Err(ConfigError::new(format!(
            "{what} = \"{address}\": write host:port, as in 127.0.0.1:7400 or [::1]:7400"
        ))),
    }
}

pub use dictmesh::mesh::{MOST_AGENTS, MOST_ATOMS};

fn check_atoms(atoms: usize) -> Result<()> {
    match atoms <= MOST_ATOMS {
        true => Ok(()),
        false => Err(ConfigError::new(format!(
            "atoms = {atoms}: an agent has at most {MOST_ATOMS}; take fewer, or more agents"
        ))),
    }
}

/// It is told in logs and stands in the comment of a file.
fn check_run(run: &str) -> Result<()> {
    match run.is_empty() || run.chars().any(char::is_control) {
        true => Err(ConfigError::new(format!(
            "run = {run:?}: give the run a name of one line"
        ))),
        false => Ok(()),
    }
}

/// A deadline longer than this, in seconds, is none.
const LONGEST_DEADLINE: f64 = 1e9;

fn check_deadline(deadline: f64) -> Result<()> {
    match deadline > 0.0 && deadline < LONGEST_DEADLINE {
        true => Ok(()),
        false => Err(ConfigError::new(format!(
            "deadline = {deadline}: give seconds, above 0 and below {LONGEST_DEADLINE:e}"
        ))),
    }
}

fn check_name(name: &str) -> Result<()> {
    match crate::certificates::is_name(name) {
        true => Ok(()),
        false => Err(ConfigError::new(format!(
            "name = \"{name}\": agents are named like hosts: letters, digits, - and dots, as in agent-1"
        ))),
    }
}

/// The file of this name where a directory was given, as the program writes it there.
fn in_directory(file: &Path, name: &str) -> PathBuf {
    match file.is_dir() {
        true => file.join(name),
        false => file.to_path_buf(),
    }
}

/// Plain text is for this machine only, unless somebody takes it upon himself. `without` says what the file lacks.
fn check_secrecy<'a>(
    tls: bool,
    plain_text: bool,
    without: &str,
    mut addresses: impl Iterator<Item = &'a String>,
) -> Result<()> {
    if tls || plain_text {
        return Ok(());
    }
    match addresses.find(|address| !is_loopback(address)) {
        None => Ok(()),
        Some(address) => Err(ConfigError::new(format!(
            "{address} is not of this machine, and there is no {without}: messages could be read and changed on the way. Make certificates with dictmesh mesh init --tls, or set plain-text = true to allow it"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_what_nobody_else_can_reach() {
        for address in ["127.0.0.1:1", "127.9.9.9:80", "[::1]:5", "localhost:7"] {
            assert!(is_loopback(address), "{address}");
        }
        for address in [
            "0.0.0.0:1",
            "10.0.0.1:1",
            "example.org:1",
            "[::]:1",
            "127.0.0.1",
            ":1",
        ] {
            assert!(!is_loopback(address), "{address}");
        }
    }
}
