//! The first look at a table: where the header, the numbers, the labels and the names are.

use super::{text, Field, Records};
use crate::data::error::{DataError, Result};
use crate::data::source::Source;
use crate::data::ReadOptions;

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
    /// Whether the first column is left out because it has no name and only counts the rows.
    pub index: bool,
}

/// How many fields of a column are what.
#[derive(Clone, Copy, Default)]
struct Counts {
    numbers: u64,
    texts: u64,
    /// The first number, and how many from it on count up by one.
    first: f64,
    counting: u64,
}

impl Counts {
    fn add(&mut self, field: Field) {
        match field {
            Field::Number(v) => {
                if self.numbers == 0 {
                    self.first = v;
                }
                if self.counting == self.numbers && v == self.first + self.numbers as f64 {
                    self.counting += 1;
                }
                self.numbers += 1;
            }
            Field::Text => self.texts += 1,
            Field::Missing => {}
        }
    }

    /// A column is text if at least half of it is; in others, text is a mistake.
    fn is_text(self) -> bool {
        self.texts > 0 && self.texts >= self.numbers
    }

    /// Whether the column numbers the rows, as the index that pandas and R write.
    fn is_index(self, rows: u64) -> bool {
        rows > 1 && self.counting == rows && (self.first == 0.0 || self.first == 1.0)
    }
}

impl Layout {
    /// Looks through the whole file.
    pub fn find(source: &Source, separator: u8, options: &ReadOptions) -> Result<Layout> {
        let mut records = Records::open(source, separator)?;
        records.advance()?;
        let first = records.texts();
        let mut counts = vec![Counts::default(); first.len()];
        let mut rows = 0_u64;
        while records.advance()?.is_some() {
            rows += 1;
            for (column, counts) in counts.iter_mut().enumerate() {
                counts.add(Field::of(records.field(column)));
            }
        }
        let kinds: Vec<Field> = first.iter().map(|f| Field::of(f.as_bytes())).collect();
        let is_header = options
            .header
            .unwrap_or_else(|| names(&kinds, &counts, rows));
        if is_header && rows == 0 {
            return Err(source.error(
                "only a header",
                "lines of numbers below it",
                "Check that what wrote the file came to its end; if line 1 is data, say so with \
                 --header no.",
            ));
        }
        if !is_header {
            for (counts, &kind) in counts.iter_mut().zip(&kinds) {
                counts.add(kind);
            }
        }
        let mut layout = Layout {
            header: is_header.then_some(first),
            numbers: Vec::new(),
            texts: Vec::new(),
            label: None,
            index: false,
        };
        let width = counts.len();
        let find = |name: &String| match layout.column(source, name, width) {
            Err(_) if options.if_there => Ok(None),
            found => found.map(Some),
        };
        let label = options.label_column.as_ref().map(find).transpose()?;
        let dropped = options.drop_columns.iter().map(find);
        let dropped = dropped.collect::<Result<Vec<Option<usize>>>>()?;
        layout.label = label.flatten();
        let spoken_of = layout.label == Some(0) || dropped.contains(&Some(0));
        layout.index = !spoken_of && layout.is_first_unnamed() && counts[0].is_index(rows);
        let first = usize::from(layout.index);
        for column in (first..width).filter(|c| !dropped.contains(&Some(*c))) {
            if layout.label == Some(column) || counts[column].is_text() {
                layout.texts.push(column);
            } else {
                layout.numbers.push(column);
            }
        }
        match layout.numbers.is_empty() {
            true => Err(no_numbers(source, width)),
            false => Ok(layout),
        }
    }

    /// Whether a header of several names lacks the first one, also as pandas then calls it.
    fn is_first_unnamed(&self) -> bool {
        let header = self.header.as_deref().unwrap_or_default();
        header.len() > 1 && ["", "Unnamed: 0"].contains(&header[0].as_str())
    }

    /// The column of that name, or of that number counted from 1.
    pub fn column(&self, source: &Source, name: &str, width: usize) -> Result<usize> {
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
            "a number, since most of this column are numbers (leave a missing one empty)",
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

/// Whether the first line is a header: it has text above numbers, and not just one slip among many
/// numbers; or it is text throughout and nothing tells otherwise.
fn names(first: &[Field], below: &[Counts], rows: u64) -> bool {
    let text = first.iter().filter(|f| **f == Field::Text).count();
    let number = first
        .iter()
        .filter(|f| matches!(f, Field::Number(_)))
        .count();
    if rows == 0 {
        return text > 0 && number == 0;
    }
    let pairs = first.iter().zip(below);
    let above_numbers = pairs.filter(|(f, c)| **f == Field::Text && !c.is_text() && c.numbers > 0);
    // An empty corner above row names is how pandas and R begin; pandas numbers columns without a name.
    let numbered = || {
        let mut columns = first[1..].iter().enumerate();
        below[0].is_index(rows) && columns.all(|(i, f)| *f == Field::Number(i as f64))
    };
    let corner = first.first() == Some(&Field::Missing) && (below[0].is_text() || numbered());
    above_numbers.count() > 0 && text >= number || corner
}

fn short(field: &str) -> String {
    let cut: String = field.chars().take(40).collect();
    let more = if cut.len() < field.len() { "..." } else { "" };
    format!("{}{more}", cut.escape_debug())
}

/// The separator the first line uses: the expected one, or the only one of the others there.
pub fn separator(source: &Source, expected: u8) -> Result<u8> {
    let head = source.head(1 << 16)?;
    let line = head.split(|&b| b == b'\n').next().unwrap_or_default();
    let mut quoted = false;
    let mut seen = [false; 3];
    const KNOWN: [u8; 3] = [b',', b'\t', b';'];
    for b in line {
        quoted ^= *b == b'"';
        if let Some(at) = KNOWN.iter().position(|k| k == b && !quoted) {
            seen[at] = true;
        }
    }
    let others: Vec<u8> = KNOWN
        .into_iter()
        .zip(seen)
        .filter(|k| k.1)
        .map(|k| k.0)
        .collect();
    Ok(match others[..] {
        [only] => only,
        _ => expected,
    })
}
