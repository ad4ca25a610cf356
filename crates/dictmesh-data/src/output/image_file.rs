//! A file for a chart.

use super::draft::{beside, landing, reason, write_file};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The file of a chart, which can be written when it is checked.
#[derive(Debug)]
pub struct ImageFile {
    path: PathBuf,
    format: ImageFormat,
}

/// The format by the file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// .png
    Png,
    /// .svg
    Svg,
}

impl ImageFile {
    /// Checks before the work that a picture can be written to `path`. Errors: a message for the user.
    pub fn check(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let format = match extension.to_ascii_lowercase().as_str() {
            "png" => ImageFormat::Png,
            "svg" => ImageFormat::Svg,
            _ => {
                return Err(format!(
                    "cannot write a picture to {shown}: its name must end in .png or .svg"
                ))
            }
        };
        let path = landing(path);
        if path.exists() && !path.is_file() {
            return Err(format!(
                "cannot write the picture to {shown}: it is there and is not a file"
            ));
        }
        if fs::metadata(&path).is_ok_and(|m| m.permissions().readonly()) {
            return Err(format!(
                "cannot write the picture to {shown}: the file is there and is write-protected"
            ));
        }
        let file = ImageFile { path, format };
        // Only a trial shows it.
        let beside = beside(&file.path);
        File::create_new(&beside)
            .and_then(|_| fs::remove_file(&beside))
            .map_err(|e| {
                format!(
                    "cannot write the picture to {shown}: {}",
                    reason(&file.path, &e)
                )
            })?;
        Ok(file)
    }

    /// The format by the file's name.
    pub fn format(&self) -> ImageFormat {
        self.format
    }

    /// Writes the file beside its place and renames it.
    pub fn write(&self, content: &[u8]) -> Result<(), String> {
        write_file("the picture", &self.path, content)
    }
}
