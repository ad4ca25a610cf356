//! The flags with which `learn` solves the problem that was tuned.

use super::text::four_digits;
use super::Args;
use crate::commands::typed_without;
use crate::options::Options;
use dictmesh_apps::tuning::Comparison;
use dictmesh_report::numbers::exact;

/// Flags of `tune` alone, and those that it chooses; with whether they take a value.
const NOT_OF_LEARN: [(&str, bool); 21] = [
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
    ("-q", false),
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

/// The typed flags that `learn` needs too, with gamma and the atoms of `options`. None for a model,
/// which has its own.
pub fn given(args: &Args, options: &Options) -> Vec<String> {
    if args.subject.model.is_some() {
        return Vec::new();
    }
    let mut flags = typed_without(&NOT_OF_LEARN);
    // The command and the data are not flags.
    for word in ["tune".into(), args.subject.data.to_string_lossy()] {
        if let Some(at) = flags.iter().position(|flag| *flag == word) {
            flags.remove(at);
        }
    }
    let mut add = |name: &str, value: Option<String>| {
        flags.extend(value.into_iter().flat_map(|value| [name.into(), value]));
    };
    add("--gamma", options.problem.gamma.map(exact));
    add("--atoms", options.atoms.map(|atoms| atoms.to_string()));
    flags
}

/// The suggested strategy with its constants.
pub fn suggested(comparison: &Comparison) -> Vec<String> {
    let Some(suggested) = &comparison.suggested else {
        return Vec::new();
    };
    let mut flags = vec!["--strategy".into(), suggested.strategy.clone()];
    let constant = suggested.constant.as_ref();
    if let Some(constant) = constant {
        flags.extend([format!("--{}", constant.name), four_digits(constant.value)]);
    }
    if constant.is_none_or(|constant| constant.name != "bits") {
        let bits = suggested.bits.map(|bits| bits.to_string());
        flags.extend(bits.into_iter().flat_map(|bits| ["--bits".into(), bits]));
    }
    flags
}
