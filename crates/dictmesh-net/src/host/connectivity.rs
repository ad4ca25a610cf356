//! Whether a mesh can do without one of its agents: the others must reach each other, and see samples.

use super::run_state::learned_all;
use super::{builder, leaving, lock, Result};
use crate::config::{AgentConfig, MeshConfig};
use crate::words::{agents, listed};
use dictmesh::WeightRule;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Asks an agent to leave its mesh for good; returns whether its process runs. `checked` is the mesh's file, or none to
/// look for it; without `checked`, the agent leaves even if the others cannot go on.
///
/// # Errors
/// If there is nothing to leave, or the others could not go on.
pub fn leave(
    config: &AgentConfig,
    settings: &Path,
    checked: Option<Option<&Path>>,
) -> Result<bool> {
    let (name, state) = (&config.name, &config.state);
    if !state.is_dir() {
        return Err(format!(
            "{}: {name} was never started with it, so that there is nothing to leave; was it run with other settings?",
            settings.display()
        ).into());
    }
    leaving::check(state, name)?;
    let running = lock::holder(state).is_some();
    let ended = match config
        .output
        .as_ref()
        .filter(|path| !running && path.exists())
    {
        Some(path) => learned_all(path, state)?,
        None => None,
    };
    if let Some(samples) = ended {
        let with_others = match config.neighbours.is_empty() {
            true => "there is nothing to leave any more",
            false => {
                "and the others have learned with its atoms: there is nothing to leave any more. Without it there would \
                 have to be another run (mesh init)"
            }
        };
        return Err(
            format!("{name}: its run has ended after {samples} samples, {with_others}").into(),
        );
    }
    if let Some(mesh) = checked {
        check(config, &directory(settings)?, mesh)?;
    }
    leaving::ask(state)?;
    Ok(running)
}

/// The agent's own directory.
fn directory(config: &Path) -> Result<PathBuf> {
    let full = std::path::absolute(config).map_err(|e| format!("{}: {e}", config.display()))?;
    Ok(match full.parent() {
        Some(parent) if !full.is_dir() => parent.to_path_buf(),
        _ => full,
    })
}

/// Refuses a leave after which the others could not go on. `given` is the mesh's file; without, it is looked for
/// above the agent's own directory.
fn check(config: &AgentConfig, own: &Path, given: Option<&Path>) -> Result<()> {
    let name = &config.name;
    if matches!(config.agreed.weights, WeightRule::Given(_)) {
        return Err(format!(
            "{name}: this mesh has given weights, which are for those who are in it: nobody can leave it. Meshes with \
             metropolis or uniform weights can shrink"
        ).into());
    }
    let beside = own.parent().map(|above| above.join(MeshConfig::FILE));
    let file = match (given, beside) {
        (Some(given), _) => given.to_path_buf(),
        (None, Some(beside)) if beside.is_file() => beside,
        (None, beside) => return check_alone(config, beside.as_deref()),
    };
    let mesh = MeshConfig::load(&file)?;
    let known = mesh.agents.get(config.id).map(|entry| &entry.name);
    if mesh.run != config.run || known != Some(name) {
        return Err(format!(
            "{}: it is the file of the run \"{}\", and does not know {name} of the run \"{}\" as agent {}; give that of its \
             mesh by --mesh",
            file.display(), mesh.run, config.run, config.id
        ).into());
    }
    let place = if file.is_dir() {
        Some(file.as_path())
    } else {
        file.parent()
    };
    let others = there(&mesh, place.unwrap_or(Path::new("")), config)?;
    check_others(&mesh, config, &others)
}

/// What is known without the whole mesh: one that has no samples and a single link takes nothing with it.
fn check_alone(config: &AgentConfig, looked: Option<&Path>) -> Result<()> {
    if config.source.is_none() && config.neighbours.len() <= 1 {
        return Ok(());
    }
    let looked = looked.map_or_else(PathBuf::new, Path::to_path_buf);
    Err(format!(
        "{}: {} is not there, so that it is not known whether the others still reach each other and the samples; if not, the whole run ends. Give mesh.toml by --mesh FILE, or --unchecked to leave all the same",
        config.name,
        looked.display()
    ).into())
}

/// The other agents that are in the mesh, as far as it can be seen from here.
fn there(mesh: &MeshConfig, place: &Path, config: &AgentConfig) -> Result<BTreeSet<usize>> {
    let state = |k: usize| place.join(&mesh.agents[k].name).join("state");
    let gone = builder::settings(config)?.gone(&config.state);
    let others = (0..mesh.agents.len()).filter(|k| *k != config.id && !gone.contains(k));
    // Where the others' directories are in use, a newcomer without has not come yet.
    let at_one_host = others.clone().any(|k| state(k).is_dir());
    let absent = |k: usize| at_one_host && mesh.agents[k].joins && !state(k).is_dir();
    let leaves = |k: usize| leaving::has_left(&state(k)) || leaving::is_asked(&state(k));
    Ok(others.filter(|k| !leaves(*k) && !absent(*k)).collect())
}

fn check_others(mesh: &MeshConfig, config: &AgentConfig, others: &BTreeSet<usize>) -> Result<()> {
    let name = &config.name;
    if others.is_empty() {
        return Err(format!(
            "{name}: it is the last agent of this mesh, which cannot lose it; end it by SIGTERM"
        )
        .into());
    }
    let parts = parts(mesh, others);
    if parts.len() > 1 {
        let each: Vec<String> = parts.iter().map(|part| agents(part)).collect();
        let firsts: Vec<String> = parts.iter().map(|part| part[0].to_string()).collect();
        let edges: Vec<String> = (firsts[1..].iter())
            .map(|other| format!("[{}, {other}]", firsts[0]))
            .collect();
        return Err(format!(
            "{name}: without it the others would be cut off from each other ({}), and the run would end. Link them first: \
             dictmesh mesh add DIR --neighbours {} puts a new agent between them; or add {} to edges in \
             mesh.toml, end the mesh and launch it again. Nothing was changed",
            each.join(" from "),
            firsts.join(","),
            listed(&edges)
        ).into());
    }
    if others.iter().any(|k| mesh.agents[*k].informed) {
        let mut now = others.clone();
        now.insert(config.id);
        let stands = mesh.check_step(&now, others);
        return stands.map_err(|e| {
            let why = format!("{name}: {e}; with --unchecked it leaves all the same");
            format!("{why}. Nothing was changed").into()
        });
    }
    Err(format!(
        "{name}: no other agent sees the samples, so that nothing could be learned without it, and the run would end. Give \
         another agent the samples first: informed = true for it in mesh.toml, and launch again (if it is at another host, \
         [source] in its agent.toml there too, and restart it); or dictmesh mesh add DIR --neighbours ... --informed. Nothing was changed"
    ).into())
}

/// The parts of the graph of these agents, each rising, in the order of their first.
fn parts(mesh: &MeshConfig, agents: &BTreeSet<usize>) -> Vec<Vec<usize>> {
    let mut left = agents.clone();
    let mut parts = Vec::new();
    while let Some(first) = left.pop_first() {
        let (mut part, mut next) = (vec![first], vec![first]);
        while let Some(k) = next.pop() {
            let ends = mesh.edges.iter().filter_map(|(i, j)| match k {
                k if k == *i => Some(*j),
                k if k == *j => Some(*i),
                _ => None,
            });
            let new: Vec<usize> = ends.filter(|l| left.remove(l)).collect();
            part.extend(&new);
            next.extend(new);
        }
        part.sort_unstable();
        parts.push(part);
    }
    parts
}
