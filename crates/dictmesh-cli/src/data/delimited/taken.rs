//! What a table's columns were taken for, told to the person who has the table.

use super::survey::Layout;
use crate::data::encoding::foreign_words;

/// Columns that are no numbers to learn from.
pub struct Taken {
    pub label: Option<usize>,
    pub names: Option<usize>,
    pub left_out: Vec<usize>,
    /// The first line that is not UTF-8.
    pub foreign: Option<u64>,
}

/// Columns that are named one by one; of more, the rest is counted.
const SHOWN: usize = 4;

impl Taken {
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
            let shown = self.left_out.iter().take(SHOWN);
            let mut columns: Vec<String> = shown.map(|&c| layout.describe(c)).collect();
            if self.left_out.len() > SHOWN {
                columns.push(format!("{} more", self.left_out.len() - SHOWN));
            }
            parts.push(format!("left out {}: text", columns.join(", ")));
        }
        parts.extend(self.foreign.map(foreign_words));
        (!parts.is_empty()).then(|| format!("{file}: {}", parts.join("; ")))
    }
}
