//! Where codes go: an archive, or lines on standard output; and the reconstructions.

use super::super::{fail, print_open, Result};
use crate::render::{json, Reply};
use dictmesh::{Matrix, Mesh};
use dictmesh_apps::coding::Coded;
use dictmesh_data::{CodesFile, RowsFile};
use serde::Serialize;
use std::path::Path;

/// A line of `infer -o -`: the code of a sample.
#[derive(Serialize, schemars::JsonSchema)]
pub struct CodeLine {
    /// The name of the sample: a name in the data, a line of text, or a number from 0.
    sample: String,
    /// The atoms with a nonzero entry, ascending, from 0.
    atoms: Vec<usize>,
    /// Their entries.
    values: Vec<f64>,
    /// The cost of the sample.
    cost: f64,
    /// The certified relative gap of the cost; null if the strategy certifies none.
    gap: Option<f64>,
}

impl Reply for CodeLine {
    const COMMAND: &'static str = "infer-code";
}

/// Whether results go to standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Refuses a name that does not say what the file is.
pub fn check_extension(path: &Path, extension: &str) -> Result<()> {
    match path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case(extension))
    {
        true => Ok(()),
        false => fail(format!(
            "{}: it would be written as numpy's .{extension}; name it {}",
            path.display(),
            path.with_extension(extension).display()
        )),
    }
}

/// The codes and reconstructions of samples, batch by batch.
pub struct Sink {
    /// `None` if codes are printed.
    codes: Option<CodesFile>,
    rows: Option<(RowsFile, Matrix)>,
}

impl Sink {
    pub fn open(codes: &Path, reconstruct: Option<&Path>, mesh: &Mesh) -> Result<Self> {
        let codes = match is_stdout(codes) {
            true => None,
            false => Some(CodesFile::create(codes, mesh.atoms())?),
        };
        let rows = reconstruct.map(|path| RowsFile::create(path, mesh.rows()));
        let rows = rows.transpose()?.map(|file| (file, mesh.dictionary()));
        Ok(Sink { codes, rows })
    }

    /// Adds a batch; `names` are those of its samples and of the samples after it. Returns false if the
    /// reader of standard output has closed it.
    pub fn add(&mut self, names: &mut dyn Iterator<Item = String>, coded: &Coded) -> Result<bool> {
        if let Some((file, w)) = &mut self.rows {
            file.add(&w.times(&coded.codes))?;
        }
        match &mut self.codes {
            Some(file) => file.add(&coded.codes).map(|()| true).map_err(Into::into),
            None => print_open(&lines(names, coded)),
        }
    }

    /// Completes the files.
    pub fn finish(self) -> Result<()> {
        self.codes.map(CodesFile::finish).transpose()?;
        self.rows.map(|(file, _)| file.finish()).transpose()?;
        Ok(())
    }
}

fn lines(names: &mut dyn Iterator<Item = String>, coded: &Coded) -> String {
    let mut text = String::new();
    for (j, y) in coded.codes.columns().enumerate() {
        let used = y.iter().enumerate().filter(|(_, y)| **y != 0.0);
        let (atoms, values) = used.map(|(q, y)| (q, *y)).unzip();
        let line = CodeLine {
            sample: names.next().unwrap_or_default(),
            atoms,
            values,
            cost: coded.costs[j],
            gap: coded.gaps.get(j).copied(),
        };
        text += &json::line(&line);
        text.push('\n');
    }
    text
}
