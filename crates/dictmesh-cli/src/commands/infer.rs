//! `dictmesh infer`: the codes of samples under a model.

mod page;
mod sink;

use super::model_args::{no_samples, Input, ModelArgs};
use super::prepare::{DataArgs, LoadedModel, Opened};
use super::{
    check_apart, check_finite, check_place, given_up, page_place, say, Ended, Result, Speech,
};
use crate::options::MethodArgs;
use crate::progress::{Bar, Progress};
use crate::render::{json, Reply};
use dictmesh::{Mesh, Samples, Stop};
use dictmesh_apps::coding::{self, CodeStats, Coded, Method};
use dictmesh_data::output::Folder;
use dictmesh_data::Batches;
use dictmesh_report::numbers::counted;
use dictmesh_report::numbers::fixed;
use serde::Serialize;
pub use sink::CodeLine;
use sink::{check_extension, is_stdout, Sink};
use std::path::PathBuf;

/// Samples coded together.
const BATCH: usize = 256;

/// clap would call the samples optional, as they are the first argument with --dictionary.
const USAGE: &str = "dictmesh infer [OPTIONS] --output <CODES> <MODEL> <DATA>
       dictmesh infer [OPTIONS] --output <CODES> --dictionary <FILE> <DATA>";

#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE)]
pub struct Args {
    #[command(flatten)]
    pub by: ModelArgs,
    /// The file of the codes: an .npz that scipy.sparse.load_npz opens, a row per sample; - is
    /// standard output, a line of JSON per sample, as the samples come
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

/// What `infer --json` prints.
#[derive(Serialize, schemars::JsonSchema)]
pub struct InferReply {
    /// The file of the codes; "-" if they are lines of their own.
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

pub fn run(args: Args) -> Result<Ended> {
    check_outputs(&args)?;
    let quiet = args.speech.quiet;
    let (input, method) = args.by.open(&args.method, &args.data_args, !quiet)?;
    let (model, stats, ended) = match input {
        Input::Stream(model, batches) => {
            let (stats, ended) = code_stream(&args, &model, batches, method)?;
            (model, stats, ended)
        }
        Input::File(opened) => {
            let stats = code_file(&args, &opened, method)?;
            (opened.model, stats, Ended::Complete)
        }
    };
    let report = match &args.report {
        Some(dir) => {
            let page = page::report(&args, &model.mesh, &stats, &how(&model.mesh, method));
            Some(page.write(dir)?)
        }
        None => None,
    };
    let reply = reply(&args, &model.mesh, method, &stats, report);
    tell(&args, &reply, stats.stop)?;
    Ok(ended)
}

/// Refuses places that cannot be written to.
fn check_outputs(args: &Args) -> Result<()> {
    args.by.check()?;
    let page = page_place(args.report.as_ref());
    let codes = (!is_stdout(&args.output)).then_some(&args.output);
    let outputs = codes.into_iter().chain(&args.reconstruct);
    check_apart(outputs.chain(&page), [args.by.coder(), args.by.data()])?;
    for (path, extension) in codes
        .map(|path| (path, "npz"))
        .into_iter()
        .chain(args.reconstruct.as_ref().map(|path| (path, "npy")))
    {
        check_place(path)?;
        check_extension(path, extension)?;
    }
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    Ok(())
}

/// Prints the summary; beside lines of codes, as a line of its own with --json, else on standard error.
fn tell(args: &Args, reply: &InferReply, stop: Stop) -> Result<()> {
    match (is_stdout(&args.output), args.speech.json) {
        (true, false) => {
            if !args.speech.quiet {
                eprint!("{}", text(reply, stop));
            }
            Ok(())
        }
        (true, true) => super::print(&(json::line(reply) + "\n")),
        (false, _) => args.speech.reply(reply, || text(reply, stop)),
    }
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
        samples: stats.samples,
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
    let codes = (!is_stdout(&reply.codes)).then_some(&reply.codes);
    for (what, path) in [
        ("codes", codes),
        ("reconstruction", reply.reconstruction.as_ref()),
        ("report", reply.report.as_ref()),
    ] {
        if let Some(path) = path {
            text += &format!("{what}: {}\n", path.display());
        }
    }
    text
}

/// Nothing coded yet; a page shows the cost of each sample.
fn no_stats(args: &Args, mesh: &Mesh) -> CodeStats {
    match args.report {
        Some(_) => CodeStats::of_each(mesh.atoms()),
        None => CodeStats::none(mesh.atoms()),
    }
}

/// Codes part after part; the files appear when all is coded.
fn code_file(args: &Args, opened: &Opened, method: Method) -> Result<CodeStats> {
    opened.check_memory(args.by.coder(), BATCH, method)?;
    let (mesh, feed) = (&opened.model.mesh, opened.feed(BATCH));
    let total = feed.samples().map_err(say)?;
    let mut sink = Sink::open(&args.output, args.reconstruct.as_deref(), mesh)?;
    let mut stats = no_stats(args, mesh);
    let mut names = opened.raw.names(&opened.model.preparation.how);
    let bar = Bar::new(args.speech.quiet);
    let done = (|| {
        for part in feed.parts(0).map_err(say)? {
            let part = part.map_err(say)?;
            for from in (0..part.len()).step_by(BATCH) {
                let x = part.range(from..(from + BATCH).min(part.len()));
                let coded = code(mesh, &x, method)?;
                check_finite(&coded.costs, stats.samples)?;
                stats.add(&coded);
                if !sink.add(&mut names, &coded)? {
                    return Ok(());
                }
                bar.show(Progress {
                    phase: "coding",
                    done: stats.samples,
                    total,
                    cost: Some(coded.costs.iter().sum::<f64>() / x.len() as f64),
                });
            }
        }
        Ok(())
    })();
    bar.clear();
    done.and_then(|()| sink.finish())?;
    Ok(stats)
}

/// Codes the samples of a stream: lines as they come, files in full batches. Memory holds one batch. Ctrl-C
/// ends the stream, and files keep what was coded.
fn code_stream(
    args: &Args,
    model: &LoadedModel,
    mut batches: Batches,
    method: Method,
) -> Result<(CodeStats, Ended)> {
    model.check_memory(args.by.coder(), BATCH, method)?;
    if batches.first().is_none() {
        return Err(no_samples(args.by.data()));
    }
    let mesh = &model.mesh;
    let mut sink = Sink::open(&args.output, args.reconstruct.as_deref(), mesh)?;
    let mut stats = no_stats(args, mesh);
    loop {
        let records = match is_stdout(&args.output) {
            true => batches.soon(BATCH)?,
            false => batches.full(BATCH)?,
        };
        let Some(records) = records else {
            break;
        };
        let coded = code(mesh, &model.prepare(&records)?, method)?;
        check_finite(&coded.costs, stats.samples)?;
        stats.add(&coded);
        let mut names = records.into_iter().map(|record| record.name);
        if !sink.add(&mut names, &coded)? {
            break;
        }
    }
    sink.finish()?;
    match batches.is_interrupted() {
        true => Ok((stats, Ended::Interrupted)),
        false => Ok((stats, Ended::Complete)),
    }
}

fn code(mesh: &Mesh, x: &Samples, method: Method) -> Result<Coded> {
    let coded = coding::code(mesh, x, method).map_err(say)?;
    match (method, coded.stop) {
        (Method::Mesh, Stop::Diverged) => Err(given_up(
            coded.stop,
            coding::largest_entry(x),
            &mesh.strategy().name(),
        )),
        _ => Ok(coded),
    }
}
