//! The flags that several jobs have in common.

use clap::Args;
use std::path::PathBuf;

/// Samples, atoms, and the weights of the penalty on codes.
#[derive(Args)]
pub struct Given {
    /// Samples, .npy, one a row (or as the job says).
    pub samples: PathBuf,
    /// Atoms, or those to start from, .npy, one a row, of norm at most 1.
    pub atoms: PathBuf,
    #[arg(long)]
    pub gamma: f64,
    #[arg(long)]
    pub delta: f64,
}
