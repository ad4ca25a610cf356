//! The laws of every strategy, and formulas of particular ones.

use super::*;
use dictmesh::{laws, AtomInit, Stopping, Topology, WeightRule};
use dictmesh_kernels::correlate::correlate_columns;

fn squared() -> Task {
    task(&Spec::new("squared-l2"), elastic_net())
}

/// With A = 11'/N all agents hold the same nu, and diffusion is centralised projected gradient
/// descent on the mean of the J_k, round by round.
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
fn every_strategy_keeps_the_laws() {
    for name in strategy::NAMES {
        laws::strategy(named(name)).unwrap_or_else(|broken| panic!("{name}: {broken}"));
    }
    // A strategy that draws random numbers.
    let random = Spec::new("relaxed-admm").with("random_start", 1.0);
    assert_eq!(laws::strategy(strategy::build(&random).unwrap()), Ok(()));
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
        let (w, nu) = (mesh.block(k).atoms(), &found.duals[k]);
        let mut s = Matrix::zeros(2, 2);
        correlate_columns(w, nu.view(), s.view_mut());
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
    // The paper's scalar diffusion has its own fixed point, g = A'((1 - mu_g) g - mu_g J), whose
    // bias falls with its step.
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
