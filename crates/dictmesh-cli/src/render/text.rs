//! Results as text.

use comfy_table::{presets, CellAlignment, Table};

/// A table whose first row is its head: the first column to the left, the others to the right.
pub fn table(rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
        if column.index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines().map(|line| format!("  {}\n", line.trim_end()));
    lines.collect()
}
