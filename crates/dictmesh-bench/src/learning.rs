//! Passes over samples, with the atoms as they were on the way.

use crate::arrays;
use crate::given::Given;
use anyhow::{bail, ensure, Result};
use clap::Args;
use dictmesh::mesh::Update;
use dictmesh::problem::TaskSpec;
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Stop, Topology};
use serde_json::{json, Value};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Args)]
pub struct Learning {
    #[command(flatten)]
    given: Given,
    /// Non-negative atoms and codes.
    #[arg(long)]
    non_negative: bool,
    /// The samples are given by their entries, one a row (sample, row of the sample, value), in this order.
    #[arg(long)]
    sparse: bool,
    /// Samples of an update.
    #[arg(long)]
    batch: usize,
    /// The forgetting of the adaptive update.
    #[arg(long)]
    forgetting: f64,
    #[arg(long, default_value_t = 1)]
    passes: usize,
    /// Samples between two looks at the atoms.
    #[arg(long)]
    every: usize,
    /// Where the atoms of all looks go, .npy, one a row.
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Learning {
    pub fn measure(&self, threads: usize) -> Result<Value> {
        let w = arrays::read(&self.given.atoms)?;
        let x = self.samples(w.rows())?;
        let (gamma, delta) = (self.given.gamma, self.given.delta);
        let task = match self.non_negative {
            true => TaskSpec::nmf(gamma, delta),
            false => TaskSpec::sparse_svd(gamma, delta),
        };
        let mut mesh = Mesh::builder(task.build()?, Topology::ring(1)?)
            .update(Update::Adaptive {
                forgetting: self.forgetting,
            })
            .batch(self.batch)
            .threads(threads)
            .build(w.rows(), &[w.cols()], AtomInit::Given(&w))?;
        let mut looks = Matrix::zeros(w.rows(), 0);
        let (mut seconds, mut so_far) = (Vec::new(), 0.0);
        let parts: Vec<Samples> = (0..x.len())
            .step_by(self.every)
            .map(|from| x.range(from..(from + self.every).min(x.len())))
            .collect();
        for part in (0..self.passes).flat_map(|_| &parts) {
            let began = Instant::now();
            let stop = mesh.learn(part, |_| ControlFlow::Continue(()))?;
            so_far += began.elapsed().as_secs_f64();
            ensure!(stop == Stop::Converged, "a batch ended with: {stop}");
            seconds.push(so_far);
            looks.append_columns(mesh.block(0).atoms())?;
        }
        if let Some(out) = &self.out {
            arrays::write(out, &looks)?;
        }
        Ok(json!({ "seconds": seconds }))
    }

    fn samples(&self, rows: usize) -> Result<Samples> {
        let given = arrays::read(&self.given.samples)?;
        if !self.sparse {
            return Ok(Samples::dense(given)?);
        }
        if given.rows() != 3 {
            bail!("an entry is a sample, a row and a value");
        }
        let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
        for entry in given.columns() {
            while start.len() <= entry[0] as usize {
                start.push(row.len());
            }
            row.push(entry[1] as usize);
            value.push(entry[2]);
        }
        start.push(row.len());
        Ok(Samples::sparse(rows, start, row, value)?)
    }
}
