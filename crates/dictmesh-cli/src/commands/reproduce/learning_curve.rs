//! The paper's learning curve: SNR of nu and y against rounds, on its document example.

mod documents;

use crate::commands::tune::{aligned, curve_json, figure};
use crate::commands::{command_line, say, Result, Speech};
use crate::numbers::thousands;
use crate::output::Folder;
use crate::progress::Bar;
use crate::progress::Progress;
use crate::report::{Report, Section, Table};
use dictmesh::strategy::{Diffusion, RelaxedAdmm, Strategy};
use dictmesh::{AtomInit, Mesh, Samples, WeightRule};
use dictmesh_apps::learning_curve::{Ending, LearningCurve, Target, GOALS};
use dictmesh_apps::novelty::Novelty;
use documents::Source;
use serde_json::{json, Value};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

/// "The required number of diffusion iterations is about 500" for "40-50 dB for both y and nu".
const PAPER_ROUNDS: usize = 500;
const PAPER_DB: &str = "40 to 50";

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory with tdt2.npz and tdt2_labels.csv; without it, documents are made up
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Documents of the first block that the dictionary is learned from
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(10..=1000))]
    pub documents: u64,
    /// Documents that the strategies are run on, drawn from these
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=10))]
    pub samples: u64,
    /// Rounds that a strategy gets
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub rounds: u64,
    /// Fixes everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Write a page with the curves into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// A strategy on a mesh, and its way to 60 dB.
struct Case {
    name: &'static str,
    curve: LearningCurve,
}

pub fn run(args: Args) -> Result<()> {
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let source = Source::new(args.data.as_deref(), args.documents as usize, args.seed)?;
    let bar = Bar::new(args.speech.quiet);
    let cases = cases(&args, &source.samples, &mut |progress| bar.show(progress));
    bar.clear();
    let cases = cases?;
    let page = match &args.report {
        Some(dir) => Some(report(&args, &source, &cases).write(dir)?),
        None => None,
    };
    args.speech.tell(result(&source, &cases), || {
        let mut text = format!(
            "{}\n10 agents of one atom, Huber residual, gamma = .05, delta = .1, eta = .2; {} documents\n\
             against their exact solution; SNR of nu is that of the worst agent:\n\n{}\n{}",
            source.what,
            args.samples,
            aligned(&rows(&cases)),
            aligned(&comparison(&cases[0])),
        );
        if let Some(page) = &page {
            text += &format!("report: {}\n", page.display());
        }
        text
    })
}

/// The paper's two meshes with its steps, and `relaxed-admm` on the second.
fn cases(args: &Args, x: &Samples, show: &mut dyn FnMut(Progress)) -> Result<Vec<Case>> {
    let seed = args.seed;
    let settings = Novelty {
        seed,
        ..Novelty::paper_fully_connected()
    };
    let mut detector = settings.build(x).map_err(say)?;
    detector
        .learn(x, |event| {
            show(Progress {
                phase: "learning",
                done: event.samples as usize,
                total: x.len(),
                cost: Some(event.cost),
            });
            ControlFlow::Continue(())
        })
        .map_err(say)?;
    let complete = detector.into_mesh();
    let settings = Novelty {
        seed,
        ..Novelty::paper()
    };
    let graph = settings.build(x).map_err(say)?.mesh().topology().clone();
    let sparse = Mesh::builder(complete.task().clone(), graph)
        .weights(WeightRule::Metropolis)
        .build(x.rows(), &[1; 10], AtomInit::Given(&complete.dictionary()))
        .map_err(say)?;

    // Documents spread over those that were learned, as the paper took one of them.
    let every = x.len() / args.samples as usize;
    let chosen: Vec<usize> = (0..args.samples as usize).map(|i| i * every).collect();
    let few = x.select(&chosen);
    let target = Target::new(&complete, &few).map_err(say)?;
    let step = |mu| -> Arc<dyn Strategy> { Arc::new(Diffusion { mu: Some(mu) }) };
    let plan = [
        ("diffusion, complete, mu = .5", &complete, step(0.5)),
        ("diffusion, p = .5, mu = .05", &sparse, step(0.05)),
        (
            "relaxed-admm, p = .5",
            &sparse,
            Arc::new(RelaxedAdmm::default()),
        ),
    ];
    let total = plan.len();
    let mut cases = Vec::new();
    for (done, (name, mesh, strategy)) in plan.into_iter().enumerate() {
        show(Progress {
            phase: "rounds",
            done,
            total,
            cost: None,
        });
        let curve = target.curve(mesh, &strategy, args.rounds as usize);
        let curve = curve.map_err(say)?;
        cases.push(Case { name, curve });
    }
    Ok(cases)
}

/// A head and a row for each case.
fn rows(cases: &[Case]) -> Vec<Vec<String>> {
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
    for Case { name, curve } in cases {
        let reached = curve.nu[1..].iter().chain(&curve.y[1..]);
        let mut row = vec![name.to_string()];
        row.extend(reached.map(|rounds| match (rounds, curve.ending) {
            (Some(rounds), _) => thousands(*rounds as u64),
            (None, Ending::Halted) => "never".into(),
            (None, Ending::Diverged) => "diverges".into(),
            (None, _) => format!("> {}", thousands(curve.last().round as u64)),
        }));
        let (more, then) = (more(curve), curve.after(PAPER_ROUNDS));
        row.extend([
            format!("{more}{:.0} dB", then.nu),
            format!("{more}{:.0} dB", then.y),
        ]);
        rows.push(row);
    }
    rows
}

/// A sign for curves that were left at 60 dB before the paper's number of rounds.
fn more(curve: &LearningCurve) -> &'static str {
    match curve.ending == Ending::Reached && curve.last().round < PAPER_ROUNDS {
        true => "> ",
        false => "",
    }
}

/// The same with a head, as a table.
fn comparison(case: &Case) -> Vec<Vec<String>> {
    let head = vec!["the paper says".into(), format!("ours, {}", case.name)];
    let rows = beside(case).map(|(paper, ours)| vec![paper, ours]);
    std::iter::once(head).chain(rows).collect()
}

/// The paper's words, and ours beside them.
fn beside(case: &Case) -> [(String, String); 2] {
    let curve = &case.curve;
    let then = curve.after(PAPER_ROUNDS);
    let earlier = (0..GOALS.len()).all(|goal| match (curve.y[goal], curve.nu[goal]) {
        (Some(y), Some(nu)) => y <= nu,
        (y, nu) => y.is_some() || nu.is_none(),
    });
    let (more, round) = (more(curve), then.round);
    let ours = match curve.ending {
        Ending::Diverged => "this step diverges on this dictionary".into(),
        _ => format!(
            "nu {more}{:.1} dB, y {more}{:.1} dB after {round}",
            then.nu, then.y
        ),
    };
    let order = match earlier {
        true => "y before nu",
        false => "not at every level",
    };
    [
        (
            format!("about {PAPER_ROUNDS} rounds for {PAPER_DB} dB of both"),
            ours,
        ),
        ("y before nu".into(), order.into()),
    ]
}

fn result(source: &Source, cases: &[Case]) -> Value {
    let each: Vec<Value> = cases
        .iter()
        .map(|case| {
            let last = case.curve.after(PAPER_ROUNDS);
            json!({
                "name": case.name, "curve": curve_json(&case.curve),
                "after_500": {"round": last.round, "nu_db": last.nu, "y_db": last.y},
            })
        })
        .collect();
    json!({
        "data": source.what, "made_up": source.made_up, "cases": each,
        "paper": {"rounds": PAPER_ROUNDS, "db": [40, 50], "mu": 0.5},
    })
}

fn report(args: &Args, source: &Source, cases: &[Case]) -> Report {
    let (mut rows, mut words) = (rows(cases), comparison(&cases[0]));
    let runs: Vec<(String, &LearningCurve)> = (cases.iter())
        .map(|case| (case.name.to_string(), &case.curve))
        .collect();
    let last = cases[0].curve.after(PAPER_ROUNDS);
    Report {
        title: "The paper's learning curve".into(),
        subtitle: source.what.clone(),
        facts: vec![
            ("nu after 500 rounds".into(), format!("{:.1} dB", last.nu)),
            ("y after 500 rounds".into(), format!("{:.1} dB", last.y)),
            ("the paper".into(), format!("{PAPER_DB} dB")),
        ],
        sections: vec![Section {
            heading: "SNR against rounds".into(),
            text: format!(
                "10 agents keep one atom each: Huber residual, gamma = .05, delta = .1, eta = .2. The \
                 dictionary was learned from {} documents by the paper's fully connected diffusion. \
                 {} of these documents were solved exactly, and coded again by each mesh. The SNR of nu is \
                 that of the worst agent. The paper's figure is known from its words only.",
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
                    caption: "Rounds from which on an SNR is kept, and both SNR after 500 rounds".into(),
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
