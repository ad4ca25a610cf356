//! What the dictionary is for: the paper's applications, and the methods they are compared with.

pub mod audit;
pub mod biclustering;
pub mod clustering;
pub mod denoising;
pub mod held_out;
pub mod l1_admm;
pub mod learning_curve;
pub mod novelty;
pub mod quality;
pub mod roc;
pub mod ssvd;

use dictmesh::mesh::learning::AtomInit;
use dictmesh::problem::samples::Samples;

/// Where the applications take new atoms from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomsFrom {
    /// Random atoms, projected onto their set: the paper's start.
    Random,
    /// The given samples, drawn without repetition and scaled to norm 1.
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
