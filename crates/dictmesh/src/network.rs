//! The interface for agents on a network: the rounds with their stopping rule, the steps of a
//! round, and atomic writes of files.

pub use crate::graph::{lazy_column, own_column};
pub use crate::mesh::learning::update_block;
pub use crate::mesh::rounds::{infer, round, Carrier};
pub use crate::mesh::stopping::{has_diverged, relative_change, Flood, Rounds, StoppingRule};
pub use crate::model::{sync_directory, write_atomic};
pub use crate::strategy::infeasible;
pub use dictmesh_kernels::combine::combine;
pub use dictmesh_kernels::products::{product, product_of_fired};
