//! The error of every reader.

/// A file that cannot be used. Every message has four parts: the place, what was found, what is
/// expected, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {found}; expected {expected}. {remedy}", self.location())]
pub struct DataError {
    /// The file as the user named it, or "standard input".
    pub file: String,
    /// The line, entry or column inside it.
    pub place: Option<String>,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
    /// The remedy, as a sentence.
    pub remedy: String,
}

impl DataError {
    /// An error about a file as a whole.
    pub fn new(
        file: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        DataError {
            file: file.into(),
            place: None,
            found: found.into(),
            expected: expected.into(),
            remedy: remedy.into(),
        }
    }

    /// The same error, inside this line, entry or column.
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// The operating system refused to read.
    pub fn io(file: impl Into<String>, e: &std::io::Error) -> Self {
        use std::io::ErrorKind::{IsADirectory, NotFound, PermissionDenied};
        let file = file.into();
        let (found, expected, remedy) = match e.kind() {
            NotFound => (
                "there is no such file".into(),
                "a file to read",
                "Check the name and the directory you are in.",
            ),
            PermissionDenied => (
                "reading is not permitted".into(),
                "a file you may read",
                "Change its permissions (chmod u+r) or run as its owner.",
            ),
            IsADirectory => (
                "it is a directory".into(),
                "a file to read",
                "Name one file in it.",
            ),
            _ => (
                format!("reading failed ({e})"),
                "a file that can be read to its end",
                "Check the disk, or copy the file again.",
            ),
        };
        DataError::new(file, found, expected, remedy)
    }

    fn location(&self) -> String {
        match &self.place {
            None => self.file.clone(),
            Some(place) => format!("{}, {place}", self.file),
        }
    }
}

/// A result with the readers' error.
pub type Result<T> = std::result::Result<T, DataError>;

/// Why raw data cannot become samples.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or used.
    #[error(transparent)]
    File(#[from] DataError),
    /// The library refuses a parameter or the numbers.
    #[error(transparent)]
    Library(#[from] dictmesh::Error),
    /// The library refuses what a file holds.
    #[error("{file}: {error}")]
    InFile {
        /// The file as the caller named it.
        file: String,
        /// The refusal.
        error: dictmesh::Error,
    },
    /// Data, options and model do not fit together.
    #[error("{0}")]
    Mismatch(String),
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Error::Mismatch(message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Error::Mismatch(message.into())
    }
}
