//! What was found, as text and as JSON.

use super::super::tune::aligned;
use super::{Audited, Found};
use crate::numbers::{counted, thousands};
use dictmesh_apps::audit::{chance, Audit, Recovered, RECOVERED, SUMS};
use serde_json::{json, Value};

pub fn text(found: &Found) -> String {
    let mut text = format!(
        "{}\n\n{}\n\n{}\n",
        about(found),
        LEGEND,
        aligned(&rows(found))
    );
    for sentence in verdicts(found) {
        text += &format!("{sentence}\n");
    }
    text
}

/// How to read the table.
pub const LEGEND: &str = "\
Cosines of what the attacker finds with what is there: 1 is found; a guess gets no more than the last line.
x known, x hidden: the private atoms, by a neighbour that has the samples or has not (mean over
the atoms, and how many are found to 0.99 of those that ever had a coefficient); out of sight: mean over
atoms of agents that are not its neighbours; x itself: mean over the samples, where it is hidden.
rounds: the price, until nu and y of all agents are within 1e-3 of the exact solution.";

/// What was done.
pub fn about(found: &Found) -> String {
    let all = found.audits.first().map_or(0, |a| seeing_all(&a.audit));
    let who = match found.colluding {
        1 => "the neighbour that sees".to_string(),
        n => format!("the {n} neighbours together that see"),
    };
    format!(
        "{} with {} and {}; {} of {} features, {} recorded.\n\
         Every agent is watched by {who} most of what it gets; {}.",
        counted(found.agents, "agent"),
        counted(found.links, "link"),
        counted(found.atoms, "atom"),
        counted(found.samples, "sample"),
        thousands(found.rows as u64),
        counted(found.rounds, "round"),
        match all {
            0 => "none is seen in full".to_string(),
            n if n == found.agents => "each is seen in full".to_string(),
            n => format!("{n} of {} are seen in full", found.agents),
        },
    )
}

/// A row for each strategy, one for a guess, and a head.
pub fn rows(found: &Found) -> Vec<Vec<String>> {
    let head = [
        "",
        "x known",
        "found",
        "x hidden",
        "found",
        "out of sight",
        "x itself",
        "rounds",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    for Audited { name, audit, needs } in &found.audits {
        let mut row = vec![name.clone()];
        for knows_x in [true, false] {
            let cosines = audit.cosines(knows_x);
            row.extend([
                number(mean(&cosines)),
                format!("{} of {}", recovered(&cosines), cosines.len()),
            ]);
        }
        row.extend([number(mean(&audit.beyond)), number(audit.x())]);
        row.push(match needs {
            Some(rounds) => thousands(*rounds as u64),
            None => format!("> {}", thousands(audit.rounds as u64)),
        });
        rows.push(row);
    }
    if let Some(last) = found.audits.last() {
        let nu = number(Some(last.audit.nu_and_x));
        let row = [
            "nu, which every agent gets anyway",
            "",
            "",
            "",
            "",
            "",
            &nu,
            "",
        ];
        rows.push(row.map(String::from).to_vec());
    }
    let guess = number(Some(chance(found.rows, found.directions)));
    let one = number(Some(chance(found.rows, 1)));
    let row = ["a guess", &guess, "", &guess, "", &guess, &one, ""];
    rows.push(row.map(String::from).to_vec());
    rows
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.3}"))
}

/// What to make of the figures.
pub fn verdicts(found: &Found) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    let fallen = |a: &&Audited| falls(&a.audit);
    let names = |list: Vec<&Audited>| {
        let names: Vec<&str> = list.iter().map(|a| a.name.as_str()).collect();
        names.join(";\n  ")
    };
    let (fallen, rest): (Vec<&Audited>, Vec<&Audited>) = found.audits.iter().partition(fallen);
    if !fallen.is_empty() {
        sentences.push(format!(
            "Fallen (half of the atoms or more are found, with or without the samples):\n  {}.",
            names(fallen)
        ));
    }
    if !rest.is_empty() {
        sentences.push(format!(
            "Not fallen to these attacks, which says nothing of better ones:\n  {}.",
            names(rest)
        ));
    }
    let plain = found.audits.iter().find(|a| a.name == "relaxed-admm");
    let hidden = (found.audits.iter()).filter(|a| {
        a.audit
            .strategy
            .spec()
            .parameters()
            .contains_key("random_start")
    });
    sentences.extend(plain.iter().flat_map(|plain| {
        let hidden = hidden.clone();
        hidden.map(|hidden| protection(&plain.audit, hidden))
    }));
    sentences.extend(found.audits.iter().filter_map(masks));
    if found.audits.iter().any(|a| a.needs.is_none()) {
        sentences.push(format!(
            "Where {} were not enough, the attack on the limit is weaker than it could be: try more with --rounds.",
            counted(found.rounds, "round")
        ));
    }
    sentences.extend(found.left_out.iter().map(|why| format!("Not tried: {why}")));
    sentences
}

fn falls(audit: &Audit) -> bool {
    [true, false].iter().any(|knows_x| {
        let cosines = audit.cosines(*knows_x);
        2 * recovered(&cosines) >= cosines.len() && !cosines.is_empty()
    })
}

/// Whether the atoms found in sums are attributed to their agents.
fn masks(audited: &Audited) -> Option<String> {
    let Audited { name, audit, .. } = audited;
    if audit.strategy.name() != SUMS {
        return None;
    }
    let cosines = audit.cosines(false);
    let (found, of, known) = (recovered(&cosines), cosines.len(), audit.attributed());
    Some(format!(
        "{name}: without x, {found} of {of} atoms are found, {known} of them with the agent that holds them."
    ))
}

/// What a random start is worth beside the same strategy without it.
fn protection(plain: &Audit, hidden: &Audited) -> String {
    let found = |audit: &Audit, knows_x: bool| {
        let cosines = audit.cosines(knows_x);
        (recovered(&cosines), cosines.len())
    };
    let [(known, of), (unknown, _)] = [true, false].map(|knows| found(&hidden.audit, knows));
    let [(was_known, _), (was_unknown, _)] = [true, false].map(|knows| found(plain, knows));
    let verdict = match (
        falls(&hidden.audit),
        known < was_known || unknown < was_unknown,
    ) {
        (true, false) => "is no protection: it falls",
        (true, true) => "hides some, and falls all the same",
        (false, true) => "hides some",
        (false, false) => "makes no difference",
    };
    format!(
        "The {} {verdict}. Of {of} atoms {known} are found with x and {unknown}\n  without, where no random start \
         has {was_known} and {was_unknown}.",
        hidden.name.trim_start_matches("relaxed-admm, ")
    )
}

fn recovered(cosines: &[f64]) -> usize {
    cosines.iter().filter(|c| **c >= RECOVERED).count()
}

fn seeing_all(audit: &Audit) -> usize {
    audit.knowing.iter().filter(|r| r.unseen == 0).count()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

pub fn json(found: &Found) -> Value {
    let each = |recovered: &Recovered| {
        let atoms = recovered.atoms.iter();
        json!({
            "attackers": recovered.attackers, "agent": recovered.target, "unseen": recovered.unseen,
            "atoms": atoms.map(|a| json!({"cosine": a.cosine, "fired": a.fired})).collect::<Vec<_>>(),
            "by": recovered.by.name(),
            "unexplained": recovered.unexplained.is_finite().then_some(recovered.unexplained),
            "x": recovered.x,
        })
    };
    let strategies = found.audits.iter().map(|audited| {
        let Audited { name, audit, needs } = audited;
        let of = |knows_x: bool, agents: &[Recovered]| {
            let cosines = audit.cosines(knows_x);
            json!({
                "mean": mean(&cosines), "max": cosines.iter().copied().reduce(f64::max),
                "recovered": recovered(&cosines), "of": cosines.len(),
                "agents": agents.iter().map(each).collect::<Vec<_>>(),
            })
        };
        json!({
            "name": name, "strategy": audit.strategy.spec(), "rounds_to_1e-3": needs, "falls": falls(audit),
            "x_known": of(true, &audit.knowing), "x_not_known": of(false, &audit.not_knowing),
            "attributed": (audit.strategy.name() == SUMS).then(|| audit.attributed()),
            "x": audit.x(), "nu_and_x": audit.nu_and_x, "out_of_sight": mean(&audit.beyond),
        })
    });
    json!({
        "agents": found.agents, "links": found.links, "atoms": found.atoms, "features": found.rows,
        "samples": found.samples, "rounds": found.rounds, "colluding": found.colluding,
        "chance": chance(found.rows, found.directions),
        "strategies": strategies.collect::<Vec<_>>(), "verdicts": verdicts(found),
    })
}
