//! The flags that jobs on random meshes have in common.

use clap::Args;

/// The sizes of a random mesh.
#[derive(Args)]
pub struct Sizes {
    /// N.
    #[arg(long, default_value_t = 1)]
    pub agents: usize,
    /// Atoms of each agent.
    #[arg(long, default_value_t = 1)]
    pub atoms: usize,
    /// M.
    #[arg(long)]
    pub rows: usize,
    /// B, or how many samples there are.
    #[arg(long, value_parser = at_least_one)]
    pub samples: usize,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|n| *n > 0);
    count.ok_or_else(|| "give a whole number, 1 or more".to_string())
}
