//! `dictmesh infer`: the codes of samples under a model.

mod codes;
mod show;

use super::prepare::{DataArgs, Opened};
use super::{check_apart, check_finite, check_place, given_up, page_place, say, Result, Speech};
use crate::options::names::{OneOf, STRATEGIES};
use crate::options::{auto, with_bits};
use crate::output::Folder;
use crate::progress::Bar;
use crate::progress::Progress;
use codes::{CodesFile, RowsFile};
use dictmesh::strategy::{self, Certified, Strategy};
use dictmesh::{Matrix, Mesh, Samples, Spec, Stop};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Samples coded at a time.
const BATCH: usize = 256;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    pub model: PathBuf,
    /// The samples, as the model was learned from: numbers, counts, raw text or pictures; - is standard
    /// input. The model knows how to prepare them
    pub data: PathBuf,
    /// Where the codes go: an .npz that scipy.sparse.load_npz opens, a row per sample
    #[arg(short, long, value_name = "CODES")]
    pub output: PathBuf,
    /// All atoms in one place (exact), or a strategy of the mesh
    #[arg(long, value_parser = exact_or_strategy(), value_name = "NAME", default_value = "exact")]
    pub strategy: String,
    /// Bits of a number in a message of the mesh, 4 to 16 [default: 8 with --strategy tree, else doubles]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub bits: Option<i64>,
    /// Seconds of one hop between agents, for --strategy auto [default: 0.0005]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub latency: Option<f64>,
    /// Bytes per second of an agent's link, for --strategy auto [default: 12.5e6, 100 Mbit/s]
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true)]
    pub bandwidth: Option<f64>,
    /// Where W y goes, if wanted: an .npy with a row per sample
    #[arg(long, value_name = "FILE")]
    pub reconstruct: Option<PathBuf>,
    #[command(flatten)]
    pub data_args: DataArgs,
    /// Write a page about the codes, their costs and the use of atoms into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub speech: Speech,
}

/// A name that says what the file is.
fn check_extension(path: &Path, extension: &str) -> Result<()> {
    match path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case(extension))
    {
        true => Ok(()),
        false => Err(format!(
            "{}: it would be written as numpy's .{extension}; name it {}",
            path.display(),
            path.with_extension(extension).display()
        )
        .into()),
    }
}

fn exact_or_strategy() -> OneOf {
    OneOf::new(std::iter::once("exact").chain(STRATEGIES))
}

/// The strategy of the mesh; none if all is solved in one place.
fn strategy_of(args: &Args) -> Result<Option<Arc<dyn Strategy>>> {
    if args.strategy != strategy::DEFAULT {
        let links = [("latency", args.latency), ("bandwidth", args.bandwidth)];
        if let Some((flag, _)) = links.iter().find(|(_, value)| value.is_some()) {
            return Err(format!(
                "--{flag}: it belongs to --strategy auto, but this is {}; name that strategy, or leave \
                 --{flag} out",
                args.strategy
            ).into());
        }
    }
    match (args.strategy.as_str(), args.bits) {
        (strategy::DEFAULT, None) => auto(args.latency, args.bandwidth).map(Some),
        (strategy::DEFAULT, Some(bits)) => Err(format!(
            "--bits {bits}: auto chooses a strategy with its own bits; name --strategy tree or another \
             one, or leave --bits out"
        ).into()),
        ("exact", None) => Ok(None),
        ("exact", Some(bits)) => Err(format!(
            "--bits {bits}: --strategy exact has no messages; name a strategy of the mesh, or leave \
             --bits out"
        ).into()),
        (name, bits) => with_bits(Spec::new(name), bits).map(Some),
    }
}

/// The method by name; for auto, the strategy that it chose.
fn method(args: &Args, mesh: &Mesh) -> String {
    match args.strategy.as_str() {
        "exact" => "exact".into(),
        _ => mesh.strategy().name(),
    }
}

/// What is known of the codes, without the codes.
struct Summary {
    costs: Vec<f64>,
    /// Entries of each code that are not zero.
    entries: Vec<f64>,
    /// Samples that use each atom.
    used: Vec<u64>,
    /// The largest relative gap, where there is a certificate.
    gap: Option<f64>,
    stop: Stop,
}

impl Summary {
    fn cost(&self) -> f64 {
        self.costs.iter().sum::<f64>() / self.costs.len() as f64
    }

    fn sparsity(&self) -> f64 {
        self.entries.iter().sum::<f64>() / self.entries.len() as f64
    }

    fn add(&mut self, coded: &Coded) {
        self.costs.extend(&coded.costs);
        for y in coded.codes.columns() {
            let lit = y.iter().enumerate().filter(|(_, y)| **y != 0.0);
            self.entries.push(lit.clone().count() as f64);
            lit.for_each(|(q, _)| self.used[q] += 1);
        }
        self.gap = match self.costs.len() == coded.costs.len() {
            true => coded.gap, // the first
            false => self.gap.zip(coded.gap).map(|(a, b)| a.max(b)),
        };
        self.stop = self.stop.worse(coded.stop);
    }
}

/// What coding a part gave.
struct Coded {
    codes: Matrix,
    costs: Vec<f64>,
    gap: Option<f64>,
    stop: Stop,
}

pub fn run(args: Args) -> Result<()> {
    check_place(&args.output)?;
    check_extension(&args.output, "npz")?;
    let page = page_place(args.report.as_ref());
    let outputs = std::iter::once(&args.output).chain(&args.reconstruct);
    check_apart(outputs.chain(&page), [&args.model, &args.data])?;
    if let Some(path) = &args.reconstruct {
        check_place(path)?;
        check_extension(path, "npy")?;
    }
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    let strategy = strategy_of(&args)?;
    let mut opened = Opened::new(&args.model, &args.data, &args.data_args, !args.speech.quiet)?;
    if let Some(strategy) = strategy {
        opened.mesh.set_strategy(strategy).map_err(say)?;
    }
    opened.check_memory(&args.model, BATCH, args.strategy == "exact")?;
    let bar = Bar::new(args.speech.quiet);
    let coded = code_all(&args, &opened, &bar);
    bar.clear();
    let summary = coded?;
    let page = args.report.as_ref();
    let page = page
        .map(|dir| show::report(&args, &opened, &summary).write(dir))
        .transpose()?;
    show::tell(&args, &opened, &summary, page)
}

/// Codes part after part; the files appear when all is coded.
fn code_all(args: &Args, opened: &Opened, bar: &Bar) -> Result<Summary> {
    let (mesh, feed) = (&opened.mesh, opened.feed(BATCH));
    let (exact, total) = (args.strategy == "exact", feed.samples().map_err(say)?);
    let mut file = CodesFile::create(&args.output, mesh.atoms())?;
    let w = mesh.dictionary();
    let mut rows = match &args.reconstruct {
        Some(path) => Some(RowsFile::create(path, total, mesh.rows())?),
        None => None,
    };
    let mut summary = Summary {
        costs: Vec::new(),
        entries: Vec::new(),
        used: vec![0; mesh.atoms()],
        gap: None,
        stop: Stop::Converged,
    };
    for part in feed.parts(0).map_err(say)? {
        let part = part.map_err(say)?;
        for from in (0..part.len()).step_by(BATCH) {
            let x = part.range(from..(from + BATCH).min(part.len()));
            let coded = code(mesh, &x, exact)?;
            check_finite(&coded.costs, summary.costs.len())?;
            summary.add(&coded);
            file.add(&coded.codes)?;
            if let Some(rows) = &mut rows {
                rows.add(&w.times(&coded.codes))?;
            }
            bar.show(Progress {
                phase: "coding",
                done: summary.costs.len(),
                total,
                cost: Some(coded.costs.iter().sum::<f64>() / x.len() as f64),
            });
        }
    }
    file.finish()?;
    rows.map(RowsFile::finish).transpose()?;
    Ok(summary)
}

fn code(mesh: &Mesh, x: &Samples, exact: bool) -> Result<Coded> {
    if exact {
        let solved = mesh.exact_codes(x).map_err(say)?;
        return Ok(Coded {
            costs: solved.certificates.iter().map(|c| c.dual).collect(),
            gap: Some(solved.relative_gap()),
            stop: solved.stop(),
            codes: solved.to_dense(),
        });
    }
    let found = mesh.infer(x).map_err(say)?;
    if found.stop == Stop::Diverged {
        return Err(given_up(found.stop, x, &mesh.strategy().name()));
    }
    Ok(Coded {
        codes: found.stacked_codes(),
        gap: Certified::largest_gap(&found.certified),
        costs: found.costs,
        stop: found.stop,
    })
}
