//! `dictmesh learn`: a dictionary from a file of samples.

use super::prepare::{feature_means, PrepareArgs};
use super::{check_place, say, Centre, Preparation, ReadArgs, Result, Speech, INTERRUPTED};
use crate::data::{self, Chunks};
use crate::options::Options;
use crate::terminal::Bar;
use dictmesh::mesh::Event;
use dictmesh::{Mesh, Model, Samples, Start, Stop};
use serde_json::json;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Numbers of a part of the data that are in memory at a time.
const PART: usize = 1 << 23;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The samples: .npy, .npz, .mtx, .csv or .tsv; - is standard input
    pub data: PathBuf,
    /// Where the model goes
    #[arg(short, long, value_name = "MODEL")]
    pub output: PathBuf,
    /// Choices from a TOML file; flags win
    #[arg(long, value_name = "TOML")]
    pub config: Option<PathBuf>,
    /// Go on from a model that was saved before, with its choices
    #[arg(long, value_name = "MODEL")]
    pub resume: Option<PathBuf>,
    /// Say what it would take, and stop
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub prepare: PrepareArgs,
    #[command(flatten)]
    pub read: ReadArgs,
    #[command(flatten)]
    pub options: Options,
    #[command(flatten)]
    pub speech: Speech,
}

/// Learns; ended by Ctrl-C, it saves what it has and says so by its exit code.
pub fn run(args: Args) -> Result<ExitCode> {
    check_place(&args.output)?;
    let mut options = args.options.clone();
    if let Some(path) = &args.config {
        options = options.or(Options::from_toml(path)?);
    }
    let batch = options.batch.unwrap_or(256).max(1);
    let source = Parts {
        path: &args.data,
        read: &args.read,
        batch,
    };
    let (total, rows) = source.size()?;
    let preparation = match &args.resume {
        Some(path) => Preparation::of(&Model::load(path).map_err(say)?)?,
        None => Preparation {
            centre: args.prepare.centre,
            means: match args.prepare.centre {
                Centre::Feature => {
                    Some(feature_means(source.open()?.map(|p| p.map_err(say)), rows)?)
                }
                _ => None,
            },
            norm: args.prepare.norm,
        },
    };
    let mut mesh = match &args.resume {
        Some(path) => Mesh::from_model(&Model::load(path).map_err(say)?).map_err(say)?,
        None => {
            let first = source.open()?.next().ok_or("the file has no samples")?;
            let first = preparation.apply(first.map_err(say)?)?;
            options.mesh("sparse-svd", rows, Start::Samples(&first))?
        }
    };
    if args.dry_run {
        return dry_run(&args, &mesh, total).map(|()| ExitCode::SUCCESS);
    }
    let warnings = mesh.warnings();
    if !args.speech.quiet {
        for warning in warnings {
            eprintln!("dictmesh: {warning}");
        }
    }
    let before = mesh.progress().samples_learned;
    let passes = options.passes.unwrap_or(1);
    let learned = learn(&mut mesh, &source, &preparation, total, passes, &args)?;
    let mut model = mesh.to_model();
    preparation.store(&mut model)?;
    model.save(&args.output).map_err(say)?;
    report(&args, &mesh, &learned, before)?;
    Ok(match learned.interrupted {
        true => ExitCode::from(INTERRUPTED),
        false => ExitCode::SUCCESS,
    })
}

/// The data in parts of whole batches.
struct Parts<'a> {
    path: &'a Path,
    read: &'a ReadArgs,
    batch: usize,
}

impl Parts<'_> {
    fn size(&self) -> Result<(usize, usize)> {
        let chunks = data::chunks(self.path, &self.read.options(), 1).map_err(say)?;
        if chunks.samples() == 0 {
            return Err(format!("{}: it has no samples", self.path.display()));
        }
        Ok((chunks.samples(), chunks.features()))
    }

    fn open(&self) -> Result<Chunks> {
        let (_, rows) = self.size()?;
        let batches = (PART / rows.max(1) / self.batch).max(1);
        data::chunks(self.path, &self.read.options(), batches * self.batch).map_err(say)
    }
}

struct Learned {
    costs: Vec<f64>,
    last: Option<Event>,
    interrupted: bool,
}

fn learn(
    mesh: &mut Mesh,
    source: &Parts<'_>,
    preparation: &Preparation,
    total: usize,
    passes: usize,
    args: &Args,
) -> Result<Learned> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    // A second handler cannot be set; the first one's flag then stays unused, and Ctrl-C just ends us.
    let _ = ctrlc::set_handler(move || flag.store(true, Ordering::SeqCst));
    let bar = Bar::new(args.speech.quiet);
    let mut learned = Learned {
        costs: Vec::new(),
        last: None,
        interrupted: false,
    };
    let all = (passes * total) as u64;
    let mut done = mesh.progress().samples_learned;
    while done < all && !learned.interrupted {
        let mut skip = (done % total as u64) as usize;
        for part in source.open()? {
            let part = part.map_err(say)?;
            if skip >= part.len() {
                skip -= part.len();
                continue;
            }
            let part = preparation.apply(part.range(skip..part.len()))?;
            skip = 0;
            let ended = mesh
                .learn(&part, |event| {
                    learned.costs.push(event.cost);
                    learned.last = Some(*event);
                    bar.show(crate::demo::Progress {
                        phase: "learning",
                        done: event.samples as usize,
                        total: all as usize,
                        cost: Some(event.cost),
                    });
                    if stop.load(Ordering::SeqCst) {
                        learned.interrupted = true;
                        return ControlFlow::Break(());
                    }
                    ControlFlow::Continue(())
                })
                .map_err(say)?;
            if matches!(ended, Stop::Diverged | Stop::Infeasible) {
                return Err(format!("learning stopped: {ended}"));
            }
            if learned.interrupted {
                break;
            }
        }
        done = mesh.progress().samples_learned;
    }
    bar.clear();
    Ok(learned)
}

fn dry_run(args: &Args, mesh: &Mesh, total: usize) -> Result<()> {
    let (m, k, n) = (mesh.rows(), mesh.atoms(), mesh.agents());
    let batch = args.options.batch.unwrap_or(256).min(total);
    let part = (PART / m / batch).max(1) * batch;
    let numbers =
        m * k + 6 * m.min(2 * k + 2) * n * batch + m * part.min(total) + m * n.min(k) * batch;
    let bytes = 8 * numbers as u64;
    // One batch is timed on data of the same shape.
    let rng = &mut dictmesh::random::stream(0, 1);
    let x = Samples::dense(dictmesh::random::gaussian(m, batch, rng)).map_err(say)?;
    let clock = std::time::Instant::now();
    let mut trial = mesh.clone();
    trial
        .learn(&x, |_| ControlFlow::Continue(()))
        .map_err(say)?;
    let seconds = clock.elapsed().as_secs_f64() * total as f64 / batch as f64;
    let seconds = seconds * args.options.passes.unwrap_or(1) as f64;
    args.speech.tell(
        json!({"samples": total, "rows": m, "atoms": k, "agents": n, "bytes": bytes, "seconds": seconds}),
        || {
            format!(
                "{total} samples of {m} features; {k} atoms at {n} agents\n\
                 about {} of memory and {seconds:.0} s (one batch of noise was timed)\n",
                crate::picture::bytes(bytes)
            )
        },
    )
}

fn report(args: &Args, mesh: &Mesh, learned: &Learned, before: u64) -> Result<()> {
    let mean = |costs: &[f64]| costs.iter().sum::<f64>() / costs.len().max(1) as f64;
    let tenth = (learned.costs.len() / 10).max(1).min(learned.costs.len());
    let first = mean(&learned.costs[..tenth]);
    let last = mean(&learned.costs[learned.costs.len() - tenth..]);
    let samples = mesh.progress().samples_learned - before;
    let unused = mesh.unused_atoms().len();
    let model = args.output.display().to_string();
    args.speech.tell(
        json!({
            "model": model, "samples": samples, "atoms": mesh.atoms(), "agents": mesh.agents(),
            "cost_first": first, "cost_last": last, "unused_atoms": unused,
            "sparsity": learned.last.map(|e| e.sparsity), "interrupted": learned.interrupted,
        }),
        || {
            let mut text = format!(
                "learned {} atoms at {} agents from {samples} samples\n\
                 cost of a sample: {first:.6} in the first tenth, {last:.6} in the last\n",
                mesh.atoms(),
                mesh.agents()
            );
            if let Some(event) = &learned.last {
                text += &format!(
                    "codes have {:.1} entries that are not zero\n",
                    event.sparsity
                );
            }
            if unused > 0 {
                text += &format!(
                    "{unused} atoms were never used: try fewer atoms or a smaller gamma\n"
                );
            }
            text += &format!("model: {model}\n");
            if learned.interrupted {
                text += &format!(
                    "interrupted; go on with: dictmesh learn {} -o {model} --resume {model}\n",
                    args.data.display()
                );
            }
            text
        },
    )
}
