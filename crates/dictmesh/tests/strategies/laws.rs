//! What holds for every strategy.

use super::*;
use dictmesh::{AtomInit, Stopping, Topology, WeightRule};

fn squared() -> Task {
    task(&Spec::new("squared-l2"), elastic_net())
}

/// With A = 11'/N all agents hold the same nu, and diffusion is centralised projected gradient descent
/// on the mean of the J_k, round by round.
#[test]
fn a_fully_connected_mesh_is_centralised_gradient_descent() {
    for residual in residuals() {
        if residual.kind() == "ball" {
            continue; // refused: no gradient
        }
        let (n, m, mu) = (4, 7, 0.05);
        let w = atoms(m, 8, 1);
        let x = reachable(&w, 1, 2);
        let mesh = Mesh::builder(
            task(&residual, elastic_net()),
            Topology::complete(n).unwrap(),
        )
        .weights(WeightRule::Uniform)
        .strategy(strategy::build(&Spec::new("diffusion").with("mu", mu)).unwrap())
        .build(m, &[2; 4], AtomInit::Given(&w))
        .unwrap();
        let mut run = mesh.run(&x).unwrap();
        let f = mesh.task().residual();
        let h = mesh.task().common().regularizer();
        let mut nu = vec![0.0; m];
        for round in 0..200 {
            run.round();
            // grad of (1/N) [f*(nu) - nu'x + sum h*(W_k'nu)], written out.
            let mut gradient = vec![0.0; m];
            let c = f.conjugate_quadratic().unwrap();
            gradient.iter_mut().zip(&nu).for_each(|(g, nu)| *g = c * nu);
            x.add_scaled(0, -1.0, &mut gradient);
            for w in w.columns() {
                let s: f64 = w.iter().zip(&nu).map(|(w, nu)| w * nu).sum();
                let y = h.scalar(0).unwrap().coordinate_argmax(s, 0.0);
                gradient.iter_mut().zip(w).for_each(|(g, w)| *g += y * w);
            }
            for (nu, g) in nu.iter_mut().zip(&gradient) {
                *nu -= mu * g / n as f64;
            }
            f.project_dual(&mut nu);
            for own in run.duals() {
                let apart = distance(own.column(0), &nu);
                assert!(apart < 1e-12, "{residual:?} round {round}: {apart:e}");
            }
        }
    }
}

#[test]
fn permuting_agents_permutes_results() {
    let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)];
    let order = [3, 0, 4, 1, 2]; // old agent k becomes order[k]
    let w = atoms(9, 10, 3);
    let x = reachable(&w, 2, 4);
    let mut moved = [0; 10];
    for k in 0..5 {
        for q in 0..2 {
            moved[2 * order[k] + q] = 2 * k + q;
        }
    }
    let permuted = Matrix::from_fn(9, 10, |i, q| w.get(i, moved[q]));
    let renamed: Vec<_> = edges.iter().map(|(a, b)| (order[*a], order[*b])).collect();
    for name in strategy::NAMES {
        let run = |edges: &[(usize, usize)], w: &Matrix, informed: usize| {
            Mesh::builder(squared(), Topology::from_edges(5, edges).unwrap())
                .informed(&[informed])
                .strategy(named(name))
                .stopping(Stopping::rounds(60))
                .build(9, &[2; 5], AtomInit::Given(w))
                .unwrap()
                .infer(&x)
                .unwrap()
        };
        let (one, other) = (run(&edges, &w, 1), run(&renamed, &permuted, order[1]));
        for k in 0..5 {
            let apart = error(&one.duals[k], &other.duals[order[k]]);
            assert!(apart < 1e-10, "{name}, agent {k}: {apart:e}");
        }
    }
}

#[test]
fn no_result_depends_on_the_number_of_threads() {
    let w = atoms(64, 48, 1);
    let x = reachable(&w, 20, 2); // large enough for the threads to be used
    for name in strategy::NAMES {
        let infer = |threads| {
            Mesh::builder(squared(), Topology::erdos_renyi(16, 0.3, 1).unwrap())
                .strategy(named(name))
                .stopping(Stopping::rounds(30))
                .threads(threads)
                .build(64, &[3; 16], AtomInit::Given(&w))
                .unwrap()
                .infer(&x)
                .unwrap()
        };
        let (one, three) = (infer(1), infer(3));
        assert_eq!(one.duals, three.duals, "{name}");
        assert_eq!(one.costs, three.costs, "{name}");
    }
}

#[test]
fn a_batch_is_its_samples_and_sparse_is_dense() {
    let w = atoms(12, 8, 1);
    let dense = {
        let x = reachable(&w, 3, 2).to_dense();
        Matrix::from_fn(12, 3, |i, j| if i % 3 == j { 0.0 } else { x.get(i, j) })
    };
    let (mut start, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
    for column in dense.columns() {
        for (i, v) in column.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            rows.push(i);
            values.push(*v);
        }
        start.push(rows.len());
    }
    let sparse = Samples::sparse(12, start, rows, values).unwrap();
    let dense = Samples::dense(dense).unwrap();
    for name in strategy::NAMES {
        let mesh = Mesh::builder(squared(), Topology::ring(4).unwrap())
            .strategy(named(name))
            .stopping(Stopping::rounds(100))
            .build(12, &[2; 4], AtomInit::Given(&w))
            .unwrap();
        let whole = mesh.infer(&dense).unwrap();
        assert_eq!(whole.duals, mesh.infer(&sparse).unwrap().duals, "{name}");
        for j in 0..3 {
            let alone = mesh.infer(&dense.range(j..j + 1)).unwrap();
            for k in 0..4 {
                let apart = distance(whole.duals[k].column(j), alone.duals[k].column(0));
                assert!(apart < 1e-10, "{name}: {apart:e}");
            }
        }
    }
}

#[test]
fn every_agent_uses_its_own_dual_and_bytes_are_counted() {
    let w = atoms(6, 6, 1);
    let x = reachable(&w, 2, 2);
    let mesh = Mesh::builder(squared(), Topology::path(3).unwrap())
        .informed(&[0])
        .stopping(Stopping::rounds(2)) // far from agreement
        .build(6, &[2; 3], AtomInit::Given(&w))
        .unwrap();
    let found = mesh.infer(&x).unwrap();
    assert!(found.disagreement > 0.1);
    let h = mesh.task().common().regularizer();
    for k in 0..3 {
        let s = mesh.block(k).atoms().transpose_times(&found.duals[k]);
        for (s, y) in s.as_slice().iter().zip(found.codes[k].as_slice()) {
            assert_eq!(h.scalar(0).unwrap().coordinate_argmax(*s, 0.0), *y);
        }
    }
    // Two rounds, four directed edges, 6 x 2 numbers of eight bytes.
    assert_eq!(found.bytes, 2 * 4 * 12 * 8);
}

#[test]
fn agents_agree_on_the_cost() {
    let w = atoms(10, 12, 1);
    let x = reachable(&w, 2, 2);
    let mesh = Mesh::builder(squared(), Topology::erdos_renyi(6, 0.5, 1).unwrap())
        .stopping(Stopping::rounds(2000))
        .build(10, &[2; 6], AtomInit::Given(&w))
        .unwrap();
    let found = mesh.infer(&x).unwrap();
    let exact = mesh.exact(&x).unwrap();
    let averaged = mesh.agree(&found).unwrap();
    let scored = mesh.score(&x).unwrap().0;
    for j in 0..2 {
        let cost = exact.certificates[j].dual;
        for k in 0..6 {
            let off = |m: &Matrix| (m.get(k, j) - cost).abs() / cost;
            assert!(off(&averaged) < 1e-9, "{}", off(&averaged));
            assert!(off(&scored) < 1e-9, "{}", off(&scored));
        }
    }
    // The paper's scalar diffusion has its own fixed point, g = A'((1 - mu_g) g - mu_g J), whose bias
    // falls with its step.
    let a = mesh.weights().to_matrix();
    let mut biases = Vec::new();
    for mu_g in [0.1, 0.01] {
        let g = mesh.agree_by_diffusion(&found, mu_g, 20_000).unwrap();
        let mut bias = 0.0_f64;
        for j in 0..2 {
            for k in 0..6 {
                let own =
                    |l: usize| (1.0 - mu_g) * g.get(l, j) - mu_g * 6.0 * found.local_costs[l][j];
                let combined: f64 = (0..6).map(|l| a.get(l, k) * own(l)).sum();
                assert!((g.get(k, j) - combined).abs() < 1e-9);
                let cost = exact.certificates[j].dual;
                bias = bias.max((g.get(k, j) - cost).abs() / cost);
            }
        }
        biases.push(bias);
    }
    assert!(biases[1] < 0.2 * biases[0], "{biases:?}");
}

#[test]
fn steps_above_the_bound_are_named() {
    let w = atoms(8, 6, 1);
    let mesh = |mu| {
        Mesh::builder(squared(), Topology::ring(3).unwrap())
            .strategy(strategy::build(&Spec::new("diffusion").with_some("mu", mu)).unwrap())
            .build(8, &[2; 3], AtomInit::Given(&w))
            .unwrap()
    };
    let (table, exact) = mesh(None).step_bounds();
    assert!((table - 1.0 / (1.0 + 2.0 / 0.3)).abs() < 1e-15);
    assert!(table < exact);
    let resolved = mesh(None)
        .strategy()
        .resolve(&mesh(None).shared_constants())
        .unwrap();
    let default = resolved.spec().required("mu").unwrap();
    assert!(default < table);
    assert!(mesh(None).warnings().is_empty());
    let said = mesh(Some(2.0 * exact)).warnings()[0].to_string();
    assert!(said.contains(&format!("{exact:.4e}")), "{said}");
    assert!(said.contains(&format!("{table:.4e}")), "{said}");
}
