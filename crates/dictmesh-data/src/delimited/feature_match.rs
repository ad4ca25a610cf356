//! Finds the features of a model by name in another table.

use crate::error::Result;
use crate::source::Source;
use std::collections::{HashMap, HashSet};

/// Names that a message lists.
const SHOWN: usize = 8;

/// Whether all names differ.
pub fn tell_apart(names: &[String]) -> bool {
    let mut seen = HashSet::with_capacity(names.len());
    names.iter().all(|name| seen.insert(name))
}

/// Whether a first line is a header because it has all features of a model. Numbers alone may be
/// data.
pub fn heads(first: &[String], features: &[String]) -> bool {
    let first: HashSet<&String> = first.iter().collect();
    features.iter().any(|name| name.parse::<f64>().is_err())
        && features.iter().all(|name| first.contains(name))
}

/// The indices of a model's `features` among `given`, the names of "columns" or "rows".
pub fn places(
    source: &Source,
    features: &[String],
    given: &[(usize, &String)],
    what: &str,
) -> Result<Vec<usize>> {
    let mut places: HashMap<&String, Vec<usize>> = HashMap::new();
    for (at, name) in given {
        places.entry(name).or_default().push(*at);
    }
    let expected = format!(
        "the {} {what} the model learned from, by name and in any order",
        features.len()
    );
    let missing = features.iter().filter(|f| !places.contains_key(f));
    let missing = listed(missing);
    if !missing.is_empty() {
        let there = listed(given.iter().map(|g| g.1));
        return Err(source.error(
            format!("no {what} {missing} (there are {there})"),
            expected,
            "Correct the names, or check whether this is the right model and the right table.",
        ));
    }
    let twice = listed(features.iter().filter(|f| places[f].len() > 1));
    if !twice.is_empty() {
        return Err(source.error(
            format!("several {what} called {twice}"),
            expected,
            "Give each a name of its own, or leave one out with <drop> and its number.",
        ));
    }
    Ok(features.iter().map(|f| places[f][0]).collect())
}

/// Rows of a transposed table, in the order of a model's features.
#[derive(Clone)]
pub struct RowMatch {
    pub rows: Vec<usize>,
    /// A message about it.
    pub report: String,
}

/// The rows that a model learned from, where the names `given` to the rows differ from its own.
pub fn match_rows(
    given: Option<&[String]>,
    source: &Source,
    features: Option<&[String]>,
) -> Result<Option<RowMatch>> {
    let (Some(given), Some(features)) = (given, features) else {
        return Ok(None);
    };
    if !tell_apart(features) || given == features {
        return Ok(None);
    }
    let named: Vec<(usize, &String)> = given.iter().enumerate().collect();
    let rows = places(source, features, &named, "rows")?;
    let report = format!(
        "{} of {} rows taken by their names, in the model's order",
        rows.len(),
        given.len()
    );
    Ok(Some(RowMatch { rows, report }))
}

fn listed<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<String> = names.map(|name| format!("{name:?}")).collect();
    let more = match names.len() > SHOWN {
        true => format!(" and {} more", names.len() - SHOWN),
        false => String::new(),
    };
    names[..names.len().min(SHOWN)].join(", ") + &more
}
