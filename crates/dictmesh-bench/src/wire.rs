//! The time of one round between processes, by one of them: `bench/benches/mesh_wire.py` starts all.

mod engines;
mod raw;

use anyhow::{bail, ensure, Context, Result};
use clap::{Args, ValueEnum};
use dictmesh::Topology;
use engines::Engine;
use rustix::time::{clock_gettime, ClockId};
use serde_json::{json, Value};
use std::path::PathBuf;
use std::time::Instant;

/// What carries the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Non-blocking sockets with TCP_NODELAY and nothing else: the yardstick.
    Raw,
    /// gRPC in plain text.
    Grpc,
    /// gRPC with mutual TLS.
    GrpcTls,
    /// gRPC in plain text, dual vectors in single precision.
    GrpcFloat32,
    /// MPI's neighbourhood collectives; started by mpirun.
    Mpi,
}

/// Who talks to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Graph {
    Ring,
    Complete,
}

#[derive(Args)]
pub struct Wire {
    /// What carries the rounds.
    #[arg(long)]
    engine: Kind,
    #[arg(long)]
    graph: Graph,
    /// N; a job of mpirun knows it.
    #[arg(long, default_value_t = 2)]
    agents: usize,
    /// Which of them this process is; a job of mpirun knows it.
    #[arg(long, default_value_t = 0)]
    own: usize,
    /// Numbers that each sends to each of its neighbours, eight bytes a piece.
    #[arg(long)]
    numbers: usize,
    #[arg(long)]
    rounds: usize,
    /// Agent k listens at this port + k of the loopback address; below those that systems give to whoever dials.
    #[arg(long, default_value_t = 17_000)]
    port: u16,
    /// Where `certificates` wrote them.
    #[arg(long)]
    certificates: Option<PathBuf>,
}

#[derive(Args)]
pub struct Certificates {
    /// The directory for them.
    directory: PathBuf,
    #[arg(long)]
    agents: usize,
}

impl Certificates {
    pub fn measure(&self) -> Result<Value> {
        engines::write_certificates(&self.directory, self.agents)?;
        Ok(json!({}))
    }
}

impl Wire {
    pub fn measure(&self) -> Result<Value> {
        ensure!(self.rounds > 0, "--rounds 0: at least 1 is needed");
        let mut engine = Engine::start(self)?;
        for _ in 0..(self.rounds / 10).max(5) {
            engine.round()?;
        }
        let mut times = Vec::with_capacity(self.rounds);
        let (began, busy) = (Instant::now(), cpu());
        for _ in 0..self.rounds {
            let round = Instant::now();
            engine.round()?;
            times.push(round.elapsed().as_secs_f64());
        }
        let (wall, busy) = (began.elapsed().as_secs_f64(), cpu() - busy);
        engine.end()?;
        times.sort_by(f64::total_cmp);
        let rounds = self.rounds as f64;
        Ok(json!({
            "own": engine.own(), "median_us": 1e6 * times[times.len() / 2], "mean_us": 1e6 * wall / rounds,
            "cpu_us": 1e6 * busy / rounds, "memory": memory()?,
        }))
    }

    fn topology(&self, agents: usize) -> Result<Topology> {
        Ok(match self.graph {
            Graph::Ring if agents == 2 => Topology::path(2)?,
            Graph::Ring => Topology::ring(agents)?,
            Graph::Complete => Topology::complete(agents)?,
        })
    }
}

/// Seconds that all threads of this process have computed.
pub fn cpu() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + 1e-9 * now.tv_nsec as f64
}

/// The most bytes that were resident.
fn memory() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    match number {
        Some(number) => Ok(1024 * number.parse::<u64>().context("VmHWM")?),
        None => bail!("/proc/self/status has no VmHWM"),
    }
}
