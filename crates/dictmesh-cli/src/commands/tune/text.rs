//! The settings found, as text.

use super::{learn_line, wider, Args, Tuning};
use crate::render::text::table;
use dictmesh_apps::learning_curve::{Constant, Ending, LearningCurve, Tuned};
use dictmesh_apps::tuning::{Choice, Comparison};
use dictmesh_report::numbers::{bytes, counted, thousands};

pub fn tuning(args: &Args, found: &Tuning) -> String {
    let mut text = String::new();
    if let Some(choice) = &found.choice {
        text += &self::choice(choice);
        if let (Some(edge), Some(command)) = (edge(choice), wider(choice)) {
            text += &format!("{edge}\n  {command}\n");
        }
        text += "\n";
    }
    if let Some(comparison) = &found.comparison {
        text += &self::comparison(comparison);
        text += "\n";
    }
    text += &format!(
        "To learn with these settings:\n  {}\n",
        learn_line(args, found)
    );
    if let Some(page) = &found.report {
        text += &format!("report: {page}\n");
    }
    text
}

/// A sentence that names the ends of the grid at which the choice lies.
pub fn edge(choice: &Choice) -> Option<String> {
    let places = choice.edges.iter().map(|edge| {
        let what = match edge.parameter {
            "gamma" => "gamma",
            _ => "number of atoms",
        };
        format!("the {} {what} of the grid", edge.end)
    });
    let places: Vec<String> = places.collect();
    let places = places.join(" and ");
    (!places.is_empty())
        .then(|| format!("This is {places}; a better choice may lie beyond. Try wider:"))
}

fn choice(choice: &Choice) -> String {
    let lowest = &choice.cells[choice.lowest];
    format!(
        "{}\n\n{}\n* chosen: {}, gamma = {}. It has the fewest atoms, then the largest gamma, within one\n\
         standard error ({:.4}) of the lowest score ({:.4}, of {} and gamma = {}).\n",
        "Score of each dictionary: squared error on hidden entries of held-out samples, relative to their\n\
         squares (0 is perfect, 1 is as good as predicting 0). In brackets: nonzero coefficients per sample.",
        table(&choice_rows(choice)),
        counted(choice.atoms, "atom"),
        choice.gamma,
        lowest.standard_error,
        lowest.score,
        counted(lowest.atoms, "atom"),
        lowest.gamma,
    ) + &format!(
        "Samples: {} to learn from, {} held out.\n",
        choice.training_samples, choice.held_out_samples
    )
}

/// A head, and a row for each number of atoms with a column for each gamma.
pub fn choice_rows(choice: &Choice) -> Vec<Vec<String>> {
    let cells = choice.cells.iter().enumerate().collect::<Vec<_>>();
    let rows = cells.chunk_by(|a, b| a.1.atoms == b.1.atoms);
    let mut table = Vec::new();
    for row in rows {
        if table.is_empty() {
            let gammas = row
                .iter()
                .rev()
                .map(|(_, cell)| format!("gamma {} ", cell.gamma));
            table.push(std::iter::once("atoms".to_string()).chain(gammas).collect());
        }
        let scores = row.iter().rev().map(|(i, cell)| {
            let mark = if *i == choice.chosen { "*" } else { " " };
            format!("{:.4} ({:.1}){mark}", cell.score, cell.nonzeros)
        });
        table.push(
            std::iter::once(row[0].1.atoms.to_string())
                .chain(scores)
                .collect(),
        );
    }
    table
}

fn comparison(found: &Comparison) -> String {
    let goal = found.goal_db;
    let mut text = format!(
        "{}; {}, at most {} rounds for each strategy.\n\
         Rounds until nu (of the worst agent) and y both stay above 20, 40 and 60 dB with the best constant;\n\
         rounds to {goal} dB with the default one; bytes that all agents send until {goal} dB; SNR at the end.\n\n{}",
        mesh(found),
        counted(found.samples, "sample"),
        thousands(found.round_limit as u64),
        table(&comparison_rows(found)),
    );
    for candidate in &found.strategies {
        if let Some(why) = &candidate.unsupported {
            text += &format!("{}: {why}\n", candidate.strategy);
        }
    }
    if found.has_sums() {
        text += &format!(
            "A round of tree is a broadcast from the root and a sum to it, {} one after the other;\n\
             a round of the others is one hop. The suggestion has the fewest hops.\n",
            counted(found.hops_per_sum, "hop")
        );
    }
    if let Some(verdict) = verdict(found) {
        text += &format!("\n{verdict}\n");
    }
    text
}

/// "16 agents with 40 links and 48 atoms".
pub fn mesh(found: &Comparison) -> String {
    format!(
        "{} with {} and {}",
        counted(found.agents, "agent"),
        counted(found.links, "link"),
        counted(found.atoms, "atom")
    )
}

/// The suggestion in a sentence.
pub fn verdict(found: &Comparison) -> Option<String> {
    let (suggested, best) = (found.suggested.as_ref()?, found.suggested_run()?);
    let name = match &suggested.constant {
        Some(constant) => format!("{} with {}", suggested.strategy, equation(constant)),
        None => suggested.strategy.clone(),
    };
    let goal = found.goal_db;
    Some(match suggested.rounds {
        Some(rounds) => format!(
            "Suggested: {name}. It reaches {goal} dB in {}; all agents together send {}",
            counted_rounds(rounds),
            bytes(best.bytes_after(rounds)),
        ),
        None => format!(
            "Suggested: {name}. No strategy reaches {goal} dB; this one comes nearest, {:.1} dB. Give more --rounds",
            best.last().both(),
        ),
    })
}

fn equation(constant: &Constant) -> String {
    format!("{} = {}", constant.name, four_digits(constant.value))
}

fn counted_rounds(rounds: usize) -> String {
    match rounds {
        1 => "1 round".into(),
        n => format!("{} rounds", thousands(n as u64)),
    }
}

/// A head, and a row for each strategy that ran.
pub fn comparison_rows(found: &Comparison) -> Vec<Vec<String>> {
    let head = [
        "strategy", "best", "20 dB", "40 dB", "60 dB", "default", "sent", "end",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    for candidate in &found.strategies {
        let Some(Tuned { best, default, .. }) = &candidate.tuned else {
            continue;
        };
        let sent = best.both()[found.goal].map_or("-".into(), |n| bytes(best.bytes_after(n)));
        let constant = best.constant.as_ref();
        let constant = constant.map_or("-".into(), |c| {
            format!("{} {}", c.name, four_digits(c.value))
        });
        let mut row = vec![candidate.strategy.clone(), constant];
        row.extend((0..3).map(|goal| rounds_to(best, best.both()[goal])));
        row.extend([rounds_to(default, default.both()[found.goal]), sent]);
        row.push(format!("{:.0} dB", best.last().both()));
        rows.push(row);
    }
    rows
}

/// Rounds to a goal, or why there are none.
pub fn rounds_to(curve: &LearningCurve, rounds: Option<usize>) -> String {
    match (rounds, curve.ending) {
        (Some(rounds), _) => thousands(rounds as u64),
        (None, Ending::Halted) => "never".into(),
        (None, Ending::Diverged) => "diverges".into(),
        (None, _) => format!("> {}", thousands(curve.last().round as u64)),
    }
}

/// A number as flags take it, with four significant digits.
pub fn four_digits(value: f64) -> String {
    let short = format!("{value:.3e}").parse::<f64>().unwrap_or(value);
    match (1e-4..1e6).contains(&short) {
        true => short.to_string(),
        false => format!("{short:e}"),
    }
}
