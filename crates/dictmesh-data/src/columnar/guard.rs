//! What keeps a damaged file from ending the program: decoders panic, and take the memory that it claims.

use crate::error::{DataError, Result};
use crate::source::Source;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Bytes that a compressed byte becomes, at most: a block of zstd has 4 bytes for 128 KB of one byte.
pub const RATIO: i64 = 1 << 15;

/// The result of a decoder; a panic of it is an error as well.
pub fn guarded<T>(
    source: &Source,
    format: &str,
    decode: impl FnOnce() -> std::result::Result<T, String>,
) -> Result<T> {
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    let decoded = decoded.unwrap_or_else(|_| Err("its decoder gave up".into()));
    decoded.map_err(|e| damaged(source, format, &e))
}

/// The error for a file that its decoder refuses.
pub fn damaged(source: &Source, format: &str, why: &str) -> DataError {
    let why: String = why.chars().take(200).collect();
    source.error(
        format!("a damaged or unsupported {format} file ({why})"),
        "a complete file with columns of numbers or texts",
        "Write it again, for example with pandas or polars.",
    )
}
