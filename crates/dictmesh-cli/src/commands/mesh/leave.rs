//! `dictmesh mesh leave`.

use super::super::{say, Result, Speech};
use crate::render::Reply;
use dictmesh_net::config::{AgentConfig, Policy};
use dictmesh_net::host::connectivity;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The settings of the agent that leaves, at its host
    #[arg(value_name = "AGENT_TOML")]
    pub settings: PathBuf,
    /// The file of the mesh, to check that the others can continue [default: mesh.toml above its
    /// directory]
    #[arg(long, value_name = "TOML", conflicts_with = "unchecked")]
    pub mesh: Option<PathBuf>,
    /// Leave without this check; if the others cannot continue, the run ends
    #[arg(long)]
    pub unchecked: bool,
    #[command(flatten)]
    pub speech: Speech,
}

/// An agent that leaves its mesh.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Leaving {
    /// The agent's number.
    agent: usize,
    /// The agent's name.
    name: String,
    /// Whether its process runs: it leaves after the batch under way, else when it is started again.
    running: bool,
}

impl Reply for Leaving {
    const COMMAND: &'static str = "mesh-leave";
}

pub fn run(args: &Args) -> Result<()> {
    let config = AgentConfig::load(&args.settings).map_err(say)?;
    let name = &config.name;
    let check = match args.unchecked {
        true => None,
        false => Some(args.mesh.as_deref()),
    };
    let running = connectivity::leave(&config, &args.settings, check)?;
    let waits = match config.policy {
        Policy::Wait => ", which waits for neighbours that are away",
        Policy::GoOn => "",
    };
    let leaving = Leaving {
        agent: config.id,
        name: name.clone(),
        running,
    };
    args.speech.reply(&leaving, || match running {
        true => format!(
            "{name} leaves after the batch under way{waits}: its process then exits, with its atoms written; the others continue\n"
        ),
        false => format!("{name} does not run; it leaves when it is started again\n"),
    })
}
