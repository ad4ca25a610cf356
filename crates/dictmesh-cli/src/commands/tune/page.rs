//! The page of a run.

use super::super::command_line;
use super::choice::Choice;
use super::curve::{constant, Curves};
use super::{edge, learn_line, words, Args, Found};
use crate::numbers::counted;
use crate::report::{AxisSpec, Figure, Lines, Report, Section, Series, Table};
use dictmesh_apps::learning_curve::{LearningCurve, Point, GOALS};

pub fn report(args: &Args, found: &Found) -> Report {
    let mut facts = Vec::new();
    let mut sections = Vec::new();
    if let Some(choice) = &found.choice {
        let chosen = &choice.cells[choice.chosen];
        facts.push(("gamma".into(), chosen.gamma.to_string()));
        facts.push(("atoms".into(), chosen.atoms.to_string()));
        sections.push(choice_section(choice));
    }
    if let Some(curves) = &found.curves {
        if let Some((name, tuned)) = curves.suggestion() {
            let (constant, value) = constant(&*tuned.best.strategy);
            facts.push(("strategy".into(), name.into()));
            facts.push((constant.into(), words::four_digits(value)));
        }
        sections.push(curve_section(curves));
    }
    sections.push(Section {
        heading: "To learn so".into(),
        commands: vec![learn_line(args, found)],
        ..Section::default()
    });
    Report {
        title: "What to learn with".into(),
        subtitle: args.subject.data.display().to_string(),
        facts,
        sections,
        command: command_line(),
        versions: vec![
            ("dictmesh".into(), env!("CARGO_PKG_VERSION").into()),
            (
                "seed".into(),
                args.choices.options.seed.unwrap_or(0).to_string(),
            ),
        ],
    }
}

fn choice_section(choice: &Choice) -> Section {
    let mut series: Vec<Series> = Vec::new();
    for cell in &choice.cells {
        let name = counted(cell.atoms, "atom");
        let point = (cell.gamma, cell.prediction.score());
        match series.last_mut() {
            Some(last) if last.name == name => last.points.insert(0, point),
            _ => series.push(Series::new(&name, vec![point])),
        }
    }
    let plot = Lines {
        title: "How well hidden entries are predicted, by gamma".into(),
        x: AxisSpec::log("gamma"),
        y: AxisSpec::linear("error on hidden entries"),
        series,
        levels: Vec::new(),
    };
    let mut rows = words::choice_rows(choice);
    let (beyond, command) = match edge(choice) {
        Some((words, command)) => (format!("\n\n{words}"), vec![command]),
        None => (String::new(), Vec::new()),
    };
    Section {
        heading: "gamma and the number of atoms".into(),
        text: format!(
            "Each dictionary was learned from {} samples. Of {} others a tenth of the entries was hidden, \
             and predicted from the code of the rest: squared error over the squares of what was hidden, \
             0 is perfect, 1 no better than saying 0. Too small a gamma, or too many atoms, fit noise and \
             predict badly; too large a gamma, or too few atoms, miss what is there.\n\nMarked by a star in the \
             table: the fewest atoms, then the largest gamma, within one standard error of the lowest score.{}",
            choice.training, choice.held_out, beyond
        ),
        commands: command,
        figures: vec![Figure::new(
            "choice",
            "Lower is better.",
            plot.draw(),
        )],
        tables: vec![Table {
            caption: "Score, and in brackets the entries of y that are not 0".into(),
            head: rows.remove(0),
            rows,
        }],
    }
}

fn curve_section(curves: &Curves) -> Section {
    let runs: Vec<(String, &LearningCurve)> = curves
        .strategies
        .iter()
        .filter_map(|(name, tuned)| Some((name.clone(), &tuned.as_ref().ok()?.best)))
        .collect();
    let mut rows = words::curve_rows(curves);
    let verdict = curves
        .suggestion()
        .map(|(name, tuned)| words::verdict(curves, name, tuned));
    Section {
        heading: "Strategies, round by round".into(),
        text: format!(
            "On {}, {}: solved exactly, then by each strategy with its default step or penalty, and with \
             multiples of it.\n\n{}.",
            words::mesh(curves),
            counted(curves.samples, "sample"),
            verdict.unwrap_or_default(),
        ),
        commands: Vec::new(),
        figures: vec![figure("snr", &runs)],
        tables: vec![Table {
            caption: format!(
                "Rounds until nu and y both stay above 20, 40 and 60 dB with the best constant; rounds to \
                 {goal} dB with the default one; what was sent until {goal} dB; the lower SNR at the end",
                goal = GOALS[curves.goal]
            ),
            head: rows.remove(0),
            rows,
        }],
    }
}

/// The two learning curves, of nu and of y.
pub fn figure(name: &str, runs: &[(String, &LearningCurve)]) -> Figure {
    let panel = |what: &str, value: fn(&Point) -> f64| {
        let series = runs.iter().map(|(name, curve)| {
            let points = curve.points.iter();
            let points = points.map(|p| (p.round as f64, value(p).clamp(LOWEST, HIGHEST)));
            Series::new(name, points.collect())
        });
        Lines {
            title: format!("SNR of {what} against rounds"),
            x: AxisSpec::log("rounds"),
            y: AxisSpec::linear(&format!("SNR of {what} (dB)")),
            series: series.collect(),
            levels: GOALS.map(|goal| (goal, format!("{goal} dB"))).to_vec(),
        }
        .draw()
    };
    Figure::panels(
        name,
        "Signal-to-noise ratio against the exact solution, of the worst agent's nu (left or above) and \
         of all codes y, drawn up to 80 dB. Higher is better; each curve ends where both are above 60 dB.",
        vec![panel("nu", |p| p.nu), panel("y", |p| p.y)],
    )
}

/// The SNR that are drawn: what diverges, or is exact to the last digit, would flatten all the others.
const LOWEST: f64 = -20.0;
const HIGHEST: f64 = 80.0;
