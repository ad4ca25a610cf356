//! `--config FILE`: a TOML file whose keys are the long names of flags.
//!
//! Its entries become arguments of the command line, unless the flag is typed, so that a flag has one
//! meaning, one range and one message in both places, and a new flag is a key at once.

use crate::commands::{say, Code, Failure};
use crate::options::names::unknown;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use dictmesh_data::Source;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The bytes of a settings file at most.
const LONGEST: usize = 1 << 20;

/// Arguments that were added to those that were typed.
pub struct Added {
    /// All arguments.
    pub words: Vec<OsString>,
    /// The flags that come from the file, each with its place there.
    pub from: Vec<(String, String)>,
}

impl Added {
    /// A message about the flag `--key`, as one about its place in the file if it comes from there.
    pub fn in_file(&self, flag: &str, why: &str) -> Option<Failure> {
        let (_, place) = self
            .from
            .iter()
            .find(|(key, _)| flag == format!("--{key}"))?;
        Some(Failure::new(Code::Input, format!("{place}: {why}")))
    }
}

/// `words` with those of the file that `--config` names.
pub fn expand(command: &Command, words: Vec<OsString>) -> Result<Added, Failure> {
    let nothing = |words| Added {
        words,
        from: Vec::new(),
    };
    // What is wrong with the words themselves is said when they are parsed.
    let lenient = command.clone().ignore_errors(true);
    let Ok(matches) = lenient.try_get_matches_from(&words) else {
        return Ok(nothing(words));
    };
    let (mut command, mut matches, mut names) = (command, &matches, Vec::new());
    while let Some((name, inner)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else {
            return Ok(nothing(words));
        };
        (command, matches) = (found, inner);
        names.push(name);
    }
    let Some(path) = matches
        .get_one::<PathBuf>("config")
        .filter(|_| !names.is_empty())
    else {
        return Ok(nothing(words));
    };
    let (text, table) = read(path)?;
    let mut added = Vec::new();
    let mut from = Vec::new();
    for (key, value) in entries(table, &names) {
        let Some(id) = id(command, &key) else {
            return Err(not_a_flag(path, &text, &key, command));
        };
        if !is_typed(matches, &id) {
            let place = format!("{}, {}", path.display(), place(&text, &key));
            let typed = arguments(&key, &value);
            let typed = typed.map_err(|why| Failure::new(Code::Input, format!("{place}: {why}")));
            added.extend(typed?);
            from.push((key, place));
        }
    }
    let mut words = words;
    let end = words.iter().position(|word| word == "--");
    let end = end.unwrap_or(words.len());
    words.splice(end..end, added);
    Ok(Added { words, from })
}

/// The file as text and as a table.
fn read(path: &Path) -> Result<(String, Table), Failure> {
    let shown = path.display();
    let input = |message: String| Failure::new(Code::Input, message);
    // A device, which may never end, is refused where data are.
    let bytes = Source::open_as_is(path).and_then(|source| source.head(LONGEST + 1));
    let bytes = bytes.map_err(say)?;
    let text = match String::from_utf8(bytes) {
        Ok(text) if text.len() <= LONGEST => text,
        _ => {
            return Err(input(format!(
                "{shown}: this is no settings file; expected text in UTF-8 of at most 1 MB, such as gamma = 0.1"
            )))
        }
    };
    match text.parse() {
        Ok(table) => Ok((text, table)),
        Err(e) => {
            let e: toml::de::Error = e;
            let at = e.span().map_or(0, |span| span.start.min(text.len()));
            let lines = text.as_bytes()[..at].iter().filter(|b| **b == b'\n');
            let number = lines.count();
            let line = text.lines().nth(number).unwrap_or_default().trim();
            Err(input(format!(
                "{shown}, line {}: {line}: {}. Write a key and its value on a line, as in gamma = 0.1 or \
                 task = \"nmf\"",
                number + 1,
                e.message()
            )))
        }
    }
}

/// The entries for a command: those of the top, and those under its name. Those of other commands are left out.
fn entries(table: Table, names: &[&str]) -> Vec<(String, Value)> {
    let mut flat = Table::new();
    let mut own = Table::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if names.first() == Some(&key.as_str()) => own = inner,
            Value::Table(_) => {}
            value => drop(flat.insert(key, value)),
        }
    }
    match names.get(1).map(|name| own.remove(*name)) {
        Some(Some(Value::Table(inner))) => own = inner,
        Some(_) => own.clear(),
        None => {}
    }
    flat.extend(own);
    flat.into_iter().collect()
}

/// The flag of this long name.
fn id(command: &Command, key: &str) -> Option<clap::Id> {
    let mut flags = command.get_arguments();
    let flag = flags.find(|arg| arg.get_long() == Some(key));
    flag.filter(|_| key != "config")
        .map(|arg| arg.get_id().clone())
}

fn is_typed(matches: &ArgMatches, id: &clap::Id) -> bool {
    matches.value_source(id.as_str()) == Some(ValueSource::CommandLine)
}

/// An entry as it is typed.
fn arguments(key: &str, value: &Value) -> Result<Vec<OsString>, String> {
    let text = match value {
        Value::Boolean(true) => return Ok(vec![format!("--{key}").into()]),
        Value::Boolean(false) => return Ok(Vec::new()),
        Value::Array(values) => {
            let each = values.iter().map(|value| arguments(key, value));
            return Ok(each.collect::<Result<Vec<_>, _>>()?.concat());
        }
        Value::Table(_) => return Err("expected a value, found a table".into()),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    Ok(vec![format!("--{key}={text}").into()])
}

/// The line of a key, as messages name it.
fn place(text: &str, key: &str) -> String {
    let is_of = |line: &str| line.split('=').next().map(str::trim) == Some(key);
    match text.lines().enumerate().find(|(_, line)| is_of(line)) {
        Some((number, line)) => format!("line {}: {}", number + 1, line.trim()),
        None => key.into(),
    }
}

fn not_a_flag(path: &Path, text: &str, key: &str, command: &Command) -> Failure {
    let flags: Vec<&str> = command
        .get_arguments()
        .filter_map(|arg| arg.get_long())
        .collect();
    let (shown, place) = (path.display(), place(text, key));
    Failure::new(
        Code::Input,
        format!("{shown}, {place}: {}", unknown("the key", key, &flags)),
    )
}
