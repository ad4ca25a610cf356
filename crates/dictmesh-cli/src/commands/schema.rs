//! `dictmesh schema`: the JSON Schemas of what commands print with --json.

use super::{print, Result};
use crate::options::names::unknown;
use crate::render::json::schemas;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command, with hyphens for spaces; without it, all names are listed
    pub command: Option<String>,
}

pub fn run(args: &Args) -> Result<()> {
    let all = schemas();
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let Some(wanted) = &args.command else {
        return print(&(names.join("\n") + "\n"));
    };
    match all.iter().find(|(name, _)| name == wanted) {
        Some((_, schema)) => print(&format!("{:#}\n", schema.as_value())),
        None => Err(unknown("the schema", wanted, &names).into()),
    }
}
