//! The page of a report: `page.html` filled in. It needs no other file, and is well-formed XML too.

use crate::canvas::escape;
use crate::canvas::palette::{ON_DARK, WHITE};
use crate::{Figure, Report, Table};
use minijinja::{context, Environment, Output, State, Value};
use std::fmt::Write;

/// The page of a report; `names` are the files of its figures, in order.
pub fn html(report: &Report, names: &[String]) -> Result<String, minijinja::Error> {
    let mut templates = Environment::new();
    templates.set_formatter(escaped);
    templates.add_filter("paragraphs", paragraphs);
    templates.add_template("page.html", include_str!("page.html"))?;
    let mut names = names.iter();
    let sections: Vec<Value> = report
        .sections
        .iter()
        .enumerate()
        .map(|(id, section)| {
            let figures = section.figures.iter().zip(names.by_ref());
            let figures: Vec<Value> = figures.map(|(f, name)| figure(f, name)).collect();
            let tables: Vec<Value> = section.tables.iter().map(table).collect();
            let (heading, text, commands) = (&section.heading, &section.text, &section.commands);
            context! { id, heading, text, commands, figures, tables }
        })
        .collect();
    let headings = report.sections.iter().filter(|s| !s.heading.is_empty());
    let (title, subtitle, facts) = (&report.title, &report.subtitle, &report.facts);
    let (command, versions) = (&report.command, &report.versions);
    let css = include_str!("page.css").to_string() + &dark_figures();
    templates.get_template("page.html")?.render(context! {
        report => context! { title, subtitle, facts, sections, command, versions },
        headings => headings.count(),
        css => Value::from_safe_string(css),
    })
}

/// Writes a value of the template; text is escaped, and characters that XML forbids are replaced.
fn escaped(out: &mut Output<'_>, _: &State<'_, '_>, value: &Value) -> Result<(), minijinja::Error> {
    let text = value.to_string();
    let written = match value.is_safe() {
        true => out.write_str(&text),
        false => out.write_str(&escape(&text)),
    };
    written.map_err(minijinja::Error::from)
}

fn paragraphs(text: String) -> Vec<String> {
    let text = text.replace("\r\n", "\n");
    let paragraphs = text.split("\n\n").map(str::trim);
    paragraphs
        .filter(|p| !p.is_empty())
        .map(String::from)
        .collect()
}

fn figure(figure: &Figure, file: &str) -> Value {
    let width = figure.panels.iter().map(|p| p.width()).fold(0.0, f32::max);
    let panels = figure
        .panels
        .iter()
        .map(|p| Value::from_safe_string(p.svg()));
    context! {
        file,
        width,
        caption => figure.caption,
        wide => figure.panels.len() != 1 || width > 520.0,
        panels => panels.collect::<Vec<Value>>(),
    }
}

fn table(table: &Table) -> Value {
    let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0);
    let numeric: Vec<bool> = (0..columns.max(table.head.len()))
        .map(|c| is_numeric(table, c))
        .collect();
    let (caption, head, rows) = (&table.caption, &table.head, &table.rows);
    context! { caption, head, rows, numeric }
}

/// Whether a column holds numbers, which are aligned to the right.
fn is_numeric(table: &Table, column: usize) -> bool {
    let cells = table.rows.iter().filter_map(|r| r.get(column));
    let mut cells = cells.map(|c| c.trim()).filter(|c| !c.is_empty()).peekable();
    let number = |c: &str| {
        let first = c.trim_start_matches(['−', '-', '+', '±', '.', '<', '>', ' ']);
        first.starts_with(|c: char| c.is_ascii_digit())
            && c.chars().filter(|c| c.is_alphabetic()).count() < 4
    };
    cells.peek().is_some() && cells.all(|c| number(c) || matches!(c, "–" | "-" | "none" | "NaN"))
}

/// The colours of the figures on a dark screen. Images keep theirs, and so does white text, which stands on
/// colour.
fn dark_figures() -> String {
    let mut css = String::from("@media screen and (prefers-color-scheme:dark){\n");
    // The numbers of agents have the agents' colours, made for white paper.
    css.push_str("svg .paper{fill:none}\nsvg text:not([fill=\"#ffffff\"]){fill:#e6e9ef}\n");
    for (ink, dark) in ON_DARK {
        let (hex, what) = (ink.hex(), if ink == WHITE { ":not(text)" } else { "" });
        // Writing to a String cannot fail.
        let _ = writeln!(css, "svg {what}[fill=\"{hex}\"]{{fill:{dark}}}");
        let _ = writeln!(css, "svg [stroke=\"{hex}\"]{{stroke:{dark}}}");
    }
    // `>` is allowed in the text of an element; `<` and `&` do not occur.
    css + "}\n"
}
