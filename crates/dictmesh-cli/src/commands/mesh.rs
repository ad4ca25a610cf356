//! `dictmesh mesh`: the files that agents at different places start from.

mod init;

use super::Result;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write mesh.toml, a directory for each agent, and with --tls certificates
    ///
    /// Each agent's directory is all that its host needs: its settings, and with --tls its certificate, its private key
    /// and the authority's certificate. The constants of the strategy follow from the graph and the
    /// numbers of atoms; atoms themselves are drawn by the agents, each for itself.
    Init(Box<init::Args>),
}

pub fn run(args: Args) -> Result<()> {
    match args.command {
        Command::Init(args) => init::run(*args),
    }
}
