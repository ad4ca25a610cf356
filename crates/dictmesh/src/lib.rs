//! Dictionary learning over a mesh of agents.

pub mod agent;
pub mod apps;
pub mod atoms;
mod coding;
mod error;
pub mod inference;
pub mod learning;
mod matrix;
pub mod mesh;
pub mod model;
pub mod random;
pub mod regularizer;
pub mod residual;
mod samples;
mod stop;
pub mod task;
pub mod topology;

pub use error::{Error, Result};
pub use learning::{Start, Update};
pub use matrix::Matrix;
pub use mesh::{Inference, Mesh, Stopping};
pub use model::Model;
pub use samples::Samples;
pub use stop::Stop;
pub use topology::{Topology, TopologySpec, WeightRule, Weights};
