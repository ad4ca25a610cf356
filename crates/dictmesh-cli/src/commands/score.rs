//! `dictmesh score`: how badly each sample fits a model.

mod show;

use super::prepare::{DataArgs, Opened};
use super::{check_finite, given_up, refusal, say, Result};
use crate::numbers::counted;
use crate::numbers::exact;
use crate::output::Folder;
use crate::progress::Bar;
use crate::progress::Progress;
use dictmesh::{Mesh, Samples, Stop};
use dictmesh_apps::novelty::Threshold;
use serde_json::json;
use std::io::{self, Write};
use std::path::PathBuf;

/// Samples scored at a time.
const BATCH: usize = 64;
/// The most novel samples, which a page tells of.
const TOP: usize = 20;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    pub model: PathBuf,
    /// The samples, as the model was learned from: numbers, counts, raw text or pictures; - is standard
    /// input. The model knows how to prepare them
    pub data: PathBuf,
    /// Samples with a higher score are called novel
    #[arg(
        long,
        value_name = "X",
        conflicts_with = "quantile",
        allow_hyphen_values = true
    )]
    pub threshold: Option<f64>,
    /// Call novel what scores above this share of what the model learned from [default: 0.95]
    #[arg(long, value_name = "Q")]
    pub quantile: Option<f64>,
    /// Solve in one place instead of over the mesh: the same to the tolerance, and faster
    #[arg(long)]
    pub exact: bool,
    #[command(flatten)]
    pub data_args: DataArgs,
    /// Print JSON lines instead of CSV
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[arg(from_global)]
    pub quiet: bool,
    /// Write a page with the scores and the most novel samples into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
}

/// The scores, and the samples that have the highest.
struct Scored {
    scores: Vec<f64>,
    /// The certified relative gap of each, where there is a certificate; otherwise empty.
    gaps: Vec<f64>,
    /// Above it a sample is called novel.
    threshold: f64,
    /// Where the threshold comes from.
    from: From,
    /// Number and score, the highest first.
    top: Vec<(usize, f64, Samples)>,
}

/// Where a threshold comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum From {
    Flag,
    /// A quantile of so many scores that the model has kept.
    Model(f64, usize),
    /// A quantile of the very samples that are scored.
    Samples(f64),
}

impl From {
    fn words(self) -> String {
        match self {
            From::Flag => "as given".into(),
            From::Model(q, count) => format!(
                "the {q} quantile of what the model learned from ({})",
                counted(count, "sample")
            ),
            From::Samples(q) => format!(
                "the {q} quantile of these samples themselves, as the model has no scores of what it learned \
                 from; --threshold gives another"
            ),
        }
    }

    /// A word for programs.
    fn name(self) -> &'static str {
        match self {
            From::Flag => "given",
            From::Model(..) => "learned",
            From::Samples(_) => "these-samples",
        }
    }
}

pub fn run(args: Args) -> Result<()> {
    let threshold = threshold(args.threshold, args.quantile)?;
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let opened = Opened::new(&args.model, &args.data, &args.data_args, !args.quiet)?;
    opened.check_memory(&args.model, BATCH, args.exact)?;
    let bar = Bar::new(args.quiet);
    let scored = score_all(&args, &opened, &bar);
    bar.clear();
    let mut scored = scored?;
    let tolerance = match args.exact {
        true => 0.0,
        false => opened.mesh.stopping().tolerance.unwrap_or(0.0),
    };
    scored.judge(threshold, opened.past.as_deref(), tolerance);
    if !args.quiet && scored.from != From::Flag {
        // Standard output is for the scores.
        eprintln!(
            "dictmesh: threshold {:.6} = {}",
            scored.threshold,
            scored.from.words()
        );
    }
    if let (false, Some(gap)) = (args.quiet, scored.gap()) {
        eprintln!("dictmesh: certified relative gap: {gap:.1e} at most");
    }
    if let Some(dir) = &args.report {
        let page = show::report(&args, &opened, &scored)?.write(dir)?;
        if !args.quiet {
            eprintln!("report: {}", page.display());
        }
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    match print(&args, &opened, &scored, &mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot print: {}", refusal(&e)).into())
        }
        _ => Ok(()),
    }
}

/// What to call novel, by the flags that say so.
pub fn threshold(given: Option<f64>, quantile: Option<f64>) -> Result<Threshold> {
    match (given, quantile) {
        (Some(chi), _) if chi.is_nan() => {
            Err("--threshold NaN: give a number to compare scores with".into())
        }
        (_, Some(q)) if !(0.0..=1.0).contains(&q) => {
            Err(format!("--quantile {q}: give a share, from 0 to 1").into())
        }
        (Some(chi), _) => Ok(Threshold::Given(chi)),
        (None, q) => Ok(Threshold::Quantile(q.unwrap_or(0.95))),
    }
}

/// Scores part after part: all scores are kept, the data are not.
fn score_all(args: &Args, opened: &Opened, bar: &Bar) -> Result<Scored> {
    let feed = opened.feed(BATCH);
    let total = feed.samples().map_err(say)?;
    let mut scored = Scored {
        scores: Vec::new(),
        gaps: Vec::new(),
        threshold: f64::INFINITY,
        from: From::Flag,
        top: Vec::new(),
    };
    for part in feed.parts(0).map_err(say)? {
        let part = part.map_err(say)?;
        for from in (0..part.len()).step_by(BATCH) {
            let x = part.range(from..(from + BATCH).min(part.len()));
            let at = scored.scores.len();
            let (scores, gaps) = scores(&opened.mesh, &x, args.exact, at)?;
            scored.gaps.extend(gaps);
            if args.report.is_some() {
                for (j, score) in scores.iter().enumerate() {
                    scored.consider(at + j, *score, || x.range(j..j + 1));
                }
            }
            scored.scores.extend(scores);
            bar.show(Progress {
                phase: "scoring",
                done: scored.scores.len(),
                total,
                cost: None,
            });
        }
    }
    Ok(scored)
}

impl Scored {
    /// The largest certified relative gap, where there are certificates.
    fn gap(&self) -> Option<f64> {
        self.gaps.iter().copied().reduce(f64::max)
    }

    /// Sets the threshold: by what the model learned from if it knows, else by these samples. Scores are found to this
    /// `tolerance`.
    fn judge(&mut self, threshold: Threshold, past: Option<&[f64]>, tolerance: f64) {
        self.from = match (threshold, past) {
            (Threshold::Given(_), _) => From::Flag,
            (Threshold::Quantile(q), Some(past)) => From::Model(q, past.len()),
            (Threshold::Quantile(q), None) => From::Samples(q),
        };
        let chosen = threshold.choose(past.unwrap_or(&self.scores), tolerance);
        self.threshold = chosen.unwrap_or(f64::INFINITY);
    }

    /// Keeps a sample if it is among the most novel so far.
    fn consider(&mut self, number: usize, score: f64, sample: impl FnOnce() -> Samples) {
        let before = |kept: &(usize, f64, Samples)| kept.1 >= score;
        let place = self.top.partition_point(before);
        if place < TOP {
            self.top.insert(place, (number, score, sample()));
            self.top.truncate(TOP);
        }
    }
}

fn print(args: &Args, opened: &Opened, scored: &Scored, out: &mut impl Write) -> io::Result<()> {
    if !args.json {
        writeln!(out, "sample,score,novel")?;
    }
    let names = opened.raw.names(&opened.preparation.how);
    for (j, (name, score)) in names.zip(&scored.scores).enumerate() {
        let novel = *score > scored.threshold;
        if args.json {
            let name = name
                .parse::<u64>()
                .map_or(json!(name), |number| json!(number));
            let line = json!({
                "sample": name, "score": score, "novel": novel, "threshold": scored.threshold,
                "threshold_from": scored.from.name(), "gap": scored.gaps.get(j),
            });
            writeln!(out, "{line}")?;
        } else {
            writeln!(
                out,
                "{},{},{}",
                quoted(&name),
                exact(*score),
                u8::from(novel)
            )?;
        }
    }
    Ok(())
}

/// The cost of each sample, as every agent has it in the end, and its certified relative gap, where
/// there is a certificate; `first` is the number of the first.
pub fn scores(mesh: &Mesh, x: &Samples, exact: bool, first: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let last = first + x.len() - 1;
    let (scores, gaps): (Vec<f64>, Vec<f64>) = if exact {
        let solved = mesh.exact_codes(x).map_err(say)?;
        let each = solved.certificates.iter();
        each.map(|c| (c.dual, c.relative_gap())).unzip()
    } else {
        let (agreed, stop, certified) = mesh.score_certified(x).map_err(say)?;
        if matches!(stop, Stop::Diverged | Stop::Infeasible) {
            let why = given_up(stop, x, &mesh.strategy().name());
            return Err(format!("samples {first} to {last}: {why}").into());
        }
        let gaps = certified.iter().map(|c| c.relative_gap());
        (agreed.columns().map(|g| g[0]).collect(), gaps.collect())
    };
    check_finite(&scores, first)?;
    Ok((scores, gaps))
}

/// A CSV field.
pub fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_string()
    }
}
