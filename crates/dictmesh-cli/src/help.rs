//! Help texts: defaults as the library has them, and a short help (`-h`) of one screen.

use crate::options;
use clap::{Arg, Command};

/// The flags that `-h` lists, for commands with more of them than a screen holds. `--help` lists all.
const FREQUENT: [(&str, &[&str]); 8] = [
    (
        "learn",
        &[
            "data",
            "output",
            "task",
            "gamma",
            "atoms",
            "agents",
            "topology",
            "strategy",
            "batch",
            "passes",
            "seed",
            "norm",
            "text_column",
            "resume",
            "over",
            "dry_run",
            "report",
            "json",
            "quiet",
            "config",
        ],
    ),
    (
        "infer",
        &[
            "model",
            "data",
            "output",
            "dictionary",
            "gamma",
            "delta",
            "method",
            "strategy",
            "reconstruct",
            "format",
            "header",
            "report",
            "json",
            "quiet",
            "config",
        ],
    ),
    (
        "score",
        &[
            "model",
            "data",
            "threshold",
            "quantile",
            "dictionary",
            "gamma",
            "delta",
            "method",
            "strategy",
            "format",
            "header",
            "report",
            "json",
            "quiet",
            "config",
        ],
    ),
    (
        "tune",
        &[
            "data",
            "model",
            "only",
            "task",
            "gamma",
            "gammas",
            "atoms",
            "atoms_grid",
            "agents",
            "topology",
            "rounds",
            "seed",
            "text_column",
            "report",
            "json",
            "quiet",
            "config",
        ],
    ),
    (
        "audit",
        &[
            "data",
            "model",
            "samples",
            "colluding",
            "strategy",
            "gamma",
            "atoms",
            "agents",
            "topology",
            "rounds",
            "seed",
            "text_column",
            "report",
            "json",
            "quiet",
            "config",
        ],
    ),
    (
        "init",
        &[
            "directory",
            "data",
            "watch",
            "stdin",
            "rows",
            "hosts",
            "port",
            "tls",
            "policy",
            "task",
            "gamma",
            "atoms",
            "agents",
            "topology",
            "informed",
            "strategy",
            "batch",
            "json",
            "quiet",
            "config",
        ],
    ),
    (
        "launch",
        &[
            "mesh",
            "collect",
            "overwrite",
            "masks",
            "json",
            "quiet",
            "config",
        ],
    ),
    (
        "novelty",
        &[
            "stream",
            "block",
            "text_column",
            "label_column",
            "labels",
            "counts",
            "agents_start",
            "atoms_per_block",
            "strategy",
            "threshold",
            "quantile",
            "top",
            "output",
            "model",
            "save_model",
            "report",
            "json",
            "quiet",
            "config",
        ],
    ),
];

/// The commands with flags of [`options`].
const WITH_OPTIONS: [&str; 8] = [
    "learn",
    "tune",
    "audit",
    "init",
    "infer",
    "score",
    "novelty",
    "documents",
];

/// A command and those below it, with defaults in their help and, if `short`, the flags used most alone.
pub fn complete(mut command: Command, short: bool) -> Command {
    let name = command.get_name().to_string();
    if WITH_OPTIONS.contains(&name.as_str()) {
        let defaults = options::defaults(&name);
        command = command.mut_args(|arg| {
            let default = defaults.iter().find(|(id, _)| arg.get_id() == id);
            match default.filter(|_| arg.get_default_values().is_empty()) {
                Some((_, default)) => with_default(arg, default),
                None => arg,
            }
        });
    }
    if short {
        command = match FREQUENT.iter().find(|(of, _)| *of == name) {
            Some((_, frequent)) => one_screen(command, frequent),
            None => command.mut_args(without_heading),
        };
    }
    command.mut_subcommands(|below| complete(below, short))
}

fn one_screen(command: Command, frequent: &[&str]) -> Command {
    let is_frequent = |arg: &Arg| frequent.contains(&arg.get_id().as_str());
    command
        .mut_args(|arg| match is_frequent(&arg) {
            true => first_clause(without_heading(arg)).hide_possible_values(true),
            false => arg.hide(true),
        })
        .after_help("These are the flags used most; --help lists all.")
}

fn without_heading(arg: Arg) -> Arg {
    arg.help_heading(None::<&'static str>)
}

fn with_default(arg: Arg, default: &str) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(format!("{help} [default: {default}]"))
}

/// The first clause of the help.
fn first_clause(arg: Arg) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let (text, default) = help.split_at(help.rfind(" [default").unwrap_or(help.len()));
    let ends = ["; ", ". ", ": ", " ("]
        .iter()
        .filter_map(|end| text.find(end));
    let end = ends.min().unwrap_or(text.len());
    // A default that fits on the line stays.
    let default = if default.len() < 32 { default } else { "" };
    arg.help(format!("{}{default}", &text[..end]))
}
