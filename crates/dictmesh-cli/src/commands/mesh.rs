//! `dictmesh mesh`: the files that agents at different places start from.

mod add;
mod init;
mod leave;
pub(super) mod masks;

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
    /// The command writes a directory for the agent, with a certificate of the same authority, and
    /// an entry in the settings of its neighbours. The agent joins at a batch boundary, with new
    /// atoms.
    Add(add::Args),
    /// Let a running agent leave its mesh for good
    ///
    /// The agent finishes its batch, informs the others, writes its atoms and exits; the others
    /// continue without them. To pause an agent, end it by SIGTERM instead.
    Leave(leave::Args),
}

pub fn run(args: Args) -> Result<()> {
    match args.command {
        Command::Init(args) => init::run(*args),
        Command::Add(args) => add::run(&args),
        Command::Leave(args) => leave::run(&args),
    }
}
