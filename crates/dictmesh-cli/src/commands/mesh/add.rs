//! `dictmesh mesh add`.

use super::super::agent::leaving::has_left;
use super::super::{say, Result, Speech};
use super::files::{agent_file, appear, check_unchanged, draft, mesh_file, write_credentials};
use super::ports;
use super::run_state::learned_all;
use crate::memory::check_sizes;
use crate::render::Reply;
use dictmesh::WeightRule;
use dictmesh_net::certificates::Authority;
use dictmesh_net::config::{AgentEntry, MeshConfig};
use dictmesh_report::numbers::counted;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The mesh's directory, as dictmesh mesh init wrote it, with authority.key where it has certificates
    pub directory: PathBuf,
    /// Its neighbours: numbers, separated by commas
    #[arg(long, value_name = "AGENTS", value_delimiter = ',', required = true)]
    pub neighbours: Vec<usize>,
    /// Where it listens [default: at the host of its first neighbour, on the next free port]
    #[arg(long, value_name = "HOST:PORT")]
    pub address: Option<String>,
    /// The number of its atoms, which are drawn [default: as many as its first neighbour has]
    #[arg(long, value_name = "K")]
    pub atoms: Option<usize>,
    /// Give it the samples, from the source of the other informed agents
    #[arg(long)]
    pub informed: bool,
    /// Write the agent.toml of its neighbours, even if it was changed by hand
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub speech: Speech,
}

/// An agent that was added to a mesh.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Addition {
    /// The directory of the mesh.
    directory: String,
    /// The agent's name, and that of its directory.
    name: String,
    /// The agent's number.
    id: usize,
    /// The agents whose settings were changed: its neighbours.
    changed: Vec<String>,
    /// Where it listens.
    address: Option<String>,
    /// Where it answers Prometheus.
    metrics: Option<String>,
}

impl Reply for Addition {
    const COMMAND: &'static str = "mesh-add";
}

pub fn run(args: &Args) -> Result<()> {
    let file = args.directory.join("mesh.toml");
    let mut mesh = MeshConfig::load(&file).map_err(say)?;
    check_going_on(&mesh, &args.directory)?;
    let id = mesh.agents.len();
    let entry = entry(args, &mesh)?;
    let name = entry.name.clone();
    let mut neighbours = args.neighbours.clone();
    neighbours.sort_unstable();
    neighbours.dedup();
    for l in neighbours.iter().filter(|_| !args.overwrite) {
        check_unchanged(&mesh, *l, &args.directory.join(&mesh.agents[*l].name))?;
    }
    mesh.edges.extend(neighbours.iter().map(|l| (*l, id)));
    mesh.agents.push(entry);
    let mesh = mesh.completed().map_err(say)?;
    let has_left = |k: usize| has_left(&args.directory.join(&mesh.agents[k].name).join("state"));
    let now: BTreeSet<usize> = (0..id).filter(|k| !has_left(*k)).collect();
    let then = now.iter().copied().chain([id]).collect();
    mesh.check_step(&now, &then).map_err(say)?;
    let authority = match mesh.tls {
        true => Some(authority(&args.directory)?),
        false => None,
    };
    let place = args.directory.join(&name);
    let draft = draft(&args.directory)?;
    agent_file(&mesh, id, draft.path())?;
    if let Some(authority) = &authority {
        write_credentials(authority, &name, draft.path())?;
    }
    appear(draft, &place)?;
    // The whole before the parts: launch writes the parts anew from it.
    if let Err(why) = mesh_file(&mesh, &args.directory) {
        let _ = fs::remove_dir_all(&place); // nobody knows of it
        return Err(why);
    }
    let mut changed = Vec::new();
    for l in &neighbours {
        let name = &mesh.agents[*l].name;
        agent_file(&mesh, *l, &args.directory.join(name))?;
        changed.push(name.clone());
    }
    tell(args, &mesh, &name, &changed)
}

/// The newcomer, as the flags have it.
fn entry(args: &Args, mesh: &MeshConfig) -> Result<AgentEntry> {
    let id = mesh.agents.len();
    if let Some(unknown) = args.neighbours.iter().find(|l| **l >= id) {
        return Err(format!(
            "--neighbours {unknown}: agents are numbered from 0 to {}",
            id - 1
        )
        .into());
    }
    let has_left =
        |l: &&usize| has_left(&args.directory.join(&mesh.agents[**l].name).join("state"));
    if let Some(gone) = args.neighbours.iter().find(has_left) {
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
    let first = args.neighbours.first().map(|l| &mesh.agents[*l]);
    let first = first.ok_or("--neighbours: name at least one")?;
    let atoms = args.atoms.unwrap_or(first.atoms);
    check_sizes(id + 1, atoms.max(1))?;
    let address = match &args.address {
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
    if args.directory.join(&name).exists() {
        return Err(format!(
            "{}: it is there already, but not in mesh.toml; move it away first",
            args.directory.join(&name).display()
        )
        .into());
    }
    Ok(AgentEntry {
        name,
        address,
        listen: None,
        atoms,
        informed: args.informed,
        source: None,
        start: None,
        metrics,
        joins: true,
    })
}

fn authority(directory: &Path) -> Result<Authority> {
    let [certificate, key] = ["authority.pem", "authority.key"].map(|name| directory.join(name));
    if !key.exists() {
        return Err(format!(
            "{}: it is not there, and only with it a certificate of this run can be made; run this where it is kept",
            key.display()
        ).into());
    }
    Authority::load(&certificate, &key).map_err(say)
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

fn tell(args: &Args, mesh: &MeshConfig, name: &str, changed: &[String]) -> Result<()> {
    let place = args.directory.display();
    let added = mesh.agents.last();
    let addition = Addition {
        directory: place.to_string(),
        name: name.into(),
        id: mesh.agents.len() - 1,
        changed: changed.to_vec(),
        address: added.map(|entry| entry.address.clone()),
        metrics: added.and_then(|entry| entry.metrics.as_ref().map(ToString::to_string)),
    };
    args.speech.reply(&addition, || {
        format!(
            "{place}/{name}: it comes in at a batch boundary with {} of its own\n\
             1. give its neighbours their new agent.toml and restart them: {}\n\
             2. at its own host:   dictmesh agent {name}/agent.toml\n\
             where dictmesh launch runs them all: end it by Ctrl-C, and launch again\n",
            counted(mesh.agents.last().map_or(0, |entry| entry.atoms), "atom"),
            changed.join(", "),
        )
    })
}
