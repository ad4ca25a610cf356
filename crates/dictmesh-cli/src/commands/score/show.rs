//! The page of a scoring.

use super::super::novelty::explain;
use super::super::pages::{objective, versions, words};
use super::super::prepare::{How, Opened, Raw};
use super::super::{command_line, Result};
use super::{Args, Scored};
use crate::report::{Figure, Histogram, Report, Section, Table};
use dictmesh_data::text::UNKNOWN;

/// Words without a row that are named.
const UNKNOWN_SHOWN: usize = 6;

pub fn report(args: &Args, opened: &Opened, scored: &Scored) -> Result<Report> {
    let novel = scored
        .scores
        .iter()
        .filter(|s| **s > scored.threshold)
        .count();
    let task = opened.mesh.task().spec();
    let spread = Section {
        heading: "The scores".into(),
        text: format!(
            "The score of a sample is what coding it costs: high if the atoms cannot express it. It is \
             its part of: {}.\n\nThe threshold, {:.5}, is {}.",
            objective(&task),
            scored.threshold,
            scored.from.words()
        ),
        figures: vec![Figure::new(
            "scores",
            "How the scores are spread, and the threshold above which a sample is called novel.",
            Histogram {
                title: "Scores of the samples".into(),
                x: "score".into(),
                groups: vec![("samples".into(), scored.scores.clone())],
                threshold: Some(scored.threshold),
            }
            .draw(),
        )],
        ..Section::default()
    };
    let mut facts = vec![
        ("samples".into(), scored.scores.len().to_string()),
        ("called novel".into(), novel.to_string()),
        ("threshold".into(), format!("{:.5}", scored.threshold)),
    ];
    if let Some(gap) = scored.gap() {
        facts.push(("certified relative gap".into(), format!("{gap:.0e}")));
    }
    Ok(Report {
        title: "How novel the samples are".into(),
        subtitle: format!("{} by {}", args.data.display(), args.model.display()),
        facts,
        sections: vec![spread, top(opened, scored)?],
        command: command_line(),
        versions: versions(opened.mesh.seed()),
    })
}

/// The most novel samples; of text, with the terms that say why.
fn top(opened: &Opened, scored: &Scored) -> Result<Section> {
    let how = &opened.preparation.how;
    let wanted = scored
        .top
        .iter()
        .map(|t| t.0)
        .max()
        .map_or(0, |last| last + 1);
    let names: Vec<String> = opened.raw.names(how).take(wanted).collect();
    let term = |row| how.row_name(row, opened.names.as_deref());
    let with_terms = matches!(how, How::Text { .. } | How::Counts { .. }) && term(0).is_some();
    let mut head = vec!["sample", "score", "novel"];
    if with_terms {
        head.push("terms no atom explains");
    }
    let mut rows = Vec::new();
    for (number, score, sample) in &scored.top {
        let called = if *score > scored.threshold {
            "yes"
        } else {
            "no"
        };
        let mut row = vec![names[*number].clone(), format!("{score:.5}"), called.into()];
        if with_terms {
            let why = explain(&opened.mesh, sample, &|row| term(row).unwrap_or_default())?;
            let why = why.iter().map(|why| words(&why.unexplained));
            row.extend(why.map(|words| with_unknown(opened, *number, words)));
        }
        rows.push(row);
    }
    Ok(Section {
        heading: "The most novel samples".into(),
        tables: vec![Table {
            caption: String::new(),
            head: head.into_iter().map(String::from).collect(),
            rows,
        }],
        ..Section::default()
    })
}

/// Words that the model has never seen by their names, where the text is at hand.
fn with_unknown(opened: &Opened, number: usize, words: String) -> String {
    let (Raw::Documents(documents), How::Text { vectoriser }) =
        (&opened.raw, &opened.preparation.how)
    else {
        return words;
    };
    // The page shows the row's number if the file cannot be read again.
    let text = documents.select(&[number]).unwrap_or_default();
    let unknown = text
        .first()
        .map_or_else(Vec::new, |text| vectoriser.unknown(text));
    let shown = unknown.len().min(UNKNOWN_SHOWN);
    let named = format!("never seen: {};", unknown[..shown].join(", "));
    words
        .replace(&format!("{UNKNOWN},"), &named)
        .replace(UNKNOWN, &named)
}
