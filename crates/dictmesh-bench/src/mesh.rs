//! Rounds of a whole mesh on random atoms and samples.

use crate::sizes::Sizes;
use anyhow::Result;
use clap::Args;
use dictmesh::graph::TopologySpec;
use dictmesh::problem::Task;
use dictmesh::random::{gaussian, stream};
use dictmesh::strategy;
use dictmesh::{AtomInit, Mesh, Samples, Stopping};
use serde_json::{json, Value};
use std::time::Instant;

#[derive(Args)]
pub struct Rounds {
    #[command(flatten)]
    sizes: Sizes,
    /// The chance of an edge; 0 for a ring.
    #[arg(long)]
    p: f64,
    #[arg(long, default_value_t = 100)]
    rounds: usize,
}

impl Rounds {
    pub fn measure(&self, threads: usize) -> Result<Value> {
        let topology = match self.p {
            0.0 => dictmesh::Topology::ring(self.sizes.agents)?,
            p => TopologySpec::ErdosRenyi { p, seed: 1 }.build(self.sizes.agents)?,
        };
        let x = Samples::dense(gaussian(
            self.sizes.rows,
            self.sizes.samples,
            &mut stream(1, 0),
        ))?;
        let mesh = Mesh::builder(Task::sparse_svd(0.1, 0.1)?, topology)
            .strategy(strategy::named("relaxed-admm")?)
            .stopping(Stopping::rounds(self.rounds))
            .threads(threads)
            .build(
                self.sizes.rows,
                &vec![self.sizes.atoms; self.sizes.agents],
                AtomInit::Random,
            )?;
        mesh.infer(&x.range(0..1))?; // wakes the threads up
        let began = Instant::now();
        let found = mesh.infer(&x)?;
        let seconds = began.elapsed().as_secs_f64() / found.rounds as f64;
        Ok(json!({ "seconds": seconds }))
    }
}
