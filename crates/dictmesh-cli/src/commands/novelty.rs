//! `dictmesh novelty`: what is new in a stream of documents, block by block.

mod engine;
mod input;
mod show;
mod words;

pub use engine::{blocks, curve, explain, truth, Engine};
pub use input::Input;

use super::past;
use super::score::threshold;
use super::{check_apart, check_place, note, page_place, save_model, say, Result, Speech};
use crate::memory::{check_sizes, Sizes};
use crate::numbers::counted;
use crate::options::StrategyArgs;
use crate::output::{write_file, Folder};
use crate::progress::Bar;
use dictmesh_apps::novelty::{Growth, Novelty};
use dictmesh_data::text::{Counting, Weighting};
use dictmesh_data::{self as data, Format};
use engine::Outcome;
use input::InputOptions;
use serde_json::{json, Value};
use std::ops::Range;
use std::path::PathBuf;

/// Documents scored at a time: a matter of speed and memory only.
pub const SCORE_BATCH: usize = 50;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The stream: a directory, a file with one document a line, .csv, .tsv or .jsonl with a column of
    /// text, or a matrix (.npy, .npz, .mtx); - is standard input
    pub stream: PathBuf,
    /// Documents of a block [default: 1000, or a fifth of a stream of fewer than 5000]
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = "The stream")]
    pub block: Option<usize>,
    /// Documents of the first block, which is only learned [default: as --block]
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = "The stream")]
    pub first: Option<usize>,
    /// The stream's format, if its name does not tell
    #[arg(long, value_name = "FORMAT", help_heading = "The stream")]
    pub format: Option<Format>,
    /// The column or key of the text
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["counts", "tfidf"], help_heading = "The stream")]
    pub text_column: Option<String>,
    /// The stream is a matrix of counts (rows are documents): weigh it by TF-IDF
    #[arg(long, conflicts_with = "tfidf", help_heading = "The stream")]
    pub counts: bool,
    /// The stream is a matrix that is weighed already: only scale its documents to norm 1
    #[arg(long, help_heading = "The stream")]
    pub tfidf: bool,
    /// What a count becomes before idf
    #[arg(
        long,
        value_name = "HOW",
        default_value = "counts",
        help_heading = "The stream"
    )]
    pub counting: Counting,
    /// One label a document, in a file of their own: for ROC curves and AUC. A document is truly novel
    /// if no block before had its label
    #[arg(long, value_name = "FILE", help_heading = "The stream")]
    pub labels: Option<PathBuf>,
    /// The column of the labels, in the file of labels or else in the stream
    #[arg(long, value_name = "COLUMN", help_heading = "The stream")]
    pub label_column: Option<String>,

    /// Agents at the start, of one atom each
    #[arg(long, value_name = "N", default_value = "10", value_parser = at_least_one, help_heading = "The mesh")]
    pub agents_start: usize,
    /// Agents of one atom each that join after a block was scored
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        help_heading = "The mesh"
    )]
    pub atoms_per_block: usize,
    /// The paper's loss, constants and random atoms instead of the better ones
    #[arg(long, help_heading = "The mesh")]
    pub paper: bool,
    /// Fixes everything random
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "The mesh")]
    pub seed: u64,
    #[command(flatten)]
    pub strategy: StrategyArgs,

    /// Documents with a higher score are called novel
    #[arg(
        long,
        value_name = "X",
        conflicts_with = "quantile",
        allow_hyphen_values = true,
        help_heading = "What is called novel"
    )]
    pub threshold: Option<f64>,
    /// Call novel what scores above this share of the block before [default: 0.95]
    #[arg(long, value_name = "Q", help_heading = "What is called novel")]
    pub quantile: Option<f64>,

    /// How many of the most novel documents of a block to show, with the terms that say why
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Output")]
    pub top: usize,
    /// Where the scores go, as CSV: block, document, name, score, novel
    #[arg(short, long, value_name = "CSV", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Where the model goes, with what turns documents into samples
    #[arg(long, value_name = "MODEL", help_heading = "Output")]
    pub model: Option<PathBuf>,
    /// Write a page with the plots into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

pub fn run(args: Args) -> Result<()> {
    let outputs = || args.output.iter().chain(&args.model);
    outputs().try_for_each(|path| check_place(path))?;
    let page = page_place(args.report.as_ref());
    let inputs = std::iter::once(&args.stream).chain(&args.labels);
    check_apart(outputs().chain(&page), inputs)?;
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let settings = settings(&args)?;
    let mut input = Input::read(
        &args.stream,
        &InputOptions {
            format: args.format,
            text_column: args.text_column.clone(),
            // A file of labels has the column; else the stream has.
            label_column: args.label_column.clone().filter(|_| args.labels.is_none()),
            counts: args.counts,
            tfidf: args.tfidf,
            weighting: Weighting {
                counting: args.counting,
                ..Weighting::default()
            },
        },
    )?;
    note(input.note.as_deref(), args.speech.quiet);
    let ranges = ranges(&args, input.len())?;
    let truth = known_truth(&args, &input, &ranges)?;
    check_memory(&args, &settings, &input, &ranges)?;
    let mut engine = Engine::new(settings);
    let bar = Bar::new(args.speech.quiet);
    let mut outcomes = Vec::new();
    for range in ranges {
        let named = |e| format!("{}: {e}", args.stream.display());
        let x = input.block(range.clone()).map_err(named)?;
        let term = |row| input.term(row);
        let show = &mut |progress| bar.show(progress);
        let mut outcome = engine.step(&x, range, args.top, &term, show)?;
        if let Some(truth) = &truth {
            outcome.roc = curve(&outcome.scores, &truth[outcome.number])?;
        }
        bar.clear();
        if !args.speech.json && !args.speech.quiet {
            super::print(&words::lines(&outcome, &input))?;
        }
        outcomes.push(outcome);
    }
    finish(&args, &input, &engine, &outcomes, truth.as_deref())
}

fn settings(args: &Args) -> Result<Novelty> {
    let base = match args.paper {
        true => Novelty::paper(),
        false => Novelty::default(),
    };
    check_sizes(args.agents_start, 1)
        .map_err(|said| said.replacen("--agents", "--agents-start", 1))?;
    Ok(Novelty {
        agents: args.agents_start,
        growth: match args.atoms_per_block {
            0 => Growth::None,
            count => Growth::Agents {
                count,
                atoms_each: 1,
            },
        },
        threshold: threshold(args.threshold, args.quantile)?,
        score_batch: SCORE_BATCH,
        seed: args.seed,
        strategy: args.strategy.or(base.strategy.clone())?,
        stopping: args.strategy.stopping(base.stopping),
        ..base
    })
}

fn ranges(args: &Args, total: usize) -> Result<Vec<Range<usize>>> {
    let block = args.block.unwrap_or(total.div_ceil(5).clamp(1, 1000));
    let first = args.first.unwrap_or(block);
    let ranges = blocks(total, first, block);
    if ranges.len() < 2 {
        return Err(format!(
            "{}: it has {total} documents, and the first block takes {first} to learn from, so that \
             none is left to score; choose a smaller --block or --first",
            args.stream.display()
        ).into());
    }
    Ok(ranges)
}

/// All agents that will have joined in the end must fit.
fn check_memory(args: &Args, with: &Novelty, input: &Input, ranges: &[Range<usize>]) -> Result<()> {
    let task = with.task.build().map_err(say)?;
    let joining = args.atoms_per_block.saturating_mul(ranges.len() - 1);
    let agents = args.agents_start.saturating_add(joining);
    let sizes = Sizes {
        rows: input.rows(),
        atoms: agents,
        agents,
        batch: SCORE_BATCH,
        data: 0,
        rotates: task.residual().is_rotation_invariant(),
    };
    Ok(sizes.check(&format!(
        "--agents-start {} --atoms-per-block {} over {} blocks",
        args.agents_start,
        args.atoms_per_block,
        ranges.len()
    ))?)
}

/// Which documents are truly novel, if there are labels.
fn known_truth(
    args: &Args,
    input: &Input,
    ranges: &[Range<usize>],
) -> Result<Option<Vec<Vec<bool>>>> {
    let labels = match &args.labels {
        Some(path) => {
            Some(data::read_labels(path, args.label_column.as_deref(), input.len()).map_err(say)?)
        }
        None => input.labels.clone(),
    };
    let asked = args.labels.is_some() || args.label_column.is_some();
    let Some(labels) = labels else {
        return match asked {
            true => Err(format!(
                "{}: --label-column needs a table with that column, or a file of labels (--labels)",
                args.stream.display()
            )
            .into()),
            false => Ok(None),
        };
    };
    let truth = truth(&labels, ranges);
    let both = |novel: &Vec<bool>| novel.contains(&true) && novel.contains(&false);
    if truth[1..].iter().any(both) {
        return Ok(Some(truth));
    }
    if !asked {
        // The stream happens to have labels; nobody asked for curves.
        return Ok(None);
    }
    let from = args.labels.as_ref().unwrap_or(&args.stream);
    Err(format!(
        "{}: no block after the first has both documents with a label that is new and documents with \
         one seen before, so that there is no ROC curve; check the labels and --block, or leave them \
         out to score only",
        from.display()
    ).into())
}

fn finish(
    args: &Args,
    input: &Input,
    engine: &Engine,
    outcomes: &[Outcome],
    truth: Option<&[Vec<bool>]>,
) -> Result<()> {
    let mesh = engine.mesh().ok_or("the stream has no documents")?;
    if let Some(path) = &args.model {
        let mut model = mesh.to_model();
        input.store(&mut model)?;
        // Of each document before it was learned.
        let scores = outcomes.iter().flat_map(|o| &o.scores);
        past::store(&scores.copied().collect::<Vec<_>>(), &mut model)?;
        save_model(&model, path)?;
    }
    if let Some(path) = &args.output {
        write_file("the scores", path, words::csv(input, outcomes).as_bytes())?;
    }
    let page = match &args.report {
        Some(dir) => Some(show::report(args, input, mesh, outcomes, truth).write(dir)?),
        None => None,
    };
    let aucs: Vec<f64> = outcomes.iter().filter_map(Outcome::auc).collect();
    let mean = (!aucs.is_empty()).then(|| aucs.iter().sum::<f64>() / aucs.len() as f64);
    let blocks: Vec<Value> = outcomes.iter().map(|o| words::json(o, input)).collect();
    let result = json!({
        "documents": input.len(), "blocks": blocks, "mean_auc": mean, "scores": args.output,
        "model": args.model, "report": page,
    });
    args.speech.tell(result, || {
        let mut text = String::new();
        if let Some(mean) = mean {
            text += &format!("mean AUC {mean:.3} over {}\n", counted(aucs.len(), "block"));
        }
        for (what, path) in [
            ("scores", &args.output),
            ("model", &args.model),
            ("report", &page),
        ] {
            if let Some(path) = path {
                text += &format!("{what}: {}\n", path.display());
            }
        }
        text
    })
}

fn at_least_one(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1 is needed".into()),
        Ok(n) => Ok(n),
        Err(_) => Err("give a whole number, at least 1".into()),
    }
}
