//! The page of a scoring.

use super::super::pages::versions;
use super::super::prepare::{How, LoadedModel};
use super::super::{command_line, say, Result};
use super::{Args, Scored};
use dictmesh_apps::highest::Top;
use dictmesh_apps::novelty::{explain, ExplainOptions};
use dictmesh_apps::terms::term_names;
use dictmesh_data::text::UNKNOWN;
use dictmesh_report::{Figure, Histogram, Report, Section, Table};

/// Words without a row that are named.
const UNKNOWN_SHOWN: usize = 6;

pub fn report(args: &Args, model: &LoadedModel, scored: &Scored) -> Result<Report> {
    let scores = &scored.scores.scores;
    let novel = scores.iter().filter(|s| **s > scored.threshold).count();
    let task = model.mesh.task().spec();
    let spread = Section {
        heading: "The scores".into(),
        text: format!(
            "The score of a sample is what coding it costs: high if the atoms cannot express it. It is \
             its part of: {}.\n\nThe threshold, {:.5}, is {}.",
            task.objective(),
            scored.threshold,
            scored.reason
        ),
        figures: vec![Figure::new(
            "scores",
            "How the scores are spread, and the threshold above which a sample is called novel.",
            Histogram {
                title: "Scores of the samples".into(),
                x: "score".into(),
                groups: vec![("samples".into(), scores.clone())],
                threshold: Some(scored.threshold),
            }
            .draw(),
        )],
        ..Section::default()
    };
    let mut facts = vec![
        ("samples".into(), scores.len().to_string()),
        ("called novel".into(), novel.to_string()),
        ("threshold".into(), format!("{:.5}", scored.threshold)),
    ];
    if let Some(gap) = scored.scores.largest_gap() {
        facts.push(("certified relative gap".into(), format!("{gap:.0e}")));
    }
    Ok(Report {
        title: "How novel the samples are".into(),
        subtitle: format!(
            "{} by {}",
            args.by.data().display(),
            args.by.coder().display()
        ),
        facts,
        sections: vec![spread, top(model, scored)?],
        command: command_line(),
        versions: versions(model.mesh.seed()),
    })
}

/// The most novel samples; of text, with the terms that no atom explains.
fn top(model: &LoadedModel, scored: &Scored) -> Result<Section> {
    let how = &model.preparation.how;
    let term = |row| how.row_name(row, model.names.as_deref());
    let with_terms = matches!(how, How::Text { .. } | How::Counts { .. }) && term(0).is_some();
    let mut head = vec!["sample", "score", "novel"];
    if with_terms {
        head.push("terms no atom explains");
    }
    let name = |row| term(row).unwrap_or_default();
    let options = ExplainOptions::default();
    let mut rows = Vec::new();
    for top in scored.top.iter() {
        let called = match top.score > scored.threshold {
            true => "yes",
            false => "no",
        };
        let mut row = vec![top.name.clone(), format!("{:.5}", top.score), called.into()];
        if with_terms {
            let why = explain(&model.mesh, &top.sample, &options, &name).map_err(say)?;
            let why = why.iter().map(|why| term_names(&why.unexplained));
            row.extend(why.map(|words| with_unknown(top, words)));
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

/// Names words that the model does not know.
fn with_unknown(top: &Top, words: String) -> String {
    if top.unknown.is_empty() {
        return words;
    }
    let shown = top.unknown.len().min(UNKNOWN_SHOWN);
    let named = format!("never seen: {};", top.unknown[..shown].join(", "));
    words
        .replace(&format!("{UNKNOWN},"), &named)
        .replace(UNKNOWN, &named)
}
