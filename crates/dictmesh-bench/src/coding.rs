//! Codes of many samples for given atoms.

use crate::arrays;
use crate::given::Given;
use anyhow::{bail, Result};
use clap::Args;
use dictmesh::problem::TaskSpec;
use dictmesh::{AtomInit, Mesh, Samples, Spec, Topology};
use serde_json::{json, Value};
use std::path::PathBuf;
use std::time::Instant;

#[derive(Args)]
pub struct Coding {
    #[command(flatten)]
    given: Given,
    /// Codes of one sign.
    #[arg(long)]
    non_negative: bool,
    /// The Huber residual with this constant instead of the squared one.
    #[arg(long)]
    huber: Option<f64>,
    /// Each sample by itself, in turn: `seconds` is the median of one.
    #[arg(long)]
    singly: bool,
    /// How often all samples are coded, one time after the other: `seconds` is for all.
    #[arg(long, default_value_t = 1, conflicts_with = "singly")]
    repeats: usize,
    /// Where the codes go, .npy, one sample a row.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// The median time of one sample.
fn median_of_singles(mesh: &Mesh, x: &Samples) -> Result<f64> {
    let mut seconds = Vec::with_capacity(x.len());
    for j in 0..x.len() {
        let one = x.range(j..j + 1);
        let began = Instant::now();
        mesh.exact_codes(&one)?;
        seconds.push(began.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    match seconds.get(seconds.len() / 2) {
        Some(median) => Ok(*median),
        None => bail!("there are no samples"),
    }
}

impl Coding {
    pub fn measure(&self, threads: usize) -> Result<Value> {
        let x = Samples::dense(arrays::read(&self.given.samples)?)?;
        let w = arrays::read(&self.given.atoms)?;
        let builder = Mesh::builder(self.task().build()?, Topology::ring(1)?);
        let builder = match self.singly {
            true => builder,
            false => builder.threads(threads),
        };
        let mesh = builder.build(w.rows(), &[w.cols()], AtomInit::Given(&w))?;
        let began = Instant::now();
        let mut solved = mesh.exact_codes(&x)?;
        for _ in 1..self.repeats {
            solved = mesh.exact_codes(&x)?;
        }
        let seconds = match self.singly {
            true => median_of_singles(&mesh, &x)?,
            false => began.elapsed().as_secs_f64(),
        };
        if solved.certificates.is_empty() {
            bail!("there are no samples");
        }
        if let Some(out) = &self.out {
            arrays::write(out, &solved.to_dense())?;
        }
        Ok(json!({ "seconds": seconds, "gap": solved.relative_gap() }))
    }

    fn task(&self) -> TaskSpec {
        let (gamma, delta) = (self.given.gamma, self.given.delta);
        let mut task = TaskSpec::sparse_svd(gamma, delta);
        if self.non_negative {
            task.common.regularizer = Spec::new("non-negative-elastic-net")
                .with("gamma", gamma)
                .with("delta", delta);
        }
        if let Some(eta) = self.huber {
            task.residual = Spec::new("huber").with("eta", eta);
        }
        task
    }
}
