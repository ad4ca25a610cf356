//! What a person sees of codes.

use super::super::pages::{mesh_section, objective, versions};
use super::super::prepare::Opened;
use super::super::{command_line, Result};
use super::{method, Args, Summary};
use crate::canvas::ticks::Scale;
use crate::numbers::counted;
use crate::numbers::fixed;
use crate::report::{Bar, Bars, Figure, Histogram, Report, Section};
use dictmesh::strategy;
use serde_json::json;
use std::path::PathBuf;

/// Atoms whose use is drawn.
const ATOMS: usize = 30;

pub fn tell(args: &Args, opened: &Opened, found: &Summary, page: Option<PathBuf>) -> Result<()> {
    let output = args.output.display().to_string();
    let page = page.map(|page| page.display().to_string());
    let (cost, sparsity, samples) = (found.cost(), found.sparsity(), found.costs.len());
    let biased = strategy::named(&args.strategy).is_ok_and(|s| s.is_biased());
    args.speech.tell(
        json!({
            "codes": output, "strategy": method(args, &opened.mesh), "samples": samples, "cost": cost, "sparsity": sparsity, "gap": found.gap,
            "stop": found.stop.to_string(), "biased": biased, "atoms": opened.mesh.atoms(),
            "unused_atoms": found.used.iter().filter(|n| **n == 0).count(),
            "reconstruction": args.reconstruct, "report": page,
        }),
        || {
            let mut text = format!(
                "{} coded: {}\nmean cost: {}\n\
                 entries that are not zero: {sparsity:.1} of {}\n",
                counted(samples, "sample"),
                found.stop,
                fixed(cost, 8),
                opened.mesh.atoms()
            );
            if let Some(gap) = found.gap {
                text += &format!("certified relative gap: {gap:.1e}\n");
            }
            if biased {
                text += &format!(
                    "{} comes to a limit of its own, on most graphs off by a bias in proportion to its step: --strategy \
                     exact and relaxed-admm come to the codes themselves\n",
                    args.strategy
                );
            }
            text += &format!("codes: {output}\n");
            if let Some(path) = &args.reconstruct {
                text += &format!("reconstruction: {}\n", path.display());
            }
            if let Some(page) = &page {
                text += &format!("report: {page}\n");
            }
            text
        },
    )
}

pub fn report(args: &Args, opened: &Opened, found: &Summary) -> Report {
    let mesh = &opened.mesh;
    let mut facts = vec![
        ("samples".into(), found.costs.len().to_string()),
        ("mean cost".into(), format!("{:.5}", found.cost())),
        (
            "entries not zero".into(),
            format!("{:.1} of {}", found.sparsity(), mesh.atoms()),
        ),
        ("strategy".into(), method(args, mesh)),
    ];
    if let Some(gap) = found.gap {
        facts.push(("certified relative gap".into(), format!("{gap:.0e}")));
    }
    let mut sections = vec![spread(opened, found), use_of_atoms(found)];
    sections.extend(mesh_section(mesh));
    Report {
        title: "Samples coded".into(),
        subtitle: format!("{} by {}", args.data.display(), args.model.display()),
        facts,
        sections,
        command: command_line(),
        versions: versions(mesh.seed()),
    }
}

fn spread(opened: &Opened, found: &Summary) -> Section {
    let histogram = |title: &str, x: &str, values: &[f64]| Histogram {
        title: title.into(),
        x: x.into(),
        groups: vec![("samples".into(), values.to_vec())],
        threshold: None,
    };
    let task = opened.mesh.task().spec();
    Section {
        heading: "Costs and sparsity".into(),
        text: format!("Each code minimises its part of: {}.", objective(&task)),
        figures: vec![
            Figure::new(
                "costs",
                "What the samples cost: what their codes leave unexplained, and the codes themselves.",
                histogram("Costs of the samples", "cost of a sample", &found.costs).draw(),
            ),
            Figure::new(
                "entries",
                "How many atoms a sample takes.",
                histogram("Entries of the codes", "entries that are not zero", &found.entries).draw(),
            ),
        ],
        ..Section::default()
    }
}

fn use_of_atoms(found: &Summary) -> Section {
    let mut order: Vec<usize> = (0..found.used.len()).collect();
    order.sort_by(|a, b| found.used[*b].cmp(&found.used[*a]).then(a.cmp(b)));
    let unused = found.used.iter().filter(|n| **n == 0).count();
    let shown = order.len().min(ATOMS);
    let bar = |q: &usize| Bar::new(&format!("atom {q}"), found.used[*q] as f64);
    let bars = Bars {
        label: "samples that use the atom".into(),
        scale: Scale::Linear,
        bars: order.iter().take(shown).map(bar).collect(),
        reference: String::new(),
    };
    let all = found.used.len();
    let caption = format!("The {shown} most used of {all} atoms; {unused} are not used at all.");
    Section {
        heading: "The use of atoms".into(),
        figures: vec![Figure::new("use", &caption, bars.draw())],
        ..Section::default()
    }
}
