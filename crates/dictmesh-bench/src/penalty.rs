//! Rounds of each batch in learning, from which the best penalty rho of gossip is found.

use crate::arrays;
use crate::cost::{planted, strategy_of, DELTA, GAMMA};
use crate::sizes::Sizes;
use anyhow::{ensure, Result};
use clap::Args;
use dictmesh::problem::Task;
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Stop, Stopping, Topology};
use serde_json::{json, Value};
use std::ops::ControlFlow;
use std::path::PathBuf;

#[derive(Args)]
pub struct Penalty {
    #[command(flatten)]
    sizes: Sizes,
    /// The probability of an edge, 1 for all of them; a ring if it is left out.
    #[arg(long)]
    edges: Option<f64>,
    /// The strategy, as JSON or as its name.
    #[arg(long, default_value = "relaxed-admm")]
    strategy: String,
    /// rho as a multiple of the default one; omitted, the strategy is taken as it is.
    #[arg(long)]
    factor: Option<f64>,
    /// Samples of an update.
    #[arg(long, default_value_t = 16)]
    batch: usize,
    #[arg(long, default_value_t = 1e-3)]
    tolerance: f64,
    /// The limit of rounds of a batch.
    #[arg(long, default_value_t = 20_000)]
    rounds: usize,
    /// Samples, .npy, one a row; planted ones if it is left out.
    #[arg(long)]
    data: Option<PathBuf>,
    #[arg(long, default_value_t = GAMMA)]
    gamma: f64,
    #[arg(long, default_value_t = DELTA)]
    delta: f64,
    /// Starts from the planted atoms instead of random ones.
    #[arg(long)]
    known: bool,
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl Penalty {
    pub fn measure(&self) -> Result<Value> {
        let (mut mesh, x) = self.problem()?;
        if let Some(factor) = self.factor {
            let shared = mesh.shared_constants();
            let rho = dictmesh::strategy::relaxed_admm::default_rho(&shared) * factor;
            let fixed = format!("{{\"kind\": \"relaxed-admm\", \"rho\": {rho}}}");
            mesh.set_strategy(strategy_of(&fixed)?)?;
        }
        let mut rounds = Vec::new();
        let stop = mesh.learn(&x, |event| {
            rounds.push(event.rounds);
            ControlFlow::Continue(())
        })?;
        ensure!(
            matches!(stop, Stop::Converged | Stop::RoundLimit),
            "a batch ended with: {stop}"
        );
        Ok(json!({ "rounds": rounds }))
    }

    fn problem(&self) -> Result<(Mesh, Samples)> {
        let Sizes {
            agents,
            atoms,
            rows,
            samples,
        } = self.sizes;
        let graph = match self.edges {
            Some(1.0) => Topology::complete(agents)?,
            Some(p) => Topology::erdos_renyi(agents, p, self.seed)?,
            None => Topology::ring(agents)?,
        };
        let (w, x) = match &self.data {
            Some(path) => (Matrix::default(), arrays::read(path)?),
            None => planted(rows, agents * atoms, samples, self.seed),
        };
        let x = Samples::dense(x)?;
        let start = match self.known {
            true => AtomInit::Given(&w),
            false => AtomInit::Random,
        };
        let mesh = Mesh::builder(Task::sparse_svd(self.gamma, self.delta)?, graph)
            .strategy(strategy_of(&self.strategy)?)
            .stopping(Stopping {
                tolerance: Some(self.tolerance),
                rounds: self.rounds,
            })
            .batch(self.batch)
            .seed(self.seed + 1) // the planted atoms are of the same stream of the seed
            .build(x.rows(), &vec![atoms; agents], start)?;
        Ok((mesh, x.range(0..samples.min(x.len()))))
    }
}
