//! Agents as processes at different places. The only crate that knows a messaging engine; it computes no
//! gradient: the strategies, the codes and the updates are those of [`dictmesh`].
//!
//! Three layers, each of which knows only the one below:
//!
//! - an agent's main loop, which reads like the paper's algorithm and knows rounds only;
//! - [`Exchange`]: one round, the same frame to every neighbour and a frame of the same tag from each;
//!   or one step along a spanning tree, a frame to some neighbours or from some;
//! - [`Wire`]: bytes to and from single neighbours, which may be lost, late, doubled or cut off.
//!
//! MPI gives an [`Exchange`] at once (its collectives are rounds); gRPC, and the wires of tests, give a
//! [`Wire`], on which rounds are made once for all of them.

pub mod agent;
pub mod certificates;
pub mod codec;
pub mod config;
mod error;
mod exchange;
pub mod host;
mod masks;
pub mod memory;
pub mod metrics;
#[cfg(feature = "mpi")]
pub mod mpi;
mod rounds;
mod source;
mod wire;
pub mod words;

pub use error::Error;
pub use exchange::{Collectives, Exchange, Fault, Frame, Phase, Tag};
pub use rounds::{Rounds, RoundsOptions};
pub use source::{Source, Taken};
pub use wire::{grpc, Wire, WireEvent};
