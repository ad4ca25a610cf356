//! Random problems and the results of `exact` for them, one JSON object per line;
//! `scripts/check-exact` compares them with another solver.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use dictmesh::problem::{LocalSpec, Task, TaskSpec};
use dictmesh::random::{gaussian, stream, Rng};
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Spec, Topology};
use serde_json::json;

/// Every residual; one line each.
fn residuals() -> Vec<Spec> {
    vec![
        Spec::new("squared-l2"),
        Spec::new("huber").with("eta", 0.2),
        Spec::new("huber").with("eta", 2.0),
        Spec::new("l1"),
        Spec::new("ball").with("sigma", 0.3),
        Spec::new("equality"),
    ]
}

/// Every regularizer, and agents that have different ones; one line each.
fn regularizers() -> Vec<(&'static str, Vec<Spec>)> {
    let (gamma, delta) = (0.1, 0.1);
    let net = Spec::new("elastic-net")
        .with("gamma", gamma)
        .with("delta", delta);
    let non_negative = Spec::new("non-negative-elastic-net")
        .with("gamma", gamma)
        .with("delta", delta);
    let boxed = |lo, hi| {
        Spec::new("boxed-elastic-net")
            .with("gamma", gamma)
            .with("delta", delta)
            .with_some("lo", lo)
            .with_some("hi", hi)
    };
    let ridge = Spec::new("elastic-net")
        .with("gamma", 0.0)
        .with("delta", 1.0);
    vec![
        ("elastic-net", vec![net.clone()]),
        ("ridge", vec![ridge.clone()]),
        ("non-negative", vec![non_negative.clone()]),
        ("box", vec![boxed(Some(-0.7), Some(0.8))]),
        ("box without 0", vec![boxed(Some(0.2), Some(0.9))]),
        ("half-line", vec![boxed(None, Some(0.3))]),
        (
            "agents differ",
            vec![net, non_negative, boxed(Some(-0.2), Some(0.4)), ridge],
        ),
    ]
}

const AGENTS: usize = 4;

fn task(residual: &Spec, own: &[Spec]) -> TaskSpec {
    let local = |k: usize| LocalSpec {
        regularizer: own[k % own.len()].clone(),
        penalty: Default::default(),
        set: Spec::new("unit-ball"),
    };
    TaskSpec {
        residual: residual.clone(),
        common: local(0),
        own: (1..AGENTS).map(|k| (k, local(k))).collect(),
    }
}

/// W y for feasible codes y, and noise: as much as the residual can take, or (`reachable` not asked
/// for) more than an indicator can take where there are fewer atoms than rows.
fn sample(task: &Task, mesh: &Mesh, reachable: bool, rng: &mut Rng) -> Samples {
    let mut x = Matrix::zeros(mesh.rows(), 1);
    for k in 0..mesh.agents() {
        let atoms = mesh.block(k).atoms();
        let s = gaussian(atoms.cols(), 1, rng);
        let mut y = Matrix::zeros(atoms.cols(), 1);
        let h = task.local(k).regularizer();
        y.as_mut_slice().copy_from_slice(s.as_slice());
        h.argmax(0.3, y.as_mut_slice());
        let part = atoms.times(&y);
        add(1.0, &part, &mut x);
    }
    let noise = gaussian(mesh.rows(), 1, rng);
    let size = noise.as_slice().iter().map(|v| v * v).sum::<f64>().sqrt();
    let scale = match task.residual().name().as_str() {
        _ if !reachable => 3.0 / size,
        "equality" => 0.0,
        "ball" => 0.8 * task.spec().residual.required("sigma").unwrap() / size,
        _ => 1.0 / size,
    };
    add(scale, &noise, &mut x);
    Samples::dense(x).unwrap()
}

fn add(scale: f64, from: &Matrix, to: &mut Matrix) {
    for (to, from) in to.as_mut_slice().iter_mut().zip(from.as_slice()) {
        *to += scale * from;
    }
}

/// One problem, solved and printed.
fn witness(name: String, label: &str, spec: &TaskSpec, sizes: &[usize], m: usize, seed: u64) {
    let mut rng = stream(seed, 77);
    let task = spec.build().unwrap();
    let mesh = Mesh::builder(task.clone(), Topology::ring(AGENTS).unwrap())
        .seed(seed)
        .build(m, sizes, AtomInit::Random)
        .unwrap();
    let x = sample(&task, &mesh, seed.is_multiple_of(2), &mut rng);
    let exact = mesh.exact(&x).unwrap();
    let certificate = exact.certificates[0];
    let dictionary = mesh.dictionary();
    let line = json!({
        "name": name,
        "regularizer": label,
        "task": spec,
        "sizes": sizes,
        "w": dictionary.columns().map(<[f64]>::to_vec).collect::<Vec<_>>(),
        "x": x.to_dense().into_vec(),
        "y": exact.codes.column(0),
        "nu": exact.duals.column(0),
        "cost": certificate.dual,
        "gap": certificate.gap,
        "violation": certificate.violation,
        "stop": format!("{:?}", certificate.stop),
    });
    println!("{line}");
}

fn main() {
    // More rows than atoms and fewer, one agent with none.
    let shapes = [(8, [6, 4, 8, 2]), (20, [3, 0, 2, 3]), (5, [1, 1, 1, 1])];
    for residual in residuals() {
        for (label, own) in regularizers() {
            for (m, sizes) in shapes {
                for seed in 0..2 {
                    let spec = task(&residual, &own);
                    let name = format!("{residual:?}, {label}, M = {m}, {sizes:?}, seed {seed}");
                    witness(name, label, &spec, &sizes, m, seed);
                }
            }
        }
    }
}
