//! Learning by a process for each agent: the same start, samples and batches as in one process.

use super::super::launch::{warn, watch};
use super::super::mesh::masks::Switch;
use super::super::{calibration, command_line_with, say};
use super::super::{Code, Failure, Result, INFEASIBLE};
use super::{Args, Begun, Learned};
use crate::interrupt;
use crate::progress::Bar;
use dictmesh::mesh::Event;
use dictmesh::{Mesh, Stop};
use dictmesh_apps::learning;
use dictmesh_net::config::MeshConfig;
use dictmesh_net::host::collect;
use dictmesh_net::host::processes::{OverProcesses, RunSummary};
use std::fs;
use std::path::{Path, PathBuf};

/// Where the agents live while they learn.
pub fn place(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_os_string();
    name.push(".mesh");
    PathBuf::from(name)
}

/// Refuses what several processes cannot do.
pub fn check(args: &Args) -> Result<()> {
    if args.data == Path::new("-") {
        return Err(
            "-: several processes cannot share standard input; save it to a file first".into(),
        );
    }
    let place = place(&args.output);
    match (&args.resume, place.exists()) {
        (Some(resumed), _) if !resumed.join("mesh.toml").is_file() => Err(format!(
            "--resume {}: with --over processes give the directory MODEL.mesh that an interrupted run of it left; a \
             model or checkpoint is continued in one process, without --over",
            resumed.display()
        ).into()),
        (None, true) => Err(format!(
            "{}: agents were interrupted there; go on with them by --resume {0}, or remove the directory",
            place.display(),
        ).into()),
        _ => Ok(()),
    }
}

/// Learns, and brings what the agents learned back into `begun`.
pub fn learn(begun: &mut Begun, args: &Args) -> Result<Learned> {
    let place = (args.resume.clone()).unwrap_or_else(|| place(&args.output));
    let run = OverProcesses {
        place: &place,
        data: &args.data,
        passes: begun.passes as u64,
        part: begun.data.feed(&begun.state.mesh).part(),
        samples: begun.data.total,
        float32: args.float32,
        masks: args.masks.map(Switch::is_on),
    };
    let position = &begun.state.position;
    let mesh = match args.resume {
        Some(_) => run.again(|start| position.is_of(start))?,
        None => {
            let described = begun.model()?.description;
            run.begin(&begun.state.mesh, &described)?
        }
    };
    warn(&mesh, args.masks, args.speech.quiet);
    let mut done = carry_out(begun, args, &run, &mesh);
    if let (Err(why), None) = (&mut done, &args.resume) {
        why.message = run.keep_logs(&why.message, &mesh, &args.output);
    }
    match &done {
        Ok(told) if told.interrupted => {
            let resume = place.display().to_string();
            eprintln!(
                "dictmesh: interrupted; the agents' checkpoints are in {resume}\ngo on with: {}",
                command_line_with(&[("--resume", true)], &["--resume", &resume])
            );
        }
        // It goes when the model is saved.
        Ok(_) => {}
        // What was there before is not ours to take away because it does not work today.
        Err(_) if args.resume.is_some() => {}
        // Of no use; if it cannot go, that harms nobody.
        Err(_) => drop(fs::remove_dir_all(&place)),
    }
    let mut learned = learned(begun, &done?);
    if !learned.run.interrupted {
        let bar = Bar::new(args.speech.quiet);
        let (mesh, stop) = (&begun.state.mesh, interrupt::gently());
        let feed = begun.data.feed(mesh);
        let scored =
            calibration::of_learned(mesh, &feed, &stop, &mut |progress| bar.show(progress));
        bar.clear();
        learned.past = scored?;
    }
    Ok(learned)
}

/// Takes the agents' directories away once the model is saved; if they cannot go, that harms nobody.
pub fn clear(args: &Args) {
    let place = (args.resume.clone()).unwrap_or_else(|| place(&args.output));
    let _ = fs::remove_dir_all(place);
}

/// Runs the agents, and takes over what they learned.
fn carry_out(
    begun: &mut Begun,
    args: &Args,
    run: &OverProcesses<'_>,
    mesh: &MeshConfig,
) -> Result<RunSummary> {
    let accels = begun.state.mesh.accels().clone();
    let mut start = begun.model()?;
    let group = run.start(mesh, &start, &accels, crate::this_program)?;
    let told = watch(group, args.speech.quiet)?;
    if told.infeasible().is_some() {
        return Err(Failure::new(
            Code::Infeasible,
            format!("learning stopped: {INFEASIBLE}"),
        ));
    }
    if !told.interrupted {
        let (blocks, samples) = collect::blocks(mesh, run.place)?;
        start.blocks = blocks;
        start.description.progress.samples_learned = samples;
        start.description.progress.blocks_learned = begun.passes;
        begun.state.mesh = Mesh::from_model(&start).map_err(say)?;
        begun.state.position.learned = samples;
    }
    Ok(told)
}

/// What the agents told, as learning in one process tells it.
fn learned(begun: &Begun, told: &RunSummary) -> Learned {
    let mut run = learning::Learned {
        at_limit: told.at_limit(),
        rounds: told.rounds(),
        bytes: told.bytes(),
        interrupted: told.interrupted,
        ..learning::Learned::from(told.before.unwrap_or(0) as usize)
    };
    for (position, batch) in &told.batches {
        let cost = batch.cost.unwrap_or(f64::NAN);
        let sparsity = batch.agents.values().map(|agent| agent.0).sum();
        let movement: f64 = batch.agents.values().map(|agent| agent.1 * agent.1).sum();
        run.costs.push(cost);
        run.entries.push(sparsity);
        run.ends.push(*position as usize + batch.samples);
        run.last = Some(Event {
            samples: begun.state.mesh.progress().samples_learned,
            batch: batch.samples,
            rounds: batch.rounds,
            bytes: batch.agents.values().map(|agent| agent.2).sum(),
            stop: Stop::Converged,
            infeasible: None,
            cost,
            sparsity,
            movement: movement.sqrt(),
        });
    }
    Learned {
        run,
        past: Vec::new(),
        written: Some(told.written),
    }
}
