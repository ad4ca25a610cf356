//! What missing entries (NaN) get.

use super::error::{DataError, Result};
use super::source::Source;
use crate::options::Nan;

/// How many places a message lists.
pub const SHOWN: usize = 3;

/// What to put in the place of a NaN.
pub enum Fill {
    /// Nothing: report it.
    Error,
    /// 0.
    Zero,
    /// The mean of the feature; NaN where the feature has no number at all.
    Mean(Vec<f64>),
    /// As `Mean`, for the few features of a wide sparse matrix that have a NaN.
    SparseMean(std::collections::HashMap<usize, f64>),
}

impl Fill {
    /// What the choice asks for; `means` are found if they are.
    pub fn of(nan: Nan, means: impl FnOnce() -> Result<Fill>) -> Result<Fill> {
        match nan {
            Nan::Error => Ok(Fill::Error),
            Nan::Zero => Ok(Fill::Zero),
            Nan::Mean => means(),
        }
    }

    fn value(&self, feature: usize) -> Option<f64> {
        let value = match self {
            Fill::Error => None,
            Fill::Zero => Some(0.0),
            Fill::Mean(means) => means.get(feature).copied(),
            Fill::SparseMean(means) => means.get(&feature).copied(),
        };
        value.filter(|v| v.is_finite())
    }
}

/// Fills every NaN among `(sample, feature, value)`. An infinity, or a NaN that gets no value, is
/// an error with their number and the first places.
pub fn settle<'a>(
    values: impl Iterator<Item = (usize, usize, &'a mut f64)>,
    fill: &Fill,
    source: &Source,
    place: &dyn Fn(usize, usize) -> String,
) -> Result<()> {
    let mut missing = Bad::default();
    let mut infinite = Bad::default();
    for (sample, feature, value) in values {
        if value.is_finite() {
            continue;
        }
        if value.is_infinite() {
            infinite.add(|| place(sample, feature));
        } else if let Some(v) = fill.value(feature) {
            *value = v;
        } else {
            missing.add(|| place(sample, feature));
        }
    }
    if infinite.count > 0 {
        return Err(infinite_error(source, infinite.count, &infinite.first));
    }
    match (missing.count, fill) {
        (0, _) => Ok(()),
        (count, Fill::Error | Fill::Zero) => Err(missing_error(source, count, &missing.first)),
        (count, _) => Err(unfillable_error(source, count, &missing.first)),
    }
}

/// The error for infinite entries; `places` are the first.
pub fn infinite_error(source: &Source, count: usize, places: &[String]) -> DataError {
    source.error(
        describe(count, "infinite", places),
        "finite numbers",
        "Replace or remove them (a logarithm of 0 gives one); <nan> fills only missing entries.",
    )
}

/// The error for missing entries that nothing fills.
pub fn missing_error(source: &Source, count: usize, places: &[String]) -> DataError {
    source.error(
        describe(count, "missing (NaN)", places),
        "a number in every entry",
        "Fill them with <nan: mean> (of the feature) or <nan: zero>.",
    )
}

/// The error for missing entries of features that have no mean.
pub fn unfillable_error(source: &Source, count: usize, places: &[String]) -> DataError {
    let found = describe(count, "missing (NaN)", places);
    source.error(
        format!("{found} in features without any number"),
        "at least one number in a feature whose mean fills the rest",
        "Leave these features out, or use <nan: zero>.",
    )
}

fn describe(count: usize, what: &str, places: &[String]) -> String {
    let noun = if count == 1 { "entry" } else { "entries" };
    let more = if count > places.len() { "; ..." } else { "" };
    format!("{count} {what} {noun}: {}{more}", places.join("; "))
}

#[derive(Default)]
struct Bad {
    count: usize,
    first: Vec<String>,
}

impl Bad {
    fn add(&mut self, place: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < SHOWN {
            self.first.push(place());
        }
    }
}
