//! Codes of many samples for given atoms.

use crate::arrays;
use anyhow::{bail, Result};
use clap::Args;
use dictmesh::task::Task;
use dictmesh::{Mesh, Samples, Start, Topology};
use serde_json::{json, Value};
use std::path::PathBuf;
use std::time::Instant;

#[derive(Args)]
pub struct Coding {
    /// Samples, .npy, one a row.
    samples: PathBuf,
    /// Atoms, .npy, one a row.
    atoms: PathBuf,
    #[arg(long)]
    gamma: f64,
    #[arg(long)]
    delta: f64,
    /// sparse-svd, nmf or huber.
    #[arg(long, default_value = "sparse-svd")]
    task: String,
    /// Where the codes go, .npy, one sample a row.
    #[arg(long)]
    out: Option<PathBuf>,
    #[arg(long, default_value_t = 1)]
    repeats: usize,
}

impl Coding {
    pub fn measure(&self, threads: usize) -> Result<Value> {
        let x = Samples::dense(arrays::read(&self.samples)?)?;
        let w = arrays::read(&self.atoms)?;
        let task = match self.task.as_str() {
            "sparse-svd" => Task::sparse_svd(self.gamma, self.delta)?,
            other => bail!("no task named {other}"),
        };
        let mesh = Mesh::builder(task, Topology::ring(1)?)
            .threads(threads)
            .build(w.rows(), &[w.cols()], Start::Given(&w))?;
        let mut seconds = Vec::new();
        let mut solved = None;
        for _ in 0..self.repeats {
            let began = Instant::now();
            solved = Some(mesh.exact(&x)?);
            seconds.push(began.elapsed().as_secs_f64());
        }
        let Some(solved) = solved else {
            bail!("no repeats")
        };
        if let Some(out) = &self.out {
            arrays::write(out, &solved.codes)?;
        }
        let mean = |f: &dyn Fn(&dictmesh::inference::exact::Certificate) -> f64| {
            solved.certificates.iter().map(f).sum::<f64>() / x.len() as f64
        };
        Ok(json!({
            "seconds": seconds,
            "objective": mean(&|c| c.dual + c.gap),
            "gap": mean(&|c| c.gap),
        }))
    }
}
