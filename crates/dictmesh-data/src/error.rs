//! The error of every reader. It names parameters; each front end writes them its own way.

/// The parameters that messages name.
const PARAMETERS: [&str; 15] = [
    "array",
    "counts",
    "dictionary",
    "drop",
    "first",
    "force",
    "format",
    "header",
    "keep_stop_words",
    "label_column",
    "name_column",
    "nan",
    "text_column",
    "tfidf",
    "transpose",
];

/// How a front end writes a parameter, or a parameter with a value.
pub type Writes<'a> = &'a dyn Fn(&str, Option<&str>) -> String;

/// A message in which `<nan>` and `<nan: mean>` are replaced by what `write` makes of them.
pub fn with_parameters(message: &str, write: Writes<'_>) -> String {
    let (mut written, mut rest) = (String::new(), message);
    while let Some(at) = rest.find('<') {
        let (before, behind) = rest.split_at(at);
        written.push_str(before);
        let inner = behind.find('>').map(|end| &behind[1..end]);
        let (name, value) = match inner.map(|inner| inner.split_once(": ")) {
            Some(Some((name, value))) => (name, Some(value)),
            _ => (inner.unwrap_or_default(), None),
        };
        let length = match PARAMETERS.contains(&name) {
            true => {
                written.push_str(&write(name, value));
                inner.map_or(1, |inner| inner.len() + 2)
            }
            false => {
                written.push('<');
                1
            }
        };
        rest = &behind[length..];
    }
    written + rest
}

/// A parameter by its name.
fn plain(name: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("{name} = {value}"),
        None => name.into(),
    }
}

/// A file that cannot be used. Every message has four parts: the place, what was found, what is
/// expected, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.told(&plain))]
pub struct DataError {
    /// The file as the user named it, or "standard input".
    pub file: String,
    /// The line, entry or column inside it.
    pub place: Option<String>,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
    /// The remedy, as a sentence. Parameters stand in it as `<nan>` or `<nan: mean>`.
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

    /// The message with parameters as `write` writes them.
    pub fn told(&self, write: Writes<'_>) -> String {
        let (found, expected) = (&self.found, &self.expected);
        let remedy = with_parameters(&self.remedy, write);
        format!(
            "{}: {found}; expected {expected}. {remedy}",
            self.location()
        )
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
    /// Data, options and model do not fit together. Parameters stand in it as in [`DataError`].
    #[error("{}", with_parameters(.0, &plain))]
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
