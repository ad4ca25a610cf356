//! The paper's biclustering experiment: patients of four kinds, separated without their labels.

use crate::commands::bicluster::{self, Input};
use crate::commands::{command_line, say, ReadArgs, Result, Speech};
use crate::progress::Bar;
use crate::render::text::table;
use crate::render::Reply;
use dictmesh_apps::biclustering::{Layers, RowClasses};
use dictmesh_apps::reproduce::{BiclusteringExperiment, BiclusteringResult, Misclassified};
use dictmesh_data::output::Folder;
use dictmesh_data::Nan;
use dictmesh_report::{Figure, Report, Scatter, Section, Table};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// What the paper reports.
const PAPER: &str = "4 clusters, by eye";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory with lung.csv
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub data: PathBuf,
    /// Number of seeds, from 0
    #[arg(long, value_name = "N", default_value_t = BiclusteringExperiment::default().seeds, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Write a page of the results, with charts, into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// The misclassified patients of each method.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Patients {
    #[serde(flatten)]
    result: BiclusteringResult,
    /// What the paper reports.
    paper: &'static str,
    /// The page of the report.
    report: Option<String>,
}

impl Reply for Patients {
    const COMMAND: &'static str = "reproduce-biclustering";
}

pub fn run(args: Args) -> Result<()> {
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let (input, labels) = read(&args.data)?;
    let bar = Bar::new(args.speech.quiet);
    let experiment = BiclusteringExperiment { seeds: args.seeds };
    let result = experiment.run(&input.x, &labels, &mut |progress| {
        bar.show(progress);
        ControlFlow::Continue(())
    });
    bar.clear();
    let mut reply = Patients {
        result: result.map_err(say)?,
        paper: PAPER,
        report: None,
    };
    if let (Some(dir), Some(first)) = (&args.report, &reply.result.first) {
        let page = report(&args, &input, &reply.result, first).write(dir)?;
        reply.report = Some(page.display().to_string());
    }
    args.speech.reply(&reply, || {
        let mut text = format!(
            "misclassified patients of {}, one number per seed\n\n{}",
            labels.len(),
            table(&rows(&reply.result))
        );
        if let Some(page) = &reply.report {
            text += &format!("report: {page}\n");
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
        )
        .into());
    }
    let options = ReadArgs {
        nan: Nan::Error,
        label_column: Some("1".into()),
        ..ReadArgs::default()
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

/// A head, a row for each method, and the paper's.
fn rows(result: &BiclusteringResult) -> Vec<Vec<String>> {
    let row = |m: &Misclassified| {
        let each: Vec<String> = m.misclassified.iter().map(usize::to_string).collect();
        let name = format!("ours, {}, {} layers", m.method, m.layers);
        let worst = m.misclassified.iter().max().copied().unwrap_or(0);
        vec![name, each.join(" "), worst.to_string()]
    };
    let head = ["method", "each seed", "worst"].map(String::from).to_vec();
    let paper = ["paper, Alg. 3 and Alg. 4", PAPER, "-"].map(String::from);
    let rows = result.methods.iter().map(row);
    std::iter::once(head)
        .chain(rows)
        .chain([paper.to_vec()])
        .collect()
}

fn report(
    args: &Args,
    input: &Input,
    result: &BiclusteringResult,
    (layers, classes): &(Layers, RowClasses),
) -> Report {
    let mut rows = rows(result);
    let worst = result
        .methods
        .first()
        .and_then(|m| m.misclassified.iter().max());
    Report {
        title: "Patients by their genes".into(),
        subtitle: args.data.join("lung.csv").display().to_string(),
        facts: vec![(
            "misclassified at most".into(),
            format!("{} of {}", worst.copied().unwrap_or(0), result.patients),
        )],
        sections: vec![
            Section {
                heading: "Beside the paper".into(),
                text: "Each gene is standardised, and agents find sparse layers, one each, from the genes alone. \
                       Patients are then grouped by k-means (as many groups as classes, the best of ten starts \
                       by inertia) on their coefficients times the layers' weights. The matching with the fewest \
                       errors names the groups. The paper shows a scatter and gives no count."
                    .into(),
                tables: vec![Table {
                    caption: "Misclassified patients".into(),
                    head: rows.remove(0),
                    rows,
                }],
                ..Section::default()
            },
            Section {
                heading: "The patients".into(),
                text: "Seed 0 by diffusion: each point is a patient by its coefficients in two layers.".into(),
                figures: vec![Figure::panels(
                    "patients",
                    "Patients, coloured by their class.",
                    bicluster::scatters(input, layers, Some(classes))
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
                    "The standardised table; rows and columns in the order of their layers.",
                    bicluster::heat_map(input, layers).draw(),
                )],
                ..Section::default()
            },
        ],
        command: command_line(),
        versions: vec![("dictmesh".into(), env!("CARGO_PKG_VERSION").into())],
    }
}
