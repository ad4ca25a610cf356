//! The table of docs/reference/program-and-python.md: both columns of each row name a test that exists.
#![allow(clippy::unwrap_used)] // The helpers stand outside the test functions.

use std::fs;
use std::path::Path;

/// Whether the test `file::name` is there.
fn exists(test: &str) -> bool {
    let Some((file, name)) = test.split_once("::") else {
        return false;
    };
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (directory, head) = match file.ends_with(".py") {
        true => ("dictmesh-py/tests", format!("def {name}(")),
        false => ("dictmesh-cli/tests", format!("fn {name}()")),
    };
    let text = fs::read_to_string(crates.join(directory).join(file)).unwrap_or_default();
    text.lines().any(|line| line.starts_with(&head))
}

/// The tests that a cell names.
fn tests(cell: &str) -> Vec<&str> {
    let code = cell.split('`').skip(1).step_by(2);
    code.filter(|word| word.contains("::")).collect()
}

#[test]
fn both_columns_of_each_row_name_a_test_that_exists() {
    let page =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/program-and-python.md");
    let page = fs::read_to_string(page).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        assert_eq!(cells.len(), 3, "{row}");
        for (cell, is_python) in [(cells[1], false), (cells[2], true)] {
            let tests = tests(cell);
            assert!(!tests.is_empty(), "no test in \"{cell}\" of {row}");
            for test in tests {
                assert_eq!(test.contains(".py::"), is_python, "{test}");
                assert!(exists(test), "{test} does not exist: {row}");
            }
        }
        count += 1;
    }
    assert!(count >= 25, "{count} rows");
    assert!(!exists("learn.rs::no_such_test") && !exists("none.rs::x"));
}
