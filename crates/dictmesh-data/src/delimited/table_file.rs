//! A table whose layout is known, read in parts.

use super::check_entries::check_entries;
use super::column_report::ColumnReport;
use super::column_stats::ColumnStats;
use super::dialect::Dialect;
use super::feature_match::{self, RowMatch};
use super::{infer_layout::Layout, separator, text, Field, Records};
use crate::chunks::{oriented, Chunks};
use crate::dense::{DenseFile, DenseReader, Values};
use crate::error::Result;
use crate::options::{Nan, ReadOptions};
use crate::source::Source;
use crate::table::Table;
use dictmesh::Samples;
use std::sync::{Arc, OnceLock};

/// A column as text, row by row.
pub type Texts = Box<dyn Iterator<Item = Result<String>> + Send>;

/// The rows of a table below its header.
pub trait Cells: Send + Sync {
    /// The numbers of the layout's columns; missing ones are NaN.
    fn numbers(&self, layout: &Arc<Layout>) -> Result<Values>;
    /// A column as text.
    fn texts(&self, column: usize) -> Result<Texts>;
    /// Whether [`numbers`](Cells::numbers) gives row after row, not column after column.
    fn is_by_rows(&self, layout: &Layout) -> bool;
}

/// A table of numbers in a file.
///
/// Opening it takes one pass that finds the header, labels, names and all entries that are no
/// numbers. Later passes hold one part in memory; a table that fits into one part is parsed once.
/// The columns of a transposed table are first copied to a temporary file.
pub struct TableFile {
    source: Arc<Source>,
    cells: Arc<dyn Cells>,
    layout: Arc<Layout>,
    options: ReadOptions,
    /// The rows of a transposed table that a model learned from.
    rows: Option<RowMatch>,
    feature_names: Option<Vec<String>>,
    note: Option<String>,
    /// The samples of a table that fits into one part, parsed once for all passes.
    cache: OnceLock<Arc<Samples>>,
}

impl TableFile {
    /// Infers the layout and checks every entry. `usual` is the separator its name suggests.
    pub fn open(source: Arc<Source>, usual: u8, options: &ReadOptions) -> Result<Self> {
        let dialect = Dialect {
            separator: separator(&source, usual, options.format.is_some())?,
            // Files with a dash for "no value" also have negative numbers, which are no dashes.
            dash_is_missing: options.nan != Nan::Error,
        };
        let mut options = options.clone();
        if source.has_names() {
            options.header = Some(true);
        }
        let (layout, columns) = Layout::find(&source, dialect, &options)?;
        let cells = Arc::new(Delimited {
            source: source.clone(),
            dialect,
            headed: layout.header.is_some(),
        });
        TableFile::over(source, cells, (layout, columns), options, None)
    }

    /// A table whose layout and statistics are known; `note` is a further message about it.
    pub(crate) fn over(
        source: Arc<Source>,
        cells: Arc<dyn Cells>,
        (layout, columns): (Layout, Vec<ColumnStats>),
        options: ReadOptions,
        note: Option<String>,
    ) -> Result<Self> {
        check_entries(&source, &layout, &options, &columns)?;
        let report = ColumnReport::of(&layout).note(source.name(), &layout);
        let mut table = TableFile {
            note: match (report, note) {
                (Some(report), Some(note)) => Some(format!("{report}; {note}")),
                (report, note) => report.or(note.map(|note| format!("{}: {note}", source.name()))),
            },
            feature_names: layout.names_of_numbers(),
            layout: Arc::new(layout),
            source,
            cells,
            rows: None,
            options,
            cache: OnceLock::new(),
        };
        if table.options.transpose {
            table.feature_names = table.texts(table.layout.names)?;
            table.match_rows()?;
        }
        Ok(table)
    }

    fn match_rows(&mut self) -> Result<()> {
        let features = self.options.features.as_deref();
        let given = self.feature_names.as_deref();
        self.rows = feature_match::match_rows(given, &self.source, features)?;
        if let Some(rows) = &self.rows {
            self.feature_names = self.options.features.clone();
            self.note = Some(match &self.note {
                Some(note) => format!("{note}; {}", rows.report),
                None => format!("{}: {}", self.source.name(), rows.report),
            });
        }
        Ok(())
    }

    /// Numbers of samples and of features.
    pub fn size(&self) -> (usize, usize) {
        let stored = (self.layout.rows, self.layout.numbers.len());
        let (samples, features) = oriented(stored, self.options.transpose);
        (
            samples,
            self.rows.as_ref().map_or(features, |r| r.rows.len()),
        )
    }

    /// The file.
    pub fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The names of the features, if the table has them.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// Which columns are labels and names, and which are left out.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The name of each sample in order; its number from 0 where it has none.
    pub fn sample_names(&self) -> Box<dyn Iterator<Item = String> + '_> {
        let count = self.size().0;
        let numbered = move |from: usize| (from..count).map(|j| j.to_string());
        if self.options.transpose {
            return match self.layout.names_of_numbers() {
                Some(names) => Box::new(names.into_iter()),
                None => Box::new(numbered(0)),
            };
        }
        let texts = self.layout.names.map(|column| self.cells.texts(column));
        let Some(Ok(mut texts)) = texts else {
            return Box::new(numbered(0));
        };
        Box::new((0..count).map(move |j| match texts.next() {
            Some(Ok(name)) => name,
            // The file was readable when it was opened; samples keep their numbers if it is not now.
            _ => j.to_string(),
        }))
    }

    /// Whether [`chunks`](TableFile::chunks) holds all samples in memory: tables of at most
    /// [`Samples::PART`] numbers.
    pub fn is_cached(&self) -> bool {
        let (samples, features) = self.size();
        samples.saturating_mul(features) <= Samples::PART
    }

    /// The samples, `count` at a time.
    pub fn chunks(&self, count: usize) -> Result<Chunks> {
        if self.is_cached() {
            return Ok(Chunks::of(self.cached()?, count));
        }
        let rows = self.rows.clone();
        let parts = self.reader().chunks(count)?;
        Ok(Chunks {
            parts: Box::new(parts.map(move |part| match &rows {
                Some(rows) => part.map(|x| x.select_rows(&rows.rows)),
                None => part,
            })),
        })
    }

    fn cached(&self) -> Result<Arc<Samples>> {
        if let Some(samples) = self.cache.get() {
            return Ok(samples.clone());
        }
        let samples = Arc::new(self.samples()?);
        Ok(self.cache.get_or_init(|| samples).clone())
    }

    fn samples(&self) -> Result<Samples> {
        let samples = self.reader().read()?;
        Ok(match &self.rows {
            Some(rows) => samples.select_rows(&rows.rows),
            None => samples,
        })
    }

    /// The whole table.
    pub fn read(&self) -> Result<Table> {
        let labels = self.texts(self.layout.label)?;
        let (transpose, rows) = (self.options.transpose, self.rows.as_ref());
        let feature_labels = |labels: Vec<String>| match rows {
            Some(m) => m.rows.iter().map(|&row| labels[row].clone()).collect(),
            None => labels,
        };
        Ok(Table {
            samples: self.samples()?,
            sample_names: match transpose {
                true => self.layout.names_of_numbers(),
                false => self.texts(self.layout.names)?,
            },
            feature_names: self.feature_names.clone(),
            feature_labels: labels.clone().filter(|_| transpose).map(feature_labels),
            labels: labels.filter(|_| !transpose),
            note: self.note.clone(),
        })
    }

    fn reader(&self) -> DenseReader {
        let file = TableMatrix {
            source: self.source.clone(),
            cells: self.cells.clone(),
            layout: self.layout.clone(),
        };
        DenseReader::new(Box::new(file), &self.options)
    }

    /// A column as text.
    fn texts(&self, column: Option<usize>) -> Result<Option<Vec<String>>> {
        column
            .map(|column| self.cells.texts(column)?.collect())
            .transpose()
    }
}

/// A table as text.
struct Delimited {
    source: Arc<Source>,
    dialect: Dialect,
    /// Whether the first line is a header.
    headed: bool,
}

impl Delimited {
    /// The records below the header.
    fn records(&self) -> Result<Records> {
        let mut records = Records::open(&self.source, self.dialect.separator)?;
        if self.headed {
            records.advance()?;
        }
        Ok(records)
    }
}

impl Cells for Delimited {
    fn numbers(&self, layout: &Arc<Layout>) -> Result<Values> {
        let mut records = self.records()?;
        let (layout, dialect, source) = (layout.clone(), self.dialect, self.source.clone());
        let (mut next, mut line) = (layout.numbers.len(), 0);
        Ok(Box::new(std::iter::from_fn(move || {
            if next == layout.numbers.len() {
                line = match records.advance() {
                    Ok(Some(line)) => line,
                    Ok(None) => return None,
                    Err(e) => return Some(Err(e)),
                };
                next = 0;
            }
            let column = layout.numbers[next];
            next += 1;
            let field = records.field(column);
            Some(match Field::read(field, dialect) {
                Field::Number(v) => Ok(v),
                Field::Missing => Ok(f64::NAN),
                Field::Text => Err(layout.text_among_numbers(&source, line, column, &text(field))),
            })
        })))
    }

    fn texts(&self, column: usize) -> Result<Texts> {
        let mut records = self.records()?;
        Ok(Box::new(std::iter::from_fn(move || {
            match records.advance() {
                Ok(Some(_)) => Some(Ok(text(records.field(column)))),
                Ok(None) => None,
                Err(e) => Some(Err(e)),
            }
        })))
    }

    fn is_by_rows(&self, _: &Layout) -> bool {
        true
    }
}

/// The columns of numbers.
struct TableMatrix {
    source: Arc<Source>,
    cells: Arc<dyn Cells>,
    layout: Arc<Layout>,
}

impl DenseFile for TableMatrix {
    fn source(&self) -> &Source {
        &self.source
    }
    fn shape(&self) -> (usize, usize) {
        (self.layout.rows, self.layout.numbers.len())
    }
    fn row_major(&self) -> bool {
        self.cells.is_by_rows(&self.layout)
    }
    fn values(&self) -> Result<Values> {
        self.cells.numbers(&self.layout)
    }
}
