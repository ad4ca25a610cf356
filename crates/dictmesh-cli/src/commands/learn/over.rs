//! What carries the rounds, if they do not stay in this process.

use clap::ValueEnum;

/// Where the agents are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Over {
    /// Each in a process of its own on this machine, talking over gRPC
    Processes,
}
