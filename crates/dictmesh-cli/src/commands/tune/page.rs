//! The report of a search.

use super::super::command_line;
use super::{learn_line, text, wider, Args, Tuning};
use dictmesh_apps::learning_curve::{LearningCurve, Point, GOALS};
use dictmesh_apps::tuning::{Choice, Comparison};
use dictmesh_report::numbers::counted;
use dictmesh_report::{AxisSpec, Figure, Lines, Report, Section, Series, Table};

pub fn report(args: &Args, found: &Tuning) -> Report {
    let (mut facts, mut sections) = (Vec::new(), Vec::new());
    if let Some(choice) = &found.choice {
        facts.push(("gamma".into(), choice.gamma.to_string()));
        facts.push(("atoms".into(), choice.atoms.to_string()));
        sections.push(choice_section(choice));
    }
    if let Some(comparison) = &found.comparison {
        if let Some(suggested) = &comparison.suggested {
            facts.push(("strategy".into(), suggested.strategy.clone()));
            let constant = suggested.constant.iter();
            facts.extend(constant.map(|c| (c.name.to_string(), text::four_digits(c.value))));
        }
        sections.push(comparison_section(comparison));
    }
    sections.push(Section {
        heading: "To learn with these settings".into(),
        commands: vec![learn_line(args, found)],
        ..Section::default()
    });
    Report {
        title: "Settings for learning".into(),
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
        let point = (cell.gamma, cell.score);
        match series.last_mut() {
            Some(last) if last.name == name => last.points.insert(0, point),
            _ => series.push(Series::new(&name, vec![point])),
        }
    }
    let plot = Lines {
        title: "Prediction of hidden entries, by gamma".into(),
        x: AxisSpec::log("gamma"),
        y: AxisSpec::linear("error on hidden entries"),
        series,
        levels: Vec::new(),
    };
    let mut rows = text::choice_rows(choice);
    let edge = text::edge(choice).map_or(String::new(), |words| format!("\n\n{words}"));
    Section {
        heading: "gamma and the number of atoms".into(),
        text: format!(
            "Each dictionary learns from {} samples. A tenth of the entries of {} held-out samples is hidden \
             and predicted from the code of the rest. The score is the squared error relative to the squares of \
             the hidden entries: 0 is perfect, 1 is as good as predicting 0. With a gamma too small, or too many \
             atoms, codes fit noise and predict badly. With a gamma too large, or too few atoms, they miss \
             structure.\n\nThe star marks the choice: the fewest atoms, then the largest gamma, within one standard \
             error of the lowest score.{edge}",
            choice.training_samples, choice.held_out_samples
        ),
        commands: wider(choice).into_iter().collect(),
        figures: vec![Figure::new("choice", "Lower is better.", plot.draw())],
        tables: vec![Table {
            caption: "Score, and in brackets the nonzero coefficients per sample".into(),
            head: rows.remove(0),
            rows,
        }],
    }
}

fn comparison_section(found: &Comparison) -> Section {
    let candidates = found.strategies.iter();
    let runs: Vec<(String, &LearningCurve)> = candidates
        .filter_map(|c| Some((c.strategy.clone(), &c.tuned.as_ref()?.best)))
        .collect();
    let mut rows = text::comparison_rows(found);
    Section {
        heading: "Strategies, round by round".into(),
        text: format!(
            "On {}. {} have an exact solution. Each strategy runs against it with its default step or penalty, \
             and with multiples of it.\n\n{}.",
            text::mesh(found),
            counted(found.samples, "sample"),
            text::verdict(found).unwrap_or_default(),
        ),
        commands: Vec::new(),
        figures: vec![figure("snr", &runs)],
        tables: vec![Table {
            caption: format!(
                "Rounds until nu and y both stay above 20, 40 and 60 dB with the best constant; rounds to {goal} dB \
                 with the default one; bytes sent until {goal} dB; the lower SNR at the end",
                goal = found.goal_db
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
         of all codes y, up to 80 dB. Higher is better; each curve ends where both exceed 60 dB.",
        vec![panel("nu", |p| p.nu), panel("y", |p| p.y)],
    )
}

/// The SNR that are drawn: a diverging or exact run would flatten all others.
const LOWEST: f64 = -20.0;
const HIGHEST: f64 = 80.0;
