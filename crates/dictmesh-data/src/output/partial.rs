//! The partial files of this process, so that a signal can end it without leaving one.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

static PARTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Does work that [`abandon`] must not cut short, such as the move of a file to its place. The
/// argument is the list of partial files.
pub fn undisturbed<T>(work: impl FnOnce(&mut Vec<PathBuf>) -> T) -> T {
    work(&mut parts())
}

/// Removes all partial files. While the result lives, no file is started or moved to its place: a
/// process that ends keeps it.
pub fn abandon() -> impl Drop {
    let parts = parts();
    for part in parts.iter() {
        let _ = fs::remove_file(part);
    }
    parts
}

fn parts() -> MutexGuard<'static, Vec<PathBuf>> {
    PARTS
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
