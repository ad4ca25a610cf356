//! The paper's document experiment: TDT2 in blocks of 1000, AUC at the steps that bring new topics.

use crate::commands::{command_line, say, Result, Speech};
use crate::options::StrategyArgs;
use crate::output::Folder;
use crate::progress::{Bar, Progress};
use crate::report::{Figure, Report, RocCurve, RocPlot, Section, Table};
use dictmesh::{Norm, Samples};
use dictmesh_apps::l1_admm::{L1Admm, L1Model};
use dictmesh_apps::novelty::{block_roc, KnownLabels, Novelty, NoveltyDetector, StepEvent};
use dictmesh_apps::roc::Roc;
use dictmesh_data::text::{TfIdf, Weighting};
use dictmesh_data::{self as data, ReadOptions};
use serde_json::{json, Map, Value};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The paper's steps, and its table.
const STEPS: [usize; 5] = [1, 2, 5, 6, 8];
const PAPER: [(&str, [f64; 5]); 3] = [
    (
        "paper, ADMM (l1, one place)",
        [0.69, 0.65, 0.70, 0.77, 0.76],
    ),
    ("paper, fully connected", [0.79, 0.94, 0.94, 0.96, 0.93]),
    ("paper, p = .5", [0.79, 0.93, 0.95, 0.95, 0.94]),
];
const BLOCK: usize = 1000;
/// Atoms at the start, and more after each block.
const ATOMS: usize = 10;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The directory with tdt2.npz and tdt2_labels.csv
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub data: PathBuf,
    /// How many seeds, from 0
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: u64,
    /// Stop after this step: 1, 2, 5, 6 or 8 (a whole run takes minutes for each seed)
    #[arg(long, value_name = "STEP", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=8))]
    pub steps: u64,
    /// The paper's loss, constants and random atoms instead of the better ones
    #[arg(long, conflicts_with = "l1")]
    pub paper: bool,
    /// The paper's baseline instead of the mesh: l1 loss by ADMM, in one place
    #[arg(long)]
    pub l1: bool,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    /// Write a page with the table and the curves into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// The curves of one seed, one for each step up to the last.
type Curves = Vec<(usize, Roc)>;

pub fn run(args: Args) -> Result<()> {
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let (counts, labels) = read(&args.data)?;
    let bar = Bar::new(args.speech.quiet);
    let mut seeds = Vec::new();
    for seed in 0..args.seeds {
        let curves = one(&args, &counts, &labels, seed, &mut |p| bar.show(p));
        bar.clear();
        let curves = curves?;
        if !args.speech.quiet && !args.speech.json {
            let each = curves.iter();
            let each: Vec<String> = each.map(|(_, roc)| format!("{:.3}", roc.auc())).collect();
            super::super::print(&format!("seed {seed}: AUC {}\n", each.join(" ")))?;
        }
        seeds.push(curves);
    }
    let means = means(&seeds);
    let page = match &args.report {
        Some(dir) => Some(report(&args, &seeds, &means).write(dir)?),
        None => None,
    };
    args.speech.tell(result(&args, &seeds, &means), || {
        let mut text = table(&args, &means)
            .into_iter()
            .map(|row| {
                let cells: Vec<String> = row[1..].iter().map(|c| format!("{c:>6}")).collect();
                format!("{:<30}{}\n", row[0], cells.concat())
            })
            .collect::<String>();
        if let Some(page) = &page {
            text += &format!("report: {}\n", page.display());
        }
        text
    })
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
        ).into());
    }
    let counts = data::read(&matrix, &ReadOptions::default()).map_err(say)?;
    let counts = counts.samples;
    let labels = data::read_labels(&topics, Some("topic"), counts.len()).map_err(say)?;
    if counts.len() <= BLOCK {
        return Err(format!(
            "{}: it has {} documents, and the first block alone takes {BLOCK}",
            matrix.display(),
            counts.len()
        )
        .into());
    }
    Ok((counts, labels))
}

/// One seed.
fn one(
    args: &Args,
    counts: &Samples,
    labels: &[String],
    seed: u64,
    show: &mut dyn FnMut(Progress),
) -> Result<Curves> {
    let total = counts.len().div_ceil(BLOCK).min(args.steps as usize + 1);
    let mut known = KnownLabels::default();
    let mut tfidf = TfIdf::new(counts.rows(), Weighting::default());
    let base = match args.paper {
        true => Novelty::paper(),
        false => Novelty::default(),
    };
    let settings = Novelty {
        seed,
        strategy: args.strategy.or(base.strategy.clone())?,
        stopping: args.strategy.stopping(base.stopping),
        ..base
    };
    let (mut detector, mut baseline) = (None, None);
    let mut curves = Vec::new();
    for step in 0..total {
        let range = step * BLOCK..counts.len().min((step + 1) * BLOCK);
        let x = tfidf.transform_block(&counts.range(range.clone()));
        let x = x.map_err(say)?;
        let truth = known.next_block(&labels[range.clone()]);
        // What would be learned of the last block, nobody uses.
        let last = step + 1 == total && step > 0;
        let scores = if args.l1 {
            let scores = l1_step(&mut baseline, &x, seed, last)?;
            show(Progress {
                phase: "blocks",
                done: step + 1,
                total,
                cost: None,
            });
            scores
        } else {
            novelty_step(&mut detector, &settings, &x, last, show)?
        };
        if STEPS.contains(&step) {
            let roc = block_roc(&scores, &truth).map_err(say)?;
            let roc = roc.ok_or_else(|| {
                format!(
                    "step {step} has no new topic, or nothing else: are the documents in the order of \
                     time, and the labels theirs?"
                )
            })?;
            curves.push((step, roc));
        }
    }
    Ok(curves)
}

/// The scores of a block, which is then learned unless it is the last.
fn novelty_step(
    detector: &mut Option<NoveltyDetector>,
    settings: &Novelty,
    x: &Samples,
    last: bool,
    show: &mut dyn FnMut(Progress),
) -> Result<Vec<f64>> {
    let detector = match detector {
        Some(detector) => detector,
        none => none.insert(settings.build(x).map_err(say)?),
    };
    let mut observer = |event: StepEvent<'_>| {
        let (phase, done, total) = match event {
            StepEvent::Scored { done, total } => ("scoring the block", done, total),
            StepEvent::Learned { done, total, .. } => ("learning the block", done, total),
        };
        show(Progress {
            phase,
            done,
            total,
            cost: None,
        });
        ControlFlow::Continue(())
    };
    let judged = detector.judge(x, &mut observer).map_err(say)?;
    let scores = judged.as_ref().map(|judged| judged.scoring.scores.clone());
    if !last {
        detector.absorb(x, judged, observer).map_err(say)?;
    }
    Ok(scores.unwrap_or_default())
}

fn l1_step(model: &mut Option<L1Model>, x: &Samples, seed: u64, last: bool) -> Result<Vec<f64>> {
    let x = x.normalised(Norm::L1);
    let Some(model) = model else {
        let first = L1Model::initialise(L1Admm::default(), &x, ATOMS, seed).map_err(say)?;
        *model = Some(first);
        return Ok(Vec::new());
    };
    let scores = model.cost(&x).map_err(say)?;
    if !last {
        model.grow(&x, ATOMS, seed).map_err(say)?;
        model.learn(&x).map_err(say)?;
    }
    Ok(scores)
}

/// The mean over the seeds at each step.
fn means(seeds: &[Curves]) -> Vec<(usize, f64)> {
    let Some(first) = seeds.first() else {
        return Vec::new();
    };
    let each = first.iter().enumerate().map(|(i, (step, _))| {
        let sum: f64 = seeds.iter().map(|curves| curves[i].1.auc()).sum();
        (*step, sum / seeds.len() as f64)
    });
    each.collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1);
    values.sum::<f64>() / count as f64
}

fn ours(args: &Args) -> String {
    let what = match (args.paper, args.l1) {
        (true, _) => "ours, paper's constants",
        (_, true) => "ours, l1 baseline",
        _ => "ours, p = .5",
    };
    format!(
        "{what} ({} seed{})",
        args.seeds,
        if args.seeds == 1 { "" } else { "s" }
    )
}

/// The head and a row for each method: name, steps, mean.
fn table(args: &Args, means: &[(usize, f64)]) -> Vec<Vec<String>> {
    let row = |name: &str, cells: Vec<String>| {
        let name = std::iter::once(name.to_string());
        name.chain(cells).collect::<Vec<_>>()
    };
    let numbers = |aucs: Vec<f64>, digits: usize| {
        let mean = mean(aucs.iter().copied());
        let all = aucs.into_iter().chain([mean]);
        all.map(|a| format!("{a:.digits$}")).collect()
    };
    let steps = means.iter().map(|m| m.0.to_string());
    let mut rows = vec![row("AUC at step", steps.chain(["mean".into()]).collect())];
    rows.push(row(
        &ours(args),
        numbers(means.iter().map(|m| m.1).collect(), 3),
    ));
    for (name, aucs) in PAPER {
        let shown = aucs.into_iter().take(means.len()).collect();
        rows.push(row(name, numbers(shown, 2)));
    }
    rows
}

fn result(args: &Args, seeds: &[Curves], means: &[(usize, f64)]) -> Value {
    let map = |aucs: &mut dyn Iterator<Item = (usize, f64)>| -> Map<String, Value> {
        aucs.map(|(step, auc)| (step.to_string(), json!(auc)))
            .collect()
    };
    let each: Vec<Value> = seeds
        .iter()
        .enumerate()
        .map(|(seed, curves)| {
            let auc = map(&mut curves.iter().map(|(step, roc)| (*step, roc.auc())));
            json!({"seed": seed, "auc": auc, "mean": mean(curves.iter().map(|c| c.1.auc()))})
        })
        .collect();
    let method = match (args.paper, args.l1) {
        (true, _) => "paper",
        (_, true) => "l1",
        _ => "default",
    };
    json!({
        "auc": map(&mut means.iter().copied()), "mean": mean(means.iter().map(|m| m.1)),
        "seeds": each, "method": method,
    })
}

fn report(args: &Args, seeds: &[Curves], means: &[(usize, f64)]) -> Report {
    let mut rows = table(args, means);
    let head = rows.remove(0);
    let curves = seeds.first().into_iter().flatten();
    let plot = RocPlot {
        curves: curves
            .map(|(step, roc)| RocCurve::new(&format!("step {step}"), roc))
            .collect(),
    };
    let each = seeds.iter().enumerate().map(|(seed, curves)| {
        let aucs = curves.iter().map(|c| c.1.auc());
        let cells = aucs.clone().chain([mean(aucs)]);
        let cells = cells.map(|a| format!("{a:.3}"));
        std::iter::once(format!("seed {seed}"))
            .chain(cells)
            .collect()
    });
    Report {
        title: "Novel documents in TDT2".into(),
        subtitle: ours(args),
        facts: vec![(
            "mean AUC".into(),
            format!("{:.3}", mean(means.iter().map(|m| m.1))),
        )],
        sections: vec![
            Section {
                heading: "Beside the paper".into(),
                text: format!(
                    "Blocks of {BLOCK} documents in the order of time; block 0 is learned, each later \
                     one scored before it is learned. A document is novel if no block before had its \
                     topic. Weights are count times idf, with idf from the past blocks, scaled to norm 1. All \
                     terms count, also those that few documents have: which these will be, a stream does \
                     not know."
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
                        rows: each.collect(),
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
