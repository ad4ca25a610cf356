//! `dictmesh launch`: a whole mesh on this machine, one process for each agent.

use super::mesh::masks::Switch;
use super::{
    check_model_place, command_line_with, note, save_model, say, without_code, Ended, Result,
    Speech,
};
use crate::interrupt;
use crate::progress::{Bar, Progress};
use crate::render::Reply;
use dictmesh::accel::Accels;
use dictmesh::mesh::Stopping;
use dictmesh::model::BlockData;
use dictmesh_net::config::MeshConfig;
use dictmesh_net::host::files::mesh_file;
use dictmesh_net::host::processes::{
    left_to_feed, write_agents, Group, Member, Notice, RunSummary,
};
use dictmesh_net::host::{collect, exposure};
use dictmesh_report::numbers::{bytes, counted};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The mesh, as dictmesh mesh init writes it
    pub mesh: PathBuf,
    /// Join the atoms of all agents into this model at the end
    #[arg(long, value_name = "MODEL")]
    pub collect: Option<PathBuf>,
    /// Write every agent.toml from the mesh's file, even if it was changed by hand
    #[arg(long)]
    pub overwrite: bool,
    /// Speed-ups: all, none, or names separated by commas; of these, lanes applies to single agents. Results are
    /// bit-identical; over MPI, neighbour-sums agree up to rounding
    #[arg(long, value_name = "LIST", value_parser = Accels::parse, default_value = "all")]
    pub accel: Accels,
    /// Whether masks hide each agent's part of a sum from the others; written into the mesh's file
    /// [default: as in that file]
    #[arg(long, value_name = "SWITCH")]
    pub masks: Option<Switch>,
    /// Replace an output file that dictmesh did not write
    #[arg(long, help_heading = "Output")]
    pub force: bool,
    #[command(flatten)]
    pub speech: Speech,
}

/// What the agents of a mesh learned.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Launched {
    /// The number of agents.
    agents: usize,
    /// The number of samples that all agents have learned, in all launches.
    samples: u64,
    /// Those of them learned before this launch.
    samples_before: u64,
    /// The number of batches of this launch.
    batches: usize,
    /// Batches that ended at the limit of rounds.
    batches_at_limit: usize,
    /// Rounds of all batches.
    rounds: usize,
    /// Bytes of the frames between agents.
    bytes: u64,
    /// Bytes written to sockets, with framing.
    bytes_written: u64,
    /// The mean cost of a sample in the first batch.
    cost_first: Option<f64>,
    /// The mean cost of a sample in the last batch.
    cost_last: Option<f64>,
    /// How often a killed agent was started again.
    restarts: usize,
    /// Whether a signal ended the run.
    interrupted: bool,
    /// Whether the run had ended before this launch.
    ended_before: bool,
    /// The model of all agents' atoms, with --collect.
    model: Option<String>,
    /// The command that continues an interrupted run.
    resume: Option<String>,
    /// What standard input must continue with.
    feed: Option<String>,
}

impl Reply for Launched {
    const COMMAND: &'static str = "launch";
}

pub fn run(args: &Args) -> Result<Ended> {
    if let Some(path) = &args.collect {
        check_model_place(path, args.force)?;
    }
    let mut mesh = MeshConfig::load(&args.mesh).map_err(say)?;
    let masked = args.masks.map_or(mesh.agreed.masks, Switch::is_on);
    let is_changed = std::mem::replace(&mut mesh.agreed.masks, masked) != masked;
    let place = match args.mesh.parent() {
        _ if args.mesh.is_dir() => &args.mesh,
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let members = write_agents(&mesh, place, args.overwrite, &args.accel)?;
    if is_changed {
        mesh_file(&mesh, place)?;
    }
    warn(&mesh, args.masks, args.speech.quiet);
    let reader = members.iter().find(|member| member.reads);
    let reader = reader.map(|member| member.config.clone());
    let ended_before = members.iter().all(Member::has_ended);
    let told = watch(
        Group::start(members, crate::this_program)?,
        args.speech.quiet,
    )?;
    if let Some((first, last)) = told.infeasible() {
        return Err(without_code(first, last).into());
    }
    let ended = match told.interrupted {
        true => Ended::Interrupted,
        false => Ended::Complete,
    };
    if let (Some(path), false) = (&args.collect, told.interrupted) {
        let (model, unused) = collect::model(&mesh, place)?;
        note(unused.as_deref(), args.speech.quiet);
        save_model(&model, path)?;
    }
    // Nobody had anything to do: what they learned before is in their files.
    if told.batches.is_empty() && !told.interrupted {
        if let Ok((there, samples)) = collect::blocks(&mesh, place) {
            tell_of_before(args, &there, samples, ended_before)?;
            return Ok(ended);
        }
    }
    let feed = reader.map(|config| left_to_feed(&config));
    tell(args, &mesh, &told, feed)?;
    Ok(ended)
}

/// Says what the masks of a mesh do not hide.
pub fn warn(mesh: &MeshConfig, given: Option<Switch>, quiet: bool) {
    let useless = exposure::of_no_use(mesh, given.map(Switch::is_on));
    let warnings = exposure::warnings(mesh).into_iter().chain(useless);
    for warning in warnings.filter(|_| !quiet) {
        eprintln!("dictmesh: warning: {warning}");
    }
}

/// Watches agents until all have ended. Ctrl-C asks them to.
pub fn watch(group: Group, quiet: bool) -> Result<RunSummary> {
    let bar = Bar::new(quiet);
    let ended = group.run(&interrupt::gently(), &mut |notice| match notice {
        Notice::Progress {
            samples,
            total,
            cost,
        } => {
            let (phase, done) = ("learning", samples as usize);
            match total.map(|total| total as usize) {
                Some(total) => bar.show(Progress {
                    phase,
                    done,
                    total,
                    cost,
                }),
                None => bar.count(phase, done, cost),
            }
        }
        Notice::Restarted { agent, status } => bar.above(&format!(
            "{agent}: it was killed ({status}) and is started again"
        )),
        _ if quiet => {}
        Notice::Warning { agent, message } => bar.above(&format!("{agent}: {message}")),
        Notice::Finishing => {
            bar.above("the batch under way is finished first; asked once more, it ends at once");
        }
    });
    bar.clear();
    Ok(ended?)
}

/// What is said where no batch was done: the run had come to its end before, or the samples ended at once.
fn tell_of_before(
    args: &Args,
    there: &[BlockData],
    samples: u64,
    ended_before: bool,
) -> Result<()> {
    let model = args.collect.as_ref().map(|path| path.display().to_string());
    let result = Launched {
        agents: there.len(),
        samples,
        samples_before: samples,
        ended_before,
        model: model.clone(),
        ..Launched::default()
    };
    let (agents, learned) = (
        counted(there.len(), "agent"),
        counted(samples as usize, "sample"),
    );
    args.speech.reply(&result, || match (ended_before, samples) {
        (true, _) => {
            let model = model.map_or(String::new(), |model| format!("model: {model}\n"));
            format!(
                "this run had ended before: {agents} learned {learned}, and nothing was left to do; to begin it anew, \
                 remove state and {} of every agent\n{model}",
                MeshConfig::ATOMS,
            )
        }
        (false, 0) => format!(
            "no sample came before the samples ended: nothing was learned, and the atoms of {agents} are the first ones; \
             launched again with samples, they learn them\n{}",
            where_atoms_are(model)
        ),
        (false, _) => format!(
            "the samples ended, and nothing new was learned: {agents} had learned {learned} before\n{}",
            where_atoms_are(model)
        ),
    })
}

fn where_atoms_are(model: Option<String>) -> String {
    match model {
        Some(model) => format!("model: {model}\n"),
        None => format!(
            "each agent's atoms: {} in its directory; --collect MODEL puts them together\n",
            MeshConfig::ATOMS
        ),
    }
}

/// What is said of batches that did not come to the tolerance.
pub fn not_met(stopping: Stopping, batches: usize) -> String {
    match stopping.tolerance {
        None if batches > 0 => format!(
            "{batches} of these batches ended at the limit of {}, without a tolerance: their costs and \
             codes may not be those of the problem; allow more rounds, or give --tolerance\n",
            counted(stopping.rounds, "round"),
        ),
        Some(tolerance) if batches > 0 => format!(
            "the tolerance {tolerance:e} was not met within {} in {batches} of these batches: their costs and codes are \
             not those of the problem; allow more rounds, or a larger tolerance\n",
            counted(stopping.rounds, "round"),
        ),
        _ => String::new(),
    }
}

/// What is said of the samples and what they cost.
fn learned(agents: usize, told: &RunSummary) -> String {
    let samples = told.samples();
    let now = match told.before.unwrap_or(0) {
        0 => String::new(),
        before => format!(", {} of them now,", samples.saturating_sub(before)),
    };
    let mut text = format!(
        "{} learned {}{now} in {} and {}; {} went over the links, {} with framing\n",
        counted(agents, "agent"),
        counted(samples as usize, "sample"),
        match told.batches.len() {
            1 => "1 batch".to_string(),
            n => format!("{n} batches"),
        },
        counted(told.rounds(), "round"),
        bytes(told.bytes()),
        bytes(told.written),
    );
    if let (Some(first), Some(last)) = told.costs() {
        text += &format!(
            "cost of a sample: {first:.6} in the first batch{}, {last:.6} in the last\n",
            if told.before > Some(0) { " now" } else { "" },
        );
    }
    text
}

/// What is said in the end; `feed` is what standard input must go on with.
fn tell(args: &Args, mesh: &MeshConfig, told: &RunSummary, feed: Option<String>) -> Result<()> {
    let interrupted = told.interrupted;
    let feed = feed.filter(|_| interrupted);
    let (first, last) = told.costs();
    // Once is enough: later changes by hand are others.
    let again = command_line_with(&[("--overwrite", false)], &[]);
    // Interrupted before they had agreed, they are those of the mesh.
    let agents = match told.agents() {
        0 => mesh.agents.len(),
        there => there,
    };
    let collected = args.collect.as_ref().filter(|_| !interrupted);
    let result = Launched {
        agents,
        samples: told.samples(),
        samples_before: told.before.unwrap_or(0),
        batches: told.batches.len(),
        batches_at_limit: told.at_limit(),
        rounds: told.rounds(),
        bytes: told.bytes(),
        bytes_written: told.written,
        cost_first: first,
        cost_last: last,
        restarts: told.restarts,
        interrupted,
        ended_before: false,
        model: collected.map(|path| path.display().to_string()),
        resume: interrupted.then(|| again.clone()),
        feed: feed.clone(),
    };
    args.speech.reply(&result, || {
        let mut text = learned(agents, told);
        text += &not_met(mesh.agreed.stopping, told.at_limit());
        if told.restarts > 0 {
            text += &format!("restarts of killed agents: {}\n", told.restarts);
        }
        text += &match (interrupted, collected) {
            (true, _) => {
                let feed = feed.map_or(String::new(), |feed| {
                    format!("the agent that reads: {feed}\n")
                });
                format!("interrupted; every agent has a checkpoint\n{feed}go on with: {again}\n")
            }
            (false, path) => where_atoms_are(path.map(|path| path.display().to_string())),
        };
        text
    })
}
