//! Parquet and Arrow IPC files: columns of numbers, texts, and lists of numbers as vectors.
//!
//! Roles of columns follow the rules of tables as text. A list of k numbers is k columns, "name[0]"
//! and so on. Columns of other types, such as times, are left out with a note. An index that pandas
//! wrote has the names of the samples.

mod arrays;
mod batches;
mod documents;
mod guard;
mod ipc;

pub use documents::{first_texts, ColumnDocuments};

use crate::delimited::{Cells, ColumnStats, Field, Index, Layout, TableFile, Texts};
use crate::dense::Values;
use crate::error::{DataError, Result};
use crate::format::Format;
use crate::options::ReadOptions;
use crate::source::Source;
use arrays::{list_length, numbers, texts, Holds};
use arrow_array::{Array, RecordBatch};
use batches::ColumnarFile;
use std::sync::Arc;

/// The columns of a vector of which no row is there, at most.
const MOST_UNSEEN: usize = 1 << 16;
/// The index of a table that pandas wrote.
const INDEX: &str = "__index_level_0__";

/// A column that is read: of the file, or one entry of its lists.
#[derive(Clone, Debug)]
struct Column {
    /// Its place among the columns of the file.
    root: usize,
    name: String,
    /// The entry of lists, and their length.
    entry: Option<(usize, usize)>,
    holds: Holds,
}

impl Column {
    /// The numbers in an entry of its root.
    fn width(&self) -> usize {
        self.entry.map_or(1, |(_, of)| of)
    }
}

/// The columns of a file.
#[derive(Clone)]
pub struct Columns {
    file: ColumnarFile,
    columns: Vec<Column>,
    /// Columns of other types, by name and type.
    others: Vec<(String, String)>,
}

impl Columns {
    /// Reads the schema; lists called as one of `dropped` are no columns.
    pub fn open(source: &Arc<Source>, format: Format, dropped: &[String]) -> Result<Self> {
        let file = ColumnarFile::open(source, format)?;
        let (mut columns, mut others) = (Vec::new(), Vec::new());
        for (root, field) in file.schema().fields().iter().enumerate() {
            let name = field.name().clone();
            let column = |name, entry, holds| Column {
                root,
                name,
                entry,
                holds,
            };
            match Holds::of(field.data_type()) {
                Holds::Vectors(_) if dropped.contains(&name) => {}
                Holds::Vectors(width) => {
                    // A damaged type may claim any length; lists that are there have theirs.
                    let width = match first_length(&file, root)? {
                        Some(width) => width,
                        None => width.unwrap_or(0).min(MOST_UNSEEN),
                    };
                    let named = |entry| (format!("{name}[{entry}]"), Some((entry, width)));
                    let entries = (0..width).map(named);
                    columns.extend(entries.map(|(name, e)| column(name, e, Holds::Numbers)));
                }
                Holds::Other => others.push((name, field.data_type().to_string())),
                holds => columns.push(column(name, None, holds)),
            }
        }
        Ok(Columns {
            file,
            columns,
            others,
        })
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|c| c.name.clone()).collect()
    }

    /// The error for a column that the caller names and that has another type.
    fn check_named(&self, options: &ReadOptions) -> Result<()> {
        let features = options.features.iter().flatten();
        let mut named = features
            .chain(&options.label_column)
            .chain(&options.name_column);
        let found = named.find_map(|name| self.others.iter().find(|(other, _)| other == name));
        match found {
            None => Ok(()),
            Some((name, data_type)) => Err(self.file.source().error(
                format!("column \"{name}\" of type {data_type}"),
                "a column of numbers, texts, or lists of numbers",
                "Convert the column, or leave it out.",
            )),
        }
    }

    fn note(&self) -> Option<String> {
        let shown = self.others.iter().take(4);
        let mut shown: Vec<String> = shown
            .map(|(name, of)| format!("\"{name}\" ({of})"))
            .collect();
        if self.others.len() > shown.len() {
            shown.push(format!("{} more", self.others.len() - shown.len()));
        }
        let listed = shown.join(", ");
        (!shown.is_empty()).then(|| format!("left out {listed}: neither numbers nor texts"))
    }

    /// The statistics of all columns, the number of rows, and whether the first may be an index.
    fn survey(&self) -> Result<(Vec<ColumnStats>, usize, bool)> {
        let width = self.columns.len();
        let mut stats = vec![ColumnStats::default(); width];
        let (mut rows, mut index) = (0, Index::default());
        let all: Vec<usize> = (0..width).collect();
        for group in self.file.groups(&all) {
            let is_text = |column: &usize| self.columns[*column].holds == Holds::Texts;
            let (words, figures): (Vec<usize>, Vec<usize>) = group.iter().partition(|c| is_text(c));
            let mut row = 0;
            for batch in self.rows(group)? {
                let batch = batch?;
                for &column in &words {
                    for (at, text) in batch.texts(column).into_iter().enumerate() {
                        stats[column].add_text(text.as_deref(), row + at as u64 + 1, width);
                    }
                }
                batch.each(&figures, row, |at, values| {
                    let column = figures[at];
                    for (at, v) in values.enumerate() {
                        let field = match v.is_nan() {
                            true => Field::Missing,
                            false => Field::Number(v),
                        };
                        stats[column].add_number(field, row + at as u64 + 1);
                        if column == 0 {
                            index.add(field);
                        }
                    }
                })?;
                row += batch.rows() as u64;
            }
            rows = row as usize;
        }
        Ok((stats, rows, index.found()))
    }

    /// The rows of some columns, in batches.
    fn rows(
        &self,
        columns: &[usize],
    ) -> Result<impl Iterator<Item = Result<Batch>> + Send + use<>> {
        let mut roots: Vec<usize> = columns.iter().map(|c| self.columns[*c].root).collect();
        roots.sort_unstable();
        roots.dedup();
        let width = columns.iter().map(|c| self.columns[*c].width());
        let batches = self
            .file
            .batches(&roots, width.max().unwrap_or(1).max(columns.len()))?;
        let (source, columns) = (self.file.source().clone(), Arc::new(self.columns.clone()));
        let roots = Arc::new(roots);
        Ok(batches.map(move |batch| {
            Ok(Batch {
                source: source.clone(),
                columns: columns.clone(),
                roots: roots.clone(),
                batch: batch?,
            })
        }))
    }

    /// A column as text, row by row; a missing entry is empty.
    pub fn texts(&self, column: usize) -> Result<Texts> {
        let batches = self.rows(&[column])?;
        Ok(Box::new(batches.flat_map(move |batch| match batch {
            Err(e) => vec![Err(e)],
            Ok(batch) => {
                let texts = batch.texts(column).into_iter();
                texts.map(|text| Ok(text.unwrap_or_default())).collect()
            }
        })))
    }
}

/// The length of the lists of a column, by the first; `None` if all are missing.
fn first_length(file: &ColumnarFile, root: usize) -> Result<Option<usize>> {
    for batch in file.batches(&[root], 1 << 10)? {
        if let Some(length) = list_length(batch?.column(0)) {
            return Ok(Some(length));
        }
    }
    Ok(None)
}

/// Rows of some columns.
struct Batch {
    source: Arc<Source>,
    columns: Arc<Vec<Column>>,
    /// The columns of the file that the batch has.
    roots: Arc<Vec<usize>>,
    batch: RecordBatch,
}

impl Batch {
    fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn array(&self, column: usize) -> Option<&dyn Array> {
        let root = self.columns[column].root;
        let at = self.roots.binary_search(&root).ok()?;
        self.batch.columns().get(at).map(|array| &**array)
    }

    fn texts(&self, column: usize) -> Vec<Option<String>> {
        self.array(column).map_or_else(Vec::new, texts)
    }

    /// The numbers of the root of a column, all entries of its lists; `first` rows come before the batch.
    fn numbers_of_root(&self, column: usize, first: u64) -> Result<Vec<f64>> {
        let width = self.columns[column].width();
        match self.array(column) {
            Some(array) if array.is_empty() => Ok(Vec::new()),
            Some(array) => numbers(array, width)
                .map_err(|(row, length)| self.ragged(column, first + row as u64 + 1, length)),
            None => Ok(vec![f64::NAN; self.rows() * width]),
        }
    }

    /// Calls `take` with each of these columns and its numbers.
    fn each(
        &self,
        columns: &[usize],
        first: u64,
        mut take: impl FnMut(usize, &mut dyn Iterator<Item = f64>),
    ) -> Result<()> {
        // The entries of a list follow each other: it is converted once.
        let mut last: Option<(usize, Vec<f64>)> = None;
        for (at, &column) in columns.iter().enumerate() {
            let Column { root, entry, .. } = self.columns[column];
            let all = match last.take() {
                Some((of, all)) if of == root => all,
                _ => self.numbers_of_root(column, first)?,
            };
            let (entry, width) = entry.unwrap_or((0, 1));
            take(at, &mut all.iter().copied().skip(entry).step_by(width));
            last = Some((root, all));
        }
        Ok(())
    }

    fn ragged(&self, column: usize, row: u64, length: usize) -> DataError {
        let (name, width) = (&self.columns[column].name, self.columns[column].width());
        let name = name
            .rsplit_once('[')
            .map_or(name.as_str(), |(name, _)| name);
        let error = self.source.error(
            format!("a list of {length} numbers"),
            format!("lists of {width}, as in the first row"),
            "Give all lists of the column one length, or leave the column out.",
        );
        error.at(format!("row {row}, column \"{name}\""))
    }
}

/// Opens a table of numbers.
pub fn open_table(source: Arc<Source>, format: Format, options: &ReadOptions) -> Result<TableFile> {
    let mut options = options.clone();
    let columns = Columns::open(&source, format, &options.drop_columns)?;
    columns.check_named(&options)?;
    let names = columns.names();
    let lists = columns.file.schema().fields().iter();
    let is_list = |name: &String| {
        let mut fields = lists.clone().filter(|field| field.name() == name);
        fields.any(|field| {
            matches!(
                Holds::of(field.data_type()),
                Holds::Vectors(_) | Holds::Other
            )
        })
    };
    let dropped = std::mem::take(&mut options.drop_columns);
    options.drop_columns = dropped.into_iter().filter(|name| !is_list(name)).collect();
    if options.name_column.is_none() && names.iter().any(|name| name == INDEX) {
        options.name_column = Some(INDEX.into());
    }
    let (stats, rows, index) = columns.survey()?;
    let layout = Layout::of_columns(&source, names, rows, &stats, index, &options)?;
    let note = columns.note();
    TableFile::over(source, Arc::new(columns), (layout, stats), options, note)
}

impl Cells for Columns {
    fn numbers(&self, layout: &Arc<Layout>) -> Result<Values> {
        let wanted = layout.numbers.clone();
        let by_rows = self.is_by_rows(layout);
        // In one group, row after row; else column after column.
        let groups: Vec<Vec<usize>> = match by_rows {
            true => vec![wanted],
            false => wanted.into_iter().map(|column| vec![column]).collect(),
        };
        let columns = self.clone();
        Ok(Box::new(groups.into_iter().flat_map(
            move |group| match columns.rows(&group) {
                Ok(batches) => values_of(batches, group),
                Err(e) => Box::new(std::iter::once(Err(e))),
            },
        )))
    }

    fn texts(&self, column: usize) -> Result<Texts> {
        Columns::texts(self, column)
    }

    fn is_by_rows(&self, layout: &Layout) -> bool {
        self.file.fits_rows(layout.numbers.len())
    }
}

/// The numbers of some columns, row by row.
fn values_of(
    batches: impl Iterator<Item = Result<Batch>> + Send + 'static,
    columns: Vec<usize>,
) -> Values {
    let mut first = 0;
    Box::new(batches.flat_map(move |batch| {
        let values = batch.and_then(|batch| {
            let (rows, width) = (batch.rows(), columns.len());
            let mut values = vec![0.0; rows * width];
            batch.each(&columns, first, |at, column| {
                let places = values.iter_mut().skip(at).step_by(width);
                places.zip(column).for_each(|(place, v)| *place = v);
            })?;
            first += rows as u64;
            Ok(values)
        });
        let (values, error) = match values {
            Ok(values) => (values, None),
            Err(e) => (Vec::new(), Some(Err(e))),
        };
        values.into_iter().map(Ok).chain(error)
    }))
}
