//! `dictmesh mesh add`.

use super::super::{Result, Speech};
use crate::memory::check_sizes;
use crate::render::Reply;
use dictmesh_net::host::newcomer::{Grown, Newcomer};
use dictmesh_report::numbers::counted;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

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
    let newcomer = Newcomer {
        neighbours: args.neighbours.clone(),
        address: args.address.clone(),
        atoms: args.atoms,
        informed: args.informed,
    };
    if let Some(atoms) = args.atoms {
        check_sizes(1, atoms.max(1))?;
    }
    let grown = newcomer.join(&args.directory)?;
    check_sizes(grown.mesh.agents.len(), grown.entry().atoms.max(1))?;
    let changed = grown.write(args.overwrite)?;
    tell(args, &grown, &changed)
}

fn tell(args: &Args, grown: &Grown, changed: &[String]) -> Result<()> {
    let (place, added) = (args.directory.display(), grown.entry());
    let name = &added.name;
    let addition = Addition {
        directory: place.to_string(),
        name: name.clone(),
        id: grown.id(),
        changed: changed.to_vec(),
        address: Some(added.address.clone()),
        metrics: added.metrics.clone(),
    };
    args.speech.reply(&addition, || {
        format!(
            "{place}/{name}: it comes in at a batch boundary with {} of its own\n\
             1. give its neighbours their new agent.toml and restart them: {}\n\
             2. at its own host:   dictmesh agent {name}/agent.toml\n\
             where dictmesh launch runs them all: end it by Ctrl-C, and launch again\n",
            counted(added.atoms, "atom"),
            changed.join(", "),
        )
    })
}
