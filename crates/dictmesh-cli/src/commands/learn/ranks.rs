//! `learn --over mpi`: every agent a rank, with its atoms to itself.

use super::super::agent::source::FileSource;
use super::super::{check_apart, check_place, command_line_with, note, refusal, save_model, say};
use super::super::{Ended, Result};
use super::{begin, checkpoint, Args, Begun};
use crate::demo::Progress;
use crate::interrupt;
use crate::options::Options;
use crate::picture::{counted, thousands};
use crate::terminal::Bar;
use dictmesh::model::BlockData;
use dictmesh::{Update, WeightRule};
use dictmesh_net::agent::{
    Agent, AgentSettings, Batch, Control, Event, Neighbour, Outcome, Weighting,
};
use dictmesh_net::mpi::Job;
use dictmesh_net::Source;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Batches between two checkpoints of a rank.
const KEEP_EVERY: u64 = 8;
/// What is wrong at every rank is told by the first; the others wait for so long, in which it ends them.
const FIRST_SPEAKS: Duration = Duration::from_secs(1);

pub fn run(args: Args) -> Result<Ended> {
    let job = Job::begin().map_err(say)?;
    let (rank, size) = (job.rank(), job.size());
    let learned = learn(&job, args);
    if let (Err(message), true) = (&learned, size > 1) {
        if rank > 0 {
            std::thread::sleep(FIRST_SPEAKS);
        }
        eprintln!("dictmesh: rank {rank}: {message}");
        job.abort(1);
    }
    learned
}

fn learn(job: &Job, mut args: Args) -> Result<Ended> {
    refuse(&args)?;
    let rank = job.rank();
    args.choices.flags = agents(&args, job.size())?;
    let resume = args.resume.take();
    let places = Places::new(&args, rank, resume.as_deref())?;
    // For as long as the process lives: the source of samples refers to it.
    let begun: &'static Begun = Box::leak(Box::new(begin::begin(&args)?));
    let mesh = &begun.state.mesh;
    if mesh.agents() != job.size() {
        return Err(ranks(mesh.agents(), job.size()));
    }
    if rank == 0 {
        note(begun.data.raw.note(), args.speech.quiet);
    }
    places.prepare(resume.is_some(), rank)?;
    let exchange = job
        .exchange(mesh.topology().neighbours(rank))
        .map_err(say)?;
    let settings = settings(&args, begun, rank)?;
    let source = FileSource::of(begun.data.feed(mesh), &args.data, begun.passes as u64)?;
    let source = mesh
        .is_informed(rank)
        .then(|| Box::new(source) as Box<dyn Source>);
    let batches = Arc::new(Mutex::new(Vec::new()));
    let state = (args.checkpoint_every > 0.0).then_some(&*places.state);
    let words = places.last_words(job.size(), state.is_some());
    interrupt::last_words(words.clone());
    let mut agent = Agent::new(
        settings,
        Box::new(exchange),
        mesh.block(rank).atoms().clone(),
        source,
        state,
        observer(&args, begun, rank, Arc::clone(&batches)),
        Control::default(),
    )
    .map_err(say)?;
    let outcome = agent.run().map_err(|e| {
        words();
        say(e)
    })?;
    if outcome != Outcome::Ended {
        return Err(
            "learning stopped: the iterates grew without bound; give a smaller step, or leave it out for a good one"
                .into(),
        );
    }
    save(begun, &agent, rank, &places.block)?;
    // Until all have their blocks, somebody may need to go on from a checkpoint.
    job.barrier().map_err(say)?;
    places.clear();
    if rank == 0 {
        let batches = batches.lock().map(|all| all.clone()).unwrap_or_default();
        tell(&args, begun, job.size(), &batches)?;
    }
    Ok(Ended::Complete)
}

/// What does not go together with ranks.
fn refuse(args: &Args) -> Result<()> {
    if args.data == Path::new("-") {
        return Err(
            "-: mpirun gives standard input to one rank only; name a file that all ranks can read"
                .into(),
        );
    }
    if args.report.is_some() {
        return Err(
            "--report with --over mpi: a page shows all atoms, and no rank has them; leave it out"
                .into(),
        );
    }
    if args.dry_run {
        return Err("--dry-run with --over mpi: leave --over out to see what it would take".into());
    }
    check_place(&args.output)
}

fn ranks(agents: usize, size: usize) -> String {
    format!(
        "{agents} agents and {}: every agent is a rank; start mpirun -np {agents}, or choose a mesh of {size} agents",
        counted(size, "rank")
    )
}

/// As many agents as ranks.
fn agents(args: &Args, size: usize) -> Result<Options> {
    let mut options = args.choices.flags.clone();
    let said = args.choices.options()?;
    match said.agents {
        Some(agents) if agents != size => return Err(ranks(agents, size)),
        Some(_) => {}
        None if said
            .topology
            .as_deref()
            .is_some_and(|t| t.starts_with("grid")) => {}
        None => options.agents = Some(size),
    }
    Ok(options)
}

/// The files of a rank.
struct Places {
    /// Its block, in the end.
    block: PathBuf,
    /// The checkpoints of all ranks.
    checkpoint: PathBuf,
    /// Its own.
    state: PathBuf,
}

impl Places {
    fn new(args: &Args, rank: usize, resume: Option<&Path>) -> Result<Self> {
        let mut block = args.output.as_os_str().to_os_string();
        block.push(format!(".{rank}"));
        let block = PathBuf::from(block);
        check_place(&block)?;
        let checkpoint = resume.map_or_else(|| checkpoint(&args.output), Path::to_path_buf);
        check_apart(
            [&block, &checkpoint],
            std::iter::once(&args.data).chain(&args.choices.config),
        )?;
        let state = checkpoint.join(format!("agent-{rank}"));
        if checkpoint.exists() && !checkpoint.is_dir() {
            return Err(format!(
                "{}: this is a file; the ranks keep a directory of checkpoints there. Go on from it without --over, \
                 or choose another -o",
                checkpoint.display()
            ));
        }
        if resume.is_some() && !state.is_dir() {
            return Err(format!(
                "--resume {}: there is no {} in it; name the directory of checkpoints that a job of as many ranks left",
                checkpoint.display(),
                state.display()
            ));
        }
        Ok(Places {
            block,
            checkpoint,
            state,
        })
    }

    fn told(&self) -> PathBuf {
        self.checkpoint.join("told")
    }

    /// Without what an earlier job left, unless it is gone on with.
    fn prepare(&self, resumed: bool, rank: usize) -> Result<()> {
        let failed = |path: &Path, e| format!("{}: {}", path.display(), refusal(&e));
        if self.state.exists() && !resumed {
            fs::remove_dir_all(&self.state).map_err(|e| failed(&self.state, e))?;
        }
        if rank == 0 {
            let _ = fs::remove_file(self.told());
        }
        fs::create_dir_all(&self.checkpoint).map_err(|e| failed(&self.checkpoint, e))
    }

    /// What the first rank to hear of it says when the job is ended before its time.
    fn last_words(&self, size: usize, kept: bool) -> impl Fn() + Send + Sync + Clone + 'static {
        let resume = self.checkpoint.to_string_lossy().into_owned();
        let again = command_line_with(&[("--resume", true)], &["--resume", &resume]);
        let told = self.told();
        move || {
            let first = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&told);
            match (first.is_ok(), kept) {
                (false, _) => {}
                (true, true) => eprintln!(
                    "dictmesh: a rank failed, and the job ends. What was learned is in the checkpoint {resume}; to go \
                     on from it:\n  mpirun -np {size} {again}"
                ),
                (true, false) => eprintln!(
                    "dictmesh: a rank failed, and the job ends. There is no checkpoint, as --checkpoint-every 0 was given"
                ),
            }
        }
    }

    /// Takes the checkpoints away; if they cannot go, that harms nobody.
    fn clear(&self) {
        let _ = fs::remove_dir_all(&self.state);
        let _ = fs::remove_dir(&self.checkpoint);
    }
}

fn settings(args: &Args, begun: &Begun, rank: usize) -> Result<AgentSettings> {
    let mesh = &begun.state.mesh;
    let strategy = mesh.strategy().resolve(&mesh.common()).map_err(say)?;
    let (part, total) = (begun.data.feed(mesh).part(), begun.data.total);
    let block = part.min(total) as u64;
    if matches!(mesh.update_rule(), Update::Schedule { .. })
        && total > part
        && total % part > 0
        && begun.passes > 1
    {
        return Err(
            "--update schedule with several passes over so many samples: ranks count its steps otherwise than one \
             process; take --update adaptive, or one pass"
                .into(),
        );
    }
    let neighbours = mesh.topology().neighbours(rank).iter();
    let mut settings = AgentSettings {
        neighbours: neighbours
            .map(|id| Neighbour {
                id: *id,
                joins: false,
            })
            .collect(),
        stopping: mesh.stopping(),
        update: Some(mesh.update_rule()),
        batch: mesh.batch(),
        block: Some(block),
        weighting: match mesh.weight_rule() {
            WeightRule::Metropolis => Weighting::Metropolis,
            WeightRule::Uniform => Weighting::Uniform,
            _ => Weighting::Given(mesh.weights().column(rank).to_vec()),
        },
        score: !args.speech.quiet,
        checkpoint_every: KEEP_EVERY,
        ..AgentSettings::new(rank, mesh.task().spec(), strategy, mesh.rows())
    };
    // A checkpoint of other data or other choices must not be gone on with. The description of the mesh has them all.
    let described = begun.data.model(&begun.state)?.description;
    let described = serde_json::to_string(&described).map_err(say)?;
    let run = format!("{described} {}", begun.passes);
    settings.run = format!("learn {:08x}", crc32fast::hash(run.as_bytes()));
    Ok(settings)
}

/// Shows how far it is, at the first rank, and keeps what it hears.
fn observer(
    args: &Args,
    begun: &'static Begun,
    rank: usize,
    batches: Arc<Mutex<Vec<Batch>>>,
) -> dictmesh_net::agent::Observer {
    let bar = Bar::new(args.speech.quiet || rank > 0);
    let total = begun.passes * begun.data.total;
    Box::new(move |event| {
        let Event::Batch(batch) = event else { return };
        let done = batch.position as usize + batch.samples;
        bar.show(Progress {
            phase: "learning",
            done,
            total,
            cost: batch.cost(),
        });
        if done == total {
            bar.clear();
        }
        if let Ok(mut batches) = batches.lock() {
            batches.push(batch.clone());
        }
    })
}

/// The rank's own block, with the description that all have.
fn save(begun: &Begun, agent: &Agent, rank: usize, path: &Path) -> Result<()> {
    let mut model = begun.data.model(&begun.state)?;
    let used = agent.atom_use();
    model.description.progress.samples_learned = agent.position();
    model.blocks = vec![BlockData {
        agent: rank,
        atoms: agent.block().atoms().clone(),
        energy: used.energy.clone(),
        samples: used.samples.clone(),
    }];
    save_model(&model, path)
}

fn tell(args: &Args, begun: &Begun, size: usize, batches: &[Batch]) -> Result<()> {
    let costs: Vec<f64> = batches.iter().filter_map(Batch::cost).collect();
    let (first, last) = (costs.first().copied(), costs.last().copied());
    let rounds: usize = batches.iter().map(|b| b.rounds).sum();
    let samples = begun.passes * begun.data.total;
    let blocks: Vec<String> = (0..size)
        .map(|k| format!("{}.{k}", args.output.display()))
        .collect();
    let json = json!({
        "samples": samples, "batches": batches.len(), "rounds": rounds, "agents": size,
        "atoms": begun.state.mesh.atoms(), "first_cost": first, "last_cost": last, "blocks": blocks,
    });
    args.speech.tell(json, || {
        let cost = match (first, last) {
            (Some(first), Some(last)) => {
                format!("mean cost {first:.4} in the first batch, {last:.4} in the last\n")
            }
            _ => String::new(),
        };
        format!(
            "learned {} at {}, {} rounds in all\n{cost}every rank wrote its own block: {}\n",
            counted(samples, "sample"),
            counted(size, "rank"),
            thousands(rounds as u64),
            match &blocks[..] {
                [only] => only.clone(),
                [first, .., last] => format!("{first} to {last}"),
                [] => String::new(),
            }
        )
    })
}
