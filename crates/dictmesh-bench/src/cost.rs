//! The bytes, hops and seconds for the codes of a batch at a given error of nu.

use crate::sizes::Sizes;
use crate::wire::cpu;
use anyhow::{bail, ensure, Context, Result};
use clap::Args;
use dictmesh::problem::Task;
use dictmesh::random::{gaussian, stream};
use dictmesh::strategy::Strategy;
use dictmesh::{strategy, AtomInit, Matrix, Mesh, Samples, Spec, Stop, Stopping, Topology};
use serde_json::{json, Value};
use std::sync::Arc;
use std::time::Instant;

/// Atoms of a sample.
const PLANTED: usize = 20;
/// Noise of a sample, relative to it.
const NOISE: f64 = 0.05;
pub const GAMMA: f64 = 0.05;
pub const DELTA: f64 = 0.02;
/// Tolerances are tried from this one down, each smaller by a factor of 10^(1/4).
const FIRST_TOLERANCE: f64 = 1e-2;
const TOLERANCES: i32 = 16;
const ROUNDS_BETWEEN_CHECKS: usize = 5;

#[derive(Args)]
pub struct Cost {
    #[command(flatten)]
    sizes: Sizes,
    /// The probability of an edge; a ring if it is left out.
    #[arg(long)]
    edges: Option<f64>,
    /// The strategy, as JSON or as its name.
    #[arg(long, default_value = "tree")]
    strategy: String,
    /// The largest relative error of nu against the exact one, over all agents and samples.
    #[arg(long, default_value_t = 1e-3)]
    error: f64,
    /// Codes once to this tolerance by a strategy that certifies its results, whatever the error.
    #[arg(long, conflicts_with = "error")]
    tolerance: Option<f64>,
    /// The limit of rounds of gossip.
    #[arg(long, default_value_t = 20_000)]
    rounds: usize,
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl Cost {
    pub fn measure(&self) -> Result<Value> {
        let (mut mesh, x) = self.problem()?;
        let decides = mesh.strategy().decides();
        let mut found = match self.tolerance {
            Some(tolerance) if decides => coded(&mut mesh, &x, tolerance)?.0,
            Some(_) => {
                bail!("--tolerance needs a strategy that certifies its results, such as tree")
            }
            None => {
                let exact = mesh.exact(&x)?.duals;
                match decides {
                    true => self.by_tolerance(&mut mesh, &x, &exact)?,
                    false => self.by_rounds(&mesh, &x, &exact)?,
                }
            }
        };
        found["strategy"] = json!(mesh.strategy().resolve(&mesh.shared_constants())?.spec());
        Ok(found)
    }

    /// A strategy that decides itself: the largest tolerance at which the error is met.
    fn by_tolerance(&self, mesh: &mut Mesh, x: &Samples, exact: &Matrix) -> Result<Value> {
        for step in 0..TOLERANCES {
            let tolerance = FIRST_TOLERANCE * 10_f64.powf(-f64::from(step) / 4.0);
            let (mut found, duals) = coded(mesh, x, tolerance)?;
            let error = apart(duals.iter(), exact);
            if error <= self.error {
                found["error"] = json!(error);
                return Ok(found);
            }
        }
        bail!("no tolerance reached an error of {}", self.error)
    }

    /// Gossip: the first round in which the error is met, without the cost of a stopping rule.
    fn by_rounds(&self, mesh: &Mesh, x: &Samples, exact: &Matrix) -> Result<Value> {
        let (mut run, mut seconds, mut busy) = (mesh.run(x)?, 0.0, 0.0);
        while run.rounds() < self.rounds {
            let (began, cpu_before) = (Instant::now(), cpu());
            (0..ROUNDS_BETWEEN_CHECKS).for_each(|_| run.round());
            seconds += began.elapsed().as_secs_f64();
            busy += cpu() - cpu_before;
            let error = apart(run.duals(), exact);
            if error <= self.error {
                return Ok(json!({
                    "bytes_per_sample": run.bytes() as f64 / x.len() as f64,
                    "rounds": run.rounds(),
                    "hops": run.hops(),
                    "seconds": seconds,
                    "cpu_seconds": busy,
                    "error": error,
                }));
            }
        }
        bail!(
            "the error is above {} after {} rounds",
            self.error,
            run.rounds()
        )
    }

    fn problem(&self) -> Result<(Mesh, Samples)> {
        let Sizes {
            agents,
            atoms,
            rows,
            samples,
            ..
        } = self.sizes;
        let graph = match self.edges {
            Some(p) => Topology::erdos_renyi(agents, p, self.seed)?,
            None => Topology::ring(agents)?,
        };
        let (w, x) = planted(rows, agents * atoms, samples, self.seed);
        let mesh = Mesh::builder(Task::sparse_svd(GAMMA, DELTA)?, graph)
            .strategy(strategy_of(&self.strategy)?)
            .build(rows, &vec![atoms; agents], AtomInit::Given(&w))?;
        Ok((mesh, Samples::dense(x)?))
    }
}

/// The cost of coding to a tolerance, and the duals.
fn coded(mesh: &mut Mesh, x: &Samples, tolerance: f64) -> Result<(Value, Vec<Matrix>)> {
    mesh.set_stopping(Stopping::tolerance(tolerance))?;
    let (began, cpu_before) = (Instant::now(), cpu());
    let found = mesh.infer(x)?;
    let seconds = began.elapsed().as_secs_f64();
    let busy = cpu() - cpu_before;
    ensure!(found.stop == Stop::Converged, "{}", found.stop);
    let cost = json!({
        "bytes_per_sample": found.bytes as f64 / x.len() as f64,
        "rounds": found.rounds,
        "hops": found.hops,
        "depth": mesh.topology().spanning_tree().depth(),
        "seconds": seconds,
        "cpu_seconds": busy,
        "tolerance": tolerance,
    });
    Ok((cost, found.duals))
}

/// The strategy, given as JSON or as its name.
pub fn strategy_of(given: &str) -> Result<Arc<dyn Strategy>> {
    let spec: Spec = match given.starts_with('{') {
        true => serde_json::from_str(given).context("--strategy")?,
        false => Spec::new(given),
    };
    Ok(strategy::build(&spec)?)
}

/// Random unit atoms, and samples of [`PLANTED`] of them with noise.
pub fn planted(rows: usize, atoms: usize, samples: usize, seed: u64) -> (Matrix, Matrix) {
    let mut w = gaussian(rows, atoms, &mut stream(seed, 1));
    (0..w.cols()).for_each(|q| normalise(w.column_mut(q)));
    let mut rng = stream(seed, 2);
    let mut x = Matrix::zeros(rows, samples);
    for j in 0..samples {
        let column = x.column_mut(j);
        let weights = gaussian(PLANTED, 1, &mut rng);
        for (i, y) in weights.as_slice().iter().enumerate() {
            // Far apart and different for each sample, without drawing.
            let q = (j * 7919 + i * (w.cols() / PLANTED + 1)) % w.cols();
            let y = (0.5 + y.abs()).copysign(*y);
            column
                .iter_mut()
                .zip(w.column(q))
                .for_each(|(x, w)| *x += y * w);
        }
        normalise(column);
        let noise = gaussian(rows, 1, &mut rng);
        let scale = NOISE / (rows as f64).sqrt();
        column
            .iter_mut()
            .zip(noise.as_slice())
            .for_each(|(x, n)| *x += scale * n);
        normalise(column);
    }
    (w, x)
}

/// The largest relative distance of a column of any agent's nu from that of the exact one.
fn apart<'a>(duals: impl Iterator<Item = &'a Matrix>, exact: &Matrix) -> f64 {
    let length = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    let columns = duals.flat_map(|nu| nu.columns().zip(exact.columns()));
    let each = columns.map(|(a, b)| {
        let off = length(&mut a.iter().zip(b).map(|(a, b)| a - b));
        off / length(&mut b.iter().copied()).max(f64::MIN_POSITIVE)
    });
    each.fold(0.0, f64::max)
}

fn normalise(v: &mut [f64]) {
    let length = v.iter().map(|v| v * v).sum::<f64>().sqrt();
    v.iter_mut().for_each(|v| *v /= length);
}
