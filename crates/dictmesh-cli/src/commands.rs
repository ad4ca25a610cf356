//! The commands, one file each, and what they share.

pub mod agent;
pub mod audit;
pub mod bicluster;
mod calibration;
mod common_args;
pub mod demo;
pub mod denoise;
mod errors;
pub mod examples;
pub mod infer;
pub mod inspect;
pub mod join;
pub mod launch;
pub mod learn;
pub mod man;
pub mod mesh;
mod model_args;
pub mod novelty;
mod pages;
mod prepare;
pub mod reproduce;
pub mod schema;
pub mod score;
pub mod tune;

use crate::render::{json, Reply};
use dictmesh_data::output::{self, landing, undisturbed};
pub use dictmesh_data::output::{check_apart, page_place};
use dictmesh_data::{Format, Nan, ReadOptions};
pub use errors::{
    against_divergence, given_up, refusal, say, with_flags, without_code, Code, Failure, INFEASIBLE,
};
use std::io::{self, Write};
use std::path::Path;

/// The result of a command, or why it failed.
pub type Result<T> = std::result::Result<T, Failure>;

/// How a file of numbers is read.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ReadArgs {
    /// The format of the file, if its name does not determine it
    #[arg(long, value_name = "FORMAT", help_heading = "Reading")]
    pub format: Option<Format>,
    /// Columns are samples (by default rows are)
    #[arg(long, help_heading = "Reading")]
    pub transpose: bool,
    /// The value of missing entries
    #[arg(
        long,
        value_name = "WHAT",
        default_value = "error",
        help_heading = "Reading"
    )]
    pub nan: Nan,
    /// The column of labels in a table, by name or number from 1
    #[arg(long, value_name = "COLUMN", help_heading = "Reading")]
    pub label_column: Option<String>,
    /// The column of a table that names the samples, by name or number from 1
    #[arg(long, value_name = "COLUMN", help_heading = "Reading")]
    pub name_column: Option<String>,
    /// A column of a table to leave out; may be repeated
    #[arg(long, value_name = "COLUMN", help_heading = "Reading")]
    pub drop: Vec<String>,
    /// Whether the first line of a table is a header: yes or no [default: detected]
    #[arg(long, value_name = "YES", value_parser = yes_or_no, help_heading = "Reading")]
    pub header: Option<bool>,
    /// The array to take from an .npz that has several
    #[arg(long, value_name = "NAME", help_heading = "Reading")]
    pub array: Option<String>,
}

impl ReadArgs {
    pub fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.format,
            transpose: self.transpose,
            nan: self.nan,
            label_column: self.label_column.clone(),
            name_column: self.name_column.clone(),
            drop_columns: self.drop.clone(),
            header: self.header,
            array: self.array.clone(),
            features: None,
            width: 0,
            if_there: false,
        }
    }
}

/// Refuses a place that no file can be made at.
pub fn check_place(path: &Path) -> Result<()> {
    Ok(output::check_place(path)?)
}

/// Refuses a place for a model that is another file, unless `force` is set.
pub fn check_model_place(path: &Path, force: bool) -> Result<()> {
    check_place(path)?;
    match force {
        true => Ok(()),
        false => output::check_model_place(path).map_err(with_flags),
    }
}

/// The failure with this message.
pub fn fail<T>(message: String) -> Result<T> {
    Err(message.into())
}

/// Says on standard error what a person should know about a file that was read.
pub fn note(note: Option<&str>, quiet: bool) {
    if let (Some(note), false) = (note, quiet) {
        eprintln!("dictmesh: {note}");
    }
}

/// How a command speaks.
#[derive(Clone, Debug, clap::Args)]
pub struct Speech {
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[arg(from_global)]
    pub quiet: bool,
}

impl Speech {
    /// Prints a reply: JSON if asked for, else `text` unless quiet.
    pub fn reply<R: Reply>(&self, reply: &R, text: impl FnOnce() -> String) -> Result<()> {
        match (self.json, self.quiet) {
            (true, _) => print(&(json::line(reply) + "\n")),
            (false, true) => Ok(()),
            (false, false) => print(&text()),
        }
    }
}

/// Prints, and takes it as an answer if the reader has seen enough (`dictmesh ... | head`).
pub fn print(text: &str) -> Result<()> {
    print_open(text).map(|_| ())
}

/// Prints; returns false if the reader has closed the pipe.
pub fn print_open(text: &str) -> Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(format!("cannot print: {}", refusal(&e)).into()),
    }
}

/// Costs that are numbers; `first` is the number of the first sample.
pub fn check_finite(costs: &[f64], first: usize) -> Result<()> {
    match costs.iter().position(|cost| !cost.is_finite()) {
        None => Ok(()),
        Some(j) => Err(not_finite(first + j, costs[j])),
    }
}

/// A cost that is no number.
pub fn not_finite(sample: usize, cost: f64) -> Failure {
    format!(
        "sample {sample}: its cost is {cost}, as its entries, or the model's, are too large; scale the data (learn has \
         --norm l2)"
    )
    .into()
}

/// Saves a model, through a link to where it points, whatever Ctrl-C says meanwhile.
pub fn save_model(model: &dictmesh::Model, path: &Path) -> Result<()> {
    undisturbed(|_| model.save(landing(path))).map_err(say)
}

/// The model in a file.
pub fn load_model(path: &Path) -> Result<dictmesh::Model> {
    if !path.exists() {
        return Err(Failure::new(
            Code::Io,
            format!(
                "{}: there is no such file; expected a model, as dictmesh learn writes it. Check the name and \
                 the directory you are in.",
                path.display()
            ),
        ));
    }
    dictmesh::Model::load(path).map_err(|e| match e {
        dictmesh::Error::Model { why, .. } => Failure::new(
            Code::Input,
            format!(
                "{}: {why}. Expected a model as dictmesh learn writes it (score and infer take the model first, \
                 then the data).",
                path.display()
            ),
        ),
        e => say(e),
    })
}

/// How a command ended that can be broken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It did what it was asked to.
    Complete,
    /// Ctrl-C, after what was done had been saved.
    Interrupted,
    /// It could not be done, and why has been said.
    Failed,
}

/// The command line as it was typed, ready to be pasted into a shell.
pub fn command_line() -> String {
    command_line_with(&[], &[])
}

/// The same without the options `left_out` (with whether they have a value), and with `more` at its end.
pub fn command_line_with(left_out: &[(&str, bool)], more: &[&str]) -> String {
    let typed = typed_without(left_out);
    let words = typed.iter().map(String::as_str).chain(more.iter().copied());
    let words: Vec<String> = std::iter::once("dictmesh")
        .chain(words)
        .map(shell_word)
        .collect();
    words.join(" ")
}

/// What was typed behind the program's name, without the options `left_out`.
pub fn typed_without(left_out: &[(&str, bool)]) -> Vec<String> {
    let given = std::env::args_os().skip(1);
    let given = given.map(|word| word.to_string_lossy().into_owned());
    let mut words = Vec::new();
    let mut skip = false;
    for word in given {
        if std::mem::take(&mut skip) {
            continue;
        }
        let name = word.split('=').next().unwrap_or_default();
        match left_out.iter().find(|option| option.0 == name) {
            Some((_, value)) => skip = *value && name == word,
            None => words.push(word),
        }
    }
    words
}

/// A word as a shell takes it.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn yes_or_no(text: &str) -> std::result::Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("say yes or no".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn words_survive_a_shell() {
        for word in [
            "plain",
            "",
            "two words",
            "it's",
            "$HOME",
            "*",
            "a;b",
            "~",
            "`x`",
            "a\nb",
        ] {
            let script = format!("printf %s {}", shell_word(word));
            let out = std::process::Command::new("sh")
                .args(["-c", &script])
                .output();
            assert_eq!(String::from_utf8(out.unwrap().stdout).unwrap(), word);
        }
    }
}
