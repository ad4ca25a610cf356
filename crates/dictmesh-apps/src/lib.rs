//! Applications of the learned dictionary, and the baselines they are compared with.

pub mod audit;
pub mod biclustering;
pub mod calibration;
pub mod clustering;
pub mod coding;
pub mod demo;
pub mod denoising;
pub mod held_out;
pub mod holdout_split;
pub mod l1_admm;
pub mod learning_curve;
pub mod memory;
pub mod novelty;
pub mod progress;
pub mod quality;
pub mod reproduce;
pub mod roc;
pub mod ssvd;
pub mod synthetic;
pub mod tuning;

pub use holdout_split::HoldoutSplit;
pub use progress::Progress;

use dictmesh::mesh::AtomInit;
use dictmesh::problem::samples::Samples;
use dictmesh::strategy::{RelaxedAdmm, Strategy};
use std::sync::Arc;

/// The default strategy of the applications, `relaxed-admm`. They run in one process, where
/// messages take no time, and its rounds take the least arithmetic.
pub fn default_strategy() -> Arc<dyn Strategy> {
    Arc::new(RelaxedAdmm::default())
}

/// Source of new atoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomsFrom {
    /// Random atoms projected onto the atom set, as in the paper.
    Random,
    /// Samples drawn without replacement and scaled to norm 1.
    Samples,
}

impl AtomsFrom {
    fn start(self, samples: &Samples) -> AtomInit<'_> {
        match self {
            AtomsFrom::Random => AtomInit::Random,
            AtomsFrom::Samples => AtomInit::Samples(samples),
        }
    }
}
