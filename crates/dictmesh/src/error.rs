//! The error type. Every message states the given value, the allowed values and a remedy.

use std::path::PathBuf;

/// An invalid input from a caller, a file or a peer.
///
/// A run that does not converge is a [`Stop`](crate::Stop) value, not an error, unless the caller
/// needs a converged result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter outside its allowed range.
    #[error("{name} = {given}: {allowed}")]
    Parameter {
        /// The parameter's name as the user wrote it.
        name: &'static str,
        /// The value that was given.
        given: String,
        /// What is allowed, and why.
        allowed: String,
    },
    /// Two sizes that must be equal but differ.
    #[error("{what}: got {given}, expected {expected}")]
    Dimension {
        /// Which size of which object.
        what: String,
        /// The size that was given.
        given: usize,
        /// The size it must have.
        expected: usize,
    },
    /// A NaN or an infinity in the data.
    #[error(
        "{what}: the entry at row {row} of column {column} is {value}; every entry must be a \
         finite number (a column is one sample or one atom, both counted from 0): clean or fill it \
         first"
    )]
    NotFinite {
        /// Which matrix.
        what: &'static str,
        /// Row of the entry, from 0.
        row: usize,
        /// Column (sample or atom) of the entry, from 0.
        column: usize,
        /// The entry.
        value: f64,
    },
    /// An empty input.
    #[error("{what} is empty: {need}")]
    Empty {
        /// What is empty.
        what: &'static str,
        /// What is needed instead.
        need: &'static str,
    },
    /// A disconnected graph.
    #[error(
        "the graph is disconnected: agent {unreachable} cannot be reached from agent 0 ({reached} \
         of {agents} agents can); every agent must be reachable: {remedy}"
    )]
    Disconnected {
        /// The number of agents.
        agents: usize,
        /// The number of agents reachable from agent 0, itself included.
        reached: usize,
        /// The smallest agent number that is not reachable.
        unreachable: usize,
        /// What to change.
        remedy: &'static str,
    },
    /// A combination matrix that violates one of its conditions.
    #[error("combination matrix, {line} {index}: {fault}")]
    Weights {
        /// "row" or "column".
        line: &'static str,
        /// Its number, from 0.
        index: usize,
        /// What is wrong with it and what is required.
        fault: String,
    },
    /// Two options that cannot be combined.
    #[error("{what} cannot be used with {with}: {why}")]
    Unsupported {
        /// The option that is rejected.
        what: String,
        /// The option it conflicts with.
        with: String,
        /// The reason, and an alternative.
        why: String,
    },
    /// A run that diverged and has no usable result.
    #[error(
        "strategy = {strategy}: its messages diverge on these samples; use smaller constants, or \
         omit them for the defaults"
    )]
    Diverged {
        /// The strategy's name.
        strategy: String,
    },
    /// The caller's observer asked to stop, and there is no partial result.
    #[error("interrupted before it finished")]
    Interrupted,
    /// An unregistered name.
    #[error("unknown {kind} \"{given}\": choose one of {known}")]
    UnknownName {
        /// The category of the name.
        kind: &'static str,
        /// The name that was given.
        given: String,
        /// The registered names.
        known: String,
    },
    /// An unusable model file.
    #[error("model file {}: {why}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        why: String,
    },
    /// An error of the operating system.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl From<dictmesh_kernels::ShapeError> for Error {
    fn from(error: dictmesh_kernels::ShapeError) -> Self {
        Error::Dimension {
            what: error.what,
            given: error.given,
            expected: error.expected,
        }
    }
}

impl Error {
    /// `Ok` if every entry of the matrix is finite; otherwise the error names the first that is
    /// not.
    pub fn check_finite(what: &'static str, matrix: &dictmesh_kernels::Matrix) -> Result<()> {
        match matrix.first_nonfinite() {
            None => Ok(()),
            Some((row, column, value)) => Err(Error::NotFinite {
                what,
                row,
                column,
                value,
            }),
        }
    }

    /// A parameter error for any value that implements `Display`.
    pub fn parameter(
        name: &'static str,
        given: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Error::Parameter {
            name,
            given: given.to_string(),
            allowed: allowed.into(),
        }
    }

    /// `Ok` if the two sizes agree.
    pub fn check_dimension(what: impl Into<String>, given: usize, expected: usize) -> Result<()> {
        if given == expected {
            return Ok(());
        }
        Err(Error::Dimension {
            what: what.into(),
            given,
            expected,
        })
    }

    /// `Ok` if this process can allocate `numbers` f64 values at once; `None` means the count
    /// overflows.
    ///
    /// An allocation that fails later would abort the process.
    pub fn check_room(
        name: &'static str,
        given: impl std::fmt::Display,
        numbers: Option<usize>,
    ) -> Result<()> {
        let mut room = Vec::<f64>::new();
        let fits = numbers.is_some_and(|n| room.try_reserve_exact(n).is_ok());
        // Stops the compiler from removing the unused allocation.
        std::hint::black_box(&room);
        if fits {
            return Ok(());
        }
        let need = numbers.map_or_else(
            || "more memory than can be addressed".to_string(),
            |n| format!("{:.0} GB of memory", n as f64 * 8e-9),
        );
        let allowed = format!("needs {need}, which cannot be allocated; take fewer");
        Err(Error::parameter(name, given, allowed))
    }

    /// `Ok` if the parameter is a finite number above zero.
    pub fn check_positive(name: &'static str, given: f64) -> Result<()> {
        if given.is_finite() && given > 0.0 {
            return Ok(());
        }
        Err(Error::parameter(
            name,
            given,
            "must be a finite number above 0",
        ))
    }

    /// `Ok` if the parameter is a finite number, zero or above.
    pub fn check_not_negative(name: &'static str, given: f64) -> Result<()> {
        if given.is_finite() && given >= 0.0 {
            return Ok(());
        }
        Err(Error::parameter(
            name,
            given,
            "must be a finite number, 0 or above",
        ))
    }
}

/// A result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
