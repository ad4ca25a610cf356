//! Learning by a process for each agent: the same start, samples and batches as in one process.

use super::super::launch::{blocks, write_agents, Group, RunSummary, LOG};
use super::super::mesh::masks::{self, Switch};
use super::super::{calibration, command_line_with, load_model, say};
use super::super::{Code, Ended, Failure, Result, INFEASIBLE};
use super::{Args, Begun, Learned};
use crate::interrupt;
use crate::progress::Bar;
use dictmesh::mesh::Event;
use dictmesh::{Mesh, Model, Stop, Update};
use dictmesh_net::config::{AgentEntry, Agreed, MeshConfig, Policy, SourceConfig};
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
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

/// The start of a run that was interrupted in this directory, and its passes.
pub fn begun(place: &Path, passes: Option<usize>) -> Result<(Model, usize)> {
    let mesh = MeshConfig::load(&place.join("mesh.toml")).map_err(say)?;
    let by_learn = |agent: &AgentEntry| place.join(&agent.name).join(START).exists();
    let source = (mesh.source.as_ref()).filter(|_| mesh.agents.iter().all(by_learn));
    let Some(SourceConfig::File { passes: was, .. }) = source else {
        return Err(format!(
            "--resume {}: it was not begun by learn; go on with it by dictmesh launch {0}/mesh.toml",
            place.display()
        ).into());
    };
    let was = *was as usize;
    if let Some(given) = passes.filter(|given| *given != was) {
        return Err(format!(
            "--passes {given}: {} was begun with --passes {was}, which its agents go by; give the same, or leave it out",
            place.display()
        ).into());
    }
    let part = |agent: &AgentEntry| load_model(&place.join(&agent.name).join(START));
    let parts: Vec<Model> = mesh.agents.iter().map(part).collect::<Result<_>>()?;
    Ok((Model::join(parts).map_err(say)?, was))
}

/// Learns, and brings what the agents learned back into `begun`.
pub fn learn(begun: &mut Begun, args: &Args) -> Result<Learned> {
    let place = (args.resume.clone()).unwrap_or_else(|| place(&args.output));
    let mesh = match args.resume {
        Some(_) => again(begun, args, &place)?,
        None => {
            let mesh = describe(begun, args)?;
            fs::create_dir(&place).map_err(|e| format!("{}: {e}", place.display()))?;
            mesh
        }
    };
    let useless = masks::of_no_use(&mesh, args.masks);
    let warnings = masks::warnings(&mesh).into_iter().chain(useless);
    for warning in warnings.filter(|_| !args.speech.quiet) {
        eprintln!("dictmesh: warning: {warning}");
    }
    let mut done = carry_out(begun, args, &mesh, &place);
    if let (Err(why), None) = (&mut done, &args.resume) {
        why.message = keep_logs(&why.message, &mesh, &place, &args.output);
    }
    match &done {
        Ok(told) if told.ended == Ended::Interrupted => {
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
    if learned.ended == Ended::Complete {
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

/// Copies the logs that a message names out of the directory of the agents, which is removed, to
/// files beside the model. Returns the message with their names.
fn keep_logs(why: &str, mesh: &MeshConfig, place: &Path, output: &Path) -> String {
    let mut said = why.to_string();
    for agent in &mesh.agents {
        let log = place.join(&agent.name).join(LOG);
        let shown = log.display().to_string();
        let mut kept = output.as_os_str().to_os_string();
        kept.push(format!(".{}.log", agent.name));
        if said.contains(&shown) && fs::copy(&log, &kept).is_ok() {
            said = said.replace(&shown, &PathBuf::from(kept).display().to_string());
        }
    }
    said
}

/// Takes the agents' directories away once the model is saved; if they cannot go, that harms nobody.
pub fn clear(args: &Args) {
    let place = (args.resume.clone()).unwrap_or_else(|| place(&args.output));
    let _ = fs::remove_dir_all(place);
}

fn carry_out(
    begun: &mut Begun,
    args: &Args,
    mesh: &MeshConfig,
    place: &Path,
) -> Result<RunSummary> {
    let failed = |e: std::io::Error| format!("{}: {e}", place.display());
    fs::write(place.join("mesh.toml"), mesh.to_toml().map_err(say)?).map_err(failed)?;
    // Their addresses are others each time, and the directory is no place for people.
    let members = write_agents(mesh, place, true, begun.state.mesh.accels())?;
    let start = begun.data.model(&begun.state)?;
    for (k, agent) in mesh.agents.iter().enumerate() {
        let path = place.join(&agent.name).join(START);
        if !path.exists() {
            start.save_agent(k, path).map_err(say)?;
        }
    }
    let told = Group::start(members)?.run(args.speech.quiet)?;
    if told.infeasible().is_some() {
        return Err(Failure::new(
            Code::Infeasible,
            format!("learning stopped: {INFEASIBLE}"),
        ));
    }
    if told.ended == Ended::Complete {
        let (blocks, samples) = blocks(mesh, place)?;
        let mut model = start;
        model.blocks = blocks;
        model.description.progress.samples_learned = samples;
        model.description.progress.blocks_learned = begun.passes;
        begun.state.mesh = Mesh::from_model(&model).map_err(say)?;
        begun.state.position.learned = samples;
    }
    Ok(told)
}

/// The mesh of an interrupted run, at addresses that are free now.
fn again(begun: &Begun, args: &Args, place: &Path) -> Result<MeshConfig> {
    let mut mesh = MeshConfig::load(&place.join("mesh.toml")).map_err(say)?;
    let data = absolute(&args.data)?;
    match &mesh.source {
        Some(SourceConfig::File { path, .. }) if *path != data => {
            return Err(format!(
                "{}: its agents learn from {}; give that, or begin anew without --resume",
                place.display(),
                path.display()
            )
            .into());
        }
        _ => {}
    }
    if !begun
        .state
        .position
        .is_of(&load_model(&place.join(&mesh.agents[0].name).join(START))?)
    {
        return Err(format!(
            "{}: the data have changed since {} was begun; give them as they were, or begin anew without --resume",
            data.display(),
            place.display()
        ).into());
    }
    if mesh.agreed.float32 != args.float32 {
        return Err(match args.float32 {
            true => format!(
                "--float32: the agents of {} send double precision, and go on so; leave it out",
                place.display()
            ),
            false => format!(
                "{}: it was begun with --float32; give it again",
                place.display()
            ),
        }
        .into());
    }
    // What is learned does not depend on them.
    mesh.agreed.masks = args.masks.map_or(mesh.agreed.masks, Switch::is_on);
    let ports = ports(mesh.agents.len())?;
    for (agent, port) in mesh.agents.iter_mut().zip(&ports) {
        agent.address = port.local_addr().map_err(say)?.to_string();
    }
    Ok(mesh)
}

/// Ports of this machine, held together so that all are different; they are free when the agents come.
fn ports(count: usize) -> Result<Vec<TcpListener>> {
    let port = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(say);
    (0..count).map(port).collect()
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| format!("{}: {e}", path.display()).into())
}

/// An agent's first atoms, in its directory.
const START: &str = "start.safetensors";

/// The mesh of `begun` as processes on this machine.
fn describe(begun: &Begun, args: &Args) -> Result<MeshConfig> {
    let mesh = &begun.state.mesh;
    let description = begun.data.model(&begun.state)?.description;
    let (n, feed) = (mesh.agents(), begun.data.feed(mesh));
    let (part, total) = (feed.part() as u64, begun.data.total as u64);
    if matches!(description.update, Update::Schedule { .. }) && begun.passes > 1 && total > part {
        return Err(
            "--update schedule counts blocks, which end with each pass in the middle of a part: with --over processes \
             give one pass, or another update"
                .into(),
        );
    }
    let (path, ports) = (absolute(&args.data)?, ports(n)?);
    let agent = |(k, port): (usize, &TcpListener)| -> Result<AgentEntry> {
        let name = format!("agent-{k}");
        Ok(AgentEntry {
            address: port.local_addr().map_err(say)?.to_string(),
            listen: None,
            atoms: mesh.block(k).len(),
            informed: description.informed.contains(&k),
            source: None,
            start: Some(Path::new(&name).join(START)),
            metrics: None,
            joins: false,
            name,
        })
    };
    let config = MeshConfig {
        run: format!("learn-{}", std::process::id()),
        seed: description.seed,
        policy: Policy::Wait,
        deadline: 10.0,
        tls: false,
        plain_text: false,
        edges: description.edges.clone(),
        source: Some(SourceConfig::File {
            path,
            passes: begun.passes as u64,
        }),
        agreed: Agreed {
            rows: description.rows,
            batch: description.batch,
            block: Some(part.min(total).max(1)),
            weights: description.weights.clone(),
            score: true,
            float32: args.float32,
            masks: args.masks.is_none_or(Switch::is_on),
            task: description.task.clone(),
            strategy: description.strategy.clone(),
            stopping: description.stopping,
            update: description.update,
        },
        agents: ports.iter().enumerate().map(agent).collect::<Result<_>>()?,
    };
    config.completed().map_err(say)
}

/// What the agents told, as learning in one process tells it.
fn learned(begun: &Begun, told: &RunSummary) -> Learned {
    let mut learned = Learned {
        costs: Vec::new(),
        from: told.before.unwrap_or(0) as usize,
        ends: Vec::new(),
        entries: Vec::new(),
        past: Vec::new(),
        last: None,
        at_limit: told.at_limit(),
        rounds: told.rounds(),
        bytes: told.bytes(),
        written: Some(told.written),
        ended: told.ended,
    };
    for (position, batch) in &told.batches {
        let cost = batch.cost.unwrap_or(f64::NAN);
        let sparsity = batch.agents.values().map(|agent| agent.0).sum();
        let movement: f64 = batch.agents.values().map(|agent| agent.1 * agent.1).sum();
        learned.costs.push(cost);
        learned.entries.push(sparsity);
        learned.ends.push(*position as usize + batch.samples);
        learned.last = Some(Event {
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
    learned
}
