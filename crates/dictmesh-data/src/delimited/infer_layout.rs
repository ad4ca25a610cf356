//! The first look at a table: where the header, the numbers, the labels and the names are.

use super::dialect::{is_almost_number, no_plain_numbers, Decimals};
use super::{feature_match, text, Field, Records};
use crate::error::{DataError, Result};
use crate::options::ReadOptions;
use crate::source::Source;
use std::collections::HashSet;

/// Which column is what.
pub struct Layout {
    /// The names of all columns, if the first line holds them.
    pub header: Option<Vec<String>>,
    /// The columns of numbers.
    pub numbers: Vec<usize>,
    /// The columns of text, the label among them.
    pub texts: Vec<usize>,
    /// The column the options name as label.
    pub label: Option<usize>,
    /// The column that names the rows: the one the options name, or an index without a name.
    pub names: Option<usize>,
    /// Columns of numbers left out because a model did not learn from them; `None` without a model.
    pub extra: Option<Vec<usize>>,
    /// Whether numbers have decimal commas.
    pub commas: bool,
}

/// How many fields of a column are what.
#[derive(Clone, Copy, Default)]
struct Counts {
    numbers: u64,
    texts: u64,
    /// Texts that would be numbers but for commas or separators of thousands.
    almost: u64,
}

impl Counts {
    fn add(&mut self, field: Field) {
        match field {
            Field::Number(_) => self.numbers += 1,
            Field::Text => self.texts += 1,
            Field::Missing => {}
        }
    }

    /// A column is text if at least half of it is; in others, text is a mistake.
    fn is_text(self) -> bool {
        self.texts > 0 && self.texts >= self.numbers
    }
}

/// The first column as the index that pandas and R write: whole numbers, none of them twice, in any
/// order (rows are often shuffled, or a part of a larger table).
#[derive(Default)]
struct Index {
    seen: HashSet<i64>,
    spoiled: bool,
}

impl Index {
    fn add(&mut self, field: Field) {
        let whole = match field {
            Field::Number(v) if v.fract() == 0.0 && v.abs() < 9e15 => Some(v as i64),
            _ => None,
        };
        if self.spoiled || !whole.is_some_and(|v| self.seen.insert(v)) {
            *self = Index {
                spoiled: true,
                ..Index::default()
            };
        }
    }

    fn found(&self) -> bool {
        !self.seen.is_empty()
    }
}

/// What the first look sees.
struct Survey {
    /// The first line.
    first: Vec<String>,
    /// What is below it.
    counts: Vec<Counts>,
    rows: u64,
    /// Whether the first column could be an index.
    index: bool,
    separator: u8,
    decimals: Decimals,
}

impl Survey {
    /// Looks through the whole file.
    fn of(source: &Source, separator: u8) -> Result<Survey> {
        let mut records = Records::open(source, separator)?;
        if records.advance()?.is_none() {
            return Err(source.error(
                "only blank lines",
                "lines of numbers",
                "Check that what wrote the file came to its end.",
            ));
        }
        let first = records.texts();
        let mut counts = vec![Counts::default(); first.len()];
        let mut index = Index::default();
        let mut decimals = Decimals::default();
        let mut rows = 0_u64;
        while let Some(line) = records.advance()? {
            rows += 1;
            index.add(Field::of(records.field(0), separator));
            for (column, counts) in counts.iter_mut().enumerate() {
                let bytes = records.field(column);
                let field = Field::of(bytes, separator);
                counts.add(field);
                match field {
                    Field::Number(_) => decimals.add(bytes, line),
                    Field::Text if is_almost_number(bytes, separator) => {
                        counts.almost += 1;
                    }
                    _ => {}
                }
            }
        }
        Ok(Survey {
            first,
            counts,
            rows,
            index: index.found(),
            separator,
            decimals,
        })
    }

    /// Whether the first line is a header: it has text above numbers, and not just one slip among many
    /// numbers; or it is text throughout and nothing tells otherwise.
    fn begins_with_names(&self) -> bool {
        let kinds = || {
            self.first
                .iter()
                .map(|f| Field::of(f.as_bytes(), self.separator))
        };
        let text = kinds().filter(|f| *f == Field::Text).count();
        let number = kinds().filter(|f| matches!(f, Field::Number(_))).count();
        if self.rows == 0 {
            return text > 0 && number == 0;
        }
        let pairs = kinds().zip(&self.counts);
        let above_numbers =
            pairs.filter(|(f, c)| *f == Field::Text && !c.is_text() && c.numbers > 0);
        // An empty corner above row names is how pandas and R begin; pandas numbers columns without a name.
        let numbered = || {
            let mut columns = kinds().skip(1).enumerate();
            self.index && columns.all(|(i, f)| f == Field::Number(i as f64))
        };
        let corner = kinds().next() == Some(Field::Missing)
            && (self.counts.first().is_some_and(|c| c.is_text()) || numbered());
        above_numbers.count() > 0 && text >= number || corner
    }
}

impl Layout {
    /// Looks through the whole file.
    pub fn find(source: &Source, separator: u8, options: &ReadOptions) -> Result<Layout> {
        let mut survey = Survey::of(source, separator)?;
        let is_header = options.header.unwrap_or_else(|| {
            survey.begins_with_names()
                || feature_match::heads(
                    &survey.first,
                    options.features.as_deref().unwrap_or_default(),
                )
        });
        if is_header && survey.rows == 0 {
            return Err(source.error(
                "only a header",
                "lines of numbers below it",
                "Check that what wrote the file came to its end; if line 1 is data, say so with \
                 --header no.",
            ));
        }
        if !is_header {
            for (counts, field) in survey.counts.iter_mut().zip(&survey.first) {
                counts.add(Field::of(field.as_bytes(), separator));
            }
        }
        let layout = Layout {
            header: is_header.then_some(survey.first),
            numbers: Vec::new(),
            texts: Vec::new(),
            label: None,
            names: None,
            extra: None,
            commas: survey.decimals.are_commas(source)?,
        };
        layout.settle(source, options, &survey.counts, survey.index)
    }

    /// Says which column is what.
    fn settle(
        mut self,
        source: &Source,
        options: &ReadOptions,
        counts: &[Counts],
        index: bool,
    ) -> Result<Layout> {
        let width = counts.len();
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
        let free = |c: &usize| !dropped.contains(&Some(*c)) && !is_learned[*c];
        for column in (0..width).filter(free) {
            let named = [self.label, self.names].contains(&Some(column));
            if named || counts[column].is_text() {
                if !named && counts[column].almost == counts[column].texts {
                    return Err(no_plain_numbers(source, &self.describe(column)));
                }
                self.texts.push(column);
            } else {
                self.numbers.push(column);
            }
        }
        if let Some(learned) = learned {
            self.extra = Some(std::mem::replace(&mut self.numbers, learned));
        }
        match self.numbers.is_empty() {
            true => Err(no_numbers(source, width)),
            false => Ok(self),
        }
    }

    /// The columns a model learned from, in its order, if names can tell. What it left out by number may
    /// be elsewhere in this table, so that names win; what is left out now is not there.
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

    /// Whether the column that names the rows was not asked for.
    pub fn found_index(&self) -> bool {
        self.names == Some(0) && self.is_first_unnamed()
    }

    /// A column as a person finds it.
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

    /// The error for text in a column of numbers.
    pub fn text_among_numbers(
        &self,
        source: &Source,
        line: u64,
        column: usize,
        field: &[u8],
    ) -> DataError {
        let header = match (self.header.is_none(), line) {
            (true, 1) => " If line 1 is a header, say so with --header yes.",
            _ => "",
        };
        let error = source.error(
            format!("\"{}\"", short(&text(field))),
            match self.extra {
                None => "a number, since most of this column are numbers (leave a missing one empty)",
                Some(_) => "a number, since the model learned from this column",
            },
            format!(
                "Correct the entry, leave the column out with --drop {}, or name it as --label-column.{header}",
                column + 1
            ),
        );
        error.at(format!("line {line}, {}", self.describe(column)))
    }
}

fn no_numbers(source: &Source, width: usize) -> DataError {
    source.error(
        format!("{width} columns, none of numbers"),
        "at least one column of numbers",
        "Check the separator (--format csv or tsv); for raw text name its column with --text-column.",
    )
}

fn short(field: &str) -> String {
    let cut: String = field.chars().take(40).collect();
    let more = if cut.len() < field.len() { "..." } else { "" };
    format!("{}{more}", cut.escape_debug())
}
