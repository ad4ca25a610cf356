//! Entries that a table of numbers cannot have, from the statistics of its columns.

use super::column_stats::{ColumnStats, Occurrences};
use super::infer_layout::Layout;
use super::short;
use crate::error::{DataError, Result};
use crate::missing::{infinite_error, missing_error, unfillable_error, SHOWN};
use crate::options::{Nan, ReadOptions};
use crate::source::Source;

/// Refuses text among numbers, infinities, and missing entries that `options` do not fill.
pub fn check_entries(
    source: &Source,
    layout: &Layout,
    options: &ReadOptions,
    columns: &[ColumnStats],
) -> Result<()> {
    let texts = layout.numbers.iter().filter_map(|&column| {
        let (line, text) = columns[column].first_text.as_ref()?;
        Some((*line, column, text))
    });
    if let Some((line, column, text)) = texts.min_by_key(|(line, _, _)| *line) {
        return Err(layout.text_among_numbers(source, line, column, text));
    }
    let infinite = described(layout, |column| Some(&columns[column].infinite));
    if let Some((count, places)) = infinite {
        return Err(infinite_error(source, count, &places));
    }
    let missing = described(layout, |column| match options.nan {
        Nan::Error => Some(&columns[column].missing),
        // The features of a transposed table are its rows, which are checked when they are read.
        Nan::Mean if !options.transpose && columns[column].numbers == 0 => {
            Some(&columns[column].missing)
        }
        Nan::Mean | Nan::Zero => None,
    });
    match missing {
        None => Ok(()),
        Some((count, places)) if options.nan == Nan::Error => {
            Err(missing_error(source, count, &places))
        }
        Some((count, places)) => Err(unfillable_error(source, count, &places)),
    }
}

/// How many entries there are, and where the first are in the order of the file.
fn described<'a>(
    layout: &Layout,
    of: impl Fn(usize) -> Option<&'a Occurrences>,
) -> Option<(usize, Vec<String>)> {
    let (mut count, mut places) = (0, Vec::new());
    for (order, &column) in layout.numbers.iter().enumerate() {
        let Some(found) = of(column) else { continue };
        count += found.count;
        places.extend(found.lines().iter().map(|&line| (line, order, column)));
    }
    places.sort_unstable();
    places.truncate(SHOWN);
    let place = |(line, _, column)| layout.place(line, column);
    (count > 0).then(|| (count, places.into_iter().map(place).collect()))
}

impl Layout {
    /// The error for text in a column of numbers.
    pub fn text_among_numbers(
        &self,
        source: &Source,
        line: u64,
        column: usize,
        field: &str,
    ) -> DataError {
        let more = match (self.header.is_none(), line) {
            (true, 1) => " If line 1 is a header, say so with <header: yes>.",
            _ if field == "-" => " If a dash is a missing entry, give <nan: mean> or <nan: zero>.",
            _ => "",
        };
        let error = source.error(
            format!("\"{}\"", short(field)),
            match self.extra {
                None => "a number, since most of this column are numbers (leave a missing one empty)",
                Some(_) => "a number, since the model learned from this column",
            },
            format!(
                "Correct the entry, leave the column out with <drop: {}>, or name it as <label_column>.{more}",
                column + 1
            ),
        );
        error.at(self.place(line, column))
    }
}
