//! Rounds of a whole mesh for samples, atoms and a graph that are given: the documents of the paper's experiment.

use crate::arrays;
use crate::given::Given;
use anyhow::{ensure, Result};
use clap::Args;
use dictmesh::problem::TaskSpec;
use dictmesh::strategy::{Diffusion, RelaxedAdmm, Strategy};
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Stopping, Topology};
use serde_json::{json, Value};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

#[derive(Args)]
pub struct Documents {
    #[command(flatten)]
    given: Given,
    /// The graph, .npy: N x N, not 0 where two agents are neighbours.
    adjacency: PathBuf,
    /// The Huber residual with this constant instead of the squared one.
    #[arg(long)]
    eta: Option<f64>,
    /// relaxed-admm with this penalty.
    #[arg(long, conflicts_with = "mu")]
    rho: Option<f64>,
    /// Diffusion with this step instead of relaxed-admm.
    #[arg(long)]
    mu: Option<f64>,
    /// After which the duals are written.
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// More rounds, of which the time is taken.
    #[arg(long, default_value_t = 500)]
    more: usize,
    /// Where the duals of the first sample go, .npy, one agent a row.
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Documents {
    pub fn measure(&self, threads: usize) -> Result<Value> {
        let x = sparse(&arrays::read(&self.given.samples)?)?;
        let w = arrays::read(&self.given.atoms)?;
        let mut mesh = self.mesh(&w, threads)?;
        let mut seconds = |rounds: usize| -> Result<f64> {
            mesh.set_stopping(Stopping::rounds(rounds))?;
            let began = Instant::now();
            mesh.score(&x)?;
            Ok(began.elapsed().as_secs_f64())
        };
        // The first time W'W is formed too; later it is there already.
        let first = seconds(1)?;
        let few = seconds(self.rounds)?;
        let many = seconds(self.rounds + self.more)?;
        let round = (many - few) / self.more as f64;
        let started = seconds(1)?;
        mesh.set_stopping(Stopping::rounds(self.rounds))?;
        let found = mesh.infer(&x)?;
        if let Some(out) = &self.out {
            let duals: Vec<&[f64]> = found.duals.iter().map(|nu| nu.column(0)).collect();
            arrays::write(out, &Matrix::from_columns(x.rows(), &duals)?)?;
        }
        mesh.set_stopping(Stopping::tolerance(1e-3))?;
        let converged = mesh.infer(&x)?;
        let strategy = mesh.strategy().resolve(&mesh.shared_constants())?;
        Ok(json!({
            "seconds": round,
            "strategy": strategy.spec(),
            "first_setup": first - round,
            "setup": started - round,
            "rounds_to_1e-3": converged.rounds,
            "cost": converged.costs[0],
        }))
    }

    fn mesh(&self, w: &Matrix, threads: usize) -> Result<Mesh> {
        let adjacency = arrays::read(&self.adjacency)?;
        let n = w.cols();
        ensure!(
            (adjacency.rows(), adjacency.cols()) == (n, n),
            "{n} atoms want {n} agents"
        );
        let pairs = (0..n).flat_map(|k| (0..k).map(move |l| (l, k)));
        let edges: Vec<(usize, usize)> = pairs
            .filter(|(l, k)| adjacency.get(*l, *k) != 0.0)
            .collect();
        let task = match self.eta {
            Some(eta) => TaskSpec::nmf_huber(self.given.gamma, self.given.delta, eta),
            None => TaskSpec::nmf(self.given.gamma, self.given.delta),
        };
        let strategy: Arc<dyn Strategy> = match self.mu {
            Some(mu) => Arc::new(Diffusion { mu: Some(mu) }),
            None => Arc::new(RelaxedAdmm {
                rho: self.rho,
                ..RelaxedAdmm::default()
            }),
        };
        Ok(
            Mesh::builder(task.build()?, Topology::from_edges(n, &edges)?)
                .strategy(strategy)
                .threads(threads)
                .build(w.rows(), &vec![1; n], AtomInit::Given(w))?,
        )
    }
}

/// The same samples without their zeros.
fn sparse(x: &Matrix) -> Result<Samples> {
    let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
    for column in x.columns() {
        for (i, v) in column.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            row.push(i);
            value.push(*v);
        }
        start.push(row.len());
    }
    Ok(Samples::sparse(x.rows(), start, row, value)?)
}
