//! `tree`: certified codes by integer sums.

use super::*;
use dictmesh::{AtomInit, Stop, Stopping, Topology};

fn tree(bits: u32) -> Arc<dyn Strategy> {
    strategy::build(&Spec::new("tree").with("bits", f64::from(bits))).unwrap()
}

fn mesh_on(graph: Topology, task: Task, bits: u32, tolerance: f64, w: &Matrix) -> Mesh {
    let each = w.cols() / graph.agents();
    let sizes = vec![each; graph.agents()];
    Mesh::builder(task, graph)
        .informed(&[0])
        .strategy(tree(bits))
        .stopping(Stopping::tolerance(tolerance))
        .build(w.rows(), &sizes, AtomInit::Given(w))
        .unwrap()
}

/// nu of every residual is that of `exact`, for all numbers of bits.
#[test]
fn every_residual_is_solved_with_any_number_of_bits() {
    let w = atoms(20, 24, 1);
    let x = reachable(&w, 5, 2);
    for residual in residuals() {
        for bits in [4, 6, 8, 12, 16] {
            let graph = Topology::erdos_renyi(6, 0.5, 1).unwrap();
            let mesh = mesh_on(graph, task(&residual, elastic_net()), bits, 1e-8, &w);
            let found = mesh.infer(&x).unwrap();
            let (nu, y, cost) = errors(&mesh, &x, &found);
            println!(
                "{residual}, {bits} bits: {} rounds, {nu:.1e} {y:.1e} {cost:.1e}",
                found.rounds
            );
            assert_eq!(found.stop, Stop::Converged, "{residual}, {bits} bits");
            assert!(
                y < 1e-5 && cost < 1e-8,
                "{residual}, {bits} bits: {y:e} {cost:e}"
            );
            let first = &found.duals[0];
            assert!(
                found.duals.iter().all(|nu| nu == first),
                "all agents have one nu"
            );
        }
    }
}
