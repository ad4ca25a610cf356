//! `dictmesh score`: the novelty score of each sample.

mod page;

use super::model_args::{no_samples, Input, ModelArgs};
use super::prepare::{DataArgs, LoadedModel, Opened};
use super::{check_finite, fail, given_up, refusal, say, Ended, Result, Speech};
use crate::options::MethodArgs;
use crate::progress::{Bar, Progress};
use crate::render::{json, Reply};
use dictmesh::{Mesh, Samples, Stop};
use dictmesh_apps::calibration::{choose, ThresholdFrom};
use dictmesh_apps::coding::{self, Method, Scores};
use dictmesh_apps::novelty::Threshold;
use dictmesh_data::output::Folder;
use dictmesh_data::preparation::{How, Raw};
use dictmesh_data::{Batches, Content, Record};
use dictmesh_report::numbers::counted;
use dictmesh_report::numbers::exact;
use serde::Serialize;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::PathBuf;

/// Samples scored together.
const BATCH: usize = 64;
/// The samples with the highest scores that a page shows.
const TOP: usize = 20;

/// clap would call the samples optional, as they are the first argument with --dictionary.
const USAGE: &str = "dictmesh score [OPTIONS] <MODEL> <DATA>
       dictmesh score [OPTIONS] --dictionary <FILE> <DATA>";

#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE)]
pub struct Args {
    #[command(flatten)]
    pub by: ModelArgs,
    #[command(flatten)]
    pub threshold: ThresholdArgs,
    #[command(flatten)]
    pub method: MethodArgs,
    #[command(flatten)]
    pub data_args: DataArgs,
    /// Write a page of the results, with charts, into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// Which samples are called novel.
#[derive(Clone, Debug, clap::Args)]
pub struct ThresholdArgs {
    /// Samples with a higher score are novel
    #[arg(
        long,
        value_name = "X",
        conflicts_with = "quantile",
        allow_hyphen_values = true,
        help_heading = "Threshold"
    )]
    pub threshold: Option<f64>,
    /// Samples that score above this share of known samples are novel. Known are those that the
    /// model learned from; in novelty, those of the previous block
    #[arg(long, value_name = "Q", default_value_t = Threshold::QUANTILE, help_heading = "Threshold")]
    pub quantile: f64,
}

impl ThresholdArgs {
    /// The threshold by the flags.
    pub fn threshold(&self) -> Result<Threshold> {
        match (self.threshold, self.quantile) {
            (Some(chi), _) if chi.is_nan() => {
                Err("--threshold NaN: give a number to compare scores with".into())
            }
            (Some(chi), _) => Ok(Threshold::Given(chi)),
            (None, q) if !(0.0..=1.0).contains(&q) => {
                fail(format!("--quantile {q}: give a share, from 0 to 1"))
            }
            (None, q) => Ok(Threshold::Quantile(q)),
        }
    }
}

/// A line of `--json`.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ScoreLine<'a> {
    /// The name of the sample: a name in the data, a line of text, or a number from 0.
    sample: &'a str,
    /// The cost of coding the sample.
    score: f64,
    /// Whether the score is above the threshold.
    novel: bool,
    /// The threshold.
    threshold: f64,
    /// Where the threshold comes from.
    threshold_from: ThresholdFrom,
    /// The certified relative gap of the score; null if the strategy certifies none.
    gap: Option<f64>,
}

impl Reply for ScoreLine<'_> {
    const COMMAND: &'static str = "score";
}

/// The scores of all samples, for the page.
struct Scored {
    scores: Scores,
    /// Above it a sample is called novel.
    threshold: f64,
    from: ThresholdFrom,
    /// The reason for the threshold.
    reason: String,
    /// The highest scores, descending.
    top: Vec<Top>,
}

/// One of the highest scores.
struct Top {
    number: usize,
    score: f64,
    sample: Samples,
    /// Its name and the words that the model does not know, once they are found.
    name: String,
    unknown: Vec<String>,
}

pub fn run(args: Args) -> Result<Ended> {
    let threshold = args.threshold.threshold()?;
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let quiet = args.speech.quiet;
    let (input, method) = args.by.open(&args.method, &args.data_args, !quiet)?;
    match input {
        Input::Stream(model, batches) => score_stream(&args, &model, batches, threshold, method),
        Input::File(opened) => score_file(&args, &opened, threshold, method),
    }
}

/// Scores all samples, and prints when the threshold is known.
fn score_file(args: &Args, opened: &Opened, threshold: Threshold, method: Method) -> Result<Ended> {
    opened.check_memory(args.by.coder(), BATCH, method)?;
    let mut scored = Scored::new(threshold, &opened.model, method);
    let bar = Bar::new(args.speech.quiet);
    let done = score_parts(args, opened, method, &mut scored, &bar);
    bar.clear();
    done?;
    scored.judge(threshold, &opened.model, method);
    scored.tell(args);
    let how = &opened.model.preparation.how;
    let mut out = Printer::new(args)?;
    for (j, name) in opened.raw.names(how).enumerate() {
        let gap = scored.scores.gaps.get(j).copied();
        let Some(score) = scored.scores.scores.get(j) else {
            break;
        };
        if !out.line(&name, *score, gap, &scored)? {
            break;
        }
    }
    out.flush()?;
    scored.tell_gap(args);
    if args.report.is_some() {
        scored.name_top(&opened.raw, how);
    }
    scored.write_page(args, &opened.model)?;
    Ok(Ended::Complete)
}

fn score_parts(
    args: &Args,
    opened: &Opened,
    method: Method,
    scored: &mut Scored,
    bar: &Bar,
) -> Result<()> {
    let feed = opened.feed(BATCH);
    let total = feed.samples().map_err(say)?;
    for part in feed.parts(0).map_err(say)? {
        let part = part.map_err(say)?;
        for from in (0..part.len()).step_by(BATCH) {
            let x = part.range(from..(from + BATCH).min(part.len()));
            let first = scored.scores.scores.len();
            let found = scores(&opened.model.mesh, &x, method, first)?;
            if args.report.is_some() {
                for (j, score) in found.scores.iter().enumerate() {
                    scored.consider(first + j, *score, || x.range(j..j + 1));
                }
            }
            scored.scores.extend(found);
            bar.show(Progress {
                phase: "scoring",
                done: scored.scores.scores.len(),
                total,
                cost: None,
            });
        }
    }
    Ok(())
}

/// Prints each score as soon as its batch is there. Memory holds one batch; with a page, all scores.
fn score_stream(
    args: &Args,
    model: &LoadedModel,
    mut batches: Batches,
    threshold: Threshold,
    method: Method,
) -> Result<Ended> {
    model.check_memory(args.by.coder(), BATCH, method)?;
    if model.past.is_none() && matches!(threshold, Threshold::Quantile(_)) {
        return fail(format!(
            "{}: it has no scores of samples that it was learned from, and the scores of a stream are not known \
             in advance; give --threshold, or write the samples into a file first",
            args.by.coder().display()
        ));
    }
    if batches.first().is_none() {
        return Err(no_samples(args.by.data()));
    }
    let mut scored = Scored::new(threshold, model, method);
    scored.tell(args);
    let mut out = Printer::new(args)?;
    out.flush()?;
    let (mut first, mut gap) = (0, None);
    while let Some(records) = batches.soon(BATCH)? {
        let x = model.prepare(&records)?;
        let found = scores(&model.mesh, &x, method, first)?;
        for (j, (record, score)) in records.iter().zip(&found.scores).enumerate() {
            let certified = found.gaps.get(j).copied();
            if !out.line(&record.name, *score, certified, &scored)? {
                return Ok(Ended::Complete);
            }
        }
        if !out.flush()? {
            return Ok(Ended::Complete);
        }
        first += records.len();
        gap = gap.into_iter().chain(found.largest_gap()).reduce(f64::max);
        if args.report.is_some() {
            for (j, record) in records.iter().enumerate() {
                let number = first - records.len() + j;
                if scored.consider(number, found.scores[j], || x.range(j..j + 1)) {
                    scored.name_one(number, record, &model.preparation.how);
                }
            }
            scored.scores.extend(found);
        }
    }
    if let (false, Some(gap)) = (args.speech.quiet, gap) {
        tell_gap(gap);
    }
    scored.write_page(args, model)?;
    match batches.is_interrupted() {
        true => Ok(Ended::Interrupted),
        false => Ok(Ended::Complete),
    }
}

fn tell_gap(gap: f64) {
    eprintln!("dictmesh: certified relative gap: {gap:.1e} at most");
}

impl Scored {
    /// Nothing yet; the threshold is known if it does not depend on the samples.
    fn new(threshold: Threshold, model: &LoadedModel, method: Method) -> Self {
        let mut scored = Scored {
            scores: Scores::none(),
            threshold: f64::INFINITY,
            from: ThresholdFrom::Given,
            reason: String::new(),
            top: Vec::new(),
        };
        scored.judge(threshold, model, method);
        scored
    }

    /// Sets the threshold by the scores so far.
    fn judge(&mut self, threshold: Threshold, model: &LoadedModel, method: Method) {
        let past = model.past.as_ref();
        let tolerance = method.tolerance(&model.mesh);
        let (chi, from) = choose(threshold, past, &self.scores.scores, tolerance);
        (self.threshold, self.from) = (chi.unwrap_or(f64::INFINITY), from);
        self.reason = match (threshold, past) {
            (Threshold::Given(_), _) => "as given".into(),
            (Threshold::Quantile(q), Some(past)) => format!(
                "the {q} quantile of what the model learned from ({})",
                counted(past.scores().len(), "sample")
            ),
            (Threshold::Quantile(q), None) => format!(
                "the {q} quantile of these samples themselves, as there are no scores of what was learned \
                 from; --threshold gives another"
            ),
        };
    }

    /// Prints the threshold on standard error; standard output is for the scores.
    fn tell(&self, args: &Args) {
        if !args.speech.quiet && self.from != ThresholdFrom::Given {
            eprintln!(
                "dictmesh: threshold {:.6} = {}",
                self.threshold, self.reason
            );
        }
    }

    fn tell_gap(&self, args: &Args) {
        if let (false, Some(gap)) = (args.speech.quiet, self.scores.largest_gap()) {
            tell_gap(gap);
        }
    }

    /// Keeps a sample if its score is among the highest so far; returns whether it is.
    fn consider(&mut self, number: usize, score: f64, sample: impl FnOnce() -> Samples) -> bool {
        let place = self.top.partition_point(|kept| kept.score >= score);
        if place >= TOP {
            return false;
        }
        let found = Top {
            number,
            score,
            sample: sample(),
            name: String::new(),
            unknown: Vec::new(),
        };
        self.top.insert(place, found);
        self.top.truncate(TOP);
        true
    }

    /// Sets the names of the highest scores from the data.
    fn name_top(&mut self, raw: &Raw, how: &How) {
        let end = self.top.iter().map(|top| top.number + 1).max();
        let names: Vec<String> = raw.names(how).take(end.unwrap_or(0)).collect();
        for top in &mut self.top {
            top.name = names.get(top.number).cloned().unwrap_or_default();
        }
        let (Raw::Documents(documents), How::Text { vectoriser }) = (raw, how) else {
            return;
        };
        let numbers: Vec<usize> = self.top.iter().map(|top| top.number).collect();
        // Without their texts, the page shows the row that unknown words share.
        let texts = documents.select(&numbers).unwrap_or_default();
        for (top, text) in self.top.iter_mut().zip(&texts) {
            top.unknown = vectoriser.unknown(text);
        }
    }

    /// Sets the name of one of the highest scores from its record.
    fn name_one(&mut self, number: usize, record: &Record, how: &How) {
        let Some(top) = self.top.iter_mut().find(|top| top.number == number) else {
            return;
        };
        top.name = record.name.clone();
        if let (Content::Text(text), How::Text { vectoriser }) = (&record.content, how) {
            top.unknown = vectoriser.unknown(text);
        }
    }

    fn write_page(&self, args: &Args, model: &LoadedModel) -> Result<()> {
        let Some(dir) = &args.report else {
            return Ok(());
        };
        let page = page::report(args, model, self)?.write(dir)?;
        if !args.speech.quiet {
            eprintln!("report: {}", page.display());
        }
        Ok(())
    }
}

/// The scores on standard output.
struct Printer {
    out: BufWriter<StdoutLock<'static>>,
    json: bool,
    /// Whether the reader has closed the pipe (`dictmesh score ... | head`).
    closed: bool,
}

impl Printer {
    fn new(args: &Args) -> Result<Self> {
        let mut printer = Printer {
            out: BufWriter::new(io::stdout().lock()),
            json: args.speech.json,
            closed: false,
        };
        if !args.speech.json {
            printer.write("sample,score,novel\n")?;
        }
        Ok(printer)
    }

    /// Prints one score; returns false if nobody reads.
    fn line(&mut self, name: &str, score: f64, gap: Option<f64>, by: &Scored) -> Result<bool> {
        let novel = score > by.threshold;
        let line = match self.json {
            true => {
                json::line(&ScoreLine {
                    sample: name,
                    score,
                    novel,
                    threshold: by.threshold,
                    threshold_from: by.from,
                    gap,
                }) + "\n"
            }
            false => format!("{},{},{}\n", quoted(name), exact(score), u8::from(novel)),
        };
        self.write(&line)
    }

    fn write(&mut self, text: &str) -> Result<bool> {
        let written = self.out.write_all(text.as_bytes());
        self.still_open(written)
    }

    fn flush(&mut self) -> Result<bool> {
        let flushed = self.out.flush();
        self.still_open(flushed)
    }

    fn still_open(&mut self, done: io::Result<()>) -> Result<bool> {
        match done {
            Ok(()) => Ok(!self.closed),
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(false)
            }
            Err(e) => fail(format!("cannot print: {}", refusal(&e))),
        }
    }
}

/// The score of each sample; `first` is the number of the first.
fn scores(mesh: &Mesh, x: &Samples, method: Method, first: usize) -> Result<Scores> {
    let found = coding::scores(mesh, x, method).map_err(say)?;
    if method == Method::Mesh && matches!(found.stop, Stop::Diverged | Stop::Infeasible) {
        let last = first + x.len() - 1;
        let why = given_up(
            found.stop,
            coding::largest_entry(x),
            &mesh.strategy().name(),
        );
        return fail(format!("samples {first} to {last}: {why}"));
    }
    check_finite(&found.scores, first)?;
    Ok(found)
}

/// A CSV field.
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}
