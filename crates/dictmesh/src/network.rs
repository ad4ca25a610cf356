//! The interface for agents on a network: the loop with its stopping rule, the pieces of a round,
//! the update of one block, and the sync of a directory.

/// The infeasibility test, summed over agents.
pub mod infeasible {
    pub use crate::strategy::infeasible::{parts, proven};
}

pub use crate::graph::weights::{lazy_column, own_column};
pub use crate::mesh::learning::{plan_update, update_block, PlannedUpdate};
pub use crate::mesh::rounds::{infer, round, Carrier, Received};
pub use crate::mesh::stopping::{
    has_diverged, max_or_nan, relative_change, Flood, Rounds, StoppingRule,
};
pub use crate::model::store::sync_directory;
pub use dictmesh_kernels::combine::{combine, Order};
pub use dictmesh_kernels::products::{product, product_of_fired, Firing};
