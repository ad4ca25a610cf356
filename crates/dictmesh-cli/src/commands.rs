//! The commands, one file each, and what they share.

pub mod bicluster;
pub mod denoise;
pub mod infer;
pub mod inspect;
pub mod learn;
pub mod novelty;
mod prepare;
pub mod reproduce;
pub mod score;
pub mod tune;

pub use prepare::{Centre, Norm, Preparation};

use crate::data::{Format, Nan, ReadOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What goes wrong is told in one sentence.
pub type Result<T> = std::result::Result<T, String>;

/// The exit code after Ctrl-C: what shells report of a program that SIGINT ended.
pub const INTERRUPTED: u8 = 130;

/// Any error as its sentence.
pub fn say(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// How a file of numbers is read.
#[derive(Clone, Debug, clap::Args)]
pub struct ReadArgs {
    /// The file's format, if its name does not tell
    #[arg(long, value_name = "FORMAT", help_heading = "Reading")]
    pub format: Option<Format>,
    /// Columns are samples (by default rows are)
    #[arg(long, help_heading = "Reading")]
    pub transpose: bool,
    /// What missing entries get
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
    /// A column of a table to leave out; may be repeated
    #[arg(long, value_name = "COLUMN", help_heading = "Reading")]
    pub drop: Vec<String>,
    /// Whether the first line of a table is a header: yes or no [default: as it looks]
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
            drop_columns: self.drop.clone(),
            header: self.header,
            array: self.array.clone(),
        }
    }
}

/// How a command speaks.
#[derive(Clone, Debug, clap::Args)]
pub struct Speech {
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Print nothing but errors
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

impl Speech {
    /// Prints the result: JSON if asked for, else `text`.
    pub fn tell(&self, json: serde_json::Value, text: impl FnOnce() -> String) -> Result<()> {
        if self.json {
            print(&format!("{json}\n"))
        } else if self.quiet {
            Ok(())
        } else {
            print(&text())
        }
    }
}

/// Prints, and takes it as an answer if the reader has seen enough (`dictmesh ... | head`).
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot print: {e}")),
        _ => Ok(()),
    }
}

/// Whether a file can be made at this place, before hours of work for it.
pub fn check_place(path: &Path) -> Result<()> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    if !parent.is_dir() {
        return Err(format!(
            "{}: the directory {} does not exist; make it first",
            path.display(),
            parent.display()
        ));
    }
    if path.is_dir() {
        return Err(format!(
            "{}: this is a directory; name a file",
            path.display()
        ));
    }
    Ok(())
}

/// The command line as it was typed.
pub fn command_line() -> String {
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| shell_word(&word.to_string_lossy()));
    let words: Vec<String> = std::iter::once("dictmesh".to_string())
        .chain(words)
        .collect();
    words.join(" ")
}

/// A word as a shell takes it.
pub fn shell_word(word: &str) -> String {
    match !word.is_empty() && !word.contains([' ', '\'', '"', '$', '&', ';']) {
        true => word.into(),
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
