//! The page itself: HTML that needs no other file, on a screen, a phone or paper.

use super::{Figure, Report, Section, Table};
use crate::canvas::palette::{ON_DARK, WHITE};
use crate::canvas::{escape, Canvas};
use std::fmt::Write;

/// The page of a report; `names` are the files of its figures, in order. It is well-formed XML too.
pub fn html(report: &Report, names: &[String]) -> String {
    let mut out = String::new();
    head(&mut out, report);
    out.push_str("<main>\n");
    contents(&mut out, &report.sections);
    let mut names = names.iter();
    for (i, section) in report.sections.iter().enumerate() {
        let _ = writeln!(out, "<section id=\"s{i}\">");
        if !section.heading.is_empty() {
            let _ = writeln!(out, "<h2>{}</h2>", escape(&section.heading));
        }
        paragraphs(&mut out, &section.text);
        for command in &section.commands {
            code(&mut out, command);
        }
        if !section.figures.is_empty() {
            out.push_str("<div class=\"figures\">\n");
            for (figure, name) in section.figures.iter().zip(names.by_ref()) {
                draw(&mut out, figure, name);
            }
            out.push_str("</div>\n");
        }
        for table in &section.tables {
            rows(&mut out, table);
        }
        out.push_str("</section>\n");
    }
    out.push_str("</main>\n");
    foot(&mut out, report);
    out
}

// Writing to a String cannot fail: the results below are of no interest.

fn head(out: &mut String, report: &Report) {
    let title = escape(&report.title);
    let _ = writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <meta name=\"generator\" content=\"dictmesh\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; img-src data:\"/>\n\
         <title>{title} · dictmesh</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<header>\n\
         <div class=\"what\"><p class=\"brand\">dictmesh</p>\n<h1>{title}</h1>",
        include_str!("page.css"),
        dark_figures()
    );
    if !report.subtitle.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"subtitle\">{}</p>",
            escape(&report.subtitle)
        );
    }
    out.push_str("</div>\n");
    if !report.facts.is_empty() {
        out.push_str("<dl class=\"facts\">\n");
        for (label, value) in &report.facts {
            let long = match value.chars().count() > 18 {
                true => " class=\"long\"",
                false => "",
            };
            let (label, value) = (escape(label), escape(value));
            let _ = writeln!(out, "<div><dt>{label}</dt><dd{long}>{value}</dd></div>");
        }
        out.push_str("</dl>\n");
    }
    out.push_str("</header>\n");
}

/// The colours of the figures on a dark screen. Pixels of images keep theirs, and so do white
/// letters, which stand on colour.
fn dark_figures() -> String {
    let mut css = String::from("@media screen and (prefers-color-scheme:dark){\n");
    // The numbers of agents have colours of their own, made for white paper.
    css.push_str("svg>rect{fill:none}\nsvg text:not([fill=\"#ffffff\"]){fill:#e6e9ef}\n");
    for (ink, dark) in ON_DARK {
        let hex = ink.hex();
        let what = if ink == WHITE {
            ":not(text)"
        } else {
            ":not(.t)"
        };
        let _ = writeln!(css, "svg {what}[fill=\"{hex}\"]{{fill:{dark}}}");
        let _ = writeln!(css, "svg path[stroke=\"{hex}\"]{{stroke:{dark}}}");
    }
    // `>` is allowed in the text of an element; `<` and `&` do not occur.
    css + "}\n"
}

fn contents(out: &mut String, sections: &[Section]) {
    let named = |s: &&Section| !s.heading.is_empty();
    if sections.iter().filter(named).count() < 3 {
        return;
    }
    out.push_str("<nav aria-label=\"Contents\"><ul>\n");
    for (i, section) in sections.iter().enumerate() {
        if !section.heading.is_empty() {
            let heading = escape(&section.heading);
            let _ = writeln!(out, "<li><a href=\"#s{i}\">{heading}</a></li>");
        }
    }
    out.push_str("</ul></nav>\n");
}

fn paragraphs(out: &mut String, text: &str) {
    let text = text.replace("\r\n", "\n");
    for paragraph in text.split("\n\n").map(str::trim) {
        if !paragraph.is_empty() {
            let _ = writeln!(out, "<p>{}</p>", escape(paragraph));
        }
    }
}

fn code(out: &mut String, command: &str) {
    let _ = writeln!(out, "<pre><code>{}</code></pre>", escape(command));
}

fn draw(out: &mut String, figure: &Figure, name: &str) {
    // A figure may grow a little beyond its sheet, and shrinks as far as it must: see page.css.
    let size = |canvas: &Canvas| format!("style=\"--w:{}px\"", canvas.width());
    match figure.panels.as_slice() {
        [only] => {
            let wide = match only.width() > 520 {
                true => " class=\"wide\"",
                false => "",
            };
            let _ = writeln!(out, "<figure{wide}>\n<div {}>", size(only));
            out.push_str(&only.svg_with_text());
            out.push_str("</div>\n");
        }
        panels => {
            // All in columns of one width, those of the last row too.
            let widest = panels.iter().max_by_key(|panel| panel.width());
            let size = widest.map(size).unwrap_or_default();
            let _ = writeln!(
                out,
                "<figure class=\"wide\">\n<div class=\"panels\" {size}>"
            );
            for panel in panels {
                out.push_str("<div>");
                out.push_str(&panel.svg_with_text());
                out.push_str("</div>\n");
            }
            out.push_str("</div>\n");
        }
    }
    let _ = writeln!(
        out,
        "<figcaption>{} <span class=\"files\"><a href=\"{name}.svg\">SVG</a> \
         <a href=\"{name}.png\">PNG</a></span></figcaption>\n</figure>",
        escape(&figure.caption)
    );
}

fn rows(out: &mut String, table: &Table) {
    // Wide tables are moved under the finger, not the page; the keyboard can do it too.
    let label = escape(&table.caption);
    let _ = writeln!(
        out,
        "<div class=\"table\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\"><table>"
    );
    if !table.caption.is_empty() {
        let _ = writeln!(out, "<caption>{label}</caption>");
    }
    let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0);
    let numeric: Vec<bool> = (0..columns.max(table.head.len()))
        .map(|c| is_numeric(table, c))
        .collect();
    let class = |c: usize| match numeric.get(c) {
        Some(true) => " class=\"n\"",
        _ => "",
    };
    out.push_str("<thead><tr>");
    for (c, name) in table.head.iter().enumerate() {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(c), escape(name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (c, cell) in row.iter().enumerate() {
            // The first column names the row, unless it is a number like the others.
            let _ = match c == 0 && !numeric[0] {
                true => write!(out, "<th scope=\"row\">{}</th>", escape(cell)),
                false => write!(out, "<td{}>{}</td>", class(c), escape(cell)),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// Whether a column holds numbers: they are set to the right.
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

fn foot(out: &mut String, report: &Report) {
    out.push_str("<footer>\n");
    if !report.command.is_empty() {
        out.push_str("<p>Made by</p>\n");
        code(out, &report.command);
    }
    if !report.versions.is_empty() {
        out.push_str("<ul>\n");
        for (name, version) in &report.versions {
            let (name, version) = (escape(name), escape(version));
            let _ = writeln!(out, "<li>{name} <b>{version}</b></li>");
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</footer>\n</body>\n</html>\n");
}
