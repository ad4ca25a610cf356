//! rows.csv and columns.csv.

use super::super::score::quoted;
use super::super::Result;
use super::Input;
use dictmesh_apps::biclustering::{Bicluster, RowClasses};
use dictmesh_data::output::Folder;
use dictmesh_report::numbers::exact;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Their names.
pub const NAMES: [&str; 2] = ["rows.csv", "columns.csv"];

/// Refuses a file that does not begin as one of these.
pub fn check_own(file: &Path) -> Result<()> {
    if !file.exists() {
        return Ok(());
    }
    let mut start = Vec::new();
    let read = File::open(file).and_then(|f| f.take(200).read_to_end(&mut start));
    let start = String::from_utf8_lossy(&start);
    let head = start.lines().next().unwrap_or_default();
    let is_own = |(first, last): (&str, &str)| head.starts_with(first) && head.contains(last);
    match read.is_ok() && [("row,name,", ",in_1"), ("column,name,", ",in_1")].map(is_own).contains(&true) {
        true => Ok(()),
        false => Err(format!(
            "{}: this file is not one of dictmesh bicluster; name another directory, or give --force to \
             replace it",
            file.display()
        )
        .into()),
    }
}

/// Writes both files.
pub fn write(
    folder: &Folder,
    input: &Input,
    layers: &[Bicluster],
    classes: Option<&RowClasses>,
) -> Result<()> {
    let files = [
        (NAMES[0].into(), of_rows(input, layers, classes).into()),
        (NAMES[1].into(), of_columns(input, layers).into()),
    ];
    Ok(folder.write("the biclusters", &files)?)
}

fn of_rows(input: &Input, layers: &[Bicluster], classes: Option<&RowClasses>) -> String {
    let mut out = String::from("row,name");
    if input.labels.is_some() {
        out += ",label,cluster";
    }
    out += &head("w", layers.len());
    let main: Vec<Vec<usize>> = layers.iter().map(Bicluster::main_rows).collect();
    for i in 0..input.x.rows() {
        out += &format!("{},{}", i + 1, name(&input.row_names, i));
        if let Some(labels) = &input.labels {
            let cluster = classes.map_or("", |c| &c.class[i]);
            out += &format!(",{},{}", quoted(&labels[i]), quoted(cluster));
        }
        let inside = layers.iter().zip(&main);
        out += &entries(inside.map(|(l, main)| (l.w[i], main.contains(&i))));
    }
    out
}

fn of_columns(input: &Input, layers: &[Bicluster]) -> String {
    let mut out = String::from("column,name");
    out += &head("y", layers.len());
    for j in 0..input.x.cols() {
        out += &format!("{},{}", j + 1, name(&input.column_names, j));
        out += &entries(layers.iter().map(|l| (l.y[j], l.y[j] != 0.0)));
    }
    out
}

fn head(symbol: &str, layers: usize) -> String {
    let one = |k| format!(",{symbol}_{k},in_{k}");
    (1..=layers).map(one).chain(["\n".to_string()]).collect()
}

/// Coefficients, and whether they make a member.
fn entries(values: impl Iterator<Item = (f64, bool)>) -> String {
    let one = |(v, inside): (f64, bool)| format!(",{},{}", exact(v), u8::from(inside));
    values.map(one).chain(["\n".to_string()]).collect()
}

fn name(names: &Option<Vec<String>>, at: usize) -> String {
    names.as_ref().map_or(String::new(), |n| quoted(&n[at]))
}
