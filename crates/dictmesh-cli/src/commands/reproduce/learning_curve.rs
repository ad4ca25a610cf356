//! The paper's learning curve: SNR of nu and y against rounds, on its document example.

use super::documents::read;
use crate::commands::tune::{figure, rounds_to};
use crate::commands::{command_line, say, Result, Speech};
use crate::progress::Bar;
use crate::render::text::table;
use crate::render::Reply;
use dictmesh::Samples;
use dictmesh_apps::learning_curve::{Ending, LearningCurve};
use dictmesh_apps::reproduce::{
    generated_documents, LearningCurveCase, LearningCurveExperiment, LearningCurveResult,
};
use dictmesh_data::output::Folder;
use dictmesh_data::text::{TfIdf, Weighting};
use dictmesh_report::numbers::counted;
use dictmesh_report::{Report, Section, Table};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory with tdt2.npz and tdt2_labels.csv [default: documents are generated]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Number of documents of the first block that the dictionary learns from
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(10..=1000))]
    pub documents: u64,
    /// Number of these documents that the strategies run on
    #[arg(long, value_name = "N", default_value_t = LearningCurveExperiment::default().samples as u64, value_parser = clap::value_parser!(u64).range(1..=10))]
    pub samples: u64,
    /// Stop after this many rounds
    #[arg(long, value_name = "N", default_value_t = LearningCurveExperiment::default().rounds as u64, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub rounds: u64,
    /// Seed of all random draws
    #[arg(long, value_name = "N", default_value_t = LearningCurveExperiment::default().seed)]
    pub seed: u64,
    /// Write a page of the results, with charts, into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// The learning curves beside the paper's words.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Curves {
    /// The documents in a phrase.
    data: String,
    /// Whether the documents are generated, in place of the paper's.
    generated: bool,
    #[serde(flatten)]
    result: LearningCurveResult,
    /// The page of the report.
    report: Option<String>,
}

impl Reply for Curves {
    const COMMAND: &'static str = "reproduce-learning-curve";
}

pub fn run(args: Args) -> Result<()> {
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let (x, data) = documents(&args)?;
    let bar = Bar::new(args.speech.quiet);
    let experiment = LearningCurveExperiment {
        samples: args.samples as usize,
        rounds: args.rounds as usize,
        seed: args.seed,
    };
    let result = experiment.run(&x, &mut |progress| {
        bar.show(progress);
        ControlFlow::Continue(())
    });
    bar.clear();
    let mut reply = Curves {
        data,
        generated: args.data.is_none(),
        result: result.map_err(say)?,
        report: None,
    };
    if let Some(dir) = &args.report {
        let page = report(&args, &reply).write(dir)?;
        reply.report = Some(page.display().to_string());
    }
    args.speech.reply(&reply, || {
        let mut text = format!(
            "{}\n10 agents of one atom, Huber residual, gamma = .05, delta = .1, eta = .2; {}\n\
             against their exact solution; the SNR of nu is that of the worst agent:\n\n{}\n{}",
            reply.data,
            counted(args.samples as usize, "document"),
            table(&rows(&reply.result.cases)),
            table(&comparison(&reply.result)),
        );
        if let Some(page) = &reply.report {
            text += &format!("report: {page}\n");
        }
        text
    })
}

/// The first documents of TDT2, or generated ones, weighted by TF-IDF; with their description.
fn documents(args: &Args) -> Result<(Samples, String)> {
    let count = args.documents as usize;
    let (counts, what) = match &args.data {
        Some(dir) => {
            let counts = read(dir)?.0.range(0..count);
            (counts, format!("The first {count} documents of TDT2"))
        }
        None => (
            generated_documents(count, args.seed).map_err(say)?,
            format!(
                "{count} generated documents of 10 topics, a stand-in. For TDT2, the paper's data, give --data DIR"
            ),
        ),
    };
    let mut tfidf = TfIdf::new(counts.rows(), Weighting::default());
    Ok((tfidf.transform_block(&counts).map_err(say)?, what))
}

/// A head, and a row for each case.
fn rows(cases: &[LearningCurveCase]) -> Vec<Vec<String>> {
    let head = [
        "rounds to",
        "nu 40 dB",
        "60 dB",
        "y 40 dB",
        "60 dB",
        "nu at 500",
        "y at 500",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    for case in cases {
        let curve = &case.curve;
        let reached = curve.nu[1..].iter().chain(&curve.y[1..]);
        let mut row = vec![case.name.to_string()];
        row.extend(reached.map(|rounds| rounds_to(curve, *rounds)));
        let (more, then) = (more(curve), &case.at_paper_rounds);
        row.extend([
            format!("{more}{:.0} dB", then.nu),
            format!("{more}{:.0} dB", then.y),
        ]);
        rows.push(row);
    }
    rows
}

/// A sign for curves that end at 60 dB before the paper's number of rounds.
fn more(curve: &LearningCurve) -> &'static str {
    let early = curve.last().round < LearningCurveExperiment::PAPER_ROUNDS;
    match curve.ending == Ending::Reached && early {
        true => "> ",
        false => "",
    }
}

fn paper_db(result: &LearningCurveResult) -> String {
    format!("{} to {}", result.paper_db[0], result.paper_db[1])
}

/// A head, and the paper's statements with ours beside them.
fn comparison(result: &LearningCurveResult) -> Vec<Vec<String>> {
    let case = &result.cases[0];
    let (curve, then) = (&case.curve, &case.at_paper_rounds);
    let (more, round) = (more(curve), then.round);
    let ours = match curve.ending {
        Ending::Diverged => "this step diverges on this dictionary".into(),
        _ => format!(
            "nu {more}{:.1} dB, y {more}{:.1} dB after {round}",
            then.nu, then.y
        ),
    };
    let order = match case.is_y_first() {
        true => "y before nu",
        false => "not at every level",
    };
    let rounds = result.paper_rounds;
    let rows = [
        ["the paper says".to_string(), format!("ours, {}", case.name)],
        [
            format!("about {rounds} rounds for {} dB of both", paper_db(result)),
            ours,
        ],
        ["y before nu".into(), order.into()],
    ];
    rows.map(|row| row.to_vec()).to_vec()
}

fn report(args: &Args, reply: &Curves) -> Report {
    let (result, cases) = (&reply.result, &reply.result.cases);
    let (mut rows, mut words) = (rows(cases), comparison(result));
    let runs: Vec<(String, &LearningCurve)> = (cases.iter())
        .map(|case| (case.name.to_string(), &case.curve))
        .collect();
    let then = &cases[0].at_paper_rounds;
    Report {
        title: "The paper's learning curve".into(),
        subtitle: reply.data.clone(),
        facts: vec![
            ("nu after 500 rounds".into(), format!("{:.1} dB", then.nu)),
            ("y after 500 rounds".into(), format!("{:.1} dB", then.y)),
            ("the paper".into(), format!("{} dB", paper_db(result))),
        ],
        sections: vec![Section {
            heading: "SNR against rounds".into(),
            text: format!(
                "10 agents hold one atom each: Huber residual, gamma = .05, delta = .1, eta = .2. The \
                 dictionary learns from {} documents by the paper's fully connected diffusion. Each mesh codes \
                 {} of these documents again, against their exact solution. The SNR of nu is that of the worst \
                 agent. The paper describes its figure in words only.",
                args.documents, args.samples
            ),
            commands: Vec::new(),
            figures: vec![figure("learning-curve", &runs)],
            tables: vec![
                Table {
                    caption: "Beside the paper".into(),
                    head: words.remove(0),
                    rows: words,
                },
                Table {
                    caption: "Rounds from which an SNR is kept, and both SNR after 500 rounds".into(),
                    head: rows.remove(0),
                    rows,
                },
            ],
        }],
        command: command_line(),
        versions: vec![
            ("dictmesh".into(), env!("CARGO_PKG_VERSION").into()),
            ("seed".into(), args.seed.to_string()),
        ],
    }
}
