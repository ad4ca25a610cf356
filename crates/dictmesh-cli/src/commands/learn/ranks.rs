//! `learn --over mpi`: every agent a rank, with its atoms to itself.

mod output_paths;

use super::super::{against_divergence, check_place, load_model, note, save_model, say};
use super::super::{Code, Ended, Failure, Result, INFEASIBLE};
use super::reply::RanksReply;
use super::{start, Args, Begun};
use crate::interrupt;
use crate::options::Options;
use crate::progress::Bar;
use crate::progress::Progress;
use dictmesh::model::BlockData;
use dictmesh::{Stop, Update};
use dictmesh_net::agent::{Agent, AgentSettings, Batch, Control, Event, Outcome};
use dictmesh_net::host::sources::FileSource;
use dictmesh_net::mpi::Job;
use dictmesh_net::Source;
use dictmesh_report::numbers::{counted, thousands};
use output_paths::OutputPaths;
use std::path::Path;
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
    args.choices.options = agents(&args, job.size())?;
    let resume = args.resume.take();
    let places = OutputPaths::new(&args, rank, resume.as_deref())?;
    // For as long as the process lives: the source of samples refers to it.
    let begun: &'static Begun = Box::leak(Box::new(start::begin(&args)?));
    let mesh = &begun.state.mesh;
    if mesh.agents() != job.size() {
        return Err(ranks(mesh.agents(), job.size()).into());
    }
    if rank == 0 {
        note(begun.data.raw.note(), args.speech.quiet);
    }
    if resume.is_some() {
        // Checkpoints go when all have their blocks: where one has gone, all blocks are there.
        let gone = if places.state.is_dir() { 0.0 } else { 1.0 };
        if job.most(gone).map_err(say)? > 0.0 {
            return through(&args, begun, job, &places);
        }
    }
    places.prepare(resume.is_some(), rank)?;
    let (agent, batches) = run_agent(&args, begun, job, &places)?;
    save(begun, &agent, rank, &places.block)?;
    // Until all have their blocks, somebody may need to go on from a checkpoint.
    job.barrier().map_err(say)?;
    places.clear();
    if rank == 0 {
        tell(&args, begun, job.size(), &batches)?;
    }
    Ok(Ended::Complete)
}

/// The agent of this rank through all samples, and the batches it has seen.
fn run_agent(
    args: &Args,
    begun: &'static Begun,
    job: &Job,
    places: &OutputPaths,
) -> Result<(Agent, Vec<Batch>)> {
    let (mesh, rank) = (&begun.state.mesh, job.rank());
    let exchange = job
        .exchange(mesh.topology().neighbours(rank))
        .map_err(say)?;
    let settings = settings(args, begun, rank)?;
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
        observer(args, begun, rank, Arc::clone(&batches)),
        Control::default(),
    )
    .map_err(say)?;
    let outcome = agent.run().map_err(|e| {
        words();
        say(e)
    })?;
    if outcome != Outcome::Ended {
        return Err(format!(
            "learning stopped: {}; {}",
            agent.diverged(),
            against_divergence(&mesh.strategy().name())
        )
        .into());
    }
    let batches = batches.lock().map(|all| all.clone()).unwrap_or_default();
    if batches.iter().any(|batch| batch.stop == Stop::Infeasible) {
        return Err(Failure::new(
            Code::Infeasible,
            format!("learning stopped: {INFEASIBLE}"),
        ));
    }
    Ok((agent, batches))
}

/// A job that was ended when every rank had written its block: there is nothing left to do.
fn through(args: &Args, begun: &Begun, job: &Job, places: &OutputPaths) -> Result<Ended> {
    let all = (begun.passes * begun.data.total) as u64;
    let model = load_model(&places.block)?;
    // It may be of an older job.
    start::same_choices(&places.block, &model, &args.choices.options)?;
    let seen = model.description.progress.samples_learned;
    if seen != all {
        return Err(format!(
            "{}: this block has learned {seen} samples of {all}, and some rank has no checkpoint to go on from; learn \
             anew without --resume",
            places.block.display()
        ).into());
    }
    job.barrier().map_err(say)?;
    places.clear();
    if job.rank() == 0 {
        tell(args, begun, job.size(), &[])?;
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
    if args.float32 {
        return Err(
            "--float32 with --over mpi: ranks send double precision; leave it out, or take --over processes"
                .into(),
        );
    }
    if args.masks.is_some() {
        return Err(
            "--masks with --over mpi: the ranks are one job, and their sums have no masks; leave it \
             out, or take --over processes"
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
    let mut options = args.choices.options.clone();
    let said = args.choices.options.clone();
    match said.agents {
        Some(agents) if agents != size => return Err(ranks(agents, size).into()),
        Some(_) => {}
        None if said
            .topology
            .as_deref()
            .is_some_and(|t| t.starts_with("grid")) => {}
        None => options.agents = Some(size),
    }
    Ok(options)
}

fn settings(args: &Args, begun: &Begun, rank: usize) -> Result<AgentSettings> {
    let mesh = &begun.state.mesh;
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
    let mut settings = AgentSettings {
        block: Some(block),
        score: !args.speech.quiet,
        checkpoint_every: KEEP_EVERY,
        ..AgentSettings::of_mesh(mesh, rank).map_err(say)?
    };
    // A checkpoint of other data or other choices must not be gone on with. The description of the mesh has them all.
    let described = begun.model()?.description;
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
    let mut model = begun.model()?;
    let used = agent.atom_stats();
    model.description.progress.samples_learned = agent.position();
    model.description.progress.penalty = agent.penalty();
    model.blocks = vec![BlockData {
        agent: rank,
        atoms: agent.block().shared_atoms(),
        energy: used.energy.clone(),
        samples: used.samples.clone(),
    }];
    save_model(&model, path)
}

fn tell(args: &Args, begun: &Begun, size: usize, batches: &[Batch]) -> Result<()> {
    let costs: Vec<f64> = batches.iter().filter_map(Batch::cost).collect();
    let (first, last) = (costs.first().copied(), costs.last().copied());
    let before = batches.first().map_or(0, |b| b.position);
    let rounds: usize = batches.iter().map(|b| b.rounds).sum();
    let bytes: u64 = batches.iter().map(|b| b.bytes).sum();
    let samples = begun.passes * begun.data.total;
    let blocks: Vec<String> = (0..size)
        .map(|k| format!("{}.{k}", args.output.display()))
        .collect();
    let learned = RanksReply {
        samples,
        samples_before: before,
        batches: batches.len(),
        rounds,
        bytes,
        agents: size,
        atoms: begun.state.mesh.atoms(),
        cost_first: first,
        cost_last: last,
        blocks: blocks.clone(),
    };
    args.speech.reply(&learned, || {
        let cost = match (first, last) {
            (Some(first), Some(last)) => {
                let now = if before > 0 { " now" } else { "" };
                format!("mean cost {first:.4} in the first batch{now}, {last:.4} in the last\n")
            }
            _ => String::new(),
        };
        let rounds = match rounds {
            0 => "all of it before this job".to_string(),
            rounds if before > 0 => format!(
                "of which {before} before this job, {} rounds now",
                thousands(rounds as u64)
            ),
            rounds => format!("{} rounds in all", thousands(rounds as u64)),
        };
        format!(
            "learned {} at {}, {rounds}\n{cost}every rank wrote its own block: {}\n",
            counted(samples, "sample"),
            counted(size, "rank"),
            match &blocks[..] {
                [only] => only.clone(),
                [first, .., last] => format!("{first} to {last}"),
                [] => String::new(),
            }
        )
    })
}
