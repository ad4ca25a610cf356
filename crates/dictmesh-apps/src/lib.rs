//! Applications of the learned dictionary, and the baselines they are compared with.

pub mod audit;
pub mod biclustering;
pub mod calibration;
pub mod clustering;
pub mod coding;
pub mod demo;
pub mod denoising;
pub mod held_out;
pub mod highest;
pub mod holdout_split;
pub mod l1_admm;
pub mod learning;
pub mod learning_curve;
pub mod memory;
pub mod novelty;
pub mod novelty_stream;
pub mod progress;
pub mod quality;
pub mod reproduce;
pub mod roc;
pub mod ssvd;
pub mod synthetic;
pub mod terms;
pub mod tuning;

pub use holdout_split::HoldoutSplit;
pub use progress::Progress;

use dictmesh::mesh::AtomInit;
use dictmesh::problem::samples::Samples;
use dictmesh::strategy::{Auto, Strategy};
use std::sync::Arc;

/// The default strategy of the applications, [`Auto`] in one process: where messages take no time,
/// it is the strategy of the least predicted arithmetic.
pub fn default_strategy() -> Arc<dyn Strategy> {
    Arc::new(Auto::in_one_process())
}

/// The strategy of an application's mesh: `auto` without constants of a network is that in one
/// process.
fn in_one_process(strategy: &Arc<dyn Strategy>) -> Arc<dyn Strategy> {
    match strategy.spec() == Auto::default().spec() {
        true => default_strategy(),
        false => strategy.clone(),
    }
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
