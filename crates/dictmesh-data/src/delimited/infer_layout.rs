//! The first pass over a table: where the header, the numbers, the labels and the names are.

use super::column_stats::{ColumnStats, Index};
use super::dialect::{no_plain_numbers, Decimals, Dialect};
use super::{feature_match, short, text, Field, Records};
use crate::error::{DataError, Result};
use crate::options::ReadOptions;
use crate::source::Source;
use std::sync::Arc;

/// The role of each column.
pub struct Layout {
    /// The number of all columns.
    pub width: usize,
    /// What messages call a row: "line" or "row".
    pub unit: &'static str,
    /// The names of all columns, if the first line holds them.
    pub header: Option<Vec<String>>,
    /// The columns of numbers.
    pub numbers: Vec<usize>,
    /// The column of labels: the one the options name, or the only text whose values repeat.
    pub label: Option<usize>,
    /// The column that names the rows: the one the options name, an index without a name, or the
    /// first text without repeats.
    pub names: Option<usize>,
    /// Other columns of text.
    pub left_out: Vec<usize>,
    /// Columns of numbers left out because a model did not learn from them; `None` without a model.
    pub extra: Option<Vec<usize>>,
    /// Whether numbers have decimal commas.
    pub commas: bool,
    /// The number of rows of numbers.
    pub rows: usize,
    /// The first line that is not UTF-8.
    pub foreign: Option<u64>,
}

/// What the first pass finds.
struct Survey {
    /// The first line.
    first: Vec<String>,
    /// The columns below it, or with it if it is no header.
    columns: Vec<ColumnStats>,
    rows: usize,
    /// Whether the first column may be an index.
    index: bool,
    dialect: Dialect,
    decimals: Decimals,
    /// The first line that is not UTF-8.
    foreign: Option<u64>,
}

impl Survey {
    /// Reads the file below its first line, and with that line too unless `is_header` says that it
    /// is one.
    fn of(
        source: &Arc<Source>,
        dialect: Dialect,
        is_header: impl FnOnce(&Survey) -> bool,
    ) -> Result<(Survey, bool)> {
        let mut records = Records::open(source, dialect.separator)?;
        let Some(first_line) = records.advance()? else {
            return Err(source.error(
                "only blank lines",
                "lines of numbers",
                "Check that the file was written completely.",
            ));
        };
        let first = records.texts();
        let width = first.len();
        let mut survey = Survey {
            columns: vec![ColumnStats::default(); width],
            first,
            rows: 0,
            index: false,
            dialect,
            decimals: Decimals::default(),
            foreign: None,
        };
        let mut index = Index::default();
        while let Some(line) = records.advance()? {
            survey.rows += 1;
            for (column, stats) in survey.columns.iter_mut().enumerate() {
                let bytes = records.field(column);
                let field = stats.add(bytes, line, dialect, width);
                if let Field::Number(_) = field {
                    survey.decimals.add(bytes, line);
                }
                if column == 0 {
                    index.add(field);
                }
            }
        }
        survey.index = index.found();
        survey.foreign = records.foreign();
        let is_header = is_header(&survey);
        if !is_header {
            survey.rows += 1;
            let fields = survey.columns.iter_mut().zip(&survey.first);
            fields.for_each(|(stats, f)| stats.add_first(f.as_bytes(), first_line, dialect, width));
        }
        Ok((survey, is_header))
    }

    /// Whether the first line is a header: it has text above numbers, and not just one slip among many
    /// numbers; or it is text throughout.
    fn begins_with_names(&self) -> bool {
        let kinds = || {
            self.first
                .iter()
                .map(|f| Field::read(f.as_bytes(), self.dialect))
        };
        let text = kinds().filter(|f| *f == Field::Text).count();
        let number = kinds().filter(|f| matches!(f, Field::Number(_))).count();
        if self.rows == 0 {
            return text > 0 && number == 0;
        }
        let pairs = kinds().zip(&self.columns);
        let above_numbers =
            pairs.filter(|(f, c)| *f == Field::Text && !c.is_text() && c.numbers > 0);
        // An empty corner above row names is how pandas and R begin; pandas numbers columns without a name.
        let numbered = || {
            let mut columns = kinds().skip(1).enumerate();
            self.index && columns.all(|(i, f)| f == Field::Number(i as f64))
        };
        let corner = kinds().next() == Some(Field::Missing)
            && (self.columns.first().is_some_and(|c| c.is_text()) || numbered());
        above_numbers.count() > 0 && text >= number || corner
    }
}

impl Layout {
    /// Infers the layout in one pass over the file, and collects statistics of all columns.
    ///
    /// Errors: no numbers, or columns that are ambiguous.
    pub fn find(
        source: &Arc<Source>,
        dialect: Dialect,
        options: &ReadOptions,
    ) -> Result<(Layout, Vec<ColumnStats>)> {
        let features = options.features.as_deref().unwrap_or_default();
        let (survey, is_header) = Survey::of(source, dialect, |survey| {
            options.header.unwrap_or_else(|| {
                survey.begins_with_names() || feature_match::heads(&survey.first, features)
            })
        })?;
        if is_header && survey.rows == 0 {
            return Err(source.error(
                "only a header",
                "lines of numbers below it",
                "Check that the file was written completely; if line 1 is data, say so with \
                 <header: no>.",
            ));
        }
        let layout = Layout {
            width: survey.columns.len(),
            unit: "line",
            header: is_header.then_some(survey.first),
            rows: survey.rows,
            numbers: Vec::new(),
            label: None,
            names: None,
            left_out: Vec::new(),
            extra: None,
            commas: survey.decimals.are_commas(source)?,
            foreign: survey.foreign,
        };
        let layout = layout.settle(source, options, &survey.columns, survey.index)?;
        Ok((layout, survey.columns))
    }

    /// The names in the first line of a stream, if it is a header: it has the names of a model's features,
    /// or text and no numbers.
    pub fn header_of(
        fields: &[Vec<u8>],
        dialect: Dialect,
        options: &ReadOptions,
    ) -> Option<Vec<String>> {
        let names: Vec<String> = fields.iter().map(|field| text(field)).collect();
        let is_header = options.header.unwrap_or_else(|| {
            let kinds = || fields.iter().map(|field| Field::read(field, dialect));
            let features = options.features.as_deref().unwrap_or_default();
            let headed = kinds().any(|kind| kind == Field::Text)
                && !kinds().any(|kind| matches!(kind, Field::Number(_)));
            headed || !features.is_empty() && feature_match::heads(&names, features)
        });
        is_header.then_some(names)
    }

    /// The layout of a stream by its first row of `fields` below the header. Texts are left out unless
    /// they are named, as one row does not show which are labels.
    pub fn of_first(
        source: &Source,
        header: Option<Vec<String>>,
        fields: &[Vec<u8>],
        dialect: Dialect,
        options: &ReadOptions,
    ) -> Result<Layout> {
        let width = fields.len();
        if let Some(header) = header.as_ref().filter(|header| header.len() != width) {
            return Err(source.error(
                format!("{width} fields"),
                format!("{}, as in the first line", header.len()),
                "Give every line the same number of fields.",
            ));
        }
        let mut columns = vec![ColumnStats::default(); width];
        let mut index = Index::default();
        for (at, (column, field)) in columns.iter_mut().zip(fields).enumerate() {
            let found = column.add(field, 1, dialect, width);
            if at == 0 {
                index.add(found);
            }
        }
        let layout = Layout::unsettled(width, "line", header, 1);
        let mut layout = layout.settle(source, options, &columns, index.found())?;
        let named = layout
            .names
            .filter(|_| options.name_column.is_some() || layout.found_index());
        layout
            .left_out
            .extend(layout.names.filter(|_| named.is_none()));
        layout.names = named;
        Ok(layout)
    }

    fn unsettled(
        width: usize,
        unit: &'static str,
        header: Option<Vec<String>>,
        rows: usize,
    ) -> Layout {
        Layout {
            width,
            unit,
            header,
            rows,
            numbers: Vec::new(),
            label: None,
            names: None,
            left_out: Vec::new(),
            extra: None,
            commas: false,
            foreign: None,
        }
    }

    /// The layout of typed columns of these names.
    #[cfg(feature = "columnar")]
    pub fn of_columns(
        source: &Source,
        names: Vec<String>,
        rows: usize,
        columns: &[ColumnStats],
        index: bool,
        options: &ReadOptions,
    ) -> Result<Layout> {
        let layout = Layout::unsettled(names.len(), "row", Some(names), rows);
        layout.settle(source, options, columns, index)
    }

    /// A row and a column in messages.
    pub fn place(&self, row: u64, column: usize) -> String {
        format!("{} {row}, {}", self.unit, self.describe(column))
    }

    /// Assigns a role to each column.
    fn settle(
        mut self,
        source: &Source,
        options: &ReadOptions,
        columns: &[ColumnStats],
        index: bool,
    ) -> Result<Layout> {
        let width = columns.len();
        let find = |name: &String| match self.column(source, name, width) {
            Err(_) if options.if_there => Ok(None),
            found => found.map(Some),
        };
        let label = options.label_column.as_ref().map(find).transpose()?;
        let names = options.name_column.as_ref().map(find).transpose()?;
        let dropped = options.drop_columns.iter().map(find);
        let dropped = dropped.collect::<Result<Vec<Option<usize>>>>()?;
        self.label = label.flatten();
        self.names = names.flatten();
        let learned = self.learned(source, options, &dropped)?;
        let mut is_learned = vec![false; width];
        learned.iter().flatten().for_each(|&c| is_learned[c] = true);
        self.label = self.label.filter(|&c| !is_learned[c]);
        self.names = self.names.filter(|&c| !is_learned[c]);
        let spoken_of = self.label == Some(0)
            || dropped.contains(&Some(0))
            || is_learned.first() == Some(&true);
        if self.names.is_none() && !spoken_of && index && self.is_first_unnamed() {
            self.names = Some(0);
        }
        let mut texts = Vec::new();
        let free = |c: &usize| !dropped.contains(&Some(*c)) && !is_learned[*c];
        for column in (0..width).filter(free) {
            let named = [self.label, self.names].contains(&Some(column));
            if named || columns[column].is_text() {
                if !named && columns[column].almost == columns[column].texts {
                    return Err(no_plain_numbers(source, &self.describe(column)));
                }
                texts.push(column);
            } else {
                self.numbers.push(column);
            }
        }
        if let Some(learned) = learned {
            self.extra = Some(std::mem::replace(&mut self.numbers, learned));
        }
        if self.numbers.is_empty() {
            return Err(no_numbers(source, width));
        }
        self.assign_texts(source, texts, columns)
    }

    /// Chooses labels and names among the columns of text: the label is the only column whose values
    /// repeat, the names are the first whose values do not.
    fn assign_texts(
        mut self,
        source: &Source,
        mut texts: Vec<usize>,
        columns: &[ColumnStats],
    ) -> Result<Layout> {
        if self.label.is_none() {
            let repeats = |c: &usize| columns[*c].distinct.repeats() && Some(*c) != self.names;
            let found: Vec<usize> = texts.iter().copied().filter(repeats).collect();
            self.label = match found[..] {
                [only] => Some(only),
                // A model with named columns needs no label.
                _ if found.is_empty() || self.extra.is_some() => None,
                _ => return Err(self.several_labels(source, &found)),
            };
        }
        texts.retain(|&c| Some(c) != self.label);
        if self.names.is_none() {
            let mut free = texts.iter().copied();
            self.names = free.find(|&c| !columns[c].distinct.repeats());
        }
        texts.retain(|&c| Some(c) != self.names);
        self.left_out = texts;
        Ok(self)
    }

    fn several_labels(&self, source: &Source, columns: &[usize]) -> DataError {
        let names: Vec<String> = columns.iter().map(|&c| self.describe(c)).collect();
        source.error(
            format!("{} columns of text ({})", names.len(), names.join("; ")),
            "one column of labels",
            "Say which with <label_column> (the others are then left out), or leave out all of \
             them with <drop>.",
        )
    }

    /// The columns that a model learned from, in its order, if all names differ. Names take
    /// precedence over dropped numbers of the training table.
    fn learned(
        &self,
        source: &Source,
        options: &ReadOptions,
        dropped: &[Option<usize>],
    ) -> Result<Option<Vec<usize>>> {
        let (Some(header), Some(features)) = (&self.header, &options.features) else {
            return Ok(None);
        };
        if options.transpose || !feature_match::tell_apart(features) {
            return Ok(None);
        }
        let mut taken = dropped.to_vec();
        taken.extend([self.label, self.names]);
        let there = |c: &usize| options.if_there || !taken.contains(&Some(*c));
        let given = header.iter().enumerate().filter(|(c, _)| there(c));
        let given: Vec<(usize, &String)> = given.collect();
        feature_match::places(source, features, &given, "columns").map(Some)
    }

    /// Whether a header of several names lacks the first one, also as pandas then calls it.
    fn is_first_unnamed(&self) -> bool {
        let header = self.header.as_deref().unwrap_or_default();
        header.len() > 1 && ["", "Unnamed: 0"].contains(&header[0].as_str())
    }

    /// The column of that name, or of that number counted from 1.
    fn column(&self, source: &Source, name: &str, width: usize) -> Result<usize> {
        let header = self.header.as_deref().unwrap_or_default();
        if let Some(at) = header.iter().position(|h| h == name) {
            return Ok(at);
        }
        if let Some(at) = name.parse::<usize>().ok().and_then(|n| n.checked_sub(1)) {
            if at < width {
                return Ok(at);
            }
        }
        let mut known: Vec<String> = header.iter().take(8).map(|h| format!("\"{h}\"")).collect();
        if header.len() > known.len() {
            known.push("...".into());
        }
        let known = match known.is_empty() {
            true => "there is no header".into(),
            false => format!("there are {}", known.join(", ")),
        };
        Err(source.error(
            format!("no column \"{}\": {known}", name.escape_debug()),
            format!("the name of a column, or its number from 1 to {width}"),
            "Correct the name.",
        ))
    }

    /// Whether the column that names the rows is an inferred index.
    pub fn found_index(&self) -> bool {
        self.names == Some(0) && self.is_first_unnamed()
    }

    /// A column by number and name.
    pub fn describe(&self, column: usize) -> String {
        let number = column + 1;
        match self.header.as_ref().and_then(|h| h.get(column)) {
            Some(name) if !name.is_empty() => format!("column {number} (\"{}\")", short(name)),
            _ => format!("column {number}"),
        }
    }

    /// The names of the columns of numbers.
    pub fn names_of_numbers(&self) -> Option<Vec<String>> {
        let header = self.header.as_ref()?;
        Some(self.numbers.iter().map(|&c| header[c].clone()).collect())
    }
}

fn no_numbers(source: &Source, width: usize) -> DataError {
    source.error(
        format!("{width} columns, none of numbers"),
        "at least one column of numbers",
        "Check the separator (<format: csv> or tsv); for raw text name its column with <text_column>.",
    )
}
