//! The report of an audit.

use super::super::command_line;
use super::text::{about, conclusions, rows, LEGEND};
use super::Args;
use dictmesh_apps::audit::{Recovery, StrategyAudit, Survey};
use dictmesh_report::{AxisSpec, Figure, Lines, Report, Section, Series, Table};

pub fn report(args: &Args, found: &Survey) -> Report {
    let mut rows = rows(found);
    let text = format!(
        "{}\n\nAttackers follow the protocol, record all messages they receive, and know the graph, the task \
         and the constants. They use differences between rounds, and sums over all rounds. The figures are \
         results of these attacks; better ones may recover more.\n\n{}",
        about(found).replace('\n', " "),
        conclusions(found).join("\n\n").replace("\n  ", " "),
    );
    Report {
        title: "What curious neighbours recover".into(),
        subtitle: args.subject.data.display().to_string(),
        facts: vec![
            ("agents".into(), found.agents.to_string()),
            ("links".into(), found.links.to_string()),
            ("atoms".into(), found.atoms.to_string()),
            ("samples".into(), found.samples.to_string()),
        ],
        sections: vec![Section {
            heading: "Private atoms and samples".into(),
            text,
            commands: Vec::new(),
            figures: vec![Figure::panels(
                "atoms",
                "Cosine of every private atom with the nearest direction recovered, in ascending order: by \
                 neighbours that know the samples (left or above), and by those that do not.",
                vec![
                    panel(found, "knows x", |audited| &audited.x_known),
                    panel(found, "does not know x", |audited| &audited.x_unknown),
                ],
            )],
            tables: vec![Table {
                caption: LEGEND.replace('\n', " "),
                head: rows.remove(0),
                rows,
            }],
        }],
        command: command_line(),
        versions: vec![
            ("dictmesh".into(), env!("CARGO_PKG_VERSION").into()),
            ("seed".into(), args.choices.options.seed.unwrap_or(0).to_string()),
        ],
    }
}

/// The cosines of all atoms, in ascending order.
fn panel(
    found: &Survey,
    who: &str,
    recovery: impl Fn(&StrategyAudit) -> &Recovery,
) -> dictmesh_report::canvas::Canvas {
    let series = found.strategies.iter().map(|audited| {
        let cosines = recovery(audited).cosines();
        let points = cosines.iter().enumerate();
        let points = points.map(|(i, cosine)| ((i + 1) as f64, *cosine));
        Series::new(&audited.name, points.collect())
    });
    Lines {
        title: format!("Atoms recovered by a neighbour that {who}"),
        x: AxisSpec::linear(&format!("atoms (the neighbour {who})")),
        y: AxisSpec::linear("cosine with the atom"),
        series: series.collect(),
        levels: vec![(1.0, "recovered".into()), (found.chance, "a guess".into())],
    }
    .draw()
}
