//! The paper's document experiment: TDT2 in blocks of 1000, AUC at the steps that bring new topics.

use crate::commands::pages::roc_curve;
use crate::commands::{command_line, say, Result, Speech};
use crate::options::{StoppingArgs, StrategyArgs};
use crate::progress::Bar;
use crate::render::text::table;
use crate::render::Reply;
use dictmesh::Samples;
use dictmesh_apps::novelty::Novelty;
use dictmesh_apps::reproduce::{AucRow, DocumentsExperiment, DocumentsMethod, DocumentsResult};
use dictmesh_data::output::Folder;
use dictmesh_data::{self as data, ReadOptions};
use dictmesh_report::{Figure, Report, RocPlot, Section, Table};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Documents scored per batch.
const SCORE_BATCH: usize = 50;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory with tdt2.npz and tdt2_labels.csv
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub data: PathBuf,
    /// Number of seeds, from 0
    #[arg(long, value_name = "N", default_value_t = DocumentsExperiment::default().seeds, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub seeds: u64,
    /// Stop after this step: 1, 2, 5, 6 or 8 (a whole run takes minutes for each seed)
    #[arg(long, value_name = "STEP", default_value_t = DocumentsExperiment::default().last_step as u64, value_parser = clap::value_parser!(u64).range(1..=8))]
    pub steps: u64,
    /// The paper's loss, constants and random atoms in place of the improved ones
    #[arg(long, conflicts_with = "l1")]
    pub paper: bool,
    /// The paper's baseline in place of the mesh: l1 loss by ADMM, centralized
    #[arg(long)]
    pub l1: bool,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    #[command(flatten)]
    pub stopping: StoppingArgs,
    /// Write a page of the results, with charts, into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// The AUC beside the paper's.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Documents {
    /// "default", "paper" or "l1".
    method: &'static str,
    #[serde(flatten)]
    result: DocumentsResult,
    /// The page of the report.
    report: Option<String>,
}

impl Reply for Documents {
    const COMMAND: &'static str = "reproduce-documents";
}

pub fn run(args: Args) -> Result<()> {
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let (counts, topics) = read(&args.data)?;
    let experiment = DocumentsExperiment {
        method: method(&args)?,
        last_step: args.steps as usize,
        seeds: args.seeds,
        ..DocumentsExperiment::default()
    };
    let bar = Bar::new(args.speech.quiet);
    let result = experiment.run(&counts, &topics, &mut |progress| {
        bar.show(progress);
        ControlFlow::Continue(())
    });
    bar.clear();
    let mut reply = Documents {
        method: match (args.paper, args.l1) {
            (true, _) => "paper",
            (_, true) => "l1",
            _ => "default",
        },
        result: result.map_err(say)?,
        report: None,
    };
    if let Some(dir) = &args.report {
        let page = report(&args, &reply.result, experiment.block).write(dir)?;
        reply.report = Some(page.display().to_string());
    }
    args.speech.reply(&reply, || {
        let mut text = table(&rows(&args, &reply.result));
        if let Some(page) = &reply.report {
            text += &format!("report: {page}\n");
        }
        text
    })
}

fn method(args: &Args) -> Result<DocumentsMethod> {
    if args.l1 {
        return Ok(DocumentsMethod::L1);
    }
    let base = match args.paper {
        true => Novelty::paper(),
        false => Novelty::default(),
    };
    Ok(DocumentsMethod::Mesh(Box::new(Novelty {
        score_batch: SCORE_BATCH,
        strategy: args.strategy.or(base.strategy.clone())?,
        stopping: args.stopping.or(base.stopping),
        ..base
    })))
}

/// The counts and the topics.
pub fn read(dir: &Path) -> Result<(Samples, Vec<String>)> {
    let (matrix, topics) = (dir.join("tdt2.npz"), dir.join("tdt2_labels.csv"));
    let missing: Vec<String> = [&matrix, &topics]
        .iter()
        .filter(|path| !path.is_file())
        .map(|path| path.display().to_string())
        .collect();
    if !missing.is_empty() {
        return Err(format!(
            "not found: {}; --data needs a directory with tdt2.npz (a scipy sparse matrix of counts, a \
             document a row, in the order of time) and tdt2_labels.csv (with a column topic, a document \
             a line); D. Cai offers the counts of the 9,394 documents of TDT2's 30 largest topics (fea and gnd at \
             www.cs.uiuc.edu/homes/dengcai2/Data/TextData.html), to be put into the order of their dates",
            missing.join(" and ")
        )
        .into());
    }
    let counts = data::read(&matrix, &ReadOptions::default()).map_err(say)?;
    let counts = counts.samples;
    let topics = data::read_labels(&topics, Some("topic"), counts.len()).map_err(say)?;
    let block = DocumentsExperiment::default().block;
    if counts.len() <= block {
        return Err(format!(
            "{}: {} documents; expected more than {block}, those of the first block",
            matrix.display(),
            counts.len()
        )
        .into());
    }
    Ok((counts, topics))
}

fn ours(args: &Args) -> String {
    let what = match (args.paper, args.l1) {
        (true, _) => "ours, paper's constants",
        (_, true) => "ours, l1 baseline",
        _ => "ours, p = .5",
    };
    let plural = if args.seeds == 1 { "" } else { "s" };
    format!("{what} ({} seed{plural})", args.seeds)
}

fn cells(name: String, row: &AucRow, digits: usize) -> Vec<String> {
    let aucs = row.auc.iter().map(|a| a.auc).chain([row.mean]);
    let aucs = aucs.map(|auc| format!("{auc:.digits$}"));
    std::iter::once(name).chain(aucs).collect()
}

/// A head, and a row for each method.
fn rows(args: &Args, result: &DocumentsResult) -> Vec<Vec<String>> {
    let steps = result.row.auc.iter().map(|a| a.step.to_string());
    let head = std::iter::once("AUC at step".to_string());
    let mut rows = vec![head.chain(steps).chain(["mean".into()]).collect()];
    rows.push(cells(ours(args), &result.row, 3));
    let paper = result.paper.iter();
    rows.extend(paper.map(|p| cells(format!("paper, {}", p.method), &p.row, 2)));
    rows
}

fn report(args: &Args, result: &DocumentsResult, block: usize) -> Report {
    let mut rows = rows(args, result);
    let head = rows.remove(0);
    let curves = result.curves.iter();
    let plot = RocPlot {
        curves: curves
            .map(|(step, roc)| roc_curve(&format!("step {step}"), roc))
            .collect(),
    };
    let seeds = result.seeds.iter().enumerate();
    let seeds = seeds.map(|(seed, row)| cells(format!("seed {seed}"), row, 3));
    Report {
        title: "Novel documents in TDT2".into(),
        subtitle: ours(args),
        facts: vec![("mean AUC".into(), format!("{:.3}", result.row.mean))],
        sections: vec![
            Section {
                heading: "Beside the paper".into(),
                text: format!(
                    "Blocks of {block} documents in the order of time. Block 0 is learned; each later block is \
                     scored before it is learned. A document is novel if no earlier block has its topic. Weights \
                     are count times idf, with idf from the past blocks, scaled to norm 1. All terms count, \
                     including those of few documents, which a stream does not know in advance."
                ),
                tables: vec![
                    Table {
                        caption: "Mean over the seeds, and the paper's table".into(),
                        head: head.clone(),
                        rows,
                    },
                    Table {
                        caption: "Each seed".into(),
                        head,
                        rows: seeds.collect(),
                    },
                ],
                ..Section::default()
            },
            Section {
                heading: "The curves".into(),
                figures: vec![Figure::new("roc", "ROC curves of seed 0.", plot.draw())],
                ..Section::default()
            },
        ],
        command: command_line(),
        versions: vec![("dictmesh".into(), env!("CARGO_PKG_VERSION").into())],
    }
}
