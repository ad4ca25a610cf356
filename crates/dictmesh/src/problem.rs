//! The problem: residual, regularizer, atom set, samples, and the task that combines them.

pub mod atoms;
pub mod block;
mod objective;
mod piece;
pub mod registry;
pub mod regularizer;
pub mod residual;
pub mod samples;
pub mod task;

pub use atoms::{AtomPenalty, AtomSet};
pub use block::Block;
pub use piece::IntoPiece;
pub use registry::Registry;
pub use regularizer::Regularizer;
pub use residual::Residual;
pub use samples::{Norm, Samples};
pub use task::{LocalSpec, LocalTask, Task, TaskSpec};
