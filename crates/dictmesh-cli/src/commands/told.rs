//! What went wrong, in the words of the command line: the library names its parameters, a person typed flags.

use crate::numbers::exact;
use crate::options::constant;
use dictmesh::{Error, Samples, Stop};
use dictmesh_data::DataError;
use std::io::ErrorKind;

/// Something that can be told in one sentence.
pub trait Told {
    /// The sentence.
    fn told(&self) -> String;
}

/// Any error as its sentence.
pub fn say(error: impl Told) -> String {
    error.told()
}

impl Told for std::io::Error {
    fn told(&self) -> String {
        refusal(self)
    }
}

/// Errors that have the right words already.
macro_rules! told_as_they_are {
    ($($error:ty),*) => {
        $(impl Told for $error {
            fn told(&self) -> String {
                self.to_string()
            }
        })*
    };
}

told_as_they_are!(
    DataError,
    serde_json::Error,
    dictmesh_net::certificates::CertificateError,
    dictmesh_net::config::ConfigError,
    dictmesh_net::grpc::Error,
    dictmesh_net::Error
);

impl Told for dictmesh_data::Error {
    fn told(&self) -> String {
        use dictmesh_data::Error::{InFile, Library};
        match self {
            Library(e) => e.told(),
            InFile { file, error } => format!("{file}: {}", error.told()),
            _ => self.to_string(),
        }
    }
}

impl Told for Error {
    fn told(&self) -> String {
        match self {
            Error::Parameter {
                name,
                given,
                allowed,
            } => match typed(name, &shortened(given)) {
                Some(flag) => format!("{flag}: {allowed}"),
                None => self.to_string(),
            },
            Error::Io { path, source } => format!("{}: {}", path.display(), refusal(source)),
            _ => self.to_string(),
        }
    }
}

/// What the system refused, and what to do.
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

/// Why an address cannot be listened to, and what to do; `setting` is where it was given.
pub fn port_refusal(e: &std::io::Error, setting: &str) -> String {
    let why = match e.kind() {
        ErrorKind::AddrInUse => "another program listens there already".to_string(),
        ErrorKind::AddrNotAvailable => "this host has no such address".into(),
        ErrorKind::PermissionDenied => {
            "this user may not listen there (ports below 1024 are for root)".into()
        }
        _ => e.to_string(),
    };
    format!("{why}; choose another with {setting}, or end what has it (ss -ltnp names it)")
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

/// Why the solution of samples `x` by this strategy was given up.
pub fn given_up(stop: Stop, x: &Samples, strategy: &str) -> String {
    let entries = (0..x.len()).flat_map(|j| x.entries(j));
    let largest = entries.fold(0.0, |most: f64, (_, v)| most.max(v.abs()));
    match stop {
        Stop::Diverged if largest > LARGE => format!(
            "the data have entries as large as {largest:.0e}, whose squares are beyond all numbers; scale the \
             data (learn has --norm l2)"
        ),
        Stop::Diverged => format!(
            "diverged: dual vectors grew without bound; {}",
            against_divergence(strategy)
        ),
        Stop::Infeasible => INFEASIBLE.into(),
        stop => stop.to_string(),
    }
}
