//! What is said of the blocks of a stream: to people, to programs, and as a table of scores.

use super::super::pages;
use super::super::score::quoted;
use super::engine::Outcome;
use super::input::Input;
use crate::numbers::counted;
use crate::numbers::{exact, fixed};
use serde_json::{json, Value};

/// A block in words, with its most novel documents.
pub fn lines(outcome: &Outcome, input: &Input) -> String {
    let number = outcome.number;
    let atoms = counted(outcome.atoms, "atom");
    let mesh = format!("{atoms} at {}", counted(outcome.agents, "agent"));
    let documents = counted(outcome.range.len(), "document");
    if number == 0 {
        return format!("block 0: {documents} learned; {mesh}\n");
    }
    let mut text = format!("block {number}: {documents}");
    if let Some(chi) = outcome.threshold {
        let novel = outcome.novel.len();
        text += &format!(", {novel} called novel (score above {})", fixed(chi, 4));
    }
    if let Some(auc) = outcome.auc() {
        text += &format!(", AUC {auc:.3}");
    }
    text += &format!("; {mesh}\n");
    for document in &outcome.top {
        let name = input.name(outcome.range.start + document.at);
        text += &format!("  {}  {name}\n", fixed(document.score, 4));
        if !document.unexplained.is_empty() {
            let terms = pages::words(&document.unexplained);
            text += &format!("          unexplained: {terms}\n");
        }
        for (atom, weight, terms) in &document.atoms {
            let terms = pages::words(terms);
            text += &format!("          lit atom {atom} by {weight:.2}: {terms}\n");
        }
    }
    text
}

/// The same as data.
pub fn json(outcome: &Outcome, input: &Input) -> Value {
    let from = outcome.range.start;
    let top: Vec<Value> = outcome
        .top
        .iter()
        .map(|document| {
            let atoms: Vec<Value> = document
                .atoms
                .iter()
                .map(|(atom, weight, terms)| {
                    json!({"atom": atom, "weight": weight, "terms": pages::list(terms)})
                })
                .collect();
            json!({
                "document": from + document.at, "name": input.name(from + document.at),
                "score": document.score, "unexplained": pages::list(&document.unexplained),
                "atoms": atoms,
            })
        })
        .collect();
    let novel: Vec<usize> = outcome.novel.iter().map(|j| from + j).collect();
    json!({
        "block": outcome.number, "documents": outcome.range.len(), "threshold": outcome.threshold,
        "novel": novel, "auc": outcome.auc(), "agents": outcome.agents, "atoms": outcome.atoms,
        "top": top,
    })
}

/// The score of every document.
pub fn csv(input: &Input, outcomes: &[Outcome]) -> String {
    let mut text = String::from("block,document,name,score,novel\n");
    for outcome in outcomes {
        for (j, score) in outcome.scores.iter().enumerate() {
            let document = outcome.range.start + j;
            let name = quoted(&input.name(document));
            let novel = u8::from(outcome.novel.binary_search(&j).is_ok());
            text += &format!(
                "{},{document},{name},{},{novel}\n",
                outcome.number,
                exact(*score)
            );
        }
    }
    text
}
