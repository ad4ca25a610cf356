//! The paper's biclustering experiment: patients of four kinds, told apart without their labels.

use crate::commands::bicluster::{self, diffusion, judge, ssvd, Found, Input, Judged};
use crate::commands::{command_line, print, ReadArgs, Result, Speech};
use crate::output::Folder;
use crate::progress::Bar;
use crate::report::{Figure, Report, Scatter, Section, Table};
use dictmesh_apps::biclustering::Biclustering;
use dictmesh_apps::ssvd::SparseSvd;
use dictmesh_data::Nan;
use serde_json::{json, Value};
use std::path::{Path, PathBuf};

/// N in the paper.
const PAPERS_LAYERS: usize = 3;
/// What the paper has to say.
const PAPER: &str = "4 clusters, by eye";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory with lung.csv
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub data: PathBuf,
    /// How many seeds, from 0
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: u64,
    /// Write a page with the heat map and the scatter of the patients into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// One way to find layers, and how many patients each seed got wrong.
struct Row {
    name: String,
    key: &'static str,
    layers: usize,
    wrong: Vec<usize>,
}

pub fn run(args: Args) -> Result<()> {
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let (input, labels) = read(&args.data)?;
    let bar = Bar::new(args.speech.quiet);
    let usual = Biclustering::default().layers;
    let (mut rows, mut shown) = (Vec::new(), None);
    for (key, layers) in [
        ("misclassified", usual),
        ("ssvd", usual),
        ("diffusion_3", PAPERS_LAYERS),
        ("ssvd_3", PAPERS_LAYERS),
    ] {
        let by_agents = !key.starts_with("ssvd");
        let method = if by_agents { "diffusion" } else { "ssvd" };
        let mut row = Row {
            name: format!("ours, {method}, {layers} layers"),
            key,
            layers,
            wrong: Vec::new(),
        };
        for seed in 0..args.seeds {
            let found = one(by_agents, layers, seed, &input, &bar);
            let found = found.inspect_err(|_| bar.clear())?;
            let judged = judge(&found.layers, &labels, seed)?;
            row.wrong.push(judged.wrong.len());
            shown.get_or_insert((found, judged));
        }
        bar.clear();
        if !args.speech.quiet && !args.speech.json {
            print(&format!("{:<28}{}\n", row.name, listed(&row.wrong)))?;
        }
        rows.push(row);
    }
    let page = match (&args.report, &shown) {
        (Some(dir), Some(shown)) => Some(report(&args, &input, &rows, shown).write(dir)?),
        _ => None,
    };
    args.speech.tell(result(&input, &rows), || {
        let mut text = format!("{:<28}{PAPER}\n", "paper, Alg. 3 and Alg. 4");
        text += &format!(
            "(misclassified patients of {}, one number a seed)\n",
            labels.len()
        );
        if let Some(page) = &page {
            text += &format!("report: {}\n", page.display());
        }
        text
    })
}

/// The table, a patient a row, and the patients' labels.
fn read(dir: &Path) -> Result<(Input, Vec<String>)> {
    let path = dir.join("lung.csv");
    if !path.is_file() {
        return Err(format!(
            "not found: {}; --data needs a directory with lung.csv (a patient a row, its class in the first \
             column, then a gene a column: 56 x 5,000). These are the 5,000 most variable of the 12,625 genes in \
             the lung cancer table of Lee, Shen, Huang and Marron (Biometrics 66, 2010), which comes from \
             Bhattacharjee et al. (PNAS 98, 2001)",
            path.display()
        ).into());
    }
    let options = ReadArgs {
        format: None,
        transpose: false,
        nan: Nan::Error,
        label_column: Some("1".into()),
        name_column: None,
        drop: Vec::new(),
        header: None,
        array: None,
    };
    let input = bicluster::read(&path, &options, None)?;
    match input.labels.clone() {
        Some(labels) => Ok((input, labels)),
        None => Err(format!(
            "{}: its first column holds no classes; expected one for each patient, such as Colon",
            path.display()
        )
        .into()),
    }
}

fn one(by_agents: bool, layers: usize, seed: u64, input: &Input, bar: &Bar) -> Result<Found> {
    let agents = Biclustering {
        layers,
        seed,
        ..Biclustering::default()
    };
    if by_agents {
        return diffusion(&agents, &input.x, &mut |progress| bar.show(progress));
    }
    let settings = SparseSvd {
        layers,
        ..SparseSvd::default()
    };
    ssvd(&settings, agents.prepare, &input.x)
}

fn listed(wrong: &[usize]) -> String {
    let each: Vec<String> = wrong.iter().map(usize::to_string).collect();
    each.join(" ")
}

fn result(input: &Input, rows: &[Row]) -> Value {
    let mut all = json!({
        "patients": input.x.rows(), "genes": input.x.cols(),
        "layers": rows.first().map(|row| row.layers), "paper": PAPER,
    });
    for row in rows {
        all[row.key] = json!(row.wrong);
    }
    all
}

/// How many patients each method got wrong, of so many.
fn table(rows: &[Row], of: usize) -> Table {
    let lines = rows.iter().map(|row| {
        let worst = row.wrong.iter().max().copied().unwrap_or(0);
        vec![
            row.name.clone(),
            listed(&row.wrong),
            format!("{worst} of {of}"),
        ]
    });
    let paper = ["paper, Alg. 3 and Alg. 4", PAPER, ""].map(String::from);
    Table {
        caption: "Misclassified patients".into(),
        head: ["method", "each seed", "worst"].map(String::from).to_vec(),
        rows: lines.chain([paper.to_vec()]).collect(),
    }
}

fn report(args: &Args, input: &Input, rows: &[Row], (found, judged): &(Found, Judged)) -> Report {
    let of = input.x.rows();
    let worst = rows.first().and_then(|row| row.wrong.iter().max());
    Report {
        title: "Patients by their genes".into(),
        subtitle: args.data.join("lung.csv").display().to_string(),
        facts: vec![(
            "misclassified at most".into(),
            format!("{} of {of}", worst.copied().unwrap_or(0)),
        )],
        sections: vec![
            Section {
                heading: "Beside the paper".into(),
                text: "Each gene is standardised, and agents find sparse layers, one each, from the genes alone. \
                       Patients are then grouped by 4-means (as many as there are classes, the best of ten starts \
                       by inertia) on their coefficients times the layers' weights; the groups are named by the \
                       matching that leaves the fewest wrong. The paper shows a scatter, and gives no count."
                    .into(),
                tables: vec![table(rows, of)],
                ..Section::default()
            },
            Section {
                heading: "The patients".into(),
                text: "Seed 0 by diffusion: each point is a patient by its coefficients in two layers.".into(),
                figures: vec![Figure::panels(
                    "patients",
                    "Patients, coloured by their class afterwards.",
                    bicluster::scatters(input, found, Some(judged))
                        .iter()
                        .map(Scatter::draw)
                        .collect(),
                )],
                ..Section::default()
            },
            Section {
                heading: "The table by its layers".into(),
                figures: vec![Figure::new(
                    "heat-map",
                    "The standardised table; rows and columns in the order of the layers they belong to.",
                    bicluster::heat_map(input, found).draw(),
                )],
                ..Section::default()
            },
        ],
        command: command_line(),
        versions: vec![("dictmesh".into(), env!("CARGO_PKG_VERSION").into())],
    }
}
