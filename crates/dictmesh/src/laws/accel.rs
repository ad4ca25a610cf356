//! The law of a speed-up: on equals off.

use super::{atoms, holds, to_sparse, words, Law};
use crate::accel::{Accel, Accels};
use crate::graph::Topology;
use crate::mesh::{AtomInit, Inference, Mesh, Stopping, Update};
use crate::problem::{Samples, Task};
use crate::random::{gaussian, stream};
use crate::strategy;
use crate::Stop;
use dictmesh_kernels::Matrix;
use std::ops::ControlFlow::Continue;
use std::sync::Arc;

/// Dimension of the samples.
const ROWS: usize = 120;
/// Samples per batch.
const BATCH: usize = 24;
/// Learned atoms may differ by at least this much unless the bound is 0: every batch amplifies the
/// difference of the codes before it.
const LEARNED: f64 = 1e-9;

/// Checks a speed-up against no speed-up, in inference and in learning:
///
/// - rounds, bytes and outcomes are equal;
/// - codes and duals differ by at most `bound`, relative to the largest entry; 0 means
///   bit-identical;
/// - learned atoms differ by at most 1e-9 or `bound`, whichever is larger (0 for a `bound` of 0).
///
/// The meshes have one agent or several, with one atom or several each, on a ring, a dense random
/// and a complete graph; the squared l2 and the Huber residual; dense and sparse samples; and
/// strategies that combine over neighbours or sum to a root. Test with `--release`: each mesh codes
/// and learns twice.
///
/// ```
/// use dictmesh::{accel::Lanes, laws};
/// use std::sync::Arc;
/// assert_eq!(laws::accel(Arc::new(Lanes), 0.0), Ok(()));
/// ```
pub fn accel(accel: Arc<dyn Accel>, bound: f64) -> Law {
    accels(&Accels::none().with(accel), bound)
}

/// Checks several speed-ups together, as [`accel`] does one.
///
/// ```
/// use dictmesh::{accel::Accels, laws};
/// assert_eq!(laws::accels(&Accels::parse("chunks,neighbour-sums")?, 0.0), Ok(()));
/// # Ok::<(), dictmesh::Error>(())
/// ```
pub fn accels(accels: &Accels, bound: f64) -> Law {
    let names: Vec<&str> = accels.names().collect();
    holds(names.iter().all(|name| !name.is_empty()), || {
        "a speed-up has no name".into()
    })?;
    let cases = words(cases())?;
    for case in &cases {
        let label = |broken: String| format!("{} ({}): {broken}", names.join(","), case.label());
        inference(case, accels, bound).map_err(label)?;
        let dense = case.samples(2 * BATCH, 3);
        let mut sparse = dense.clone();
        let zero = |v: &mut f64| *v = if v.abs() > 1.2 * case.scale { *v } else { 0.0 };
        sparse.as_mut_slice().iter_mut().for_each(zero);
        learning(case, accels, bound, Samples::dense(dense)).map_err(label)?;
        let sparse = to_sparse(&sparse);
        learning(case, accels, bound, sparse).map_err(label)?;
    }
    Ok(())
}

/// A mesh and the magnitude of its samples.
struct Case {
    task: Task,
    topology: Topology,
    sizes: Vec<usize>,
    strategy: &'static str,
    scale: f64,
}

/// Meshes on which every built-in speed-up applies to at least one.
fn cases() -> crate::Result<Vec<Case>> {
    let (squared, huber) = (
        Task::sparse_svd(0.05, 0.1)?,
        Task::nmf_huber(0.02, 0.1, 0.2)?,
    );
    let (one, ring) = (Topology::ring(1)?, Topology::ring(5)?);
    let (dense, complete) = (Topology::erdos_renyi(40, 0.5, 1)?, Topology::complete(8)?);
    let uneven = vec![20, 0, 2, 2, 2, 2, 2, 2];
    let all = [
        (&squared, &one, vec![64], "relaxed-admm", 1.0),
        (&squared, &dense, vec![1; 40], "relaxed-admm", 1.0),
        (&squared, &dense, vec![1; 40], "diffusion", 1.0),
        (&squared, &dense, vec![3; 40], "diffusion", 1.0),
        (&squared, &complete, vec![6; 8], "relaxed-admm", 1.0),
        (&squared, &complete, uneven, "exact-diffusion", 1.0),
        (&squared, &complete, vec![40; 8], "exact-diffusion", 1.0),
        (&huber, &ring, vec![3; 5], "relaxed-admm", 1.0),
        // Small samples stay in the quadratic part of the Huber loss.
        (&huber, &ring, vec![3; 5], "relaxed-admm", 0.05),
    ];
    let case = |(task, topology, sizes, strategy, scale): (&Task, &Topology, _, _, _)| Case {
        task: task.clone(),
        topology: topology.clone(),
        sizes,
        strategy,
        scale,
    };
    Ok(all.into_iter().map(case).collect())
}

impl Case {
    fn label(&self) -> String {
        let (residual, agents) = (self.task.residual().name(), self.topology.agents());
        let (atoms, scale) = (self.sizes[0], self.scale);
        let strategy = self.strategy;
        format!("{strategy}, {residual}, {agents} agents of {atoms} atoms, samples of size {scale}")
    }

    fn mesh(&self, accels: &Accels) -> Result<Mesh, String> {
        let w = atoms(ROWS, self.sizes.iter().sum(), 1);
        let build = || {
            Mesh::builder(self.task.clone(), self.topology.clone())
                .strategy(strategy::named(self.strategy)?)
                .stopping(Stopping {
                    tolerance: Some(1e-4),
                    rounds: 400,
                })
                .update(Update::Constant { mu_w: 0.05 })
                .batch(BATCH)
                .accels(accels.clone())
                .build(ROWS, &self.sizes, AtomInit::Given(&w))
        };
        words(build())
    }

    fn samples(&self, count: usize, seed: u64) -> Matrix {
        let mut x = gaussian(ROWS, count, &mut stream(seed, 0));
        x.as_mut_slice().iter_mut().for_each(|x| *x *= self.scale);
        x
    }
}

fn inference(case: &Case, accels: &Accels, bound: f64) -> Law {
    let infer = |accels: &Accels| {
        let x = words(Samples::dense(case.samples(BATCH, 2)))?;
        words(case.mesh(accels)?.infer(&x))
    };
    let (on, off) = (infer(accels)?, infer(&Accels::none())?);
    let ends = |found: &Inference| (found.rounds, found.bytes, found.stop);
    holds(ends(&on) == ends(&off), || {
        format!(
            "rounds, bytes and stop are {:?}, without it {:?}",
            ends(&on),
            ends(&off)
        )
    })?;
    let pairs = (on.duals.iter().zip(&off.duals)).chain(on.codes.iter().zip(&off.codes));
    let apart = pairs.map(|(on, off)| apart(on, off)).fold(0.0, worse);
    holds(apart <= bound, || {
        format!("codes or duals differ by {apart:e}, above the bound of {bound:e}")
    })
}

fn learning(case: &Case, accels: &Accels, bound: f64, x: crate::Result<Samples>) -> Law {
    let x = words(x)?;
    let learn = |accels: &Accels| {
        let (mut mesh, mut events) = (case.mesh(accels)?, Vec::new());
        let stop: crate::Result<Stop> = mesh.learn(&x, |event| {
            events.push((event.rounds, event.bytes, event.stop));
            Continue(())
        });
        words(stop)?;
        Ok::<_, String>((mesh.dictionary(), events))
    };
    let (on, off) = (learn(accels)?, learn(&Accels::none())?);
    holds(on.1 == off.1, || {
        format!(
            "rounds, bytes and stops of learning are {:?}, without it {:?}",
            on.1, off.1
        )
    })?;
    let (apart, bound) = (
        apart(&on.0, &off.0),
        if bound > 0.0 { bound.max(LEARNED) } else { 0.0 },
    );
    holds(apart <= bound, || {
        format!("learned atoms differ by {apart:e}, above the bound of {bound:e}")
    })
}

/// The largest difference of two entries, relative to the largest entry of `off`.
fn apart(on: &Matrix, off: &Matrix) -> f64 {
    let entries = on.as_slice().iter().zip(off.as_slice());
    let most = entries.map(|(on, off)| (on - off).abs()).fold(0.0, worse);
    let size = off
        .as_slice()
        .iter()
        .fold(1e-12, |m: f64, v| m.max(v.abs()));
    most / size
}

/// The larger number; NaN if one is.
fn worse(a: f64, b: f64) -> f64 {
    match a > b || a.is_nan() {
        true => a,
        false => b,
    }
}
