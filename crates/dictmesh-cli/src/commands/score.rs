//! `dictmesh score`: the novelty score of each sample.

mod page;
mod printer;

pub use printer::{quoted, ScoreLine};

use super::model_args::{no_samples, Input, ModelArgs};
use super::prepare::{DataArgs, LoadedModel, Opened};
use super::{check_finite, fail, given_up, say, Ended, Result, Speech};
use crate::options::MethodArgs;
use crate::progress::{Bar, Progress};
use dictmesh::{Mesh, Samples, Stop};
use dictmesh_apps::calibration::{choose, ThresholdFrom};
use dictmesh_apps::coding::{self, Method, Scores};
use dictmesh_apps::highest::Highest;
use dictmesh_apps::novelty::Threshold;
use dictmesh_data::output::Folder;
use dictmesh_data::Batches;
use dictmesh_report::numbers::counted;
use printer::Printer;
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

/// The scores of all samples, for the page.
struct Scored {
    scores: Scores,
    /// Above it a sample is called novel.
    threshold: f64,
    from: ThresholdFrom,
    /// The reason for the threshold.
    reason: String,
    /// The highest scores.
    top: Highest,
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
        scored.top.name_all(&opened.raw, how);
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
                    scored.top.consider(first + j, *score, || x.range(j..j + 1));
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
                if scored
                    .top
                    .consider(number, found.scores[j], || x.range(j..j + 1))
                {
                    scored.top.name_one(number, record, &model.preparation.how);
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
            top: Highest::new(TOP),
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
