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
            // Stated in docs/reference/strategies.md.
            let limit = match residual.kind() {
                "squared-l2" => 60,
                "huber" | "ball" => 100,
                _ => 250,
            };
            assert!(bits < 8 || found.rounds <= limit, "{residual}, {bits} bits");
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

/// The certificate of every sample bounds its true duality gap, and the costs are those of nu.
#[test]
fn a_certificate_is_never_below_the_true_gap() {
    let w = atoms(20, 24, 3);
    let x = reachable(&w, 6, 4);
    for residual in residuals() {
        for (bits, rounds) in [(4, 6), (6, 3), (8, 1), (8, 5), (8, 12), (16, 8), (8, 40)] {
            let label = format!("{residual}, {bits} bits, {rounds} rounds");
            let task = task(&residual, elastic_net());
            let mut mesh = mesh_on(Topology::ring(6).unwrap(), task, bits, 1e-8, &w);
            mesh.set_stopping(Stopping::rounds(rounds)).unwrap();
            let found = mesh.infer(&x).unwrap();
            assert_eq!(found.certified.len(), x.len(), "{label}");
            let f = mesh.task().residual();
            let h = mesh.task().common().regularizer();
            for (j, certified) in found.certified.iter().enumerate() {
                let y = found.stacked_codes().column(j).to_vec();
                let mut u = vec![0.0; x.rows()];
                x.add_scaled(j, 1.0, &mut u);
                for (y, w) in y.iter().zip(w.columns()) {
                    u.iter_mut().zip(w).for_each(|(u, w)| *u -= y * w);
                }
                let dual = found.costs[j];
                let off = (certified.cost - dual).abs();
                assert!(off <= 1e-8 * (1.0 + dual.abs()), "{label}: cost {off:e}");
                let violation = f.violation(&u);
                assert!(certified.violation >= violation - 1e-12, "{label}");
                if violation == 0.0 && certified.gap.is_finite() {
                    let gap = f.value(&u) + h.value(&y) - dual;
                    let slack = 1e-12 * (1.0 + dual.abs());
                    assert!(
                        gap <= certified.gap + slack,
                        "{label}: {gap:e} {certified:?}"
                    );
                }
            }
        }
    }
}

/// Integers add up to the same total in any order: results do not depend on the tree.
#[test]
fn results_are_bit_identical_on_every_graph_and_for_any_number_of_threads() {
    let w = atoms(16, 24, 5);
    let x = reachable(&w, 7, 6);
    for residual in residuals() {
        let run = |graph: Topology, threads: usize| {
            let mesh = Mesh::builder(task(&residual, elastic_net()), graph)
                .informed(&[3, 5])
                .strategy(tree(8))
                .stopping(Stopping::tolerance(1e-5))
                .threads(threads)
                .build(16, &[4; 6], AtomInit::Given(&w))
                .unwrap();
            let found = mesh.infer(&x).unwrap();
            assert_eq!(found.stop, Stop::Converged);
            (found.duals, found.rounds, found.costs)
        };
        let star: Vec<(usize, usize)> = (1..6).map(|k| (0, k)).collect();
        let reference = run(Topology::path(6).unwrap(), 1);
        for graph in [
            Topology::ring(6).unwrap(),
            Topology::complete(6).unwrap(),
            Topology::from_edges(6, &star).unwrap(),
            Topology::erdos_renyi(6, 0.6, 1).unwrap(),
        ] {
            assert!(run(graph.clone(), 1) == reference, "{residual}");
            assert!(run(graph, 3) == reference, "{residual}, three threads");
        }
    }
}

/// A sum and a broadcast take one message on each edge of the tree.
#[test]
fn bytes_grow_with_the_agents_and_not_with_the_edges() {
    let w = atoms(30, 32, 7);
    let x = reachable(&w, 4, 8);
    let bytes = |graph: Topology| {
        let task = task(&Spec::new("squared-l2"), elastic_net());
        let mesh = mesh_on(graph, task, 8, 1e-3, &w);
        mesh.infer(&x).unwrap().bytes
    };
    let (sparse, dense) = (Topology::path(8).unwrap(), Topology::complete(8).unwrap());
    assert_eq!(bytes(sparse), bytes(dense));
}

/// A round is one broadcast and one sum; the magnitudes and the first tasks come before.
#[test]
fn a_round_goes_down_the_tree_and_back() {
    let w = atoms(30, 32, 7);
    let x = reachable(&w, 4, 8);
    let graph = Topology::path(8).unwrap();
    let depth = graph.spanning_tree().depth() as u64;
    let task = task(&Spec::new("squared-l2"), elastic_net());
    let found = mesh_on(graph, task, 8, 1e-3, &w).infer(&x).unwrap();
    assert_eq!(found.stop, Stop::Converged);
    assert_eq!(found.hops, 2 * depth * (found.rounds as u64 + 1));
}

#[test]
fn a_warm_start_takes_fewer_rounds() {
    let w = atoms(20, 24, 9);
    let x = reachable(&w, 4, 10);
    let mut near = x.to_dense();
    near.as_mut_slice().iter_mut().for_each(|x| *x *= 1.001);
    let near = Samples::dense(near).unwrap();
    let task = task(&Spec::new("squared-l2"), elastic_net());
    let mesh = mesh_on(Topology::ring(4).unwrap(), task, 8, 1e-4, &w);
    let mut first = mesh.run(&x).unwrap();
    assert_eq!(first.until(&mesh.stopping()), Stop::Converged);
    let cold = mesh.infer(&near).unwrap();
    let mut warm = mesh.continue_from(first, &near).unwrap();
    assert_eq!(warm.until(&mesh.stopping()), Stop::Converged);
    assert!(
        warm.rounds() < cold.rounds,
        "{} {}",
        warm.rounds(),
        cold.rounds
    );
    let found = warm.found(Stop::Converged);
    let (nu, ..) = errors(&mesh, &near, &found);
    assert!(nu < 1e-3, "{nu:e}");
}

/// A sample that no code reaches ends with a certificate of infeasibility; the others are coded.
#[test]
fn infeasible_samples_are_certified_and_named() {
    let w = atoms(12, 8, 11); // 8 atoms span 8 of 12 dimensions
    let mut x = reachable(&w, 3, 12).to_dense();
    x.column_mut(1)
        .copy_from_slice(gaussian(12, 1, &mut stream(13, 1)).as_slice());
    let x = Samples::dense(x).unwrap();
    for residual in [Spec::new("equality"), Spec::new("ball").with("sigma", 0.1)] {
        let mesh = mesh_on(
            Topology::ring(4).unwrap(),
            task(&residual, elastic_net()),
            8,
            1e-6,
            &w,
        );
        let found = mesh.infer(&x).unwrap();
        assert_eq!(
            found.stop,
            Stop::Infeasible,
            "{residual}: {} rounds",
            found.rounds
        );
        assert_eq!(found.infeasible, [1], "{residual}");
        for j in [0, 2] {
            assert_eq!(found.certified[j].stop, Stop::Converged, "{residual}");
        }
    }
}

/// nu of a zero code is x, which integers of few bits may meet exactly while an error is left at the
/// agent that has x.
#[test]
fn zero_codes_are_certified() {
    let w = atoms(10, 8, 19);
    let x = gaussian(10, 40, &mut stream(20, 1));
    let x = Samples::dense(Matrix::from_fn(10, 40, |i, j| 0.03 * x.get(i, j))).unwrap();
    for residual in residuals().into_iter().take(2) {
        for bits in [4, 6, 8, 16] {
            let task = task(&residual, elastic_net());
            let mesh = mesh_on(Topology::ring(4).unwrap(), task, bits, 1e-6, &w);
            let found = mesh.infer(&x).unwrap();
            let zero = |j: usize| {
                found
                    .codes
                    .iter()
                    .all(|y| y.column(j).iter().all(|y| *y == 0.0))
            };
            let zeros = (0..40).filter(|j| zero(*j)).count();
            assert!(zeros > 10 || residual.kind() == "huber", "{zeros}");
            assert_eq!(found.stop, Stop::Converged, "{residual}, {bits} bits");
            assert!(
                found.rounds < 100,
                "{residual}, {bits} bits: {}",
                found.rounds
            );
        }
    }
}

/// The first step is shorter than the shortest of the grid by orders of magnitude.
#[test]
fn a_small_delta_does_not_diverge() {
    let w = atoms(20, 12, 21);
    let x = reachable(&w, 5, 22);
    for delta in [1e-3, 1e-4] {
        let net = Spec::new("elastic-net")
            .with("gamma", 0.1)
            .with("delta", delta);
        let task = task(&Spec::new("squared-l2"), net);
        let mesh = mesh_on(Topology::ring(4).unwrap(), task, 8, 1e-4, &w);
        let found = mesh.infer(&x).unwrap();
        assert_eq!(
            found.stop,
            Stop::Converged,
            "delta {delta:e}: {}",
            found.rounds
        );
        let (.., cost) = errors(&mesh, &x, &found);
        assert!(cost < 1e-7, "delta {delta:e}: {cost:e}");
    }
}

/// The curvature of the dual cost reaches |W|^2 / delta.
#[test]
fn every_delta_from_the_least_one_on_is_solved() {
    let w = atoms(20, 12, 21);
    let x = reachable(&w, 5, 22);
    for residual in residuals() {
        for delta in [strategy::tree::LEAST_DELTA, 1e-3, 1.0, 1e4, 1e8] {
            let net = Spec::new("elastic-net")
                .with("gamma", 0.1)
                .with("delta", delta);
            let task = task(&residual, net);
            let mesh = mesh_on(Topology::ring(4).unwrap(), task, 8, 1e-4, &w);
            let found = mesh.infer(&x).unwrap();
            let (.., cost) = errors(&mesh, &x, &found);
            let label = format!("{residual}, delta {delta:e}, {} rounds", found.rounds);
            println!("{label}: {cost:.1e}");
            assert_eq!(found.stop, Stop::Converged, "{label}");
            assert!(cost < 1e-4, "{label}: {cost:e}");
        }
    }
}

/// Below it, thousands of rounds leave large errors.
#[test]
fn a_delta_below_the_least_one_is_refused_and_left_to_gossip() {
    let build = |spec: Spec, delta: f64| {
        Mesh::builder(
            Task::sparse_svd(0.1, delta).unwrap(),
            Topology::ring(4).unwrap(),
        )
        .strategy(strategy::build(&spec).unwrap())
        .build(20, &[3; 4], AtomInit::Random)
    };
    let words = build(Spec::new("tree"), 9e-5).unwrap_err().to_string();
    for word in ["delta", "0.00009", "0.0001 or above", "relaxed-admm"] {
        assert!(words.contains(word), "{words}");
    }
    let by_bytes = || Spec::new("auto").with("latency", 0.0);
    let auto = |delta| build(by_bytes(), delta).unwrap().strategy().name();
    assert_eq!(auto(9e-5), "relaxed-admm");
    assert_eq!(auto(1e-4), "tree");
}

/// Magnitudes far from 1, zero samples and empty blocks.
#[test]
fn scales_of_samples_do_not_matter() {
    for size in [1e-150, 1e-6, 1e6, 1e150] {
        let w = atoms(10, 8, 15);
        let mut x = reachable(&w, 3, 16).to_dense();
        x.as_mut_slice().iter_mut().for_each(|x| *x *= size);
        x.column_mut(2).fill(0.0);
        let x = Samples::dense(x).unwrap();
        let net = Spec::new("elastic-net")
            .with("gamma", 0.1 * size)
            .with("delta", 0.3);
        let mesh = Mesh::builder(
            task(&Spec::new("squared-l2"), net),
            Topology::path(4).unwrap(),
        )
        .informed(&[2])
        .strategy(tree(8))
        .stopping(Stopping::tolerance(1e-6))
        .build(10, &[5, 0, 3, 0], AtomInit::Given(&w))
        .unwrap();
        let found = mesh.infer(&x).unwrap();
        assert_eq!(found.stop, Stop::Converged, "size {size:e}");
        let (nu, ..) = errors(&mesh, &x, &found);
        assert!(nu < 1e-5, "size {size:e}: {nu:e}");
    }
}

/// Learning with the tree follows learning with exact codes.
#[test]
fn learning_by_sums_learns_what_gossip_learns() {
    let w = atoms(16, 12, 17);
    let x = reachable(&w, 64, 18);
    let learn = |strategy: Arc<dyn Strategy>| {
        let mut mesh = Mesh::builder(
            Task::sparse_svd(0.1, 0.3).unwrap(),
            Topology::ring(4).unwrap(),
        )
        .strategy(strategy)
        .stopping(Stopping::tolerance(1e-7))
        .batch(16)
        .seed(1)
        .build(16, &[3; 4], AtomInit::Random)
        .unwrap();
        mesh.learn(&x, |_| std::ops::ControlFlow::Continue(()))
            .unwrap();
        (0..4)
            .map(|k| mesh.block(k).atoms().clone())
            .collect::<Vec<_>>()
    };
    let (sums, gossip) = (learn(tree(8)), learn(named("relaxed-admm")));
    for (a, b) in sums.iter().zip(&gossip) {
        assert!(error(a, b) < 1e-5, "{:e}", error(a, b));
    }
}
