//! Dictionary learning over a mesh of agents.

mod error;
mod matrix;
pub mod random;
mod samples;

pub use error::{Error, Result};
pub use matrix::Matrix;
pub use samples::Samples;

/// How a run ended. Not converging is a value, not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// a
    Converged,
}
