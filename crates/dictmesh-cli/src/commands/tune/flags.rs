//! The flags that make `learn` solve the problem that was tuned.

use super::Args;
use crate::commands::typed_without;
use crate::numbers::exact;
use crate::options::Options;

/// What `tune` alone has, and what it chooses.
const NOT_LEARNS: [(&str, bool); 20] = [
    ("--model", true),
    ("--only", true),
    ("--gammas", true),
    ("--atoms-grid", true),
    ("--strategies", true),
    ("--goal", true),
    ("--samples", true),
    ("--report", true),
    ("--json", false),
    ("--quiet", false),
    ("--gamma", true),
    ("--atoms", true),
    ("--strategy", true),
    ("--mu", true),
    ("--rho", true),
    ("--bits", true),
    ("--latency", true),
    ("--bandwidth", true),
    ("--tolerance", true),
    ("--rounds", true),
];

/// Those typed that `learn` needs too, with gamma and atoms as they are in `options` now. A model brings
/// its own.
pub fn given(args: &Args, options: &Options) -> Vec<String> {
    if args.subject.model.is_some() {
        return Vec::new();
    }
    let mut flags = typed_without(&NOT_LEARNS);
    // The command and the data are not flags.
    for word in ["tune".into(), args.subject.data.to_string_lossy()] {
        if let Some(at) = flags.iter().position(|flag| *flag == word) {
            flags.remove(at);
        }
    }
    let mut add = |name: &str, value: Option<String>| {
        flags.extend(value.into_iter().flat_map(|value| [name.into(), value]));
    };
    add("--gamma", options.gamma.map(exact));
    add("--atoms", options.atoms.map(|atoms| atoms.to_string()));
    flags
}
