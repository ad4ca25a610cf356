//! All agents of a mesh on this machine, each a process of its own.

mod group;
mod learning;
mod members;
mod run_summary;

pub use group::{left_to_feed, Group, Member, Notice, Program};
pub use learning::{interrupted, OverProcesses};
pub use members::{write_agents, LOG};
pub use run_summary::{BatchTold, Line, RunSummary};
