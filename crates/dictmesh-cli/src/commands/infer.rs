//! `dictmesh infer`: the codes of samples under a model.

mod page;

use super::prepare::{DataArgs, Opened};
use super::{
    check_apart, check_finite, check_place, fail, given_up, page_place, say, Result, Speech,
};
use crate::options::MethodArgs;
use crate::progress::{Bar, Progress};
use crate::render::Reply;
use dictmesh::{Mesh, Samples, Stop};
use dictmesh_apps::coding::{self, CodeStats, Coded, Method};
use dictmesh_data::output::Folder;
use dictmesh_data::{CodesFile, RowsFile};
use dictmesh_report::numbers::counted;
use dictmesh_report::numbers::fixed;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Samples coded together.
const BATCH: usize = 256;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    pub model: PathBuf,
    /// The samples, as the model was learned from: numbers, counts, raw text or pictures; - is
    /// standard input. The model stores their preparation
    pub data: PathBuf,
    /// The file of the codes: an .npz that scipy.sparse.load_npz opens, a row per sample
    #[arg(short, long, value_name = "CODES")]
    pub output: PathBuf,
    #[command(flatten)]
    pub method: MethodArgs,
    /// The file of the reconstruction W y: an .npy with a row per sample
    #[arg(long, value_name = "FILE")]
    pub reconstruct: Option<PathBuf>,
    #[command(flatten)]
    pub data_args: DataArgs,
    /// Write a page of the results, with charts, into this directory
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
        false => fail(format!(
            "{}: it would be written as numpy's .{extension}; name it {}",
            path.display(),
            path.with_extension(extension).display()
        )),
    }
}

/// What `infer --json` prints.
#[derive(Serialize, schemars::JsonSchema)]
pub struct InferReply {
    /// The file of the codes.
    codes: PathBuf,
    /// The file of the reconstructions W y, if they were asked for.
    reconstruction: Option<PathBuf>,
    /// The page, if it was asked for.
    report: Option<PathBuf>,
    /// Where the samples were coded.
    method: Method,
    /// The strategy of the mesh; for auto, the one that it chose. Null with the method exact.
    strategy: Option<String>,
    /// The number of samples.
    samples: usize,
    /// The number of atoms.
    atoms: usize,
    /// The mean cost of a sample.
    cost: f64,
    /// The mean number of nonzero entries of a code.
    nonzeros: f64,
    /// The number of atoms that no sample uses.
    unused_atoms: usize,
    /// The largest certified relative gap; null if the strategy certifies none.
    gap: Option<f64>,
    /// The worst outcome: converged, round-limit or interrupted.
    stop: &'static str,
    /// Whether the strategy converges to a limit other than the exact codes.
    biased: bool,
}

impl Reply for InferReply {
    const COMMAND: &'static str = "infer";
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
    let mut opened = Opened::new(&args.model, &args.data, &args.data_args, !args.speech.quiet)?;
    let method = args.method.apply(&mut opened.model.mesh)?;
    opened.check_memory(&args.model, BATCH, method)?;
    let bar = Bar::new(args.speech.quiet);
    let coded = code_all(&args, &opened, method, &bar);
    bar.clear();
    let stats = coded?;
    let report = match &args.report {
        Some(dir) => Some(
            page::report(&args, &opened, &stats, &how(&opened.model.mesh, method)).write(dir)?,
        ),
        None => None,
    };
    let reply = reply(&args, &opened.model.mesh, method, &stats, report);
    args.speech.reply(&reply, || text(&reply, stats.stop))
}

/// The method or the strategy of the mesh.
fn how(mesh: &Mesh, method: Method) -> String {
    match method {
        Method::Exact => method.name().into(),
        Method::Mesh => mesh.strategy().name(),
    }
}

fn reply(
    args: &Args,
    mesh: &Mesh,
    method: Method,
    stats: &CodeStats,
    report: Option<PathBuf>,
) -> InferReply {
    let by_mesh = method == Method::Mesh;
    InferReply {
        codes: args.output.clone(),
        reconstruction: args.reconstruct.clone(),
        report,
        method,
        strategy: by_mesh.then(|| mesh.strategy().name()),
        samples: stats.costs.len(),
        atoms: mesh.atoms(),
        cost: stats.mean_cost(),
        nonzeros: stats.mean_nonzeros(),
        unused_atoms: stats.unused_atoms(),
        gap: stats.gap,
        stop: stats.stop.name(),
        biased: by_mesh && mesh.strategy().is_biased(),
    }
}

fn text(reply: &InferReply, stop: Stop) -> String {
    let mut text = format!(
        "{} coded: {stop}\nmean cost: {}\nentries that are not zero: {:.1} of {}\n",
        counted(reply.samples, "sample"),
        fixed(reply.cost, 8),
        reply.nonzeros,
        reply.atoms
    );
    if let Some(gap) = reply.gap {
        text += &format!("certified relative gap: {gap:.1e}\n");
    }
    if let (true, Some(strategy)) = (reply.biased, &reply.strategy) {
        text += &format!(
            "{strategy} converges to a limit of its own, on most graphs with a bias in proportion to its step; \
             --method exact and --strategy relaxed-admm converge to the codes\n"
        );
    }
    for (what, path) in [
        ("codes", Some(&reply.codes)),
        ("reconstruction", reply.reconstruction.as_ref()),
        ("report", reply.report.as_ref()),
    ] {
        if let Some(path) = path {
            text += &format!("{what}: {}\n", path.display());
        }
    }
    text
}

/// Codes part after part; the files appear when all is coded.
fn code_all(args: &Args, opened: &Opened, method: Method, bar: &Bar) -> Result<CodeStats> {
    let (mesh, feed) = (&opened.model.mesh, opened.feed(BATCH));
    let total = feed.samples().map_err(say)?;
    let mut file = CodesFile::create(&args.output, mesh.atoms())?;
    let w = mesh.dictionary();
    let mut rows = match &args.reconstruct {
        Some(path) => Some(RowsFile::create(path, total, mesh.rows())?),
        None => None,
    };
    let mut stats = CodeStats::none(mesh.atoms());
    for part in feed.parts(0).map_err(say)? {
        let part = part.map_err(say)?;
        for from in (0..part.len()).step_by(BATCH) {
            let x = part.range(from..(from + BATCH).min(part.len()));
            let coded = code(mesh, &x, method)?;
            check_finite(&coded.costs, stats.costs.len())?;
            stats.add(&coded);
            file.add(&coded.codes)?;
            if let Some(rows) = &mut rows {
                rows.add(&w.times(&coded.codes))?;
            }
            bar.show(Progress {
                phase: "coding",
                done: stats.costs.len(),
                total,
                cost: Some(coded.costs.iter().sum::<f64>() / x.len() as f64),
            });
        }
    }
    file.finish()?;
    rows.map(RowsFile::finish).transpose()?;
    Ok(stats)
}

fn code(mesh: &Mesh, x: &Samples, method: Method) -> Result<Coded> {
    let coded = coding::code(mesh, x, method).map_err(say)?;
    match (method, coded.stop) {
        (Method::Mesh, Stop::Diverged) => Err(given_up(coded.stop, x, &mesh.strategy().name())),
        _ => Ok(coded),
    }
}
