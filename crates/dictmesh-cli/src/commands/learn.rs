//! `dictmesh learn`: a dictionary from numbers, counts, raw text or pictures.

mod passes;
mod processes;
#[cfg(feature = "mpi")]
mod ranks;
pub mod reply;
mod show;
mod start;
pub mod transport;

use super::common_args::Choices;
use super::mesh::masks::Switch;
use super::prepare::{Feed, Preparation, Raw};
use super::{
    check_apart, check_model_place, check_place, note, page_place, save_model, say, Ended, Result,
    Speech,
};
use crate::interrupt;
use crate::options::Options;
use dictmesh::{Mesh, Model};
use dictmesh_apps::calibration::Calibration;
use dictmesh_apps::learning::{self, Position};
use dictmesh_data::output::Folder;
use dictmesh_report::numbers::exact;
use std::path::{Path, PathBuf};
use transport::Transport;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The samples: numbers (.npy, .npz, .mtx, .csv, .tsv, .svm, .jsonl), raw text (a directory, .txt with one
    /// document a line, .jsonl, or .csv and .tsv with --text-column) or pictures (.png, .jpg, .pgm, .ppm, .tif,
    /// or a directory of them); .gz and .zst are unpacked; - is standard input
    pub data: PathBuf,
    /// The file of the model
    #[arg(short, long, value_name = "MODEL")]
    pub output: PathBuf,
    /// Continue from a model or checkpoint, with its settings and its preparation of samples. With
    /// the same data, learning continues where it stopped; with other data, at their start
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["centre", "norm", "counts", "patch", "stride",
        "vocabulary", "hash", "keep_stop_words"])]
    pub resume: Option<PathBuf>,
    /// Start from the atoms in this matrix of numbers, as rows or as columns; --passes 0 keeps them as they
    /// are, for infer and score
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "over"])]
    pub dictionary: Option<PathBuf>,
    /// End when a pass lowers the mean cost of a sample by at most this share of it; 0 learns all passes
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.0,
        conflicts_with = "over",
        help_heading = "Learning"
    )]
    pub min_gain: f64,
    /// Seconds between checkpoints (MODEL.checkpoint, removed when learning is done); 0 for none
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    pub checkpoint_every: f64,
    /// Run every agent as a process of its own. The atoms are those of one process, to 1e-9. To
    /// continue an interrupted run, --resume takes a directory: MODEL.mesh of processes,
    /// MODEL.checkpoint of MPI ranks
    #[arg(long, value_name = "WHAT", help_heading = "The mesh")]
    pub over: Option<Transport>,
    /// Send dual vectors in single precision, with --over processes: half the bytes, seven digits;
    /// --tolerance must be at least 1e-5
    #[arg(long, help_heading = "The mesh")]
    pub float32: bool,
    /// Whether masks hide each agent's part of a sum from the others, with --over processes and
    /// --strategy tree [default: on]
    #[arg(long, value_name = "SWITCH", help_heading = "The mesh")]
    pub masks: Option<Switch>,
    /// Print the samples, the memory and the time that learning takes, and stop
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub choices: Choices,
    /// Write a page of the results, with charts, into this directory
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// Replace an output file that dictmesh did not write
    #[arg(long, help_heading = "Output")]
    pub force: bool,
    #[command(flatten)]
    pub speech: Speech,
}

/// All it takes to learn.
struct Begun {
    data: Data,
    state: State,
    passes: usize,
}

/// What stays while it learns.
struct Data {
    raw: Raw,
    preparation: Preparation,
    /// Names of the features.
    names: Option<Vec<String>>,
    /// What was chosen by flag or in a file.
    choices: Options,
    /// Samples of a pass.
    total: usize,
}

/// What changes.
struct State {
    mesh: Mesh,
    position: Position,
}

/// What learning gave.
struct Learned {
    run: learning::Learned,
    /// What samples scored when all was learned.
    past: Vec<f64>,
    /// Bytes written to sockets between processes, with framing.
    written: Option<u64>,
}

impl Begun {
    /// The model as it is now.
    fn model(&self) -> Result<Model> {
        self.data.model(&self.state.mesh, &self.state.position)
    }
}

impl Data {
    fn feed(&self, mesh: &Mesh) -> Feed<'_> {
        Feed {
            raw: &self.raw,
            how: &self.preparation.how,
            rows: mesh.rows(),
            batch: mesh.batch(),
            shuffle: Some(mesh.seed()),
        }
    }

    /// The model of a mesh that is here in the data.
    fn model(&self, mesh: &Mesh, position: &Position) -> Result<Model> {
        let mut model = mesh.to_model();
        model.description.feature_names = self.names.clone();
        self.preparation.store(&mut model).map_err(say)?;
        position.store(&mut model);
        start::store_choices(&self.choices, &mut model)?;
        Ok(model)
    }
}

pub fn run(args: Args) -> Result<Ended> {
    if args.over == Some(Transport::Mpi) {
        #[cfg(feature = "mpi")]
        return ranks::run(args);
        #[cfg(not(feature = "mpi"))]
        return Err(transport::WITHOUT_MPI.into());
    }
    check(&args)?;
    let mut begun = start::begin(&args)?;
    note(begun.data.raw.note(), args.speech.quiet);
    if args.dry_run {
        show::dry_run(&args, &begun)?;
        return Ok(Ended::Complete);
    }
    if !args.speech.quiet {
        for warning in begun.state.mesh.warnings() {
            eprintln!("dictmesh: {warning}");
        }
    }
    let before = begun.state.mesh.progress().samples_learned;
    let learned = match args.over {
        // Ranks have learned above.
        None | Some(Transport::Mpi) => passes::learn(&mut begun, &args)?,
        Some(Transport::Processes) => {
            let learned = processes::learn(&mut begun, &args)?;
            if learned.run.interrupted {
                return Ok(Ended::Interrupted);
            }
            learned
        }
    };
    let (mut page, mut ended) = (None, Ended::Complete);
    if learned.run.interrupted {
        ended = Ended::Interrupted;
    }
    if ended == Ended::Complete {
        save(&args, &begun, &learned)?;
        match (interrupt::at_once(), &args.report) {
            (true, _) => {
                ended = Ended::Interrupted;
                eprintln!("dictmesh: interrupted when all was learned: the model is complete, what comes after is left out");
            }
            (false, Some(dir)) => page = Some(show::report(&args, &begun, &learned)?.write(dir)?),
            (false, None) => {}
        }
    }
    show::tell(&args, &begun, &learned, before, page)?;
    Ok(ended)
}

/// Saves the model, and takes away what was kept in case it would not come to that.
fn save(args: &Args, begun: &Begun, learned: &Learned) -> Result<()> {
    let mut model = begun.model()?;
    if let Some(kept) = Calibration::new(&learned.past) {
        kept.store(&mut model);
    }
    save_model(&model, &args.output)?;
    // The checkpoint has done its duty; if it cannot go, that harms nobody.
    let _ = std::fs::remove_file(checkpoint(&args.output));
    if let Some(Transport::Processes) = args.over {
        processes::clear(args);
    }
    Ok(())
}

/// Whether what was asked for can be, before anything is read.
fn check(args: &Args) -> Result<()> {
    check_places(args)?;
    if !(0.0..1e9).contains(&args.checkpoint_every) {
        let given = exact(args.checkpoint_every);
        return Err(
            format!("--checkpoint-every {given}: give seconds, or 0 for no checkpoints").into(),
        );
    }
    let gain = args.min_gain;
    if !(0.0..1.0).contains(&gain) {
        return Err(format!("--min-gain {}: give a share, from 0 to 1", exact(gain)).into());
    }
    if gain > 0.0 && args.choices.options.passes.unwrap_or(1) < 2 {
        return Err(format!(
            "--min-gain {}: one pass has none to be compared with; give more --passes",
            exact(gain)
        )
        .into());
    }
    match args.over {
        Some(Transport::Processes) => processes::check(args),
        _ if args.float32 => Err(transport::IN_ONE_PROCESS.into()),
        None if args.masks.is_some() => Err(transport::NO_MASKS.into()),
        _ => Ok(()),
    }
}

/// Whether all that is written has a place of its own. What is resumed may be gone on with in its own place.
fn check_places(args: &Args) -> Result<()> {
    let checkpoint = checkpoint(&args.output);
    check_place(&args.output)?;
    check_place(&checkpoint)?;
    check_checkpoint(&checkpoint)?;
    let page = page_place(args.report.as_ref());
    let outputs = [&args.output, &checkpoint].into_iter().chain(&page);
    check_apart(
        outputs,
        std::iter::once(&args.data)
            .chain(&args.choices.config)
            .chain(&args.dictionary),
    )?;
    check_model_place(&args.output, args.force)?;
    if let Some(dir) = &args.report {
        Folder::check(dir)?;
    }
    Ok(())
}

/// A checkpoint is written over and taken away in the end: it has to be one of ours.
fn check_checkpoint(path: &Path) -> Result<()> {
    match path.exists().then(|| Model::load(path)) {
        None | Some(Ok(_)) => Ok(()),
        Some(Err(dictmesh::Error::Model { why, .. })) => Err(format!(
            "{}: no checkpoint of dictmesh ({why}), and learning writes its checkpoints there; move it away or \
             choose another -o",
            path.display()
        ).into()),
        Some(Err(e)) => Err(say(e)),
    }
}

/// Where checkpoints go: beside the model, so that a model is never half learned.
fn checkpoint(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_os_string();
    name.push(".checkpoint");
    PathBuf::from(name)
}
