//! The report: the table in the order of its layers, and the rows as points.

use super::super::command_line;
use super::{Args, Input};
use dictmesh_apps::biclustering::{Bicluster, Layers, RowClasses};
use dictmesh_report::{Block, Figure, HeatMap, Report, Scatter, Section, Table};

/// Maximum number of pairs of layers shown.
const PAIRS: usize = 6;
/// Maximum number of rows of a layer named.
const HEAVIEST: usize = 6;

pub fn report(args: &Args, input: &Input, found: &Layers, classes: Option<&RowClasses>) -> Report {
    let (m, t) = (input.x.rows(), input.x.cols());
    let mut facts = vec![
        ("rows".to_string(), m.to_string()),
        ("columns".into(), t.to_string()),
        (
            "layers".into(),
            found
                .layers
                .iter()
                .filter(|l| !l.is_empty())
                .count()
                .to_string(),
        ),
    ];
    if let Some(classes) = classes {
        let wrong = classes.misclassified.len();
        facts.insert(0, ("misclassified".into(), format!("{wrong} of {m}")));
    }
    Report {
        title: "Biclusters".into(),
        subtitle: args.table.display().to_string(),
        facts,
        sections: vec![
            Section {
                heading: "The table by its layers".into(),
                text:
                    "Rows and columns come in the order of the layers they belong to, and within a \
                       layer by their coefficient. A row belongs to a layer if it has at least an even share \
                       of it, w^2 >= |w|^2 / rows; a column if its coefficient is not 0."
                        .into(),
                commands: Vec::new(),
                figures: vec![Figure::new(
                    "heat-map",
                    "The prepared table; layers are framed.",
                    heat_map(input, found).draw(),
                )],
                tables: vec![layers_table(input, found)],
            },
            Section {
                heading: "The rows".into(),
                text: "Each point is a row of the table, by its coefficients w in two layers."
                    .into(),
                commands: Vec::new(),
                figures: vec![Figure::panels(
                    "rows",
                    "Rows that lie together are in the same layers.",
                    scatters(input, found, classes)
                        .iter()
                        .map(Scatter::draw)
                        .collect(),
                )],
                tables: Vec::new(),
            },
        ],
        command: command_line(),
        versions: vec![
            ("dictmesh".into(), env!("CARGO_PKG_VERSION").into()),
            ("seed".into(), args.seed.to_string()),
        ],
    }
}

/// The layers and their heaviest rows.
fn layers_table(input: &Input, found: &Layers) -> Table {
    let line = |(k, l): (usize, &Bicluster)| {
        let (rows, columns) = (l.main_rows(), l.columns().len());
        let name = |row: &usize| match &input.row_names {
            Some(names) => names[*row].clone(),
            None => (row + 1).to_string(),
        };
        let mut heaviest: Vec<String> = rows.iter().take(HEAVIEST).map(name).collect();
        if rows.len() > HEAVIEST {
            heaviest.push("...".into());
        }
        vec![
            (k + 1).to_string(),
            rows.len().to_string(),
            columns.to_string(),
            format!("{:.4}", l.weight),
            heaviest.join(", "),
        ]
    };
    let filled = found
        .layers
        .iter()
        .enumerate()
        .filter(|(_, l)| !l.is_empty());
    Table {
        caption: "The layers by decreasing weight".into(),
        head: ["layer", "rows", "columns", "weight", "heaviest rows"]
            .map(String::from)
            .to_vec(),
        rows: filled.map(line).collect(),
    }
}

/// The prepared table in the order of its layers.
pub fn heat_map(input: &Input, found: &Layers) -> HeatMap {
    let falling = |mut members: Vec<usize>, by: &[f64]| {
        members.sort_by(|a, b| by[*b].total_cmp(&by[*a]));
        members
    };
    let block = |(k, l): (usize, &Bicluster)| Block {
        name: format!("layer {}", k + 1),
        rows: falling(l.main_rows(), &l.w),
        columns: falling(l.columns(), &l.y),
    };
    HeatMap {
        title: "The table in the order of its biclusters".into(),
        rows: input.x.rows(),
        columns: input.x.cols(),
        values: found.prepared.transpose().into_vec(),
        blocks: (found.layers.iter().enumerate())
            .filter(|(_, l)| !l.is_empty())
            .map(block)
            .collect(),
        names: ("rows".into(), "columns".into()),
        row_labels: input.row_names.clone().unwrap_or_default(),
        row_classes: input.labels.clone().unwrap_or_default(),
    }
}

/// The rows by every two layers; by their number and the layer, if there is but one.
pub fn scatters(input: &Input, found: &Layers, classes: Option<&RowClasses>) -> Vec<Scatter> {
    let scatter = |x: (String, Vec<f64>), y: (String, &[f64])| Scatter {
        title: format!("Rows by {} and {}", x.0, y.0),
        x: x.0,
        y: y.0,
        points: x.1.into_iter().zip(y.1.iter().copied()).collect(),
        classes: input.labels.clone().unwrap_or_default(),
        ringed: classes.map_or(Vec::new(), |c| c.misclassified.clone()),
        ring: "misclassified".into(),
    };
    let name = |k: usize| format!("layer {}", k + 1);
    let layers: Vec<&Bicluster> = found.layers.iter().filter(|l| !l.is_empty()).collect();
    if let [only] = layers[..] {
        let numbers = (1..=only.w.len()).map(|i| i as f64).collect();
        return vec![scatter(("row".into(), numbers), (name(0), &only.w))];
    }
    let pairs = (0..layers.len()).flat_map(|a| (a + 1..layers.len()).map(move |b| (a, b)));
    pairs
        .take(PAIRS)
        .map(|(a, b)| scatter((name(a), layers[a].w.clone()), (name(b), &layers[b].w)))
        .collect()
}
