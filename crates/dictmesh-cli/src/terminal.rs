//! The demo in a terminal: atoms in colour, a sparkline, a table, and progress while one waits.

use crate::canvas::palette::signed;
use crate::demo::DemoResult;
use crate::globals::color;
use crate::matching::{self, Match, RECOVERED};
use crate::numbers::{bytes, thousands};
use crate::planted::SIDE;
use clap::ColorChoice;
use std::fmt::Write;
use std::io::IsTerminal;

/// What the place we print to can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// 24-bit colours.
    TrueColour,
    /// The 256 colours that nearly every terminal has.
    Indexed,
    /// ASCII and nothing else: files, pipes, dumb terminals, and people who set `NO_COLOR`.
    Plain,
}

impl Style {
    /// What standard output can show.
    pub fn detect() -> Style {
        match color() {
            ColorChoice::Never => Style::Plain,
            ColorChoice::Always => Style::Indexed,
            ColorChoice::Auto => Style::of(std::io::stdout().is_terminal(), &|name| {
                std::env::var(name).ok()
            }),
        }
    }

    fn of(terminal: bool, env: &dyn Fn(&str) -> Option<String>) -> Style {
        let says = |name, value| env(name).is_some_and(|v| v == value);
        // https://no-color.org: set and not empty, whatever the value.
        let no_colour = env("NO_COLOR").is_some_and(|v| !v.is_empty());
        if !terminal || no_colour || says("TERM", "dumb") {
            Style::Plain
        } else if says("COLORTERM", "truecolor") || says("COLORTERM", "24bit") {
            Style::TrueColour
        } else {
            Style::Indexed
        }
    }
}

/// Columns of the terminal, 80 if there is none.
pub fn columns() -> usize {
    console::Term::stdout()
        .size_checked()
        .map_or(80, |(_, columns)| usize::from(columns))
}

/// The whole report, to be printed.
pub fn report(result: &DemoResult, style: Style, columns: usize) -> String {
    let matches = matching::greedy(&result.planted, &result.recovered);
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "\n{} agents over {} links learned {} atoms from {} samples.\n",
        result.informed.len(),
        result.edges.len(),
        result.recovered.cols(),
        thousands((result.costs.len() * result.batch) as u64),
    );
    atoms(&mut out, result, &matches, style, columns);
    cost(&mut out, result, style, columns);
    table(&mut out, result);
    out
}

fn atoms(out: &mut String, result: &DemoResult, matches: &[Match], style: Style, columns: usize) {
    let across = (columns.saturating_sub(2) / (SIDE + 1)).clamp(1, 16);
    let shown = match style {
        Style::Plain => across.min(8),
        _ => 16,
    };
    // From best to worst in even steps: an honest choice.
    let chosen = spread(matches, shown);
    let _ = writeln!(
        out,
        "Planted atoms, and below each the one learned ({} of {}, best match to worst):",
        chosen.len(),
        matches.len()
    );
    for row in chosen.chunks(across) {
        out.push('\n');
        let planted: Vec<_> = row
            .iter()
            .map(|m| (result.planted.column(m.planted), 1.0))
            .collect();
        let learned: Vec<_> = row
            .iter()
            .map(|m| (result.recovered.column(m.recovered), m.cosine.signum()))
            .collect();
        tiles(out, &planted, style);
        out.push('\n');
        tiles(out, &learned, style);
        let labels: Vec<_> = row
            .iter()
            .map(|m| format!("{:^SIDE$}", format!("{:.3}", m.cosine.abs())))
            .collect();
        let _ = writeln!(out, "  {}", labels.join(" ").trim_end());
    }
    let _ = writeln!(
        out,
        "\n{} of {} planted atoms found again (|cosine| of {RECOVERED} or more).\n",
        matching::recovered(matches),
        result.planted.cols()
    );
}

fn spread(matches: &[Match], count: usize) -> Vec<Match> {
    let count = count.min(matches.len());
    let last = matches.len().saturating_sub(1);
    (0..count)
        .map(|i| matches[i * last / (count - 1).max(1)])
        .collect()
}

/// Atoms side by side. In colour a character is two pixels, one above the other; in ASCII it is one.
fn tiles(out: &mut String, atoms: &[(&[f64], f64)], style: Style) {
    let scaled: Vec<Vec<f64>> = atoms
        .iter()
        .map(|(atom, sign)| {
            let largest = atom.iter().fold(0.0f64, |m, v| m.max(v.abs()));
            let scale = if largest > 0.0 { sign / largest } else { 0.0 };
            atom.iter().map(|v| v * scale).collect()
        })
        .collect();
    let step = if style == Style::Plain { 1 } else { 2 };
    for y in (0..SIDE).step_by(step) {
        let mut line = String::from(" ");
        for atom in &scaled {
            line.push(' ');
            for x in 0..SIDE {
                let upper = atom[y * SIDE + x];
                let _ = match style {
                    Style::Plain => write!(line, "{}", shade(upper)),
                    _ => {
                        let lower = atom[(y + 1) * SIDE + x];
                        write!(line, "{}▀", paint(upper, lower, style))
                    }
                };
            }
            if style != Style::Plain {
                line.push_str("\x1b[0m");
            }
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// The escape sequence for one colour above another.
fn paint(upper: f64, lower: f64, style: Style) -> String {
    if style == Style::TrueColour {
        let ([r, g, b], [s, h, c]) = (signed(upper), signed(lower));
        return format!("\x1b[38;2;{r};{g};{b};48;2;{s};{h};{c}m");
    }
    // Blue over white to red among the 256; the nearest of them to ours would stray in hue.
    const RAMP: [u8; 11] = [25, 68, 110, 153, 189, 255, 224, 217, 174, 167, 124];
    let index = |value: f64| pick(&RAMP, (value + 1.0) / 2.0);
    format!("\x1b[38;5;{};48;5;{}m", index(upper), index(lower))
}

/// Dashes below 0, a dot around it, heavier signs above.
fn shade(value: f64) -> char {
    pick(&['=', '-', '.', '+', '@'], (value + 1.0) / 2.0)
}

/// The member of a ramp at a place between 0 and 1; what is not a number is at 0.
fn pick<T: Copy>(ramp: &[T], place: f64) -> T {
    let index = (place * ramp.len() as f64).floor().max(0.0) as usize;
    ramp[index.min(ramp.len() - 1)]
}

fn cost(out: &mut String, result: &DemoResult, style: Style, columns: usize) {
    let _ = writeln!(
        out,
        "Cost of a sample: {:.3} before, {:.3} after; on the way:",
        result.cost_before, result.cost_after
    );
    let width = columns.saturating_sub(4).clamp(10, 72);
    let _ = writeln!(out, "\n  {}\n", sparkline(&result.costs, width, style));
}

/// A curve of at most `width` characters, from 0 to the largest value.
fn sparkline(values: &[f64], width: usize, style: Style) -> String {
    let width = width.min(values.len());
    let means: Vec<f64> = (0..width)
        .map(|i| {
            let part = &values[i * values.len() / width..(i + 1) * values.len() / width];
            part.iter().sum::<f64>() / part.len() as f64
        })
        .collect();
    let finite = means.iter().copied().filter(|v| v.is_finite());
    let high = finite.fold(f64::MIN_POSITIVE, f64::max);
    let ramp: &[char] = match style {
        Style::Plain => &['_', '.', '-', '=', '+', '*', '#'],
        _ => &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
    };
    means.iter().map(|v| pick(ramp, v / high)).collect()
}

fn table(out: &mut String, result: &DemoResult) {
    let _ = writeln!(
        out,
        "What each inference strategy needed to reach {:.0e}\n({}):\n",
        result.target, result.measure
    );
    let mut rows = vec![["strategy", "rounds", "bytes", "reached"].map(String::from)];
    for row in &result.strategies {
        let (rounds, sent) = match row.rounds {
            Some(n) => (thousands(n as u64), bytes(row.bytes)),
            None => (
                format!("> {}", thousands(result.round_limit as u64)),
                format!("> {}", bytes(row.bytes)),
            ),
        };
        rows.push([
            row.name.clone(),
            rounds,
            sent,
            format!("{:.1e}", row.accuracy),
        ]);
    }
    let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let [a, b, c, d] = [0, 1, 2, 3].map(width);
    for [name, rounds, sent, reached] in &rows {
        let _ = writeln!(out, "  {name:<a$}  {rounds:>b$}  {sent:>c$}  {reached:>d$}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::fake_result;

    #[test]
    fn colour_only_where_it_is_wanted() {
        let of = |terminal, vars: &[(&str, &str)]| {
            Style::of(terminal, &|name| {
                let found = vars.iter().find(|v| v.0 == name);
                found.map(|v| v.1.to_string())
            })
        };
        let full = ("COLORTERM", "truecolor");
        assert_eq!(of(true, &[full]), Style::TrueColour);
        assert_eq!(of(true, &[("TERM", "xterm-256color")]), Style::Indexed);
        assert_eq!(of(false, &[full]), Style::Plain);
        assert_eq!(of(true, &[full, ("NO_COLOR", "1")]), Style::Plain);
        assert_eq!(of(true, &[full, ("NO_COLOR", "")]), Style::TrueColour);
        assert_eq!(of(true, &[full, ("TERM", "dumb")]), Style::Plain);
    }

    #[test]
    fn the_fallback_is_ascii_and_fits_its_columns() {
        for columns in [40, 80, 200] {
            let text = report(&fake_result(), Style::Plain, columns);
            assert!(text.is_ascii());
            assert!(!text.contains('\x1b'));
            let art = text.lines().filter(|l| l.starts_with("  "));
            assert!(art.map(str::len).max() <= Some(columns.max(58)));
        }
    }

    #[test]
    fn colours_are_switched_off_again() {
        for style in [Style::TrueColour, Style::Indexed] {
            let text = report(&fake_result(), style, 80);
            assert!(text.contains('▀'));
            for line in text.lines().filter(|l| l.contains('\x1b')) {
                assert!(line.ends_with("\x1b[0m"));
                assert_eq!(line.matches('▀').count(), 64);
            }
        }
    }

    #[test]
    fn the_table_is_aligned_and_says_what_was_not_reached() {
        let mut out = String::new();
        table(&mut out, &fake_result());
        let rows: Vec<_> = out.lines().skip(3).collect();
        assert_eq!(rows.len(), 6);
        assert!(rows.iter().all(|r| r.len() == rows[0].len()), "{out}");
        assert!(rows[1].contains("> 3,000"));
        assert!(rows[5].contains(" 96 "));
    }

    #[test]
    fn sparklines_go_from_high_to_low_and_bear_anything() {
        assert_eq!(sparkline(&[8.0, 4.0, 0.0], 3, Style::TrueColour), "█▅▁");
        assert_eq!(sparkline(&[], 10, Style::Plain), "");
        assert_eq!(sparkline(&[f64::NAN, 0.0], 10, Style::Plain), "__");
        assert_eq!(sparkline(&[1.0; 100], 10, Style::Plain), "##########");
    }

    #[test]
    fn shades_have_a_middle_and_two_ends() {
        assert_eq!(
            [-2.0, -1.0, -0.1, 0.0, 0.1, 1.0, 2.0].map(shade),
            ['=', '=', '.', '.', '.', '@', '@']
        );
    }
}
