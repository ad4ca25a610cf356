//! Errors in the words of the command line: the library names its parameters, a person types flags.

use crate::options::constant;
use crate::render::Reply;
use dictmesh::{Error, Stop};
pub use dictmesh_data::output::refusal;
use dictmesh_report::numbers::exact;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// The kind of an error, for programs. Codes keep their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The command line is wrong: an unknown command, flag or name, or one that is missing.
    Usage,
    /// A value of a flag is out of its range, or contradicts another.
    Parameter,
    /// A file's content is not what it has to be: data, a model, settings.
    Input,
    /// A file cannot be read or written.
    Io,
    /// No code meets the residual's constraint.
    Infeasible,
    /// Inference grew without bound.
    Diverged,
    /// Agents cannot reach each other, or do not agree.
    Network,
    /// A signal ended the command.
    Interrupted,
    /// Any other error.
    Error,
}

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Failure {
    /// The kind of the error.
    pub code: Code,
    /// What happened, what is allowed and what to do.
    pub message: String,
}

impl Reply for Failure {
    const COMMAND: &'static str = "error";
}

impl Failure {
    /// A failure of this kind.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Failure { code, message }
    }

    /// The same, with the message changed.
    pub fn map(self, change: impl FnOnce(String) -> String) -> Self {
        Failure::new(self.code, change(self.message))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        // A message that begins with a flag is about its value.
        let code = match message.starts_with("--") {
            true => Code::Parameter,
            false => Code::Error,
        };
        Failure::new(code, message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        message.to_string().into()
    }
}

impl From<Failure> for String {
    fn from(failure: Failure) -> Self {
        failure.message
    }
}

/// Any error as a failure.
pub fn say(error: impl Into<Failure>) -> Failure {
    error.into()
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Self {
        Failure::new(Code::Io, refusal(&e))
    }
}

/// Errors whose messages need no change.
macro_rules! as_they_are {
    ($($error:ty: $code:ident),*) => {
        $(impl From<$error> for Failure {
            fn from(e: $error) -> Self {
                Failure::new(Code::$code, e.to_string())
            }
        })*
    };
}

as_they_are!(
    serde_json::Error: Input,
    dictmesh_net::certificates::CertificateError: Io,
    dictmesh_net::config::ConfigError: Input,
    dictmesh_net::grpc::Error: Network,
    dictmesh_net::Error: Network,
    dictmesh_report::Error: Error
);

/// A parameter of a reader as a flag.
fn flag(name: &str, value: Option<&str>) -> String {
    let flag = name.replace('_', "-");
    match value {
        Some(value) => format!("--{flag} {value}"),
        None => format!("--{flag}"),
    }
}

/// A message of the data's crate, with parameters as flags.
pub fn with_flags(message: String) -> Failure {
    dictmesh_data::with_parameters(&message, &flag).into()
}

impl From<dictmesh_data::DataError> for Failure {
    fn from(e: dictmesh_data::DataError) -> Self {
        Failure::new(Code::Input, e.told(&flag))
    }
}

impl From<dictmesh_net::host::Error> for Failure {
    fn from(e: dictmesh_net::host::Error) -> Self {
        use dictmesh_net::host::Error as Host;
        match e {
            Host::Refused(message) => message.into(),
            Host::Library(e) => e.into(),
            Host::Data(e) => e.into(),
            Host::Table(e) => e.into(),
            Host::Config(e) => e.into(),
            Host::Certificate(e) => e.into(),
            Host::Links(e) => e.into(),
            Host::Agent(e) => e.into(),
        }
    }
}

impl From<dictmesh_data::Error> for Failure {
    fn from(e: dictmesh_data::Error) -> Self {
        use dictmesh_data::Error::{File, InFile, Library, Mismatch};
        match e {
            Library(e) => e.into(),
            File(e) => e.into(),
            Mismatch(message) => {
                Failure::new(Code::Input, dictmesh_data::with_parameters(&message, &flag))
            }
            InFile { file, error } => {
                Failure::from(error).map(|message| format!("{file}: {message}"))
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(e: Error) -> Self {
        match &e {
            Error::Parameter {
                name,
                given,
                allowed,
            } => Failure::new(
                Code::Parameter,
                match typed(name, &shortened(given)) {
                    Some(flag) => format!("{flag}: {allowed}"),
                    None => e.to_string(),
                },
            ),
            Error::Io { path, source } => {
                Failure::new(Code::Io, format!("{}: {}", path.display(), refusal(source)))
            }
            Error::Model { .. } => Failure::new(Code::Input, e.to_string()),
            _ => Failure::new(Code::Error, e.to_string()),
        }
    }
}

/// A number of more digits than it was typed with, shorter.
fn shortened(given: &str) -> String {
    match given.parse::<f64>() {
        Ok(v) if given.len() > 15 => exact(v),
        _ => given.into(),
    }
}

/// A parameter of the library as it is typed, if it is a flag.
fn typed(name: &str, given: &str) -> Option<String> {
    Some(match name {
        "gamma" | "delta" | "beta" | "eta" | "mu" | "rho" | "tolerance" | "rounds" | "batch"
        | "threads" | "informed" | "agents" | "atoms" | "patch" | "stride" | "layers"
        | "passes" | "restarts" => format!("--{name} {given}"),
        "random_start" => format!("--random-start {given}"),
        // The radius of the ball; the noise of a picture is checked before it gets there.
        "sigma" => format!("--radius {given}"),
        "lambda" => format!("--gamma {given}"),
        "lo, hi" => format!("--lo and --hi ({given})"),
        "mu_w" => format!("--update with the step {given}"),
        "forgetting" => format!("--update adaptive:{given}"),
        "p" => format!("--topology random:{given}"),
        "radius" => format!("--topology geometric:{given}"),
        "max" => format!("--vocabulary {given}"),
        "bits" => format!("--hash {given}"),
        _ => return None,
    })
}

/// What is said of samples that no code can meet.
pub const INFEASIBLE: &str =
    "infeasible: no code can meet the residual's constraint; give a larger --radius (of --residual \
     ball), --residual squared-l2 or more --atoms";

/// What agents say of a batch with such a sample, from the first sample to the last.
pub fn without_code(first: u64, last: u64) -> String {
    format!(
        "samples {first} to {last}: {INFEASIBLE}. No agent learned from this batch; their atoms are \
         those of the other samples"
    )
}

/// Squares of larger numbers, summed up, leave the range of numbers.
const LARGE: f64 = 1e150;

/// What to do where a run of this strategy diverged: only some have a constant that can be at fault.
pub fn against_divergence(strategy: &str) -> &'static str {
    match constant(strategy) {
        "mu" => "give a smaller --mu, or leave it out for a good one",
        "rho" => "give another --rho, or leave it out for a good one",
        _ => "scale all samples (learn has --norm l2), or give a larger --delta",
    }
}

/// Why the solution of samples by this strategy was given up; `largest` is their largest absolute entry.
pub fn given_up(stop: Stop, largest: f64, strategy: &str) -> Failure {
    match stop {
        Stop::Diverged if largest > LARGE => Failure::new(
            Code::Diverged,
            format!(
                "the data have entries as large as {largest:.0e}, whose squares overflow; scale the data (learn \
                 has --norm l2)"
            ),
        ),
        Stop::Diverged => Failure::new(
            Code::Diverged,
            format!(
                "diverged: dual vectors grew without bound; {}",
                against_divergence(strategy)
            ),
        ),
        Stop::Infeasible => Failure::new(Code::Infeasible, INFEASIBLE),
        stop => Failure::new(Code::Error, stop.to_string()),
    }
}
