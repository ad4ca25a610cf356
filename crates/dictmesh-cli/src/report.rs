//! `--report DIR`: a page with the plots of a run, and each plot as a file beside it.
//!
//! A plot is a plain struct (`RocPlot`, `Lines`, `Gallery`, `HeatMap`, ...) whose `draw` returns a
//! [`Canvas`]. A [`Report`] holds them in sections with text and tables, and `write`s
//!
//! ```text
//! DIR/index.html    the whole page, self-contained: no scripts, no fonts, no network
//! DIR/roc.svg       each figure by its name, for papers and slides
//! DIR/roc.png
//! ```

mod bars;
mod chart;
mod gallery;
mod heat;
mod histogram;
mod layout;
mod lines;
mod mesh;
mod page;
mod pictures;
mod roc;
mod scatter;
mod terms;
#[cfg(test)]
mod tests;

use crate::canvas::Canvas;
use dictmesh_data::output::Folder;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use self::{
    bars::{Bar, Bars},
    gallery::{pixels, Gallery, Shades},
    heat::{Block, HeatMap},
    histogram::Histogram,
    lines::{AxisSpec, Lines, Series},
    mesh::{badge, MeshPlot},
    pictures::Picture,
    roc::{RocCurve, RocPlot},
    scatter::Scatter,
    terms::TopTerms,
};

/// The report of a run. Texts may hold any characters; they are shown literally.
#[derive(Clone, Default)]
pub struct Report {
    pub title: String,
    pub subtitle: String,
    /// The few numbers that matter most: (label, value).
    pub facts: Vec<(String, String)>,
    pub sections: Vec<Section>,
    /// The command line that made it.
    pub command: String,
    /// What else reproduces it: (name, version or value).
    pub versions: Vec<(String, String)>,
}

/// A part of the page.
#[derive(Clone, Default)]
pub struct Section {
    pub heading: String,
    /// Paragraphs, with an empty line between them.
    pub text: String,
    /// Command lines to copy, under the text.
    pub commands: Vec<String>,
    pub figures: Vec<Figure>,
    pub tables: Vec<Table>,
}

/// A plot, or several that belong together and stand beside each other where there is room.
#[derive(Clone)]
pub struct Figure {
    /// The name of its files, without ending.
    pub name: String,
    /// What it shows.
    pub caption: String,
    pub panels: Vec<Canvas>,
}

impl Figure {
    /// One plot.
    pub fn new(name: &str, caption: &str, canvas: Canvas) -> Self {
        Self::panels(name, caption, vec![canvas])
    }

    /// Several plots with one caption.
    pub fn panels(name: &str, caption: &str, panels: Vec<Canvas>) -> Self {
        Figure {
            name: name.into(),
            caption: caption.into(),
            panels,
        }
    }

    /// All panels on one sheet, for its files.
    fn sheet(&self) -> Canvas {
        Canvas::flow(&self.panels, 1080.0, &self.caption)
    }
}

/// Rows of cells under a head.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub caption: String,
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// Pixels of a PNG per pixel of the sheet, across and down: sharp on paper too.
const PNG_SCALE: f32 = 2.0;
/// The largest PNG, in pixels: above it the scale is lower.
const MOST_PIXELS: f32 = 40e6;

impl Report {
    /// Writes `index.html` and the figures into a directory, which is created if it is missing. Returns the
    /// page's path. Guarantees: each file is complete or absent, and the page is written last.
    pub fn write(&self, dir: &Path) -> Result<PathBuf, String> {
        let folder = Folder::check(dir)?;
        let names = self.file_names();
        let mut files = Vec::new();
        let figures = self.sections.iter().flat_map(|s| &s.figures);
        for (figure, name) in figures.zip(&names) {
            let sheet = figure.sheet();
            let scale = (MOST_PIXELS / sheet.pixels()).sqrt().min(PNG_SCALE);
            let png = sheet
                .png(scale)
                .map_err(|e| format!("cannot draw the figure {name}: {e}"))?;
            files.push((format!("{name}.svg"), sheet.svg().into_bytes()));
            files.push((format!("{name}.png"), png));
        }
        let html = page::html(self, &names).map_err(|e| format!("cannot fill in the page: {e}"))?;
        files.push(("index.html".into(), html.into_bytes()));
        folder.write("the report", &files)?;
        Ok(dir.join("index.html"))
    }

    /// A file name for each figure, in order: small letters, digits and dashes, no two alike.
    fn file_names(&self) -> Vec<String> {
        let mut taken = BTreeSet::from(["index".to_string()]);
        let figures = self.sections.iter().flat_map(|s| &s.figures);
        figures
            .map(|figure| {
                let plain = plain_name(&figure.name);
                let numbered = (2..).map(|i| format!("{plain}-{i}"));
                let mut names = std::iter::once(plain.clone()).chain(numbered);
                let name = names.find(|n| !taken.contains(n)).unwrap_or(plain.clone());
                taken.insert(name.clone());
                name
            })
            .collect()
    }
}

fn plain_name(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().take(60) {
        match c.is_ascii_alphanumeric() {
            true => out.push(c.to_ascii_lowercase()),
            false if out.ends_with('-') || out.is_empty() => {}
            false => out.push('-'),
        }
    }
    match out.trim_end_matches('-') {
        "" => "figure".into(),
        name => name.into(),
    }
}
