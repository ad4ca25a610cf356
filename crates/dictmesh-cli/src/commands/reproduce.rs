//! `dictmesh reproduce`: the paper's experiments on its data, our figures beside its own.

mod biclustering;
mod denoising;
mod documents;
mod learning_curve;

pub use biclustering::Patients;
pub use denoising::Denoised;
pub use documents::Documents;
pub use learning_curve::Curves;

use super::Result;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    pub what: What,
}

#[derive(Debug, clap::Subcommand)]
pub enum What {
    /// Novel documents in the TDT2 news stream: AUC at the paper's steps
    Documents(documents::Args),
    /// The error of diffusion against the exact nu and y, round by round, on documents
    LearningCurve(learning_curve::Args),
    /// Cluster patients by their genes: the number of errors over ten seeds
    Biclustering(biclustering::Args),
    /// A picture denoised by the paper's 196 agents, one atom each
    Denoising(denoising::Args),
}

pub fn run(args: Args) -> Result<()> {
    match args.what {
        What::Documents(args) => documents::run(args),
        What::LearningCurve(args) => learning_curve::run(args),
        What::Biclustering(args) => biclustering::run(args),
        What::Denoising(args) => denoising::run(args),
    }
}
