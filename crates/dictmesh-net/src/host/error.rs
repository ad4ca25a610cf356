//! What keeps an agent or a mesh from its start, or from its files.

use crate::certificates::CertificateError;
use crate::config::ConfigError;
use crate::grpc;
use std::io;
use std::path::Path;

/// Why an agent or a mesh cannot be set up on this machine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What is wrong, and what to do about it.
    #[error("{0}")]
    Refused(String),
    /// The library refuses a parameter, a model or the numbers.
    #[error(transparent)]
    Library(#[from] dictmesh::Error),
    /// The samples cannot be read or prepared.
    #[error(transparent)]
    Data(#[from] dictmesh_data::Error),
    /// A file of samples cannot be read.
    #[error(transparent)]
    Table(#[from] dictmesh_data::DataError),
    /// A settings file does not serve.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Certificates cannot be made or written.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The agent cannot begin.
    #[error(transparent)]
    Agent(#[from] crate::Error),
    /// Links cannot be made.
    #[error(transparent)]
    Links(#[from] grpc::Error),
}

/// The result of setting something up.
pub type Result<T> = std::result::Result<T, Error>;

impl From<String> for Error {
    fn from(message: String) -> Self {
        Error::Refused(message)
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Error::Refused(message.into())
    }
}

/// A source of samples gives its reasons as text.
impl From<Error> for String {
    fn from(e: Error) -> Self {
        e.to_string()
    }
}

/// What the system refused at this path.
pub(super) fn failed(path: &Path, e: &io::Error) -> Error {
    Error::Refused(format!(
        "{}: {}",
        path.display(),
        dictmesh_data::output::refusal(e)
    ))
}

/// Does this in a thread of its own, for as long as it takes.
pub(super) fn beside(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = std::thread::Builder::new().name(name.into()).spawn(work);
    thread.map(drop).map_err(|e| {
        let why = format!("the system gives this agent no thread beside its own ({e})");
        format!("{why}; allow it more (ulimit -u), or run fewer programs beside it").into()
    })
}
