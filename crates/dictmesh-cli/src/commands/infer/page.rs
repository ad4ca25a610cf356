//! The page about codes.

use super::super::command_line;
use super::super::pages::{mesh_section, versions};
use super::Args;
use dictmesh::Mesh;
use dictmesh_apps::coding::CodeStats;
use dictmesh_report::canvas::ticks::Scale;
use dictmesh_report::{Bar, Bars, Figure, Histogram, Report, Section};

/// Atoms whose use is drawn.
const ATOMS: usize = 30;

pub fn report(args: &Args, mesh: &Mesh, found: &CodeStats, method: &str) -> Report {
    let mut facts = vec![
        ("samples".into(), found.samples.to_string()),
        ("mean cost".into(), format!("{:.5}", found.mean_cost())),
        (
            "entries not zero".into(),
            format!("{:.1} of {}", found.mean_nonzeros(), mesh.atoms()),
        ),
        ("method".into(), method.into()),
    ];
    if let Some(gap) = found.gap {
        facts.push(("certified relative gap".into(), format!("{gap:.0e}")));
    }
    let mut sections = vec![spread(mesh, found), use_of_atoms(found)];
    sections.extend(mesh_section(mesh));
    Report {
        title: "Samples coded".into(),
        subtitle: format!(
            "{} by {}",
            args.by.data().display(),
            args.by.coder().display()
        ),
        facts,
        sections,
        command: command_line(),
        versions: versions(mesh.seed()),
    }
}

fn spread(mesh: &Mesh, found: &CodeStats) -> Section {
    let histogram = |title: &str, x: &str, values: &[f64]| Histogram {
        title: title.into(),
        x: x.into(),
        groups: vec![("samples".into(), values.to_vec())],
        threshold: None,
    };
    let nonzeros: Vec<f64> = found.nonzeros.iter().map(|n| *n as f64).collect();
    let task = mesh.task().spec();
    Section {
        heading: "Costs and sparsity".into(),
        text: format!("Each code minimises its part of: {}.", task.objective()),
        figures: vec![
            Figure::new(
                "costs",
                "The cost of each sample: the residual and the penalty of its code.",
                histogram("Costs of the samples", "cost of a sample", &found.costs).draw(),
            ),
            Figure::new(
                "entries",
                "The number of atoms that a sample uses.",
                histogram(
                    "Entries of the codes",
                    "entries that are not zero",
                    &nonzeros,
                )
                .draw(),
            ),
        ],
        ..Section::default()
    }
}

fn use_of_atoms(found: &CodeStats) -> Section {
    let mut order: Vec<usize> = (0..found.uses.len()).collect();
    order.sort_by(|a, b| found.uses[*b].cmp(&found.uses[*a]).then(a.cmp(b)));
    let unused = found.unused_atoms();
    let shown = order.len().min(ATOMS);
    let bar = |q: &usize| Bar::new(&format!("atom {q}"), found.uses[*q] as f64);
    let bars = Bars {
        label: "samples that use the atom".into(),
        scale: Scale::Linear,
        bars: order.iter().take(shown).map(bar).collect(),
        reference: String::new(),
    };
    let all = found.uses.len();
    let caption = format!("The {shown} most used of {all} atoms; {unused} are not used at all.");
    Section {
        heading: "The use of atoms".into(),
        figures: vec![Figure::new("use", &caption, bars.draw())],
        ..Section::default()
    }
}
