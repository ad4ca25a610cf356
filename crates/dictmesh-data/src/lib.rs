//! From files to samples.
//!
//! - [`read`] gives a [`Table`]; [`chunks`] gives the same samples in parts of bounded size.
//! - [`text`] reads documents and turns them into vectors.
//! - [`patches`] cuts images.
//! - [`Batches`] are the records of a pipe as they arrive, [`Blocks`] the blocks of a stream of documents.
//! - [`output`] writes files that are complete or absent.
//! - [`preparation`] is what turns raw data of any kind into samples. A model file carries it, so
//!   that every front end prepares new data alike.
//!
//! Sparse matrices stay sparse. Damaged input is an error, never a panic, and no header takes more
//! memory than the file has content for.
//!
//! | format | crate | why |
//! |---|---|---|
//! | .npy | `npyz` | streams, seeks, all dtypes (ndarray-npy reads whole arrays only) |
//! | .npz | `zip` for the directory, `flate2` for the entries | three entries are read side by side; npyz reads npz through zip 0.6 |
//! | .csv, .tsv | `csv` | |
//! | .jsonl | `serde_json`, then as .csv | labels, names and missing entries as in any table |
//! | .parquet, .arrow | `parquet`, `arrow-ipc`, with the feature `columnar` | record batches, not the whole file |
//! | .mtx, .svm | own readers | no crate reads them as a stream |
//! | .gz, .zst | `flate2`, `ruzstd` | both without C code |
//! | UTF-16 | `encoding_rs` | |
//! | images | `image` | png, jpeg, pnm and tiff |

mod batches;
mod blocks;
mod chunks;
mod codes;
#[cfg(feature = "columnar")]
mod columnar;
mod delimited;
mod dense;
mod encoding;
mod entries;
mod error;
mod format;
mod jpeg;
mod json;
mod json_table;
mod labels;
mod lines;
mod missing;
mod mtx;
mod npy;
mod npz;
mod options;
pub mod output;
pub mod patches;
mod picture;
pub mod preparation;
mod read;
mod sort;
mod source;
mod sparse;
mod stream;
mod svmlight;
mod table;
#[cfg(test)]
mod tests;
pub mod text;

pub use batches::{pipe, Batches};
pub use blocks::{Block, BlockOptions, Blocks};
pub use chunks::Chunks;
pub use codes::{CodesFile, RowsFile};
pub use delimited::TableFile;
pub use error::{with_parameters, DataError, Error, Result};
pub use format::Format;
pub use labels::read_labels;
pub use options::{Nan, ReadOptions};
pub use picture::{check_image_name, encode_image, image_head, is_own_image, read_image, Image};
pub use read::{chunks, read, read_atoms, read_source, size};
pub use source::Source;
pub use stream::{Content, Record, Stream};
pub use table::Table;
