//! `dictmesh agent`: one agent of a mesh whose others are elsewhere.

mod logs;

use super::{against_divergence, print, save_model, say, without_code, Ended, Result};
use crate::{interrupt, memory};
use dictmesh::accel::Accels;
use dictmesh::Stop;
use dictmesh_apps::memory::Sizes;
use dictmesh_net::agent::{Agent, Batch, Control, Event, Observer, Outcome};
use dictmesh_net::config::AgentConfig;
use dictmesh_net::host::{assembly, builder, leaving, lock, parent, sources};
use dictmesh_net::metrics::Metrics;
pub use logs::Look;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The agent's settings, as dictmesh mesh init writes them
    #[arg(value_name = "AGENT_TOML")]
    pub settings: PathBuf,
    /// Print the number and the score of each sample, its cost to the whole mesh: higher is more
    /// novel
    #[arg(long, conflicts_with = "events")]
    pub score: bool,
    /// The format of log lines
    #[arg(long, value_name = "LOOK", default_value = "text")]
    pub log: Look,
    #[arg(from_global)]
    pub verbose: u8,
    #[arg(from_global)]
    pub quiet: bool,
    /// Print events as JSON, one object a line
    #[arg(long)]
    pub events: bool,
    /// Speed-ups: all, none, or names separated by commas; of these, lanes applies to one agent. Results agree up to
    /// rounding
    #[arg(long, value_name = "LIST", value_parser = Accels::parse, default_value = "all")]
    pub accel: Accels,
    /// End when the process with this number ends, which started this one
    #[arg(long, value_name = "PID", hide = true)]
    pub parent: Option<u32>,
}

pub fn run(args: Args) -> Result<Ended> {
    logs::start(args.log, args.quiet, args.verbose, args.events)?;
    let done = work(&args);
    if let (Err(failure), true) = (&done, args.events) {
        let line = json!({"event": "failed", "code": failure.code, "message": failure.message});
        tell(&format!("{line}\n"));
    }
    match (done, args.log) {
        // Programs that read the log read its last word too.
        (Err(message), Look::Json) => {
            tracing::error!("{message}");
            Ok(Ended::Failed)
        }
        (done, _) => done,
    }
}

fn work(args: &Args) -> Result<Ended> {
    let config = AgentConfig::load(&args.settings).map_err(say)?;
    check_score(args, &config)?;
    let control = Control {
        interrupt: interrupt::gently(),
        ..Control::default()
    };
    if let Some(parent) = args.parent {
        parent::follow(parent, || std::process::exit(interrupt::INTERRUPTED.into()))?;
    }
    let _lock = lock::take(&config.state)?;
    leaving::check(&config.state, &config.name)?;
    leaving::watch(&config.state, &control.leave)?;
    let start = builder::start(&config)?;
    let (mut agent, told) = begin(args, &config, start.as_ref(), control)?;
    let outcome = agent.run().map_err(say)?;
    if args.events {
        let written = told.metrics.take_written();
        let line = json!({"event": "ended", "agent": config.id, "written": written});
        tell(&format!("{line}\n"));
    }
    let how = match outcome {
        Outcome::Diverged => agent.diverged(),
        _ => ending(outcome),
    };
    tracing::info!(samples = agent.position(), "ended: {how}");
    match outcome {
        Outcome::Ended | Outcome::Left => {
            let used = &agent.atom_stats().samples;
            let unused = !used.is_empty() && used.iter().all(|samples| *samples == 0);
            if unused && agent.position() > 0 {
                tracing::warn!(
                    "no atom of this agent was used for any sample: they are as they were drawn"
                );
            }
            let model = builder::own_model(&config, start.as_ref(), &agent);
            if let Some(path) = &config.output {
                save_model(&model, path)?;
                keep_private(path)?;
                tracing::info!("atoms: {}", path.display());
            }
            if outcome == Outcome::Left {
                leaving::done(&config.state)?;
                if args.events {
                    tell(&format!(
                        "{}\n",
                        json!({"event": "left", "agent": config.id})
                    ));
                }
            }
            match told.infeasible.get() {
                // The reader of the events has it from them.
                Some((first, last)) if !args.events => Err(without_code(*first, *last).into()),
                _ => Ok(Ended::Complete),
            }
        }
        Outcome::Interrupted => {
            if let Some(taken) = sources::taken(&config)? {
                tracing::info!("{}", sources::to_go_on(taken));
            }
            Ok(Ended::Interrupted)
        }
        Outcome::Diverged => Err(format!(
            "{}; in another run of mesh init, {}",
            agent.diverged(),
            against_divergence(config.agreed.strategy.kind())
        )
        .into()),
    }
}

fn check_score(args: &Args, config: &AgentConfig) -> Result<()> {
    if !args.score || config.agreed.score {
        return Ok(());
    }
    Err(format!(
        "{}: score = false, so that the agents do not agree on what a sample costs, and --score has nothing to print; \
         leave it away, or set score = true at all agents (in mesh.toml under launch) and start them again: it \
         changes nothing that is learned",
        args.settings.display()
    ).into())
}

/// How it ended, for the log.
fn ending(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ended => "the samples have ended",
        Outcome::Interrupted => "interrupted; after a restart it continues from here",
        Outcome::Left => "it has left the mesh; the others continue without it",
        Outcome::Diverged => "dual vectors grew without bound",
    }
}

/// Atoms are for their owner's eyes.
#[cfg(unix)]
fn keep_private(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, mode)
        .map_err(|e| format!("{}: {}", path.display(), super::refusal(&e)).into())
}

/// Elsewhere a file has the permissions of its directory (docs/reference/platforms.md).
#[cfg(not(unix))]
fn keep_private(_: &Path) -> Result<()> {
    Ok(())
}

/// The agent, ready to run.
fn begin(
    args: &Args,
    config: &AgentConfig,
    start: Option<&dictmesh::Model>,
    control: Control,
) -> Result<(Agent, Told)> {
    check_memory(config)?;
    let infeasible = Arc::default();
    let mut told = None;
    let observe = |metrics: Arc<Metrics>, total: Option<u64>| -> Observer {
        let known = told.insert(Told {
            metrics,
            infeasible,
        });
        let mut teller = Teller {
            agent: config.id,
            heard: known.clone(),
            score: args.score,
            events: args.events,
            told: 0,
        };
        if args.events {
            teller.line(json!({"event": "started", "agent": config.id, "total": total}));
        }
        Box::new(move |event: &Event| teller.hear(event))
    };
    let agent = assembly::agent(config, &args.accel, start, control, observe)?;
    let told = told.ok_or("the agent has no metrics")?;
    Ok((agent, told))
}

/// Refuses what does not fit: the atoms, the boundaries kept of them, and the frames of all neighbours.
fn check_memory(config: &AgentConfig) -> Result<()> {
    let (rows, batch, atoms) = (config.agreed.rows, config.agreed.batch, config.atoms);
    let block = rows.saturating_mul(atoms).saturating_add(atoms * atoms);
    let sizes = Sizes {
        rows,
        atoms: atoms.max(1),
        agents: 1,
        batch,
        data: block.saturating_mul(KEPT).saturating_add(
            (rows.saturating_mul(batch)).saturating_mul(FRAMES * config.neighbours.len()),
        ),
        rotates: false,
    };
    memory::check(
        &sizes,
        &format!("rows = {rows}, batch = {batch}, atoms = {atoms}"),
    )
}

/// Copies of its atoms that an agent has beside those it learns: boundaries to go back to, and one being written.
const KEPT: usize = 4;
/// Frames for each neighbour: the one of this round, an early one, and what is on the way.
const FRAMES: usize = 3;

/// What is known of an agent while it runs.
#[derive(Clone)]
struct Told {
    metrics: Arc<Metrics>,
    /// The first and the last sample of the first batch that no code can meet.
    infeasible: Arc<OnceLock<(u64, u64)>>,
}

/// Tells others what happens.
struct Teller {
    agent: usize,
    heard: Told,
    score: bool,
    events: bool,
    /// Samples whose score was printed: a batch that is done again is not told again.
    told: u64,
}

impl Teller {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::Agreed(agreed) => {
                tracing::info!(
                    epoch = agreed.epoch,
                    sample = agreed.position,
                    agents = agreed.members.len(),
                    informed = agreed.informed,
                    "agreed on who is there"
                );
                if self.events {
                    self.line(json!({
                        "event": "agreed", "agent": self.agent, "epoch": agreed.epoch, "position": agreed.position,
                        "members": agreed.members,
                    }));
                }
            }
            Event::Batch(batch) => self.batch(batch),
            // The agent has logged a warning.
            Event::Visible { to } if self.events => {
                self.line(json!({"event": "visible", "agent": self.agent, "to": to}));
            }
            _ => {}
        }
    }

    fn batch(&mut self, batch: &Batch) {
        let cost = batch.cost().unwrap_or(f64::NAN);
        let samples = batch.position + batch.samples as u64;
        let residual = batch.residual.unwrap_or(f64::NAN);
        self.heard.metrics.batch(samples, cost, residual);
        let place = (batch.position, samples.saturating_sub(1));
        if batch.stop == Stop::Infeasible && self.heard.infeasible.set(place).is_ok() {
            tracing::warn!("{}", without_code(place.0, place.1));
        }
        tracing::debug!(samples, rounds = batch.rounds, cost, "batch");
        if self.events {
            self.line(json!({
                "event": "batch", "agent": self.agent, "position": batch.position, "samples": batch.samples,
                "rounds": batch.rounds, "cost": batch.cost(), "sparsity": batch.sparsity, "movement": batch.movement,
                "bytes": batch.bytes, "written": self.heard.metrics.take_written(), "stop": batch.stop.name(),
            }));
        }
        if self.score && samples > self.told {
            let scores = (batch.position..).zip(&batch.scores);
            let new = scores.filter(|(sample, _)| *sample >= self.told);
            let lines: String = new.map(|(sample, s)| format!("{sample}\t{s}\n")).collect();
            tell(&lines);
            self.told = samples;
        }
    }

    fn line(&self, value: serde_json::Value) {
        tell(&format!("{value}\n"));
    }
}

/// Prints; that nobody listens is no reason to stop learning.
fn tell(text: &str) {
    if let Err(e) = print(text) {
        tracing::warn!("{e}");
    }
}
