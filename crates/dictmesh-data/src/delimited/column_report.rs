//! The message about which columns are labels and names, and which are left out.

use super::infer_layout::Layout;
use crate::encoding::foreign_words;

/// Columns that are not learned from.
pub struct ColumnReport<'a> {
    label: Option<usize>,
    names: Option<usize>,
    left_out: &'a [usize],
    /// The first line that is not UTF-8.
    foreign: Option<u64>,
}

/// Columns that the message names; the rest is counted.
const SHOWN: usize = 4;

impl<'a> ColumnReport<'a> {
    pub fn of(layout: &'a Layout) -> Self {
        ColumnReport {
            label: layout.label,
            names: layout.names,
            left_out: &layout.left_out,
            foreign: layout.foreign,
        }
    }

    /// The message about `file`, if there is one.
    pub fn note(&self, file: &str, layout: &Layout) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(column) = self.label {
            parts.push(format!("labels are {}", layout.describe(column)));
        }
        if let Some(column) = self.names {
            let why = match layout.found_index() {
                true => ", an index without a name of its own (give it one to learn from it)",
                false => "",
            };
            parts.push(format!("names are {}{why}", layout.describe(column)));
        }
        if !self.left_out.is_empty() {
            parts.push(format!("left out {}: text", listed(self.left_out, layout)));
        }
        if let Some(extra) = &layout.extra {
            if !extra.is_empty() {
                let columns = listed(extra, layout);
                parts.push(format!("left out {columns}: not learned by the model"));
            }
            if !layout.numbers.is_sorted() {
                parts.push("columns put into the model's order by their names".into());
            }
        }
        if layout.commas {
            parts.push("commas in numbers are decimal commas".into());
        }
        parts.extend(self.foreign.map(foreign_words));
        (!parts.is_empty()).then(|| format!("{file}: {}", parts.join("; ")))
    }
}

/// The first columns by name or number, and how many more there are.
fn listed(columns: &[usize], layout: &Layout) -> String {
    let shown = columns.iter().take(SHOWN);
    let mut words: Vec<String> = shown.map(|&c| layout.describe(c)).collect();
    if columns.len() > SHOWN {
        words.push(format!("{} more", columns.len() - SHOWN));
    }
    words.join(", ")
}
