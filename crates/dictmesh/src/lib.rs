//! Dictionary learning over a mesh of agents.
//!
//! A sample x is approximated by a sparse combination W y of learned atoms, the columns of W. The
//! atoms are split over N agents on a graph. Agent k holds its block W_k and its codes y_k; neither
//! is sent. For each sample the agents solve
//!
//! ```text
//! min_y  f(x - sum_k W_k y_k) + sum_k h_k(y_k)
//! ```
//!
//! through its dual. Messages are vectors of dimension M, in most strategies the dual vectors nu of
//! neighbours. Each agent then updates its own atoms, W_k <- Proj{ prox( W_k + mu_w nu y_k' ) }.
//! This is the system of "Dictionary Learning over Distributed Models" (Chen, Towfic, Sayed, 2015).
//!
//! ```
//! use dictmesh::problem::Task;
//! use dictmesh::{Mesh, Samples, AtomInit, Topology};
//! use std::ops::ControlFlow;
//!
//! // Two samples of dimension 3, received by agent 0 only; three agents on a path, two atoms each.
//! let x = Samples::dense_from_columns(3, &[[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]])?;
//! let mut mesh = Mesh::builder(Task::sparse_svd(0.1, 0.1)?, Topology::path(3)?)
//!     .informed(&[0])
//!     .build(3, &[2, 2, 2], AtomInit::Random)?;
//!
//! let found = mesh.infer(&x)?; // every agent's own nu_k and y_k
//! println!("{} after {} rounds, cost {:.3}", found.stop, found.rounds, found.mean_cost());
//!
//! mesh.learn(&x, |event| {
//!     println!("sample {}: cost {:.3}", event.samples, event.cost);
//!     ControlFlow::Continue(())
//! })?;
//! # Ok::<(), dictmesh::Error>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`problem`] | residuals, regularizers, atom sets (the paper's tables), the task |
//! | [`graph`] | topology, combination weights, spectra, the spanning tree |
//! | [`strategy`] | distributed solvers for nu |
//! | [`exact`] | the centralised solver, with a certified duality gap |
//! | [`mesh`] | agents in one process: the loop, the stopping rule, learning, growth |
//! | [`accel`] | speed-ups, each with a switch |
//! | [`model`] | a learned model as plain data, with save and load |
//! | [`laws`] | the laws of all five kinds of pieces, as a test kit |
//! | [`network`] | the interface for agents on a network |
//!
//! Guarantees: results do not depend on the number of threads; the same seed gives the same result;
//! the library does not print, and it does not panic on data. Not guaranteed: identical last digits
//! on processors with different vector units, or a global optimum of learning, which is not convex.

pub mod accel;
mod error;
pub mod exact;
pub mod graph;
pub mod laws;
pub mod mesh;
pub mod model;
pub mod network;
pub mod problem;
pub mod random;
mod registry;
pub mod spec;
mod stop;
pub mod strategy;

#[cfg(feature = "count-work")]
pub use dictmesh_kernels::work;
pub use dictmesh_kernels::Matrix;
pub use error::{Error, Result};
pub use graph::{AgentId, Topology, TopologySpec, WeightRule, Weights};
pub use mesh::{AtomInit, Inference, Mesh, Stopping, Update};
pub use model::Model;
pub use problem::{Norm, Samples, Task};
pub use registry::Registry;
pub use spec::Spec;
pub use stop::Stop;
