//! The experiments of the paper: data in, results out.
//!
//! Each experiment is a settings struct with a `run`. Its defaults are the paper's where it states
//! them. A result holds what the paper reports beside what this implementation gives.

mod biclustering;
mod denoising;
mod documents;
mod learning_curve;

pub use biclustering::{BiclusteringExperiment, BiclusteringResult, Misclassified};
pub use denoising::{grey_square, DenoisingExperiment, DenoisingResult, Pictures};
pub use documents::{
    AucRow, DocumentsExperiment, DocumentsMethod, DocumentsResult, PaperRow, StepAuc,
};
pub use learning_curve::{
    generated_documents, LearningCurveCase, LearningCurveExperiment, LearningCurveResult,
};
