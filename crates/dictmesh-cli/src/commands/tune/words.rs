//! What was found, as text and as JSON.

use super::choice::{Cell, Choice};
use super::curve::{constant, Curves};
use crate::numbers::{bytes, counted, thousands};
use dictmesh_apps::learning_curve::{Ending, LearningCurve, Tuned, GOALS};
use serde_json::{json, Value};

/// Columns of equal width: the first to the left, the others to the right.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| {
        let cells = rows.iter().filter_map(|row| row.get(c));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate();
        let line: Vec<String> = cells
            .map(|(c, (cell, width))| match c {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        text += &format!("  {}\n", line.join("  ").trim_end());
    }
    text
}

pub fn choice(choice: &Choice) -> String {
    let chosen = &choice.cells[choice.chosen];
    let best = &choice.cells[choice.best()];
    format!(
        "A tenth of the entries of {} samples was hidden and predicted by dictionaries learned from\n\
         {} other samples. Squared error over the squares of what was hidden (0 is perfect, 1 no\n\
         better than saying 0), and in brackets how many entries of y are not 0:\n\n{}\n\
         * chosen: {}, gamma = {}: the fewest atoms, then the largest gamma, within one\n\
         standard error ({:.4}) of the lowest score ({:.4}, of {} and gamma = {})\n",
        choice.held_out,
        choice.training,
        aligned(&choice_rows(choice)),
        counted(chosen.atoms, "atom"),
        chosen.gamma,
        best.prediction.standard_error(),
        best.prediction.score(),
        counted(best.atoms, "atom"),
        best.gamma,
    )
}

/// A row for each number of atoms, a column for each gamma, and a head.
pub fn choice_rows(choice: &Choice) -> Vec<Vec<String>> {
    let first = choice.cells.first().map_or(0, |cell| cell.atoms);
    let width = choice.cells.iter().filter(|c| c.atoms == first).count();
    let gammas = choice.cells[..width].iter().rev();
    let mut rows = vec![std::iter::once("atoms".to_string())
        .chain(gammas.map(|cell| format!("gamma {} ", cell.gamma)))
        .collect::<Vec<String>>()];
    for (r, row) in choice.cells.chunks(width.max(1)).enumerate() {
        let cells = row.iter().enumerate().rev().map(|(c, cell)| {
            let mark = match r * width + c == choice.chosen {
                true => "*",
                false => " ",
            };
            let p = &cell.prediction;
            format!("{:.4} ({:.1}){mark}", p.score(), p.sparsity)
        });
        rows.push(
            std::iter::once(row[0].atoms.to_string())
                .chain(cells)
                .collect(),
        );
    }
    rows
}

pub fn choice_json(choice: &Choice) -> Value {
    let cell = |cell: &Cell| {
        let p = &cell.prediction;
        json!({
            "gamma": cell.gamma, "atoms": cell.atoms, "score": p.score(), "standard_error": p.standard_error(),
            "sparsity": p.sparsity, "residual": p.residual,
        })
    };
    json!({
        "gamma": choice.cells[choice.chosen].gamma, "atoms": choice.cells[choice.chosen].atoms,
        "lowest": cell(&choice.cells[choice.best()]),
        "training": choice.training, "held_out": choice.held_out,
        "at_the_edge": choice.edges().into_iter().map(|edge| edge.0).collect::<Vec<_>>(),
        "cells": choice.cells.iter().map(cell).collect::<Vec<_>>(),
    })
}

pub fn curves(curves: &Curves) -> String {
    let goal = GOALS[curves.goal];
    let mut text = format!(
        "\n{}; {}, at most {} rounds.\n\
         Rounds until nu (of the worst agent) and y both stay above 20, 40 and 60 dB with the best constant\n\
         found; rounds to {goal} dB with the default one; what all agents together sent until {goal} dB;\n\
         and the lower SNR of both at the end:\n\n{}",
        mesh(curves),
        counted(curves.samples, "sample"),
        thousands(curves.rounds as u64),
        aligned(&curve_rows(curves)),
    );
    for (name, tuned) in &curves.strategies {
        if let Err(why) = tuned {
            text += &format!("  {name}: {why}\n");
        }
    }
    if curves.has_sums() {
        text += &format!(
            "  A round of tree is a broadcast from the root and a sum to it, {} one after the other;\n  \
             one of the others is one hop. The suggestion has the fewest hops.\n",
            counted(curves.hops_of_sums, "hop")
        );
    }
    if let Some((name, tuned)) = curves.suggestion() {
        text += &format!("\n{}\n", verdict(curves, name, tuned));
    }
    text
}

/// "16 agents with 40 links and 48 atoms".
pub fn mesh(curves: &Curves) -> String {
    format!(
        "{} with {} and {}",
        counted(curves.agents, "agent"),
        counted(curves.links, "link"),
        counted(curves.atoms, "atom")
    )
}

/// The suggestion in a sentence.
pub fn verdict(curves: &Curves, name: &str, tuned: &Tuned) -> String {
    let (constant, value) = constant(&*tuned.best.strategy);
    let (goal, best) = (GOALS[curves.goal], &tuned.best);
    match best.both()[curves.goal] {
        Some(rounds) => format!(
            "Suggested: {name} with {constant} = {}: {goal} dB in {} round{}, {} sent by all agents together",
            four_digits(value),
            thousands(rounds as u64),
            if rounds == 1 { "" } else { "s" },
            bytes(best.bytes_after(rounds)),
        ),
        None => format!(
            "No strategy came to {goal} dB; {name} with {constant} = {} came nearest, {:.1} dB: give more --rounds",
            four_digits(value),
            best.last().both(),
        ),
    }
}

/// A row for each strategy that ran, and a head.
pub fn curve_rows(curves: &Curves) -> Vec<Vec<String>> {
    let head = [
        "strategy", "best", "20 dB", "40 dB", "60 dB", "default", "sent", "end",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    for (name, tuned) in &curves.strategies {
        let Ok(Tuned { best, default, .. }) = tuned else {
            continue;
        };
        let (constant, value) = constant(&*best.strategy);
        let sent = best.both()[curves.goal].map_or("-".into(), |n| bytes(best.bytes_after(n)));
        let mut row = vec![name.clone(), format!("{constant} {}", four_digits(value))];
        row.extend((0..GOALS.len()).map(|goal| rounds_to(best, goal)));
        row.extend([rounds_to(default, curves.goal), sent]);
        row.push(format!("{:.0} dB", best.last().both()));
        rows.push(row);
    }
    rows
}

/// Rounds to a goal, or why there are none.
pub fn rounds_to(curve: &LearningCurve, goal: usize) -> String {
    match (curve.both()[goal], curve.ending) {
        (Some(rounds), _) => thousands(rounds as u64),
        (None, Ending::Halted) => "never".into(),
        (None, Ending::Diverged) => "diverges".into(),
        (None, _) => format!("> {}", thousands(curve.last().round as u64)),
    }
}

/// A number as flags take it, with four digits that count.
pub fn four_digits(value: f64) -> String {
    let short = format!("{value:.3e}").parse::<f64>().unwrap_or(value);
    match (1e-4..1e6).contains(&short) {
        true => short.to_string(),
        false => format!("{short:e}"),
    }
}

pub fn curves_json(curves: &Curves) -> Value {
    let strategies: serde_json::Map<String, Value> = curves
        .strategies
        .iter()
        .map(|(name, tuned)| {
            let value = match tuned {
                Err(why) => json!({"cannot": why}),
                Ok(tuned) => json!({
                    "best": curve_json(&tuned.best), "default": curve_json(&tuned.default),
                    "tried": tuned.tried.iter().map(|t| json!({"times_default": t.multiple, "rounds": t.rounds})).collect::<Vec<_>>(),
                }),
            };
            (name.clone(), value)
        })
        .collect();
    json!({
        "agents": curves.agents, "links": curves.links, "atoms": curves.atoms, "samples": curves.samples,
        "rounds": curves.rounds, "goal_db": GOALS[curves.goal], "strategies": strategies,
        "suggested": curves.suggestion().map(|(name, tuned)| {
            let (constant, value) = constant(&*tuned.best.strategy);
            json!({
                "strategy": name, "constant": constant, "value": value,
                "rounds": tuned.best.both()[curves.goal],
            })
        }),
    })
}

/// One run; the three numbers of rounds are those to 20, 40 and 60 dB.
pub fn curve_json(curve: &LearningCurve) -> Value {
    let (constant, value) = constant(&*curve.strategy);
    let last = curve.last();
    let points = curve.points.iter().map(|p| json!([p.round, p.nu, p.y]));
    json!({
        "constant": constant, "value": value, "both": curve.both(), "nu": curve.nu, "y": curve.y,
        "ending": match curve.ending {
            Ending::Reached => "reached",
            Ending::RoundLimit => "round-limit",
            Ending::Halted => "halted",
            Ending::Diverged => "diverged",
        },
        "last": {"round": last.round, "nu_db": last.nu, "y_db": last.y},
        "bytes_per_round": curve.bytes_per_round, "points": points.collect::<Vec<_>>(),
    })
}
