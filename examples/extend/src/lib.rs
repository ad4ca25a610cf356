//! Pieces of dictmesh from another crate: one of each kind, one file each.
//!
//! | piece | file | formula |
//! |---|---|---|
//! | residual | [`LogCosh`] | f(u) = sum log cosh(u_m) |
//! | regularizer | [`SparseGroup`] | gamma \|y\|_1 + lambda sum_g \|y_g\| + delta/2 \|y\|^2 |
//! | atom set | [`Simplex`] | w >= 0, sum w_i = 1 |
//! | strategy | [`PgExtra`] | proximal gradient with exact correction |
//! | speed-up | [`OneByOne`] | a chunk per sample |
//!
//! They are handed over as values; [`registry`] gives them names for files and peers.
//!
//! ```
//! use dictmesh::{AtomInit, Mesh, Task, Topology};
//! use dictmesh_extend::{LogCosh, OneByOne, PgExtra, Simplex, SparseGroup};
//! use std::sync::Arc;
//!
//! let task = Task::new(LogCosh)
//!     .regularizer(SparseGroup::new(0.05, 0.1, 0.2, 2)?)
//!     .atoms(Simplex);
//! let mesh = Mesh::builder(task, Topology::ring(3)?)
//!     .strategy(Arc::new(PgExtra::default()))
//!     .accel(Arc::new(OneByOne))
//!     .build(6, &[2, 2, 2], AtomInit::Random)?;
//! assert_eq!(mesh.strategy().name(), "pg-extra");
//! # Ok::<(), dictmesh::Error>(())
//! ```

mod log_cosh;
mod one_by_one;
mod pg_extra;
mod simplex;
mod sparse_group;

pub use log_cosh::LogCosh;
pub use one_by_one::OneByOne;
pub use pg_extra::PgExtra;
pub use simplex::Simplex;
pub use sparse_group::SparseGroup;

use dictmesh::{problem, Registry};
use std::sync::Arc;

/// The built-in pieces and those of this crate, by name.
pub fn registry() -> Registry {
    let pieces = problem::Registry::default()
        .with_residual("log-cosh", |spec| spec.allow(&[]).map(|()| LogCosh))
        .with_regularizer("sparse-group", SparseGroup::from_spec)
        .with_set("simplex", |spec| spec.allow(&[]).map(|()| Simplex));
    Registry::from(pieces)
        .with_strategy("pg-extra", |spec| Ok(Arc::new(PgExtra::from_spec(spec)?)))
        .with_accel(Arc::new(OneByOne))
}

/// Compiles and runs the program of the page on the library. This crate does it, as it is not
/// published: a published crate cannot include a file outside itself.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/rust-library.md")]
struct RustLibrary;

/// Compiles and runs the example of the page on own pieces.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/own-pieces.md")]
struct OwnPieces;
