//! The demo in a terminal: the atoms in colour, the cost and the table of strategies.

use crate::render::text::table;
use dictmesh_apps::demo::{DemoResult, Match, RECOVERED, SIDE};
use dictmesh_report::numbers::{bytes, thousands};

/// The report of the demo as text. `columns` is the width of a terminal with colours; without one, the atoms
/// are left out.
pub fn report(result: &DemoResult, columns: Option<usize>) -> String {
    let matches = result.matches();
    format!(
        "\n{} agents over {} links learned {} atoms from {} samples.\n\
         {}\n{} of {} planted atoms recovered (|cosine| of {RECOVERED} or more).\n\
         Cost of a sample: {:.3} before, {:.3} after.\n\n\
         What each inference strategy needed to reach {:.0e}\n({}):\n\n{}",
        result.informed.len(),
        result.edges.len(),
        result.recovered.cols(),
        thousands((result.costs.len() * result.batch) as u64),
        columns.map_or(String::new(), |columns| atoms(result, &matches, columns)),
        matches.iter().filter(|m| m.is_recovered()).count(),
        result.planted.cols(),
        result.cost_before,
        result.cost_after,
        result.target,
        result.measure,
        strategies(result),
    )
}

/// Atoms from the best match to the worst, in even steps.
fn atoms(result: &DemoResult, matches: &[Match], columns: usize) -> String {
    const SHOWN: usize = 16;
    let across = (columns.saturating_sub(2) / (SIDE + 1)).clamp(1, SHOWN);
    let last = matches.len().saturating_sub(1);
    let shown = SHOWN.min(matches.len());
    let chosen: Vec<&Match> = (0..shown)
        .map(|i| &matches[i * last / (shown - 1).max(1)])
        .collect();
    let count = matches.len();
    let mut out =
        format!("\nPlanted atoms over learned ones ({shown} of {count}, best match to worst):\n");
    for row in chosen.chunks(across) {
        let planted = row.iter().map(|m| (result.planted.column(m.planted), 1.0));
        let learned = row
            .iter()
            .map(|m| (result.recovered.column(m.recovered), m.cosine.signum()));
        let labels = row.iter().map(|m| format!("{:^SIDE$.3}", m.cosine.abs()));
        let labels: Vec<String> = labels.collect();
        out += &format!("\n{}\n{}", tiles(planted), tiles(learned));
        out += &format!("  {}\n", labels.join(" ").trim_end());
    }
    out
}

/// Atoms with their signs beside each other; a character is two pixels, one above the other.
fn tiles<'a>(atoms: impl Iterator<Item = (&'a [f64], f64)>) -> String {
    let scaled: Vec<Vec<f64>> = atoms
        .map(|(atom, sign)| {
            let largest = atom.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
            atom.iter().map(|v| v * sign / largest).collect()
        })
        .collect();
    let mut out = String::new();
    for y in (0..SIDE).step_by(2) {
        out.push(' ');
        for atom in &scaled {
            out.push(' ');
            for at in y * SIDE..(y + 1) * SIDE {
                let style = console::Style::new().force_styling(true);
                let style = style
                    .color256(colour(atom[at]))
                    .on_color256(colour(atom[at + SIDE]));
                out += &style.apply_to('▀').to_string();
            }
        }
        out.push('\n');
    }
    out
}

/// One of the 256 colours of terminals, from blue at -1 over white to red at 1.
fn colour(value: f64) -> u8 {
    const RAMP: [u8; 11] = [25, 68, 110, 153, 189, 255, 224, 217, 174, 167, 124];
    let place = (value + 1.0) / 2.0 * RAMP.len() as f64;
    RAMP[(place.max(0.0) as usize).min(RAMP.len() - 1)]
}

fn strategies(result: &DemoResult) -> String {
    let mut rows = vec![["strategy", "rounds", "bytes", "reached"]
        .map(String::from)
        .to_vec()];
    for row in &result.strategies {
        let rounds = thousands(row.rounds.unwrap_or(result.round_limit) as u64);
        let over = if row.rounds.is_none() { "> " } else { "" };
        rows.push(vec![
            row.name.clone(),
            format!("{over}{rounds}"),
            format!("{over}{}", bytes(row.bytes)),
            format!("{:.1e}", row.accuracy),
        ]);
    }
    table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::demo::tests::result;

    #[test]
    fn without_colours_the_text_is_ascii() {
        let text = report(&result(), None);
        assert!(text.is_ascii() && !text.contains('\x1b'));
        assert!(text.contains("  diffusion        > 3,000"), "{text}");
    }

    #[test]
    fn atoms_fit_the_columns_and_switch_their_colours_off() {
        for columns in [1, 80, 200] {
            let text = report(&result(), Some(columns));
            let across = ((columns.max(11) - 2) / 9).min(16);
            for line in text.lines().filter(|l| l.contains('\x1b')) {
                assert!(line.ends_with("\x1b[0m"));
                assert!(line.matches('▀').count() <= 8 * across);
            }
            assert!(text.contains('▀'));
        }
        assert_eq!([-9.0, 0.0, 9.0, f64::NAN].map(colour), [25, 255, 124, 25]);
    }
}
