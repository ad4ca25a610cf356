//! `dictmesh mesh`: the files that agents at different places start from.

mod add;
mod connectivity;
pub(super) mod files;
mod init;
mod leave;
pub(super) mod masks;
mod ports;
pub(super) mod run_state;

pub use add::Addition;
pub use init::WrittenMesh;
pub use leave::Leaving;

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
    /// Write what one more agent needs to join a mesh that is running
    ///
    /// It gets a directory like the others', with a certificate of the same authority, and its neighbours are told of
    /// it in their settings. The mesh takes it in at a batch boundary, with atoms of its own that are new.
    Add(add::Args),
    /// Let a running agent leave its mesh for good
    ///
    /// It finishes the batch under way, tells the others, writes its atoms and ends; the others go on without them.
    /// An agent that is only to pause is ended by SIGTERM instead, and waited for.
    Leave(leave::Args),
}

pub fn run(args: Args) -> Result<()> {
    match args.command {
        Command::Init(args) => init::run(*args),
        Command::Add(args) => add::run(&args),
        Command::Leave(args) => leave::run(&args),
    }
}
