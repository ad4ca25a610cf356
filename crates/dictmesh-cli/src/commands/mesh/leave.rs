//! `dictmesh mesh leave`.

use super::super::agent::leaving;
use super::super::{say, Result, Speech};
use super::add::learned_all;
use dictmesh_net::config::AgentConfig;
use serde_json::json;
use std::fs::File;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The settings of the agent that leaves, at its host
    #[arg(long, value_name = "TOML")]
    pub config: PathBuf,
    #[command(flatten)]
    pub speech: Speech,
}

pub fn run(args: &Args) -> Result<()> {
    let config = AgentConfig::load(&args.config).map_err(say)?;
    let (name, state) = (&config.name, &config.state);
    if !state.is_dir() {
        return Err(format!(
            "{}: {name} was never started with it, so that there is nothing to leave; was it run with other settings?",
            args.config.display()
        ));
    }
    leaving::check(state, name)?;
    let lock = File::open(state.join("lock"));
    let running = lock.is_ok_and(|file| file.try_lock().is_err());
    let ended = match config
        .output
        .as_ref()
        .filter(|path| !running && path.exists())
    {
        Some(path) => learned_all(path, state)?,
        None => None,
    };
    if let Some(samples) = ended {
        return Err(format!(
            "{name}: its run has ended after {samples} samples, and the others have learned with its atoms: there is nothing to \
             leave any more. Without it there would have to be another run (mesh init)"
        ));
    }
    leaving::ask(state)?;
    let result = json!({ "agent": config.id, "name": name, "running": running });
    args.speech.tell(result, || match running {
        true => format!(
            "{name} leaves after the batch under way: its process ends then, with its atoms written; the others go on, if they \
             still reach each other and somebody informed is left\n"
        ),
        false => format!("{name} does not run; it leaves when it is started again\n"),
    })
}
