//! The page of an audit.

use super::super::command_line;
use super::words::{about, rows, verdicts, LEGEND};
use super::{Args, Found};
use crate::report::{AxisSpec, Figure, Lines, Report, Section, Series, Table};
use dictmesh_apps::audit::chance;

pub fn report(args: &Args, found: &Found) -> Report {
    let mut rows = rows(found);
    let text = format!(
        "{}\n\nIt takes part as it should, keeps all it is sent, and knows the graph, the task and the constants. \
         It uses differences between rounds, and what all rounds add up to. The figures are what these attacks got; \
         a better one may get more.\n\n{}",
        about(found).replace('\n', " "),
        verdicts(found).join("\n\n").replace("\n  ", " "),
    );
    Report {
        title: "What a curious neighbour finds out".into(),
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
                "Every private atom, the best hidden first: cosine of the direction that was found with the atom, \
                 by a neighbour that knows the samples (left or above) and by one that does not.",
                vec![panel(found, true), panel(found, false)],
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

/// The cosines of all atoms, rising.
fn panel(found: &Found, knows_x: bool) -> crate::canvas::Canvas {
    let series = found.audits.iter().map(|audited| {
        let mut cosines = audited.audit.cosines(knows_x);
        cosines.sort_by(f64::total_cmp);
        let points = cosines.iter().enumerate();
        Series::new(
            &audited.name,
            points.map(|(i, c)| ((i + 1) as f64, *c)).collect(),
        )
    });
    let who = match knows_x {
        true => "knows x",
        false => "does not know x",
    };
    Lines {
        title: format!("Atoms found by a neighbour that {who}"),
        x: AxisSpec::linear(&format!("atoms (the neighbour {who})")),
        y: AxisSpec::linear("cosine with the atom"),
        series: series.collect(),
        levels: vec![
            (1.0, "found".into()),
            (chance(found.rows, found.directions), "a guess".into()),
        ],
    }
    .draw()
}
