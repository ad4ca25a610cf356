//! A run with a sample that no code can reach.

use super::Plan;
use dictmesh::accel::Accels;
use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Spec, Stopping, Topology, Update};

/// Dimension of the samples.
const ROWS: usize = 4;
/// The batch with the sample that no code can reach.
pub const BATCH: usize = 1;

/// The plan and the mesh at its start, with this number of atoms at each agent. No atom has an entry
/// in the last row, so that one sample of six in batches of two is infeasible.
pub fn plan(topology: Topology, atoms: usize, residual: Spec, strategy: &str) -> (Plan, Mesh) {
    let n = topology.agents();
    let mut plan = Plan::new(topology, ROWS, 1);
    plan.strategy = Spec::new(strategy);
    plan.task.residual = residual;
    plan.update = Update::Constant { mu_w: 0.01 };
    plan.stopping = Stopping {
        tolerance: Some(1e-3),
        rounds: 3000,
    };
    plan.batch = 2;
    plan.sizes = vec![atoms; n];
    plan.informed = vec![n - 1];
    let drawn = gaussian(ROWS, atoms * n, &mut stream(3, 0));
    let w = Matrix::from_fn(ROWS, atoms * n, |i, q| match i + 1 == ROWS {
        true => 0.0,
        false => 0.4 * drawn.get(i, q),
    });
    let reached = |q: usize, share: f64| -> Vec<f64> {
        let w = w.column(q % w.cols());
        w.iter().map(|w| share * w).collect()
    };
    let [a, b, c] = [reached(0, 1.0), reached(1, 0.5), reached(2, 0.7)];
    let [d, e] = [reached(3, -0.6), reached(4, 0.9)];
    let beyond = vec![0.0, 0.1, 0.0, 0.5];
    plan.x = Samples::dense_from_columns(ROWS, &[a, b, beyond, c, d, e]).unwrap();
    let mesh = plan
        .builder()
        .accels(Accels::parse("lanes").unwrap())
        .build(ROWS, &plan.sizes, AtomInit::Given(&w))
        .unwrap();
    (plan, mesh)
}
