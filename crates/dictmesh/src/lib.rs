//! Dictionary learning over a mesh of agents.
//!
//! A sample x is explained as a sparse combination W y of learned atoms, the columns of W. Here the
//! atoms are split over N agents on a graph; agent k keeps its block W_k and its coefficients y_k to
//! itself. For each sample the agents solve
//!
//! ```text
//! min_y  f(x - sum_k W_k y_k) + sum_k h_k(y_k)
//! ```
//!
//! through its dual, exchanging only dual vectors nu with their neighbours; then each updates its own
//! atoms alone, W_k <- Proj{ prox( W_k + mu_w nu y_k' ) }. It is the system of "Dictionary Learning over
//! Distributed Models" (Chen, Towfic, Sayed, 2015); DESIGN.md maps its equations to this code.
//!
//! ```
//! use dictmesh::task::Task;
//! use dictmesh::{Mesh, Samples, Start, Topology};
//! use std::ops::ControlFlow;
//!
//! // Two samples of dimension 3, seen by agent 0 only; three agents on a path, two atoms each.
//! let x = Samples::dense_from_columns(3, &[[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]])?;
//! let mut mesh = Mesh::builder(Task::sparse_svd(0.1, 0.1)?, Topology::path(3)?)
//!     .informed(&[0])
//!     .build(3, &[2, 2, 2], Start::Random)?;
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
//! Where to look: [`residual`], [`regularizer`] and [`atoms`] are the paper's tables; [`task`] puts
//! them together; [`topology`] is who talks to whom; [`inference`] has the strategies and the exact
//! solver; [`learning`] the dictionary update; [`Mesh`] runs it all in this process; [`apps`] uses it.
//!
//! Guarantees: no result depends on the number of threads; the same seed gives the same result; nothing
//! prints; nothing panics on data. Not guaranteed: the same last digits on processors with different
//! vector units, and that learning finds a global optimum (the problem is not convex).

pub mod agent;
pub mod apps;
pub mod atoms;
mod coding;
mod error;
mod gram;
pub mod inference;
pub mod learning;
mod matrix;
pub mod mesh;
pub mod model;
pub mod random;
pub mod regularizer;
pub mod residual;
mod samples;
mod simd;
mod stop;
pub mod task;
pub mod topology;
#[cfg(feature = "count-work")]
pub mod work;
#[cfg(not(feature = "count-work"))]
mod work;

pub use error::{Error, Result};
pub use learning::{Start, Update};
pub use matrix::Matrix;
pub use mesh::{Inference, Mesh, Stopping};
pub use model::Model;
pub use samples::{Norm, Samples};
pub use stop::Stop;
pub use topology::{Topology, TopologySpec, WeightRule, Weights};

/// The README's program is a test too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
