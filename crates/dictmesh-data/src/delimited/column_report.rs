//! What a table's columns were taken for, told to the person who has the table.

use super::infer_layout::Layout;
use crate::encoding::foreign_words;

/// Columns that are no numbers to learn from.
pub struct ColumnReport {
    pub label: Option<usize>,
    pub names: Option<usize>,
    pub left_out: Vec<usize>,
    /// The first line that is not UTF-8.
    pub foreign: Option<u64>,
}

/// Columns that are named one by one; of more, the rest is counted.
const SHOWN: usize = 4;

impl ColumnReport {
    /// A line about `file`, if there is anything to say.
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
            parts.push(format!("left out {}: text", listed(&self.left_out, layout)));
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

/// Columns as a person finds them; of many, the first.
fn listed(columns: &[usize], layout: &Layout) -> String {
    let shown = columns.iter().take(SHOWN);
    let mut words: Vec<String> = shown.map(|&c| layout.describe(c)).collect();
    if columns.len() > SHOWN {
        words.push(format!("{} more", columns.len() - SHOWN));
    }
    words.join(", ")
}
