//! Jobs whose sizes can be doubled one by one: what they take, and what they have to keep.

use crate::sizes::Sizes;
use anyhow::{ensure, Result};
use clap::{Args, ValueEnum};
use dictmesh::problem::Task;
use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Stopping, Topology};
use serde_json::{json, Value};
use std::ops::ControlFlow;
use std::time::Instant;

/// Atoms that a planted sample is made of.
const PLANTED: usize = 4;
const BATCH: usize = 64;

#[derive(Args)]
pub struct Scale {
    #[arg(value_enum)]
    job: Job,
    #[command(flatten)]
    sizes: Sizes,
    /// Neighbours of each agent: an even number, or N - 1 for all.
    #[arg(long, default_value_t = 0)]
    degree: usize,
    #[arg(long, default_value_t = 10)]
    rounds: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Job {
    /// The set-up of a mesh.
    Setup,
    /// Rounds of relaxed-admm, not rotated.
    Rounds,
    /// Exact codes of planted samples.
    Coding,
    /// One pass of learning in batches of 64.
    Learning,
}

/// Multiply-adds and bytes in use, where they are counted.
struct Meter {
    work: u64,
    bytes: usize,
}

impl Meter {
    #[cfg(feature = "count-work")]
    fn now() -> Meter {
        Meter {
            work: dictmesh::work::multiply_adds(),
            bytes: dictmesh::work::bytes(),
        }
    }

    #[cfg(not(feature = "count-work"))]
    fn now() -> Meter {
        Meter { work: 0, bytes: 0 }
    }
}

/// Seconds and multiply-adds of `work`, and the most bytes in use while it ran, those since `begin` included.
fn measured<T>(begin: &Meter, work: impl FnOnce() -> Result<T>) -> Result<Value> {
    #[cfg(feature = "count-work")]
    dictmesh::work::forget_peak();
    let (before, began) = (Meter::now(), Instant::now());
    let kept = work()?;
    let seconds = began.elapsed().as_secs_f64();
    #[cfg(feature = "count-work")]
    let peak = dictmesh::work::peak_bytes() - begin.bytes;
    #[cfg(not(feature = "count-work"))]
    let peak = begin.bytes;
    let work = Meter::now().work - before.work;
    drop(kept);
    Ok(json!({ "seconds": seconds, "work": work, "peak": peak }))
}

impl Scale {
    pub fn measure(&self) -> Result<Value> {
        // The products' own buffers, some megabytes a thread whatever the sizes, are made before.
        let square = gaussian(BATCH * 4, BATCH * 4, &mut stream(0, 0));
        drop(square.times(&square));
        let begin = Meter::now();
        let mut value = match self.job {
            Job::Setup => measured(&begin, || self.mesh())?,
            Job::Rounds => {
                let (mesh, x) = (self.mesh()?, self.noise()?);
                measured(&begin, || {
                    let mut run = mesh.run(&x)?;
                    (0..self.rounds).for_each(|_| run.round());
                    Ok(run)
                })?
            }
            Job::Coding => {
                let mesh = self.mesh()?;
                let x = self.planted(&mesh)?;
                measured(&begin, || Ok(mesh.exact(&x)?))?
            }
            Job::Learning => {
                let mut mesh = self.mesh()?;
                let x = self.planted(&mesh)?;
                measured(
                    &begin,
                    || Ok(mesh.learn(&x, |_| ControlFlow::Continue(()))?),
                )?
            }
        };
        value["state"] = json!(8 * self.state());
        Ok(value)
    }

    fn mesh(&self) -> Result<Mesh> {
        Ok(Mesh::builder(Task::sparse_svd(0.2, 0.1)?, self.graph()?)
            .stopping(Stopping::rounds(self.rounds))
            .batch(BATCH)
            .build(
                self.sizes.rows,
                &vec![self.sizes.atoms; self.sizes.agents],
                AtomInit::Random,
            )?)
    }

    /// Every agent with its next neighbours on a ring.
    fn graph(&self) -> Result<Topology> {
        let (n, degree) = (self.sizes.agents, self.degree);
        if degree + 1 == n {
            return Ok(Topology::complete(n)?);
        }
        ensure!(
            degree > 0 && degree.is_multiple_of(2) && degree < n,
            "the degree {degree} must be even and below N, or N - 1"
        );
        let edges: Vec<_> = (0..n)
            .flat_map(|k| (1..=degree / 2).map(move |step| (k, (k + step) % n)))
            .collect();
        Ok(Topology::from_edges(n, &edges)?)
    }

    fn noise(&self) -> Result<Samples> {
        let x = gaussian(self.sizes.rows, self.sizes.samples, &mut stream(1, 0));
        Ok(Samples::dense(x)?)
    }

    /// Sums of a few atoms each, so that codes have about as many coefficients, whatever the sizes.
    fn planted(&self, mesh: &Mesh) -> Result<Samples> {
        let atoms = mesh.agents() * self.sizes.atoms;
        let mut x = Matrix::zeros(self.sizes.rows, self.sizes.samples);
        for j in 0..self.sizes.samples {
            for i in 0..PLANTED {
                // Far apart and different for each sample, without drawing.
                let q = (j * 7919 + i * (atoms / PLANTED + 1)) % atoms;
                let w = mesh
                    .block(q / self.sizes.atoms)
                    .atoms()
                    .column(q % self.sizes.atoms);
                let sign = if (i + j) % 2 == 0 { 1.0 } else { -1.0 };
                for (x, w) in x.column_mut(j).iter_mut().zip(w) {
                    *x += sign * w;
                }
            }
        }
        Ok(Samples::dense(x)?)
    }

    /// The numbers that have to be kept, whoever computes it.
    fn state(&self) -> usize {
        let (n, m, b) = (self.sizes.agents, self.sizes.rows, self.sizes.samples);
        let k = n * self.sizes.atoms;
        let dictionary = m * k;
        // nu, s, t and what arrives, M x B at each agent, and its codes.
        let run = |m: usize, b: usize| 4 * n * m * b + k * b;
        match self.job {
            Job::Setup => dictionary + 2 * n * n, // a matrix and its eigenvalue problem
            Job::Rounds => dictionary + run(m, b) + m * b,
            // W'W; the samples, their codes and their duals.
            Job::Coding => dictionary + k * k + (2 * m + k) * b,
            // Each batch is coded in K + 1 rows where that is less.
            Job::Learning => {
                let batch = b.min(BATCH);
                let rows = if m < 2 * (k + 1) { m } else { k + 1 };
                dictionary + m * b + run(rows, batch)
            }
        }
    }
}
