//! `dictmesh mesh leave`.

use super::super::agent::{leaving, lock};
use super::super::{say, Result, Speech};
use super::connectivity;
use super::run_state::learned_all;
use crate::render::Reply;
use dictmesh_net::config::{AgentConfig, Policy};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

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
    let (name, state) = (&config.name, &config.state);
    if !state.is_dir() {
        return Err(format!(
            "{}: {name} was never started with it, so that there is nothing to leave; was it run with other settings?",
            args.settings.display()
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
    if !args.unchecked {
        connectivity::check(&config, &directory(&args.settings)?, args.mesh.as_deref())?;
    }
    leaving::ask(state)?;
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

/// The agent's own directory.
fn directory(config: &Path) -> Result<PathBuf> {
    let full = std::path::absolute(config).map_err(|e| format!("{}: {e}", config.display()))?;
    Ok(match full.parent() {
        Some(parent) if !full.is_dir() => parent.to_path_buf(),
        _ => full,
    })
}
