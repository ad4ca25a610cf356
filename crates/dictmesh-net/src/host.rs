//! Agents on a machine: the files and directories that they start from, the samples that they read, and their
//! processes.
//!
//! - [`files`], [`newcomer`], [`connectivity`]: the settings files of a mesh, written, extended and reduced;
//! - [`assembly`], [`builder`]: from an agent's settings to its parts, and to the agent; [`sources`]: its samples; [`lock`], [`leaving`], [`run_state`]:
//!   its state directory;
//! - [`processes`]: all agents of a mesh, each a process of this machine; [`collect`]: their atoms in one model.
//!
//! Nothing here prints or reads a command line.

pub mod assembly;
pub mod builder;
pub mod collect;
pub mod connectivity;
mod error;
pub mod exposure;
pub mod files;
pub mod leaving;
pub mod lock;
pub mod newcomer;
pub mod parent;
pub mod placement;
mod ports;
pub mod processes;
pub mod run_state;
pub mod sources;

pub use error::{Error, Result};
