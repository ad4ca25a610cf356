//! Text as samples, in one pass over a stream.
//!
//! A [`Vectoriser`] turns a block of documents into unit vectors whose weights come from the past
//! only: what arrives later never changes a vector that was given out. The samples have a fixed
//! number of rows from the start, so that a mesh can begin with an empty vocabulary: with a
//! growing vocabulary of at most `max` terms there are `max` rows, and those without a term yet
//! are zero; with feature hashing of `bits` bits there are `2^bits`. A dictionary learned on the
//! first block therefore fits the last; its rows of unseen words are zero.
//!
//! A stream is weighed block by block; data that is there as a whole is [fitted](Vectoriser::fit) once,
//! before anything is learned from it, and then all documents have the same weights.
//!
//! [`TfIdf`] does the same for matrices of counts, and [`read_documents`] reads raw text.

mod documents;
#[cfg(test)]
mod tests;
mod tfidf;
mod tokens;
mod vectoriser;
mod vocabulary;

#[cfg(feature = "columnar")]
pub(crate) use documents::TextColumns;
pub use documents::{
    is_table_of_documents, read_documents, Document, DocumentFile, DocumentOptions, Documents,
};
pub(crate) use documents::{over, DocumentReader};
pub use tfidf::{Counting, TfIdf, Weighting};
pub use vectoriser::{TextOptions, Vectoriser, UNKNOWN};
pub use vocabulary::Vocabulary;
