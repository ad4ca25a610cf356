//! What an agent on a network needs of the library, and no other caller: the loop with its stopping rule, the
//! pieces of a round, and files that are written whole.

pub use crate::graph::{lazy_column, own_column};
pub use crate::mesh::learning::update_block;
pub use crate::mesh::measure;
pub use crate::mesh::rounds::{infer, round, Carrier, Rounds};
pub use crate::mesh::stopping::{Flood, StoppingRule};
pub use crate::model::{sync_directory, write_whole};
pub use crate::strategy::infeasible;
pub use dictmesh_kernels::combine::combine;
pub use dictmesh_kernels::products::{product, product_of_fired};
