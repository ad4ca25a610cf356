//! `dictmesh mesh leave`.

use super::super::agent::leaving;
use super::super::{say, Result, Speech};
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
    leaving::ask(state)?;
    let lock = File::open(state.join("lock"));
    let running = lock.is_ok_and(|file| file.try_lock().is_err());
    let result = json!({ "agent": config.id, "name": name, "running": running });
    args.speech.tell(result, || match running {
        true => format!(
            "{name} leaves after the batch under way: its process ends then, with its atoms written, and the others go on\n"
        ),
        false => format!("{name} does not run; it leaves when it is started again\n"),
    })
}
