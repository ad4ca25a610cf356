//! `dictmesh reproduce`: the paper's experiments on its data, our figures beside its own.

mod biclustering;
mod denoising;
mod documents;
mod learning_curve;

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
    /// How near diffusion is to the exact nu and y after each round, on the documents' example
    LearningCurve(learning_curve::Args),
    /// Patients told apart by their genes: misclassified patients over ten seeds
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
