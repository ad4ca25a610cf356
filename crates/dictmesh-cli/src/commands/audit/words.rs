//! What was found, as text and as JSON.

use super::super::tune::aligned;
use super::{Audited, Found};
use crate::picture::{counted, thousands};
use dictmesh::apps::audit::{chance, Audit, Recovered, RECOVERED};
use serde_json::{json, Value};

pub fn text(found: &Found) -> String {
    let mut text = format!(
        "{}\n\nCosines of what it finds with what is there (1 is found, a guess has {:.2}). In brackets, the atoms\n\
         found to {RECOVERED} of those that had a coefficient at all; x: mean over the samples; rounds: until nu\n\
         and y of all agents are within 1e-3 of the exact solution.\n\n{}\n",
        about(found),
        chance(found.rows),
        aligned(&rows(found)),
    );
    for sentence in verdicts(found) {
        text += &format!("{sentence}\n");
    }
    text
}

/// What was done, in two sentences.
pub fn about(found: &Found) -> String {
    let all = found.audits.first().map_or(0, |a| seeing_all(&a.audit));
    format!(
        "{} with {} and {}; {} of {} features, {} recorded.\n\
         Every agent is watched by the neighbour that sees most of what it gets; {} of them see all of it.",
        counted(found.agents, "agent"),
        counted(found.links, "link"),
        counted(found.atoms, "atom"),
        counted(found.samples, "sample"),
        thousands(found.rows as u64),
        counted(found.rounds, "round"),
        thousands(all as u64),
    )
}

/// A row for each strategy, one for what every agent is given anyway, and a head.
pub fn rows(found: &Found) -> Vec<Vec<String>> {
    let head = ["", "atoms, x known", "x not known", "x itself", "rounds"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for audited in &found.audits {
        let Audited { name, audit, needs } = audited;
        let atoms = |knows_x| {
            let cosines = audit.cosines(knows_x);
            let counts = format!("({} of {})", recovered(&cosines), cosines.len());
            match median(cosines) {
                Some(median) => format!("{median:.4} {counts:>10}"),
                None => "no atom fired".into(),
            }
        };
        rows.push(vec![
            name.clone(),
            atoms(true),
            atoms(false),
            audit.x().map_or("-".into(), |x| format!("{x:.4}")),
            match needs {
                Some(rounds) => thousands(*rounds as u64),
                None => format!("> {}", thousands(audit.rounds as u64)),
            },
        ]);
    }
    if let Some(last) = found.audits.last() {
        let nu = format!("{:.4}", last.audit.nu_and_x);
        rows.push(
            ["nu, which every agent gets anyway", "", "", &nu, ""]
                .map(String::from)
                .to_vec(),
        );
    }
    rows
}

/// What the random starts are worth.
pub fn verdicts(found: &Found) -> Vec<String> {
    let plain = (found.audits.iter())
        .find(|a| a.name == "relaxed-admm")
        .map(|a| &a.audit);
    let Some(plain) = plain else {
        return Vec::new();
    };
    let hidden = found
        .audits
        .iter()
        .filter(|a| a.audit.strategy.random_start().is_some());
    hidden.map(|hidden| verdict(plain, hidden)).collect()
}

fn verdict(plain: &Audit, hidden: &Audited) -> String {
    let mut sentences = Vec::new();
    let counted = |audit: &Audit, all: bool| {
        let watched = |r: &&Recovered| (r.unseen == 0) == all;
        let atoms = audit.knowing.iter().filter(watched).flat_map(|r| &r.atoms);
        let cosines: Vec<f64> = atoms.filter(|a| a.fired).map(|a| a.cosine).collect();
        (recovered(&cosines), cosines.len(), median(cosines))
    };
    let (found, of, _) = counted(&hidden.audit, true);
    if of > 0 {
        let falls = match 2 * found >= of {
            true => "it falls",
            false => "it holds in part",
        };
        sentences.push(format!(
            "against a neighbour that sees all its agent gets, {falls}: late rounds, in which the start\n  has faded, \
             still show {found} of {of} atoms"
        ));
    }
    let ((before, _, was), (after, of, is)) =
        (counted(plain, false), counted(&hidden.audit, false));
    if let (Some(was), Some(is)) = (was, is) {
        sentences.push(format!(
            "where some of that is out of sight, it hides the first message: {after} of {of} atoms are found\n  to \
             {RECOVERED} (without it {before}), at a median cosine of {is:.3} (without it {was:.3})"
        ));
    }
    sentences.push("nu is the same, so that x shows through as before".into());
    let all = sentences.join(";\n  ");
    format!(
        "The {}:\n  {all}.",
        hidden.name.trim_start_matches("relaxed-admm, ")
    )
}

fn recovered(cosines: &[f64]) -> usize {
    cosines.iter().filter(|c| **c >= RECOVERED).count()
}

fn seeing_all(audit: &Audit) -> usize {
    audit.knowing.iter().filter(|r| r.unseen == 0).count()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

pub fn json(found: &Found) -> Value {
    let each = |recovered: &Recovered| {
        let atoms = recovered.atoms.iter();
        json!({
            "attacker": recovered.attacker, "agent": recovered.target, "unseen": recovered.unseen,
            "atoms": atoms.map(|a| json!({"cosine": a.cosine, "fired": a.fired})).collect::<Vec<_>>(),
            "x": recovered.x,
        })
    };
    let strategies = found.audits.iter().map(|audited| {
        let Audited { name, audit, needs } = audited;
        json!({
            "name": name, "strategy": audit.strategy, "rounds_to_1e-3": needs,
            "x_known": {
                "median": median(audit.cosines(true)), "recovered": recovered(&audit.cosines(true)),
                "agents": audit.knowing.iter().map(each).collect::<Vec<_>>(),
            },
            "x_not_known": {
                "median": median(audit.cosines(false)), "recovered": recovered(&audit.cosines(false)),
                "agents": audit.not_knowing.iter().map(each).collect::<Vec<_>>(), "x": audit.x(),
            },
            "nu_and_x": audit.nu_and_x,
        })
    });
    json!({
        "agents": found.agents, "links": found.links, "atoms": found.atoms, "features": found.rows,
        "samples": found.samples, "rounds": found.rounds, "chance": chance(found.rows),
        "strategies": strategies.collect::<Vec<_>>(), "verdicts": verdicts(found),
    })
}
