//! The leakage of each strategy, as text.

use super::Audit;
use crate::render::text::table;
use dictmesh_apps::audit::{StrategyAudit, Survey};
use dictmesh_report::numbers::{counted, thousands};

pub fn audit(found: &Audit) -> String {
    let survey = &found.survey;
    let mut text = format!(
        "{}\n\n{LEGEND}\n\n{}\n",
        about(survey),
        table(&rows(survey))
    );
    for sentence in &found.conclusions {
        text += &format!("{sentence}\n");
    }
    if let Some(page) = &found.report {
        text += &format!("report: {page}\n");
    }
    text
}

/// How to read the table.
pub const LEGEND: &str = "\
Cosine between what the attacker recovers and the truth: 1 is recovered; the last line is a guess.
x known, x hidden: mean over the private atoms, for attackers that have the samples or do not, and the
number of atoms recovered to .99 of those that ever had a coefficient. out of sight: mean over atoms of
agents that are no neighbours. x itself: mean over the samples, for attackers that do not have them.
rounds: until nu of every agent and y are within 1e-3 of the exact solution.";

/// What was attacked, and by whom.
pub fn about(found: &Survey) -> String {
    let attacker = match found.colluding {
        1 => "the neighbour that receives".to_string(),
        n => format!("the {n} colluding neighbours that receive"),
    };
    let full = match found.seen_in_full {
        0 => "of no agent all of it".to_string(),
        n if n == found.agents => "of each agent all of it".to_string(),
        n => format!("of {n} of {} agents all of it", found.agents),
    };
    format!(
        "{} with {} and {}; {} of {} features, {} recorded.\n\
         Each agent is attacked by {attacker} most of its traffic ({full}).",
        counted(found.agents, "agent"),
        counted(found.links, "link"),
        counted(found.atoms, "atom"),
        counted(found.samples, "sample"),
        thousands(found.features as u64),
        counted(found.rounds, "round"),
    )
}

/// A head, a row for each strategy, and one for a guess.
pub fn rows(found: &Survey) -> Vec<Vec<String>> {
    let head = [
        "strategy",
        "x known",
        "found",
        "x hidden",
        "found",
        "out of sight",
        "x itself",
        "rounds",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    for audited in &found.strategies {
        let mut row = vec![audited.name.clone()];
        for recovery in [&audited.x_known, &audited.x_unknown] {
            let found = format!("{} of {}", recovery.recovered, recovery.atoms);
            row.extend([number(recovery.mean_cosine), found]);
        }
        row.extend([number(audited.out_of_sight), number(audited.x_cosine)]);
        row.push(match audited.rounds_to_60_db {
            Some(rounds) => thousands(rounds as u64),
            None => format!("> {}", thousands(found.rounds as u64)),
        });
        rows.push(row);
    }
    let mut last = |name: &str, atoms: Option<f64>, x: f64| {
        let atoms = atoms.map_or(String::new(), |cosine| number(Some(cosine)));
        let none = String::new;
        let cells = [atoms.clone(), none(), atoms.clone(), none(), atoms];
        let name = std::iter::once(name.to_string());
        rows.push(name.chain(cells).chain([number(Some(x)), none()]).collect());
    };
    if let Some(audited) = found.strategies.last() {
        last("nu, which every agent receives", None, audited.nu_cosine);
    }
    last("a guess", Some(found.chance), found.chance_of_x);
    rows
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:.3}"))
}

/// The conclusions in sentences.
pub fn conclusions(found: &Survey) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    let (broken, rest): (Vec<_>, Vec<_>) = found.strategies.iter().partition(|a| a.broken);
    let names = |list: Vec<&StrategyAudit>| {
        let names: Vec<&str> = list.iter().map(|a| a.name.as_str()).collect();
        names.join(";\n  ")
    };
    if !broken.is_empty() {
        sentences.push(format!(
            "Broken (half of the atoms or more are recovered, with or without the samples):\n  {}.",
            names(broken)
        ));
    }
    if !rest.is_empty() {
        sentences.push(format!(
            "Not broken by these attacks; better ones may exist:\n  {}.",
            names(rest)
        ));
    }
    let plain = found.strategies.iter().find(|a| a.name == "relaxed-admm");
    let hidden = found
        .strategies
        .iter()
        .filter(|a| a.random_start().is_some());
    sentences.extend(
        plain
            .iter()
            .flat_map(|plain| hidden.clone().map(|a| protection(plain, a))),
    );
    sentences.extend(found.strategies.iter().filter_map(attribution));
    if found.strategies.iter().any(|a| a.rounds_to_60_db.is_none()) {
        sentences.push(format!(
            "Where {} did not suffice for convergence, the attack on the limit is weaker: give more --rounds.",
            counted(found.rounds, "round")
        ));
    }
    sentences.extend(
        found
            .left_out
            .iter()
            .map(|why| format!("Not audited: {why}")),
    );
    sentences
}

/// Whether the atoms recovered from sums are attributed to their agents.
fn attribution(audited: &StrategyAudit) -> Option<String> {
    let (attributed, recovery) = (audited.attributed?, &audited.x_unknown);
    Some(format!(
        "{}: without x, {} of {} atoms are recovered, {attributed} of them with the agent that holds them.",
        audited.name, recovery.recovered, recovery.atoms
    ))
}

/// The effect of a random start, beside the same strategy without it.
fn protection(plain: &StrategyAudit, hidden: &StrategyAudit) -> String {
    let recovered = |a: &StrategyAudit| (a.x_known.recovered, a.x_unknown.recovered);
    let ((known, unknown), (was_known, was_unknown)) = (recovered(hidden), recovered(plain));
    let effect = match (hidden.broken, known < was_known || unknown < was_unknown) {
        (true, false) => "is no protection: the strategy is broken",
        (true, true) => "hides some atoms, and the strategy is broken",
        (false, true) => "hides some atoms",
        (false, false) => "makes no difference",
    };
    format!(
        "The {} {effect}. Of {} atoms, {known} are recovered with x and {unknown}\n  without; with a zero start, \
         {was_known} and {was_unknown}.",
        hidden.name.trim_start_matches("relaxed-admm, "),
        hidden.x_known.atoms
    )
}
