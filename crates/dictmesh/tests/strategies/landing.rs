//! Where each strategy lands, against `exact` with its certified gap.

use super::*;
use dictmesh::strategy::Message;
use dictmesh::{AtomInit, Stopping, Topology};

/// A small mesh with blocks of different sizes, an empty one among them, and two informed agents.
fn small(task: Task, strategy: Arc<dyn Strategy>, rounds: usize) -> (Mesh, Samples) {
    let sizes = [3, 0, 4, 1, 2, 4];
    let w = atoms(10, sizes.iter().sum(), 5);
    let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)];
    let mesh = Mesh::builder(task, Topology::from_edges(6, &edges).unwrap())
        .informed(&[1, 4])
        .strategy(strategy)
        .stopping(Stopping::rounds(rounds))
        .build(10, &sizes, AtomInit::Given(&w))
        .unwrap();
    (mesh, reachable(&w, 3, 6))
}

#[test]
fn the_exact_strategies_reach_nu_where_the_conjugate_is_strongly_convex() {
    for residual in &residuals()[..2] {
        for name in ["relaxed-admm", "exact-diffusion", "jacobi-admm"] {
            let (mesh, x) = small(task(residual, elastic_net()), named(name), 40_000);
            let (nu, y, cost) = errors(&mesh, &x, &mesh.infer(&x).unwrap());
            println!("{residual:?} {name}: nu {nu:.1e} y {y:.1e} cost {cost:.1e}");
            assert!(nu <= 1e-8, "{residual:?} {name}: {nu:e}");
        }
    }
}

/// The limit does not depend on the start of the memory, as long as s_k = t_k; the way there does.
#[test]
fn a_random_start_changes_the_way_and_not_the_end() {
    for residual in &residuals()[..2] {
        let random = |size| {
            strategy::build(&Spec::new("relaxed-admm").with_some("random_start", size)).unwrap()
        };
        let task = || task(residual, elastic_net());
        let (mesh, x) = small(task(), random(Some(1.0)), 40_000);
        let found = mesh.infer(&x).unwrap();
        let (nu, y, _) = errors(&mesh, &x, &found);
        assert!(nu <= 1e-8 && y <= 1e-8, "{residual:?}: {nu:e} {y:e}");
        assert_eq!(
            found.duals,
            mesh.infer(&x).unwrap().duals,
            "one seed, one run"
        );

        // After one round it is far from the plain run, and agents are far from each other.
        let first = |size| {
            let (mesh, x) = small(task(), random(size), 1);
            let mut run = mesh.run(&x).unwrap();
            run.round();
            let array = |sent: Message| Matrix::from_vec(x.rows(), x.len(), sent.array().to_vec());
            let sent: Vec<Matrix> = run.sent().map(|m| array(m).unwrap()).collect();
            sent
        };
        let (plain, hidden) = (first(None), first(Some(1.0)));
        for k in 0..6 {
            let apart = distance(plain[k].as_slice(), hidden[k].as_slice());
            assert!(
                apart > 0.5 * norm(plain[k].as_slice()).max(0.1),
                "agent {k}: {apart}"
            );
            for j in 1..3 {
                let own = |k: usize, j: usize| hidden[k].column(j);
                assert!(
                    distance(own(k, 0), own(k, j)) > 0.01,
                    "each sample its own start"
                );
                assert!(
                    distance(own(k, j), own((k + 1) % 6, j)) > 0.01,
                    "each agent its own"
                );
            }
        }
    }
}

#[test]
fn and_y_and_the_cost_elsewhere() {
    for residual in &residuals()[2..] {
        for name in ["relaxed-admm", "exact-diffusion", "jacobi-admm"] {
            let (mesh, x) = small(task(residual, elastic_net()), named(name), 80_000);
            let (nu, y, cost) = errors(&mesh, &x, &mesh.infer(&x).unwrap());
            println!("{residual:?} {name}: nu {nu:.1e} y {y:.1e} cost {cost:.1e}");
            assert!(y <= 1e-8, "{residual:?} {name}: {y:e}");
            assert!(cost <= 1e-8, "{residual:?} {name}: {cost:e}");
        }
    }
}

#[test]
fn the_bias_of_diffusion_and_consensus_shrinks_with_mu() {
    for residual in [Spec::new("squared-l2"), Spec::new("huber").with("eta", 0.2)] {
        let bias = |spec: Arc<dyn Strategy>| {
            let (mesh, x) = small(task(&residual, elastic_net()), spec, 30_000);
            errors(&mesh, &x, &mesh.infer(&x).unwrap()).0
        };
        let of = |mu: f64| {
            let mu = Some(mu);
            [
                bias(strategy::build(&Spec::new("diffusion").with_some("mu", mu)).unwrap()),
                bias(strategy::build(&Spec::new("consensus").with_some("mu", mu)).unwrap()),
            ]
        };
        let (large, small) = (of(0.02), of(0.005));
        println!("{residual:?}: {large:?} -> {small:?}");
        for (large, small) in large.iter().zip(small) {
            // Linear in mu: a quarter of the step, about a quarter of the bias; never none.
            assert!(small < 0.45 * large && small > 1e-6, "{large} -> {small}");
        }
    }
}

#[test]
fn agents_may_have_regularizers_of_their_own() {
    let mut spec = task(&Spec::new("squared-l2"), elastic_net()).spec();
    let mut own = spec.common.clone();
    own.regularizer = Spec::new("non-negative-elastic-net")
        .with("gamma", 0.02)
        .with("delta", 0.7);
    spec.own.insert(0, own.clone());
    own.regularizer = Spec::new("boxed-elastic-net")
        .with("gamma", 0.05)
        .with("delta", 0.2)
        .with("lo", -0.1)
        .with("hi", 0.3);
    spec.own.insert(4, own);
    let (mesh, x) = small(spec.build().unwrap(), named("relaxed-admm"), 3000);
    let found = mesh.infer(&x).unwrap();
    let (nu, y, _) = errors(&mesh, &x, &found);
    assert!(nu <= 1e-8 && y <= 1e-8, "nu {nu:e} y {y:e}");
    assert!(found.codes[0].as_slice().iter().all(|y| *y >= 0.0));
    assert!((found.codes[4].as_slice().iter()).all(|y| (-0.1..=0.3).contains(y)));
}

#[test]
fn z_is_what_the_codes_rebuild() {
    for residual in [Spec::new("squared-l2"), Spec::new("huber").with("eta", 0.2)] {
        let (mesh, x) = small(task(&residual, elastic_net()), named("relaxed-admm"), 3000);
        let found = mesh.infer(&x).unwrap();
        let rebuilt = mesh.dictionary().times(&found.stacked_codes());
        let z = found.z(mesh.task(), &x, 1);
        for (z, rebuilt) in z.as_slice().iter().zip(rebuilt.as_slice()) {
            // Huber leaves open what is beyond eta.
            assert!(z.is_nan() || (z - rebuilt).abs() < 1e-8, "{z} {rebuilt}");
        }
        let known = z.as_slice().iter().filter(|z| !z.is_nan()).count();
        assert!(known > 0);
    }
}

#[test]
fn a_warm_start_lands_in_the_same_place() {
    for name in strategy::NAMES {
        let residual = Spec::new("squared-l2");
        let (mesh, x) = small(task(&residual, elastic_net()), named(name), 5000);
        let cold = mesh.infer(&x.range(1..2)).unwrap();
        let first = x.range(0..1);
        let mut run = mesh.run(&first).unwrap();
        (0..50).for_each(|_| run.round());
        let second = x.range(1..2);
        let mut run = mesh.continue_from(run, &second).unwrap();
        let stop = run.until(&mesh.stopping());
        let warm = run.found(stop);
        let apart = error(&warm.duals[3], &cold.duals[3]);
        assert!(apart < 1e-6, "{name}: {apart:e}");
    }
}
