//! Ports of agents that share a machine, and for one more where others are.

use super::Result;
use crate::config::{is_loopback, AgentEntry, MeshConfig};
use std::collections::BTreeSet;

/// Refuses agents of one machine that would listen at, or be watched on, a port of another.
pub fn check_apart(agents: &[AgentEntry]) -> Result<()> {
    let host = |agent: &AgentEntry| split(&agent.address).map(|(host, _)| host.to_string());
    let together = |a: &AgentEntry, b: &AgentEntry| {
        host(a) == host(b) || (is_loopback(&a.address) && is_loopback(&b.address))
    };
    for (i, agent) in agents.iter().enumerate() {
        let Some(port) = watched_at(agent).filter(|port| *port != 0) else {
            continue;
        };
        let listens = |l: &&AgentEntry| listens_at(l) == Some(port);
        if let Some(other) = agents.iter().filter(listens).find(|l| together(l, agent)) {
            return Err(format!(
                "--port and --metrics: {} would be watched on port {port}, where {} listens: agents take the port given and those \
                 after it, one for each agent at a host; give --metrics a port farther from --port",
                agent.name, other.name
            ).into());
        }
        let also = |l: &&AgentEntry| watched_at(l) == Some(port) && together(l, agent);
        if let Some(other) = agents[..i].iter().find(also) {
            return Err(format!(
                "--metrics: {} and {} are at one machine, and would both be watched on port {port}; give them one host by \
                 --hosts, or write metrics into mesh.toml",
                other.name, agent.name
            ).into());
        }
    }
    Ok(())
}

/// Host and port of an address.
pub fn split(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    Some((host, port.parse().ok()?))
}

/// The port where an agent listens: where the others reach it, unless it is told another.
fn listens_at(agent: &AgentEntry) -> Option<u16> {
    let at = agent.listen.as_ref().unwrap_or(&agent.address);
    split(at).map(|(_, port)| port)
}

/// The port where an agent is watched.
fn watched_at(agent: &AgentEntry) -> Option<u16> {
    let at = agent.metrics.as_deref()?;
    split(at).map(|(_, port)| port)
}

/// The agents at the host of this address.
fn there<'a>(mesh: &'a MeshConfig, address: &'a str) -> impl Iterator<Item = &'a AgentEntry> {
    let host = |address: &'a str| split(address).map(|(host, _)| host);
    let agents = mesh.agents.iter();
    agents.filter(move |agent| host(&agent.address) == host(address))
}

/// All ports that agents have there, for each other and for those who watch them; 0 is any that is free, and none.
fn taken(mesh: &MeshConfig, address: &str) -> BTreeSet<u16> {
    let of = |agent: &AgentEntry| {
        let reached = split(&agent.address).map(|(_, port)| port);
        [reached, listens_at(agent), watched_at(agent)]
    };
    let ports = there(mesh, address).flat_map(of).flatten();
    ports.filter(|port| *port != 0).collect()
}

/// The first port after this one that is not among those that are taken.
fn after(port: u16, taken: &BTreeSet<u16>) -> Option<u16> {
    (port..=u16::MAX).skip(1).find(|port| !taken.contains(port))
}

/// Where a newcomer listens: at the host of this address, after the others.
pub fn to_listen(mesh: &MeshConfig, address: &str) -> Result<String> {
    let ports = there(mesh, address).filter_map(listens_at);
    let last = ports.max().filter(|port| *port != 0);
    let next = last.and_then(|last| after(last, &taken(mesh, address)));
    match (split(address), next) {
        (Some((host, _)), Some(port)) => Ok(format!("{host}:{port}")),
        _ => Err("--address: where will it listen? Say HOST:PORT".into()),
    }
}

/// Where Prometheus asks a newcomer that listens at `address`, if it asks the others: after those at its host, or
/// where it asks the first of another.
pub fn for_metrics(mesh: &MeshConfig, address: &str) -> Result<Option<String>> {
    let watched = |agent: &AgentEntry| agent.metrics.clone();
    let here = there(mesh, address).filter_map(watched);
    let last = here.max_by_key(|at| split(at).map(|(_, port)| port));
    let Some(like) = last.or_else(|| mesh.agents.iter().find_map(watched)) else {
        return Ok(None);
    };
    let Some((host, port)) = split(&like).filter(|(_, port)| *port != 0) else {
        return Ok(Some(like)); // any free port, as the others
    };
    let mut taken = taken(mesh, address);
    taken.extend(split(address).map(|(_, port)| port));
    let next = match taken.contains(&port) {
        true => after(port, &taken),
        false => Some(port),
    };
    match next {
        Some(port) => Ok(Some(format!("{host}:{port}"))),
        None => Err(format!("no port after {port} is free for its metrics; write metrics = \"host:port\" into its agent.toml").into()),
    }
}
