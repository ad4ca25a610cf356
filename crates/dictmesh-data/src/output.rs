//! Files that are written complete or not at all, and the places they go to.

mod draft;
mod folder;
mod image_file;
mod partial;
mod place;
#[cfg(test)]
mod tests;

pub use draft::{landing, write_file, Draft};
pub use folder::Folder;
pub use image_file::{ImageFile, ImageFormat};
pub use partial::{abandon, undisturbed};
pub use place::{check_apart, check_model_place, check_place, check_replaceable, page_place};

use std::io::ErrorKind;

/// What the system refused, and the remedy.
pub fn refusal(e: &std::io::Error) -> String {
    match e.kind() {
        ErrorKind::NotFound => {
            "there is no such file; check the name and the directory you are in".into()
        }
        ErrorKind::PermissionDenied => {
            "this is not permitted; change the permissions of the file or its directory (chmod), or choose \
             another place"
                .into()
        }
        ErrorKind::IsADirectory => "this is a directory; name a file".into(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "the disk is full; free some space or choose another place".into()
        }
        ErrorKind::FileTooLarge => {
            "the file would be larger than is allowed; raise the limit (ulimit -f) or choose another place".into()
        }
        _ => format!("{e}; check the path, its permissions and the free space"),
    }
}
