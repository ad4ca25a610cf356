//! An agent, ready to run.

use super::{builder, sources, Result};
use crate::agent::{Agent, Control, Observer};
use crate::config::AgentConfig;
use crate::metrics::{Metered, Metrics};
use crate::words::listed;
use crate::{Rounds, RoundsOptions};
use dictmesh::accel::Accels;
use dictmesh::Model;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The agent that the settings describe, which listens and serves its metrics. `start` is the model with its first atoms.
/// `observe` gets its metrics and the number of its samples, if that is known, and returns its observer.
///
/// # Errors
/// If an address, a file, the samples or the atoms do not serve.
pub fn agent(
    config: &AgentConfig,
    accels: &Accels,
    start: Option<&Model>,
    control: Control,
    observe: impl FnOnce(Arc<Metrics>, Option<u64>) -> Observer,
) -> Result<Agent> {
    let mut settings = builder::settings(config)?;
    settings.accels = accels.clone();
    let atoms = builder::first_atoms(config, start)?;
    let source = sources::open(config, start)?;
    let total = source.as_ref().and_then(|opened| opened.total);
    let incarnation = incarnation();
    let wire = builder::wire(config, &settings, incarnation)?;
    let listens = match wire.address() {
        Some(address) => address.to_string(),
        None => "nowhere".into(), // it dials all its neighbours
    };
    let ids: Vec<usize> = config.neighbours.iter().map(|n| n.id).collect();
    tracing::info!(
        agent = config.id, run = %config.run, listens = %listens, tls = config.tls.is_some(),
        informed = source.is_some(), atoms = config.atoms, neighbours = %listed(&ids), "started"
    );
    let metrics = Metrics::new(config.id, wire.traffic()).with_written(wire.written());
    let metrics = Arc::new(metrics);
    serve(config, &metrics)?;
    let mut options = RoundsOptions::new(incarnation, builder::limits(config));
    options.float32 = config.agreed.float32;
    let rounds = Rounds::new(wire, &ids, options, Arc::clone(&control.interrupt));
    let exchange = Box::new(Metered::new(rounds, Arc::clone(&metrics)));
    let observer = observe(metrics, total);
    let source = source.map(|opened| opened.source);
    let state = Some(config.state.as_path());
    let agent = Agent::new(settings, exchange, atoms, source, state, observer, control);
    Ok(agent?)
}

/// Serves the metrics, if the settings name an address for them.
fn serve(config: &AgentConfig, metrics: &Arc<Metrics>) -> Result<()> {
    let Some(address) = &config.metrics else {
        return Ok(());
    };
    let address = builder::resolve("metrics", address)?;
    let setting = "metrics = \"HOST:PORT\" in agent.toml (in mesh.toml under launch)";
    let at = Arc::clone(metrics).serve(address);
    let at = at.map_err(|e| format!("metrics = \"{address}\": {}", port_refusal(&e, setting)))?;
    tracing::info!("metrics at http://{at}/metrics");
    Ok(())
}

/// Why an address cannot be listened to, and what to do; `setting` is where it was given.
fn port_refusal(e: &std::io::Error, setting: &str) -> String {
    let why = match e.kind() {
        ErrorKind::AddrInUse => "another program listens there already".to_string(),
        ErrorKind::AddrNotAvailable => "this host has no such address".into(),
        ErrorKind::PermissionDenied => {
            "this user may not listen there (ports below 1024 are for root)".into()
        }
        _ => e.to_string(),
    };
    format!("{why}; choose another with {setting}, or end what has it (ss -ltnp names it)")
}

/// A number that no other start of this agent has.
fn incarnation() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(0, |now| now.as_nanos() as u64);
    nanos ^ (u64::from(std::process::id()) << 40)
}
