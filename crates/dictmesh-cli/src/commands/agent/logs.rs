//! What an agent says of itself: a line for each event on standard error, as text or as JSON.

use super::super::Result;
use clap::ValueEnum;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Look {
    /// For people
    Text,
    /// For programs: an object a line
    Json,
}

/// From now on events of our own crates are written; the engine's only where something is wrong.
pub fn start(look: Look, quiet: bool, verbose: u8) -> Result<()> {
    let level = match (quiet, verbose) {
        (true, _) => LevelFilter::ERROR,
        (_, 0) => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let ours = Targets::new()
        .with_default(LevelFilter::ERROR)
        .with_target("dictmesh", level)
        .with_target("dictmesh_net", level);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false);
    let all = tracing_subscriber::registry();
    match look {
        Look::Text => all.with(lines.with_filter(ours)).try_init(),
        Look::Json => all.with(lines.json().with_filter(ours)).try_init(),
    }
    .map_err(|e| format!("no log: {e}").into())
}
