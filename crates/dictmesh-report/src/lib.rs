//! Pages of plots: data in, files out. Knows no command line and no terminal.
//!
//! A plot is a plain struct ([`RocPlot`], [`Lines`], [`Gallery`], [`HeatMap`], ...) whose `draw` returns a
//! [`Canvas`], which is SVG and, by `resvg`, PNG. A [`Report`] holds plots in sections with text and
//! tables. [`Report::write`] writes
//!
//! ```text
//! DIR/index.html    the whole page, self-contained: no scripts, no fonts, no network
//! DIR/roc.svg       each figure by its name, for papers and slides
//! DIR/roc.png
//! ```
//!
//! ```
//! use dictmesh_report::{AxisSpec, Lines, Series};
//!
//! let plot = Lines {
//!     title: "Cost against samples".into(),
//!     x: AxisSpec::linear("samples"),
//!     y: AxisSpec::linear("cost"),
//!     series: vec![Series::new("learning", vec![(0.0, 1.1), (100.0, 0.4)])],
//!     levels: Vec::new(),
//! };
//! assert!(plot.draw().svg().starts_with("<svg"));
//! ```

mod bars;
pub mod canvas;
mod chart;
mod gallery;
mod heat;
mod histogram;
mod layout;
mod lines;
mod mesh;
pub mod numbers;
mod page;
mod pictures;
mod poster;
mod roc;
mod scatter;
mod terms;
#[cfg(test)]
mod tests;

use crate::canvas::Canvas;
use dictmesh_data::output::Folder;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub use image::DynamicImage;

pub use self::{
    bars::{Bar, Bars},
    gallery::{pixels, Gallery, Shades},
    heat::{Block, HeatMap},
    histogram::Histogram,
    lines::{AxisSpec, Lines, Series},
    mesh::{badge, MeshPlot},
    pictures::Picture,
    poster::{Poster, PosterAtom, PosterStrategy},
    roc::{RocCurve, RocPlot},
    scatter::Scatter,
    terms::TopTerms,
};

/// The report of a run. Texts may hold any characters; they are shown literally.
#[derive(Clone, Default)]
pub struct Report {
    /// The heading of the page.
    pub title: String,
    /// The line below it.
    pub subtitle: String,
    /// The few numbers that matter most: (label, value).
    pub facts: Vec<(String, String)>,
    /// From top to bottom.
    pub sections: Vec<Section>,
    /// The command line that made it.
    pub command: String,
    /// What else reproduces it: (name, version or value).
    pub versions: Vec<(String, String)>,
}

/// A part of the page.
#[derive(Clone, Default)]
pub struct Section {
    /// Its heading; may be empty.
    pub heading: String,
    /// Paragraphs, with an empty line between them.
    pub text: String,
    /// Command lines to copy, under the text.
    pub commands: Vec<String>,
    /// Its plots.
    pub figures: Vec<Figure>,
    /// Its tables, under the plots.
    pub tables: Vec<Table>,
}

/// A plot, or several that belong together and stand beside each other where there is room.
#[derive(Clone)]
pub struct Figure {
    /// The name of its files, without ending.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// The plots.
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
    /// The line above it; may be empty.
    pub caption: String,
    /// The names of the columns.
    pub head: Vec<String>,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
}

/// Pixels of a PNG per pixel of the sheet, across and down: sharp on paper too.
const PNG_SCALE: f32 = 2.0;
/// The largest PNG, in pixels: above it the scale is lower.
const MOST_PIXELS: f32 = 40e6;

/// Why a report is not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or the directory.
    #[error("{0}")]
    File(String),
    /// A figure that does not become a PNG.
    #[error("cannot draw the figure {name}: {why}")]
    Figure {
        /// The name of its files.
        name: String,
        /// The reason.
        why: String,
    },
    /// The page.
    #[error("cannot fill in the page: {0}")]
    Page(#[from] minijinja::Error),
}

impl Report {
    /// Writes `index.html` and the figures into a directory, which is created if it is missing. Returns the
    /// page's path. Guarantees: each file is complete or absent, and the page is written last.
    pub fn write(&self, dir: &Path) -> Result<PathBuf, Error> {
        let folder = Folder::check(dir).map_err(Error::File)?;
        let names = self.file_names();
        let mut files = Vec::new();
        let figures = self.sections.iter().flat_map(|s| &s.figures);
        for (figure, name) in figures.zip(&names) {
            let sheet = figure.sheet();
            let scale = (MOST_PIXELS / sheet.pixels()).sqrt().min(PNG_SCALE);
            let png = sheet.png(scale).map_err(|why| Error::Figure {
                name: name.clone(),
                why,
            })?;
            files.push((format!("{name}.svg"), sheet.svg().into_bytes()));
            files.push((format!("{name}.png"), png));
        }
        let html = page::html(self, &names)?;
        files.push(("index.html".into(), html.into_bytes()));
        let written = folder.write("the report", &files);
        written.map_err(Error::File)?;
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
