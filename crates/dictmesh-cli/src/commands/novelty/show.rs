//! What a person sees of a stream: words and the report.

use super::super::command_line;
use super::engine::{atom_terms, Outcome, Terms};
use super::{Args, Input};
use crate::report::{
    Figure, Histogram, MeshPlot, Report, RocCurve, RocPlot, Section, Table, TopTerms,
};
use dictmesh::Mesh;

/// Terms in a row, the heaviest first.
pub fn words(terms: &Terms) -> String {
    list(terms).join(", ")
}

/// The terms without their weights.
pub fn list(terms: &Terms) -> Vec<&str> {
    terms.iter().map(|t| t.0.as_str()).collect()
}

/// More atoms than these make a page nobody reads.
const ATOMS: usize = 60;

/// The page of a run.
pub fn report(
    args: &Args,
    input: &Input,
    mesh: &Mesh,
    outcomes: &[Outcome],
    truth: Option<&[Vec<bool>]>,
) -> Report {
    let called: usize = outcomes.iter().map(|o| o.novel.len()).sum();
    let mut facts = vec![
        ("documents".into(), input.len().to_string()),
        ("blocks".into(), outcomes.len().to_string()),
        ("called novel".into(), called.to_string()),
        ("agents at the end".into(), mesh.agents().to_string()),
    ];
    let aucs: Vec<f64> = outcomes.iter().filter_map(super::auc).collect();
    if !aucs.is_empty() {
        let mean = aucs.iter().sum::<f64>() / aucs.len() as f64;
        facts.insert(0, ("mean AUC".into(), format!("{mean:.3}")));
    }
    let mut sections = vec![blocks(outcomes)];
    if !aucs.is_empty() {
        sections.push(curves(outcomes));
    }
    sections.push(spread(outcomes, truth));
    sections.push(documents(input, outcomes));
    sections.push(atoms(input, mesh));
    sections.push(mesh_section(mesh));
    Report {
        title: "What is new in the stream".into(),
        subtitle: format!("{}: {}", args.stream.display(), input.what()),
        facts,
        sections,
        command: command_line(),
        versions: versions(args.seed),
    }
}

fn versions(seed: u64) -> Vec<(String, String)> {
    vec![
        ("dictmesh".into(), env!("CARGO_PKG_VERSION").into()),
        ("seed".into(), seed.to_string()),
    ]
}

fn blocks(outcomes: &[Outcome]) -> Section {
    let head = [
        "block",
        "documents",
        "called novel",
        "threshold",
        "AUC",
        "agents",
    ];
    let rows = outcomes.iter().map(|o| {
        let learned = o.number == 0;
        vec![
            o.number.to_string(),
            o.range.len().to_string(),
            if learned {
                "only learned".into()
            } else {
                o.novel.len().to_string()
            },
            o.threshold.map_or("-".into(), |t| format!("{t:.4}")),
            super::auc(o).map_or("-".into(), |a| format!("{a:.3}")),
            o.agents.to_string(),
        ]
    });
    Section {
        heading: "Block by block".into(),
        text: "Each block is scored by what was learned from the blocks before; then agents join and \
               the mesh learns it. The score of a document is what coding it costs: high if the atoms \
               so far cannot express it."
            .into(),
        tables: vec![Table {
            caption: String::new(),
            head: head.map(String::from).to_vec(),
            rows: rows.collect(),
        }],
        ..Section::default()
    }
}

fn curves(outcomes: &[Outcome]) -> Section {
    let curves = outcomes.iter().filter_map(|o| {
        let roc = o.roc.as_ref()?;
        Some(RocCurve::new(&format!("block {}", o.number), roc))
    });
    let plot = RocPlot {
        curves: curves.collect(),
    };
    Section {
        heading: "How well the novel stand out".into(),
        figures: vec![Figure::new(
            "roc",
            "A document is truly novel if no block before had its label.",
            plot.draw(),
        )],
        ..Section::default()
    }
}

fn spread(outcomes: &[Outcome], truth: Option<&[Vec<bool>]>) -> Section {
    let panels = outcomes.iter().filter(|o| !o.scores.is_empty()).map(|o| {
        let groups = match truth {
            Some(truth) => {
                let of = |novel: bool| {
                    let both = o.scores.iter().zip(&truth[o.number]);
                    both.filter(|s| *s.1 == novel).map(|s| *s.0).collect()
                };
                vec![("known".into(), of(false)), ("novel".into(), of(true))]
            }
            None => vec![("documents".into(), o.scores.clone())],
        };
        Histogram {
            title: format!("Scores of block {}", o.number),
            x: format!("score, block {}", o.number),
            groups,
            threshold: o.threshold,
        }
        .draw()
    });
    Section {
        heading: "The scores".into(),
        figures: vec![Figure::panels(
            "scores",
            "How the scores of each block are spread, and the threshold above which a document is \
             called novel.",
            panels.collect(),
        )],
        ..Section::default()
    }
}

fn documents(input: &Input, outcomes: &[Outcome]) -> Section {
    let mut rows = Vec::new();
    for outcome in outcomes {
        for document in &outcome.top {
            let lit = document.atoms.iter();
            let lit: Vec<String> = lit
                .map(|(atom, _, terms)| format!("{atom}: {}", words(terms)))
                .collect();
            rows.push(vec![
                outcome.number.to_string(),
                input.name(outcome.range.start + document.at),
                format!("{:.4}", document.score),
                words(&document.unexplained),
                lit.join("; "),
            ]);
        }
    }
    let head = [
        "block",
        "document",
        "score",
        "terms no atom explains",
        "atoms it lit up",
    ];
    Section {
        heading: "The most novel documents, and why".into(),
        tables: vec![Table {
            caption: String::new(),
            head: head.map(String::from).to_vec(),
            rows,
        }],
        ..Section::default()
    }
}

fn atoms(input: &Input, mesh: &Mesh) -> Section {
    let all = atom_terms(&mesh.dictionary(), 8, &|row| input.term(row));
    let total = all.len();
    let panels = all.into_iter().take(ATOMS).enumerate().map(|(q, terms)| {
        TopTerms {
            title: format!("atom {q}"),
            note: String::new(),
            terms,
        }
        .draw()
    });
    let caption = match total > ATOMS {
        true => format!("The heaviest terms of the first {ATOMS} of {total} atoms."),
        false => "The heaviest terms of each atom.".into(),
    };
    Section {
        heading: "What was learned".into(),
        figures: vec![Figure::panels("atoms", &caption, panels.collect())],
        ..Section::default()
    }
}

fn mesh_section(mesh: &Mesh) -> Section {
    let agents = 0..mesh.agents();
    let plot = MeshPlot {
        informed: agents.clone().map(|k| mesh.is_informed(k)).collect(),
        edges: mesh.topology().edges(),
        load: agents.map(|k| mesh.block(k).len() as f64).collect(),
        load_label: "atoms kept".into(),
    };
    Section {
        heading: "The mesh at the end".into(),
        figures: vec![Figure::new(
            "mesh",
            "Who talks to whom. Neighbours exchange dual vectors only; atoms stay where they are.",
            plot.draw(),
        )],
        ..Section::default()
    }
}
