//! Learning by a process for each agent: the same start, samples and batches as in one process.

use super::super::launch::{blocks, write_agents, Group, Told};
use super::super::{past, say, Ended, Result};
use super::{Args, Begun, Learned};
use crate::interrupt;
use crate::terminal::Bar;
use dictmesh::mesh::Event;
use dictmesh::{Mesh, Stop, Update};
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
    if args.resume.is_some() {
        return Err(
            "--resume with --over processes: go on in one process, without --over; or over mpi"
                .into(),
        );
    }
    if args.data == Path::new("-") {
        return Err(
            "-: several processes cannot share standard input; save it to a file first".into(),
        );
    }
    let place = place(&args.output);
    match place.exists() {
        true => Err(format!(
            "{}: agents were interrupted there; go on with them by  dictmesh launch {0}/mesh.toml --collect {}  or \
             remove the directory",
            place.display(),
            args.output.display()
        )),
        false => Ok(()),
    }
}

/// Learns, and brings what the agents learned back into `begun`.
pub fn learn(begun: &mut Begun, args: &Args) -> Result<Learned> {
    let place = place(&args.output);
    let mesh = describe(begun, args)?;
    let made = fs::create_dir(&place).map_err(|e| format!("{}: {e}", place.display()));
    let done = made.and_then(|()| carry_out(begun, args, &mesh, &place));
    let keep = matches!(&done, Ok(told) if told.ended == Ended::Interrupted);
    if keep {
        let again = [
            "launch",
            &format!("{}/mesh.toml", place.display()),
            "--collect",
        ];
        eprintln!(
            "dictmesh: interrupted; the agents' checkpoints are in {0}\ngo on with: dictmesh {1} {2}",
            place.display(),
            again.join(" "),
            args.output.display()
        );
    } else {
        // What is in it is in the model, or of no use; if it cannot go, that harms nobody.
        let _ = fs::remove_dir_all(&place);
    }
    let mut learned = learned(begun, &done?);
    if learned.ended == Ended::Complete {
        let bar = Bar::new(args.speech.quiet);
        let (mesh, stop) = (&begun.state.mesh, interrupt::gently());
        let feed = begun.data.feed(mesh);
        let scored = past::of_learned(mesh, &feed, &stop, &mut |progress| bar.show(progress));
        bar.clear();
        learned.past = scored?;
    }
    Ok(learned)
}

fn carry_out(begun: &mut Begun, args: &Args, mesh: &MeshConfig, place: &Path) -> Result<Told> {
    let failed = |e: std::io::Error| format!("{}: {e}", place.display());
    fs::write(place.join("mesh.toml"), mesh.to_toml().map_err(say)?).map_err(failed)?;
    let members = write_agents(mesh, place)?;
    let start = begun.data.model(&begun.state)?;
    for (k, agent) in mesh.agents.iter().enumerate() {
        let path = place.join(&agent.name).join(START);
        start.save_agent(k, path).map_err(say)?;
    }
    let told = Group::start(members)?.run(args.speech.quiet)?;
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
    let path =
        std::path::absolute(&args.data).map_err(|e| format!("{}: {e}", args.data.display()))?;
    // Held together, so that all are different; free when the agents come.
    let ports: Vec<TcpListener> = (0..n)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(say))
        .collect::<Result<_>>()?;
    let agent = |(k, port): (usize, &TcpListener)| -> Result<AgentEntry> {
        let name = format!("agent-{k}");
        Ok(AgentEntry {
            address: port.local_addr().map_err(say)?.to_string(),
            atoms: mesh.block(k).len(),
            informed: description.informed.contains(&k),
            source: None,
            start: Some(Path::new(&name).join(START)),
            metrics: None,
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
            float32: false,
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
fn learned(begun: &Begun, told: &Told) -> Learned {
    let mut learned = Learned {
        costs: Vec::new(),
        ends: Vec::new(),
        entries: Vec::new(),
        past: Vec::new(),
        last: None,
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
