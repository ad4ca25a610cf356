//! How runs end: to a tolerance, at the limit, diverged, infeasible.

use super::*;
use dictmesh::strategy::{AgentStrategy, Exchange, Local, Message, SharedConstants};
use dictmesh::{AtomInit, Stop, Stopping, Topology, Update};
use std::ops::ControlFlow;

fn mesh(task: Task, strategy: Arc<dyn Strategy>, stopping: Stopping, w: &Matrix) -> Mesh {
    Mesh::builder(task, Topology::erdos_renyi(6, 0.5, 1).unwrap())
        .informed(&[0, 2])
        .strategy(strategy)
        .stopping(stopping)
        .build(w.rows(), &[2; 6], AtomInit::Given(w))
        .unwrap()
}

#[test]
fn the_tolerance_is_about_the_error() {
    let w = atoms(30, 24, 1);
    let x = reachable(&w, 4, 2);
    for topology in [
        Topology::erdos_renyi(12, 0.4, 1).unwrap(),
        Topology::ring(12).unwrap(),
        Topology::path(12).unwrap(),
    ] {
        for residual in &residuals()[..2] {
            for tolerance in [1e-2, 1e-4, 1e-7] {
                for name in ["relaxed-admm", "exact-diffusion"] {
                    let mesh = Mesh::builder(task(residual, elastic_net()), topology.clone())
                        .informed(&[0])
                        .strategy(named(name))
                        .stopping(Stopping::tolerance(tolerance))
                        .build(30, &[2; 12], AtomInit::Given(&w))
                        .unwrap();
                    let found = mesh.infer(&x).unwrap();
                    assert_eq!(found.stop, Stop::Converged, "{residual:?} {name}");
                    let (nu, ..) = errors(&mesh, &x, &found);
                    let diameter = topology.diameter();
                    println!("diameter {diameter} {residual:?} {name} {tolerance:.0e}: {nu:.1e}");
                    // An estimate: right to a factor of a few.
                    assert!(nu <= 4.0 * tolerance, "{name} at {tolerance:e}: {nu:e}");
                }
            }
        }
    }
}

#[test]
fn a_step_far_too_large_diverges_and_says_so() {
    let w = atoms(10, 12, 1);
    let x = reachable(&w, 2, 2);
    let task = task(&Spec::new("squared-l2"), elastic_net());
    for stopping in [Stopping::tolerance(1e-4), Stopping::rounds(2000)] {
        let strategy = strategy::build(&Spec::new("diffusion").with("mu", 50.0)).unwrap();
        let found = mesh(task.clone(), strategy, stopping, &w)
            .infer(&x)
            .unwrap();
        assert_eq!(found.stop, Stop::Diverged);
    }
}

#[test]
fn a_constraint_that_no_code_meets_is_infeasible() {
    // Twelve atoms in the first eight of ten rows; the sample has something in the last.
    let full = atoms(10, 12, 1);
    let w = Matrix::from_fn(10, 12, |i, q| if i < 8 { full.get(i, q) } else { 0.0 });
    let mut x = reachable(&w, 2, 2).to_dense();
    x.column_mut(1)[9] = 1.0;
    let x = Samples::dense(x).unwrap();
    for residual in [Spec::new("equality"), Spec::new("ball").with("sigma", 0.5)] {
        for regularizer in [
            elastic_net(),
            Spec::new("non-negative-elastic-net")
                .with("gamma", 0.1)
                .with("delta", 0.3),
            Spec::new("boxed-elastic-net")
                .with("gamma", 0.1)
                .with("delta", 0.3)
                .with("lo", -3.0)
                .with("hi", 3.0),
        ] {
            let task = task(&residual, regularizer);
            for name in ["relaxed-admm", "exact-diffusion"] {
                let stopping = Stopping::tolerance(1e-6);
                let mesh = mesh(task.clone(), named(name), stopping, &w);
                let exact = mesh.exact(&x).unwrap();
                assert_eq!(exact.certificates[0].stop, Stop::Converged);
                assert_eq!(exact.certificates[1].stop, Stop::Infeasible);
                let found = mesh.infer(&x).unwrap();
                println!("{residual:?} {name}: {} rounds", found.rounds);
                assert_eq!(found.stop, Stop::Infeasible, "{residual:?} {name}");
                assert_eq!(found.infeasible, [1]);
            }
        }
    }
}

/// Repeated atoms and very short ones make feasible samples look hard; they must not be refused.
#[test]
fn a_feasible_constraint_is_never_called_infeasible() {
    for seed in 0..10 {
        let plain = atoms(6, 12, seed);
        let w = Matrix::from_fn(6, 12, |i, q| match q {
            0..8 => plain.get(i, q),
            8 => plain.get(i, 0),
            _ => 1e-3 * plain.get(i, q),
        });
        let x = reachable(&w, 2, seed);
        for residual in [Spec::new("equality"), Spec::new("ball").with("sigma", 1e-3)] {
            let task = task(&residual, elastic_net());
            let mesh = mesh(task, named("relaxed-admm"), Stopping::tolerance(1e-6), &w);
            assert_eq!(
                mesh.exact(&x).unwrap().stop(),
                Stop::Converged,
                "seed {seed}"
            );
            assert_eq!(mesh.infer(&x).unwrap().stop, Stop::Converged, "seed {seed}");
        }
    }
}

/// A short atom reaches far with a large coefficient.
#[test]
fn reach_is_by_atom() {
    let w = Matrix::from_columns(2, &[[1.0, 0.0], [0.0, 1e-5]]).unwrap();
    let x = Samples::dense_from_columns(2, &[[0.0, 1.0]]).unwrap();
    for agents in [1, 2] {
        let sizes = [2, 0];
        let mesh = Mesh::builder(
            task(&Spec::new("equality"), elastic_net()),
            Topology::complete(agents).unwrap(),
        )
        .stopping(Stopping::rounds(200))
        .build(2, &sizes[..agents], AtomInit::Given(&w))
        .unwrap();
        assert_ne!(mesh.infer(&x).unwrap().stop, Stop::Infeasible);
        assert_ne!(mesh.exact(&x).unwrap().stop(), Stop::Infeasible);
    }
}

/// With a box that does not contain 0, even a zero sample has a non-zero code, and a constraint may
/// be infeasible.
#[test]
fn boxes_that_do_not_hold_zero() {
    let w = Matrix::from_columns(3, &[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).unwrap();
    let regularizer = Spec::new("boxed-elastic-net")
        .with("gamma", 0.1)
        .with("delta", 0.3)
        .with("lo", 1.0)
        .with("hi", 2.0);
    for x in [[0.0; 3], [1e-14, 0.0, 0.0], [1.0, 0.0, 0.0]] {
        let x = Samples::dense_from_columns(3, &[x]).unwrap();
        for residual in residuals() {
            let mesh = Mesh::builder(
                task(&residual, regularizer.clone()),
                Topology::complete(2).unwrap(),
            )
            .build(3, &[1, 1], AtomInit::Given(&w))
            .unwrap();
            let expected = match residual.kind() {
                "ball" | "equality" => Stop::Infeasible,
                _ => Stop::Converged,
            };
            assert_eq!(mesh.exact(&x).unwrap().stop(), expected, "{residual:?}");
            assert_eq!(mesh.infer(&x).unwrap().stop, expected, "{residual:?}");
        }
    }
}

/// Finite but so large that squares overflow: nothing is certified, nothing converges.
#[test]
fn overflow_is_not_a_certificate() {
    let w = atoms(4, 3, 1);
    let x = Samples::dense_from_columns(4, &[[1e200; 4]]).unwrap();
    let mesh = Mesh::builder(
        task(&Spec::new("squared-l2"), elastic_net()),
        Topology::path(3).unwrap(),
    )
    .build(4, &[1; 3], AtomInit::Given(&w))
    .unwrap();
    let certificate = mesh.exact(&x).unwrap().certificates[0];
    assert_eq!(certificate.stop, Stop::RoundLimit);
    assert_eq!(certificate.gap, f64::INFINITY);
    assert_eq!(mesh.infer(&x).unwrap().stop, Stop::Diverged);
}

/// A complete bipartite graph is where consensus needs the smallest steps.
#[test]
fn the_default_steps_are_stable() {
    let edges: Vec<_> = (0..5).flat_map(|a| (5..10).map(move |b| (a, b))).collect();
    let same = Matrix::from_fn(3, 10, |i, _| if i == 0 { 1.0 } else { 0.0 });
    let x = Samples::dense_from_columns(3, &[[300.0, 1.0, 0.0]]).unwrap();
    for name in strategy::NAMES {
        let mesh = Mesh::builder(
            task(&Spec::new("squared-l2"), elastic_net()),
            Topology::from_edges(10, &edges).unwrap(),
        )
        .informed(&[0])
        .strategy(named(name))
        .stopping(Stopping::rounds(3000))
        .build(3, &[1; 10], AtomInit::Given(&same))
        .unwrap();
        assert!(mesh.warnings().is_empty());
        assert_eq!(mesh.infer(&x).unwrap().stop, Stop::RoundLimit, "{name}");
    }
}

#[test]
fn a_run_goes_on_only_where_its_state_fits() {
    let w = atoms(10, 12, 1);
    let x = reachable(&w, 2, 2);
    let task = task(&Spec::new("squared-l2"), elastic_net());
    let one = mesh(task, named("diffusion"), Stopping::rounds(5), &w);
    let mut other = one.clone();
    other.set_strategy(named("relaxed-admm")).unwrap();
    let refused = other.continue_from(one.run(&x).unwrap(), &x);
    assert!(refused.unwrap_err().to_string().contains("strategy"));
    let fewer = x.range(0..1);
    let refused = one.continue_from(one.run(&x).unwrap(), &fewer);
    assert!(refused.unwrap_err().to_string().contains("10 x 2"));
}

/// One sample that cannot be met does not end the stream, and its event names the sample.
#[test]
fn learning_passes_over_what_it_cannot_meet() {
    let full = atoms(10, 12, 1);
    let w = Matrix::from_fn(10, 12, |i, q| if i < 8 { full.get(i, q) } else { 0.0 });
    let mut x = reachable(&w, 3, 2).to_dense();
    x.column_mut(1)[9] = 1.0;
    let x = Samples::dense(x).unwrap();
    let mut mesh = Mesh::builder(
        task(&Spec::new("equality"), elastic_net()),
        Topology::complete(6).unwrap(),
    )
    .update(Update::Constant { mu_w: 1e-3 })
    .build(10, &[2; 6], AtomInit::Given(&w))
    .unwrap();
    let mut events = Vec::new();
    let worst = mesh
        .learn(&x, |event| {
            events.push((event.stop, event.infeasible));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(worst, Stop::Infeasible);
    assert_eq!(events[0], (Stop::Converged, None));
    assert_eq!(events[1], (Stop::Infeasible, Some(1)));
    assert_eq!(events.len(), 3);
    assert_eq!(
        mesh.progress().samples_learned,
        1 + u64::from(events[2].0 == Stop::Converged)
    );
}

/// relaxed-admm whose argmins report `RoundLimit`.
#[derive(Debug)]
struct Unsolved(Arc<dyn Strategy>);

#[derive(Debug)]
struct UnsolvedAgent(Box<dyn AgentStrategy>);

impl Strategy for Unsolved {
    fn spec(&self) -> Spec {
        Spec::new("unsolved")
    }
    fn resolve(&self, shared: &SharedConstants) -> dictmesh::Result<Arc<dyn Strategy>> {
        Ok(Arc::new(Unsolved(self.0.resolve(shared)?)))
    }
    fn agent(&self, own: dictmesh::random::Rng) -> dictmesh::Result<Box<dyn AgentStrategy>> {
        Ok(Box::new(UnsolvedAgent(self.0.agent(own)?)))
    }
}

impl AgentStrategy for UnsolvedAgent {
    fn start(&mut self, local: &Local) {
        self.0.start(local);
    }
    fn adapt(&mut self, local: &Local) -> Exchange {
        self.0.adapt(local)
    }
    fn outgoing(&self) -> Message<'_> {
        self.0.outgoing()
    }
    fn absorb(&mut self, local: &Local, received: Message<'_>) -> bool {
        self.0.absorb(local, received)
    }
    fn dual(&self) -> &Matrix {
        self.0.dual()
    }
    fn argmin_stop(&self) -> Stop {
        Stop::RoundLimit
    }
}

/// With two agents or more, the end of a local argmin was ignored.
#[test]
fn a_batch_with_unsolved_argmins_has_not_converged() {
    let stopping = Stopping {
        tolerance: Some(1e-4),
        rounds: 500,
    };
    let w = atoms(20, 12, 1);
    let x = reachable(&w, 2, 3);
    let squared = || task(&residuals()[0], elastic_net());
    let solved = mesh(squared(), named("relaxed-admm"), stopping, &w);
    assert_eq!(solved.infer(&x).unwrap().stop, Stop::Converged);
    let unsolved: Arc<dyn Strategy> = Arc::new(Unsolved(named("relaxed-admm")));
    let found = mesh(squared(), unsolved, stopping, &w).infer(&x).unwrap();
    assert_eq!((found.stop, found.rounds), (Stop::RoundLimit, 500));
}

/// A warm start took over the duals of an infeasible batch, which drift without bound.
#[test]
fn an_infeasible_batch_leaves_no_warm_start() {
    let w = Matrix::from_columns(4, &[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]).unwrap();
    let build = |warm: bool| {
        Mesh::builder(
            task(&Spec::new("equality"), elastic_net()),
            Topology::path(2).unwrap(),
        )
        .stopping(Stopping::tolerance(1e-6))
        .update(Update::Constant { mu_w: 0.01 })
        .warm_start(warm)
        .build(4, &[1, 1], AtomInit::Given(&w))
        .unwrap()
    };
    let (bad, good) = ([0.0, 0.0, 1.0, 0.0], [0.4, -0.7, 0.0, 0.0]);
    let x = Samples::dense_from_columns(4, &[bad, good]).unwrap();
    let rounds = |warm: bool| {
        let (mut mesh, mut rounds) = (build(warm), Vec::new());
        let ended = mesh.learn(&x, |event| {
            rounds.push((event.stop, event.rounds));
            ControlFlow::Continue(())
        });
        assert_eq!(ended.unwrap(), Stop::Infeasible);
        (rounds, mesh.dictionary())
    };
    let (warm, cold) = (rounds(true), rounds(false));
    assert_eq!(warm.0[1].0, Stop::Converged);
    assert_eq!(warm, cold, "the second batch starts at nu = 0");
}
