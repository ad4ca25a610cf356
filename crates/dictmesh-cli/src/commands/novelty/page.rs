//! The page of a stream.

use super::super::command_line;
use super::super::pages::{mesh_section, roc_curve, terms_section, versions};
use super::Args;
use dictmesh::Mesh;
use dictmesh_apps::novelty_stream::{Outcome, TopDocument};
use dictmesh_apps::terms::term_names;
use dictmesh_data::Blocks;
use dictmesh_report::{Figure, Histogram, Report, RocPlot, Section, Table};

/// The page of a run.
pub fn report(
    args: &Args,
    input: &Blocks,
    mesh: &Mesh,
    outcomes: &[Outcome],
    mean_auc: Option<f64>,
) -> Report {
    let called: usize = outcomes.iter().map(|o| o.novel().len()).sum();
    let mut facts = vec![
        ("documents".into(), input.read().to_string()),
        ("blocks".into(), outcomes.len().to_string()),
        ("called novel".into(), called.to_string()),
        ("agents at the end".into(), mesh.agents().to_string()),
    ];
    let mut sections = vec![blocks(outcomes)];
    if let Some(mean) = mean_auc {
        facts.insert(0, ("mean AUC".into(), format!("{mean:.3}")));
        sections.push(curves(outcomes));
    }
    sections.push(spread(outcomes));
    sections.push(documents(outcomes));
    sections.push(terms_section(mesh, &|row| input.term(row)));
    sections.extend(mesh_section(mesh));
    Report {
        title: "What is new in the stream".into(),
        subtitle: format!("{}: {}", args.stream.display(), input.what()),
        facts,
        sections,
        command: command_line(),
        versions: versions(args.seed),
    }
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
            o.documents.to_string(),
            if learned {
                "only learned".into()
            } else {
                o.novel().len().to_string()
            },
            o.threshold().map_or("-".into(), |t| format!("{t:.4}")),
            o.auc().map_or("-".into(), |a| format!("{a:.3}")),
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
        Some(roc_curve(&format!("block {}", o.number), roc))
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

fn spread(outcomes: &[Outcome]) -> Section {
    let panels = outcomes.iter().filter(|o| !o.scores().is_empty()).map(|o| {
        let groups = match &o.truth {
            Some(truth) => {
                let of = |novel: bool| {
                    let both = o.scores().iter().zip(truth);
                    both.filter(|s| *s.1 == novel).map(|s| *s.0).collect()
                };
                vec![("known".into(), of(false)), ("novel".into(), of(true))]
            }
            None => vec![("documents".into(), o.scores().to_vec())],
        };
        Histogram {
            title: format!("Scores of block {}", o.number),
            x: format!("score, block {}", o.number),
            groups,
            threshold: o.threshold(),
        }
        .draw()
    });
    Section {
        heading: "The scores".into(),
        figures: vec![Figure::panels(
            "scores",
            "The distribution of the scores of each block, and the threshold above which a document is \
             called novel.",
            panels.collect(),
        )],
        ..Section::default()
    }
}

fn documents(outcomes: &[Outcome]) -> Section {
    let mut rows = Vec::new();
    for outcome in outcomes {
        for TopDocument { name, why, .. } in &outcome.top {
            let used = why.atoms.iter();
            let used: Vec<String> = used
                .map(|atom| format!("{}: {}", atom.atom, term_names(&atom.terms)))
                .collect();
            rows.push(vec![
                outcome.number.to_string(),
                name.clone(),
                format!("{:.4}", why.score),
                term_names(&why.unexplained),
                used.join("; "),
            ]);
        }
    }
    let head = [
        "block",
        "document",
        "score",
        "terms no atom explains",
        "atoms it uses",
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
