//! `dictmesh novelty`: what is new in a stream of documents, block by block.

mod labels;
mod outcome;
mod page;

pub use outcome::{BlockReply, NoveltyReply};

use super::score::ThresholdArgs;
use super::{
    check_apart, check_place, fail, not_finite, note, page_place, print_open, save_model, say,
    with_flags, Ended, Result, Speech,
};
use crate::interrupt;
use crate::memory::{self, check_sizes};
use crate::options::{MethodName, ProblemArgs, StoppingArgs, StrategyArgs};
use crate::progress::Bar;
use crate::render::json;
use dictmesh::Mesh;
use dictmesh_apps::calibration::Calibration;
use dictmesh_apps::coding::Method;
use dictmesh_apps::memory::Sizes;
use dictmesh_apps::novelty::{default_block, Growth, Novelty};
use dictmesh_apps::novelty_stream::{BlockContext, NoveltyStream, Outcome, StreamError};
use dictmesh_data::output::{check_replaceable, Draft, Folder};
use dictmesh_data::text::{Counting, Weighting};
use dictmesh_data::{Block, BlockOptions, Blocks, Format};
use dictmesh_report::numbers::counted;
use labels::{check_labels, own_labels, too_few};
use outcome::Rendered;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The stream: a directory, a file with one document a line, .csv, .tsv or .jsonl with a column of
    /// text, or a matrix (.npy, .npz, .mtx); - is standard input. A pipe is read block by block
    pub stream: PathBuf,
    /// Documents of a block [default: 1000, or a fifth of a file of fewer than 5000]
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = "The stream")]
    pub block: Option<usize>,
    /// Documents of the first block, which is only learned [default: as --block]
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = "The stream")]
    pub first: Option<usize>,
    /// The format of the file, if its name does not determine it
    #[arg(long, value_name = "FORMAT", help_heading = "The stream")]
    pub format: Option<Format>,
    /// The column of a table, or the key of JSON lines, with the text of a document
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["counts", "tfidf"], help_heading = "The stream")]
    pub text_column: Option<String>,
    /// The numbers are counts of terms: weight them by TF-IDF
    #[arg(long, conflicts_with = "tfidf", help_heading = "The stream")]
    pub counts: bool,
    /// The stream is a matrix that is already weighted: only scale its documents to norm 1
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
    /// Labels in a file of their own: a line each, a table's first column or an .npy
    #[arg(long, value_name = "FILE", help_heading = "The stream")]
    pub labels: Option<PathBuf>,
    /// The column of labels in a table, by name or number from 1
    #[arg(long, value_name = "COLUMN", help_heading = "The stream")]
    pub label_column: Option<String>,

    /// Agents at the start, of one atom each
    #[arg(long, value_name = "N", default_value_t = Novelty::AGENTS, value_parser = at_least_one, help_heading = "The mesh")]
    pub agents_start: usize,
    /// Agents of one atom each that join after a block was scored
    #[arg(long, value_name = "N", default_value_t = Novelty::GROWTH, help_heading = "The mesh")]
    pub atoms_per_block: usize,
    /// Seed of all random draws
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "The mesh")]
    pub seed: u64,

    #[command(flatten)]
    pub problem: ProblemArgs,
    /// Samples per update
    #[arg(long, value_name = "B", default_value_t = Novelty::BATCH, value_parser = at_least_one, help_heading = "Learning")]
    pub batch: usize,
    /// The number of passes over each block
    #[arg(long, value_name = "N", default_value_t = Novelty::PASSES, value_parser = at_least_one, help_heading = "Learning")]
    pub passes: usize,
    /// How blocks are scored.
    #[command(flatten)]
    pub method: MethodName,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    #[command(flatten)]
    pub stopping: StoppingArgs,
    /// The paper's residual, constants, strategy and random atoms
    #[arg(
        long,
        conflicts_with_all = ["task", "residual", "regularizer", "atoms_set", "gamma", "delta", "beta", "eta",
            "radius", "lo", "hi", "batch", "passes", "method"],
        help_heading = "Learning"
    )]
    pub paper: bool,

    #[command(flatten)]
    pub threshold: ThresholdArgs,

    /// The number of the most novel documents of a block that are shown, with the terms that no atom
    /// explains
    #[arg(long, value_name = "N", default_value_t = 5, help_heading = "Output")]
    pub top: usize,
    /// The file of the scores, as CSV: block, document, name, score, novel
    #[arg(short, long, value_name = "CSV", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// The file of the model, with the preparation of documents
    #[arg(long, value_name = "MODEL", help_heading = "Output")]
    pub save_model: Option<PathBuf>,
    /// Replace an output file that dictmesh did not write
    #[arg(long, help_heading = "Output")]
    pub force: bool,
    /// Write a page of the results, with charts, into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

pub fn run(args: Args) -> Result<Ended> {
    let outputs = || args.output.iter().chain(&args.save_model);
    outputs().try_for_each(|path| check_place(path))?;
    let page = page_place(args.report.as_ref());
    let inputs = std::iter::once(&args.stream).chain(&args.labels);
    check_apart(outputs().chain(&page), inputs)?;
    if !args.force {
        let check = |path: &PathBuf| check_replaceable(path, CSV_HEAD).map_err(with_flags);
        outputs().try_for_each(check)?;
    }
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let settings = settings(&args)?;
    let weighting = Weighting {
        counting: args.counting,
        ..Weighting::default()
    };
    let options = BlockOptions {
        format: args.format,
        text_column: args.text_column.clone(),
        // A file of labels has the column; else the stream has.
        label_column: args.label_column.clone().filter(|_| args.labels.is_none()),
        counts: args.counts,
        tfidf: args.tfidf,
        weighting,
    };
    let input = Blocks::open(&args.stream, &options, interrupt::gently)?;
    note(input.note.as_deref(), args.speech.quiet);
    let mut run = Run::new(&args, settings, input)?;
    let bar = Bar::new(args.speech.quiet);
    let processed = run.blocks(&bar);
    bar.clear();
    processed?;
    run.finish()
}

const CSV_HEAD: &str = "block,document,name,score,novel\n";

fn settings(args: &Args) -> Result<Novelty> {
    check_sizes(args.agents_start, 1)
        .map_err(|e| e.map(|said| said.replacen("--agents", "--agents-start", 1)))?;
    let base = match args.paper {
        true => Novelty::paper(),
        false => Novelty {
            task: args.problem.task(Novelty::default().task)?,
            batch: args.batch,
            passes: args.passes,
            method: args.method.get().unwrap_or(Method::Exact),
            ..Novelty::default()
        },
    };
    Ok(Novelty {
        agents: args.agents_start,
        growth: match args.atoms_per_block {
            0 => Growth::None,
            count => Growth::Agents {
                count,
                atoms_each: 1,
            },
        },
        threshold: args.threshold.threshold()?,
        seed: args.seed,
        strategy: args.strategy.or(base.strategy.clone())?,
        stopping: args.stopping.or(base.stopping),
        ..base
    })
}

/// A run through a stream. Without a page, memory holds one block.
struct Run<'a> {
    args: &'a Args,
    stream: NoveltyStream,
    input: Blocks,
    /// The number of documents of the first block and of the others.
    sizes: (usize, usize),
    /// Labels from a file of their own.
    labels: Option<Vec<String>>,
    /// The file of the scores.
    csv: Option<Draft>,
    /// The blocks, for the page; empty without one.
    outcomes: Vec<Outcome>,
}

impl<'a> Run<'a> {
    fn new(args: &'a Args, settings: Novelty, input: Blocks) -> Result<Self> {
        let block = args.block.unwrap_or_else(|| default_block(input.total()));
        let first = args.first.unwrap_or(block);
        if let Some(total) = input.total().filter(|total| *total <= first) {
            return fail(too_few(args, total, first));
        }
        let labels = own_labels(args, &input)?;
        check_labels(args, &input, labels.as_deref(), (first, block))?;
        let csv = match &args.output {
            Some(path) => Some(Draft::create("the scores", path)?),
            None => None,
        };
        let mut run = Run {
            args,
            stream: NoveltyStream::new(settings),
            input,
            sizes: (first, block),
            labels,
            csv,
            outcomes: Vec::new(),
        };
        run.check_memory()?;
        run.write_csv(CSV_HEAD)?;
        Ok(run)
    }

    /// All agents that will have joined in the end must fit; of a pipe, those after one block.
    fn check_memory(&self) -> Result<()> {
        let (args, (first, block)) = (self.args, self.sizes);
        let later = match self.input.total() {
            Some(total) => (total - first).div_ceil(block),
            None => 1,
        };
        let settings = self.stream.settings();
        let task = settings.task.build().map_err(say)?;
        let joining = args.atoms_per_block.saturating_mul(later);
        let agents = args.agents_start.saturating_add(joining);
        let sizes = Sizes {
            rows: self.input.rows(),
            atoms: agents,
            agents,
            batch: settings.score_batch.max(settings.batch),
            data: 0,
            rotates: task.residual().is_rotation_invariant(),
        };
        let given = format!(
            "--agents-start {} --atoms-per-block {} over {}",
            args.agents_start,
            args.atoms_per_block,
            counted(later + 1, "block"),
        );
        memory::check(&sizes, &given)
    }

    /// Block after block, until the stream ends, Ctrl-C ends it, or nobody reads the results.
    fn blocks(&mut self, bar: &Bar) -> Result<()> {
        loop {
            let size = match self.stream.blocks() {
                0 => self.sizes.0,
                _ => self.sizes.1,
            };
            let Some(block) = self.input.next_block(size)? else {
                return Ok(());
            };
            let outcome = self.step(&block, bar)?;
            bar.clear();
            let speech = &self.args.speech;
            let open = match (speech.json, speech.quiet) {
                (true, _) => print_open(&(json::line(&outcome.reply()) + "\n"))?,
                (false, true) => true,
                (false, false) => print_open(&outcome.text())?,
            };
            self.write_csv(&outcome.csv(&block.names))?;
            if self.args.report.is_some() {
                self.outcomes.push(outcome);
            }
            if !open {
                return Ok(());
            }
        }
    }

    fn write_csv(&mut self, text: &str) -> Result<()> {
        match &mut self.csv {
            Some(draft) => {
                let written = draft.write_all(text.as_bytes());
                Ok(written.map_err(|e| draft.failed(&e))?)
            }
            None => Ok(()),
        }
    }

    fn step(&mut self, block: &Block, bar: &Bar) -> Result<Outcome> {
        let from = self.input.read() - block.x.len();
        let context = BlockContext {
            from,
            labels: match &self.labels {
                Some(labels) => Some(&labels[from..from + block.x.len()]),
                None => block.labels.as_deref(),
            },
            top: self.args.top,
            term: &|row| self.input.term(row),
        };
        let outcome = self.stream.next(block, context, &mut |progress| {
            bar.show(progress);
            ControlFlow::Continue(())
        });
        outcome.map_err(|e| match e {
            StreamError::Library(e) => e.into(),
            StreamError::NotFinite { sample, cost } => not_finite(sample, cost),
            StreamError::GaveUp { .. } => e.to_string().into(),
        })
    }

    fn finish(mut self) -> Result<Ended> {
        let mesh = match self.stream.mesh() {
            Some(mesh) if self.stream.blocks() > 1 => mesh,
            _ if self.input.is_interrupted() => return Ok(Ended::Interrupted),
            _ => return fail(too_few(self.args, self.input.read(), self.sizes.0)),
        };
        if let Some(path) = &self.args.save_model {
            let mut model = mesh.to_model();
            self.input.store(&mut model)?;
            // Of each document before it was learned.
            if let Some(kept) = Calibration::new(self.stream.last_scores()) {
                kept.store(&mut model);
            }
            save_model(&model, path)?;
        }
        if let Some(draft) = self.csv.take() {
            draft.finish()?;
        }
        let aucs = self.stream.aucs();
        let count = aucs.len();
        let mean_auc = (count > 0).then(|| aucs.iter().sum::<f64>() / count as f64);
        let report = match &self.args.report {
            Some(dir) => Some(self.page(mesh, mean_auc).write(dir)?),
            None => None,
        };
        let reply = NoveltyReply {
            documents: self.input.read(),
            blocks: self.stream.blocks(),
            mean_auc,
            blocks_with_auc: count,
            scores: self.args.output.clone(),
            model: self.args.save_model.clone(),
            report,
        };
        self.args.speech.reply(&reply, || reply.text())?;
        match self.input.is_interrupted() {
            true => Ok(Ended::Interrupted),
            false => Ok(Ended::Complete),
        }
    }

    fn page(&self, mesh: &Mesh, mean_auc: Option<f64>) -> dictmesh_report::Report {
        page::report(self.args, &self.input, mesh, &self.outcomes, mean_auc)
    }
}

fn at_least_one(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least 1 is needed".into()),
        Ok(n) => Ok(n),
        Err(_) => Err("give a whole number, at least 1".into()),
    }
}
