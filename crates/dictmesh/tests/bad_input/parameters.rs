//! Constants out of range: each is refused where it is given, by its name.

use super::{builder, refused, residuals, samples, task, M};
use dictmesh::problem::atoms::AtomPenalty;
use dictmesh::problem::regularizer::{BoxedElasticNet, ElasticNet, NonNegativeElasticNet};
use dictmesh::problem::residual::{Ball, Huber};
use dictmesh::problem::{LocalTask, Task, TaskSpec};
use dictmesh::strategy::{
    self, Consensus, Diffusion, ExactDiffusion, JacobiAdmm, RelaxedAdmm, Strategy,
};
use dictmesh::{AtomInit, Mesh, Spec, Stopping, Topology, Update};
use std::ops::ControlFlow;
use std::sync::Arc;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// Neither above 0 nor finite, but for 0 itself.
const NOT_POSITIVE: [f64; 4] = [-1.0, NAN, INF, -INF];

/// `name = value` as messages write it.
fn given(name: &str, value: f64) -> String {
    format!("{name} = {value}")
}

#[test]
fn gamma_and_delta() {
    for bad in NOT_POSITIVE {
        let gamma = given("gamma", bad);
        let words = [gamma.as_str(), "0 or above"];
        refused(ElasticNet::new(bad, 0.1), &words);
        refused(NonNegativeElasticNet::new(bad, 0.1), &words);
        refused(BoxedElasticNet::new(bad, 0.1, 0.0, 1.0), &words);
        refused(Task::sparse_svd(bad, 0.1), &words);
        let delta = given("delta", bad);
        let words = [delta.as_str(), "above 0"];
        refused(ElasticNet::new(0.1, bad), &words);
        refused(NonNegativeElasticNet::new(0.1, bad), &words);
        refused(BoxedElasticNet::new(0.1, bad, 0.0, 1.0), &words);
        refused(Task::nmf(0.1, bad), &words);
    }
    // delta = 0 says why, and what to do instead.
    let why = [
        "delta = 0",
        "above 0",
        "strongly convex",
        "recovered",
        "1e-3",
    ];
    refused(ElasticNet::new(0.1, 0.0), &why);
    refused(NonNegativeElasticNet::new(0.1, -0.0), &why[1..]);
    refused(BoxedElasticNet::new(0.1, 0.0, 0.0, 1.0), &why);
    refused(Task::nmf_huber(0.1, 0.0, 0.2), &why);
    refused(Task::biclustering(0.1, 0.0, 0.2), &why);
    assert!(ElasticNet::new(0.0, 1e-3).is_ok(), "gamma = 0 is legal");
}

#[test]
fn boxes() {
    for (lo, hi) in [
        (1.0, 0.0),
        (NAN, 1.0),
        (0.0, NAN),
        (NAN, NAN),
        (INF, INF),
        (-INF, -INF),
        (INF, -INF),
    ] {
        let ends = format!("{lo}, {hi}");
        refused(
            BoxedElasticNet::new(0.1, 0.1, lo, hi),
            &["lo, hi", &ends, "lo <= hi"],
        );
    }
    let mut spec = TaskSpec::sparse_svd(0.1, 0.1);
    spec.common.regularizer = Spec::new("boxed-elastic-net")
        .with("gamma", 0.1)
        .with("delta", 0.1)
        .with("lo", 2.0)
        .with("hi", 1.0);
    refused(spec.build(), &["lo, hi = 2, 1"]);
}

#[test]
fn eta_sigma_and_beta() {
    for bad in NOT_POSITIVE {
        refused(Huber::new(bad), &[&given("eta", bad), "above 0"]);
        refused(Task::nmf_huber(0.1, 0.1, bad), &[&given("eta", bad)]);
        refused(Ball::new(bad), &[&given("sigma", bad), "above 0"]);
        refused(
            Task::biclustering(0.1, 0.1, bad),
            &[&given("beta", bad), "0 or above"],
        );
        refused(
            AtomPenalty::L1 { beta: bad }.check(),
            &[&given("beta", bad)],
        );
    }
    refused(Huber::new(0.0), &["eta = 0", "above 0"]);
    refused(Ball::new(0.0), &["sigma = 0", "above 0", "equality"]);
    assert!(AtomPenalty::L1 { beta: 0.0 }.check().is_ok());
}

/// What an agent has of its own is checked like what all have.
#[test]
fn an_agents_own_share() {
    let mut spec = TaskSpec::sparse_svd(0.1, 0.1);
    spec.own.insert(1, TaskSpec::nmf(NAN, 0.1).common);
    refused(spec.build(), &["gamma = NaN"]);
    refused(
        LocalTask::build(&TaskSpec::nmf(0.1, 0.0).common),
        &["delta = 0"],
    );
}

#[test]
fn constants_of_strategies() {
    for bad in [0.0, -1.0, NAN, INF] {
        let mu = Some(bad);
        let penalty = |mu, penalty| JacobiAdmm { mu, penalty };
        let relaxed = RelaxedAdmm::default();
        let mut list: Vec<(&str, Arc<dyn Strategy>)> = vec![
            ("mu", Arc::new(Diffusion { mu })),
            ("mu", Arc::new(Consensus { mu })),
            ("mu", Arc::new(ExactDiffusion { mu })),
            ("mu", Arc::new(penalty(mu, None))),
            ("penalty", Arc::new(penalty(None, mu))),
            ("rho", Arc::new(RelaxedAdmm { rho: mu, ..relaxed })),
            (
                "random_start",
                Arc::new(RelaxedAdmm {
                    random_start: mu,
                    ..relaxed
                }),
            ),
            (
                "alpha",
                Arc::new(RelaxedAdmm {
                    alpha: mu,
                    ..relaxed
                }),
            ),
        ];
        for (name, spec) in list.drain(..) {
            let words = [&*given(name, bad), "above 0"];
            refused(
                builder()
                    .strategy(spec.clone())
                    .build(M, &[1; 3], AtomInit::Random),
                &words,
            );
            let mut mesh = builder().build(M, &[1; 3], AtomInit::Random).unwrap();
            let old = mesh.strategy().spec();
            refused(mesh.set_strategy(spec), &words);
            assert_eq!(mesh.strategy().spec(), old, "the old one stays");
        }
    }
    let alpha = Some(1.0);
    let one = Arc::new(RelaxedAdmm {
        alpha,
        ..RelaxedAdmm::default()
    });
    refused(
        builder().strategy(one).build(M, &[1; 3], AtomInit::Random),
        &["alpha = 1", "below 1"],
    );
}

#[test]
fn stopping_and_batches() {
    let stop = |stopping| {
        builder()
            .stopping(stopping)
            .build(M, &[1; 3], AtomInit::Random)
    };
    for bad in [0.0, -1e-3, NAN, INF] {
        refused(
            stop(Stopping::tolerance(bad)),
            &[&given("tolerance", bad), "above 0"],
        );
    }
    refused(stop(Stopping::rounds(0)), &["rounds = 0", "1 or more"]);
    let mut mesh = builder().build(M, &[1; 3], AtomInit::Random).unwrap();
    refused(mesh.set_stopping(Stopping::rounds(0)), &["rounds = 0"]);
    refused(
        mesh.set_stopping(Stopping::tolerance(NAN)),
        &["tolerance = NaN"],
    );
    assert_eq!(mesh.stopping(), Stopping::default(), "the old one stays");
    refused(
        builder().batch(0).build(M, &[1; 3], AtomInit::Random),
        &["batch = 0", "1 or more"],
    );
}

#[test]
fn steps_of_the_dictionary_update() {
    let learn = |update| {
        let mut mesh = builder()
            .update(update)
            .build(M, &[1; 3], AtomInit::Random)?;
        let before = mesh.dictionary();
        let end = mesh.learn(&samples(3), |_| ControlFlow::Continue(()));
        assert!(end.is_ok() || mesh.dictionary() == before);
        end
    };
    for bad in [0.0, -1.0, NAN, INF] {
        refused(
            learn(Update::Constant { mu_w: bad }),
            &[&given("mu_w", bad), "above 0"],
        );
        refused(
            learn(Update::Schedule { mu_w: bad }),
            &[&given("mu_w", bad), "above 0"],
        );
        let forgetting = given("forgetting", bad);
        refused(
            learn(Update::Adaptive { forgetting: bad }),
            &[&forgetting, "at most 1"],
        );
    }
    refused(
        learn(Update::Adaptive { forgetting: 1.1 }),
        &["forgetting = 1.1", "at most 1"],
    );
}

/// The adaptive step needs the curvature of f, which three residuals do not have.
#[test]
fn the_adaptive_update_needs_curvature() {
    for residual in residuals() {
        let curved = matches!(residual.kind(), "squared-l2" | "huber");
        let task = task(residual);
        let name = task.residual().name();
        let result = Update::default().check(task.residual());
        if curved {
            result.unwrap();
        } else {
            refused(result, &["adaptive", &name, "constant", "schedule"]);
        }
        Update::Constant { mu_w: 0.1 }
            .check(task.residual())
            .unwrap();
    }
}

#[test]
fn the_scalar_diffusions_step() {
    let mesh = builder().build(M, &[1; 3], AtomInit::Random).unwrap();
    let found = mesh.infer(&samples(1)).unwrap();
    for bad in [0.0, -0.1, 2.0, NAN, INF] {
        let words = [&*given("mu_g", bad), "above 0 and below 2"];
        refused(mesh.agree_by_diffusion(&found, bad, 10), &words);
    }
}

#[test]
fn random_graphs() {
    for bad in [-0.1, 1.1, NAN, INF] {
        refused(
            Topology::erdos_renyi(5, bad, 1),
            &[&given("p", bad), "from 0 to 1"],
        );
    }
    for bad in [0.0, -1.0, NAN, INF] {
        refused(
            Topology::random_geometric(5, bad, 1),
            &[&given("radius", bad), "above 0"],
        );
    }
}

/// No atom at all, or none at one agent: the first is refused, the second is legal.
#[test]
fn fewer_than_one_atom() {
    refused(
        builder().build(M, &[0; 3], AtomInit::Random),
        &["K = 0", "at least one atom", "block size"],
    );
    let one = builder().build(M, &[0, 0, 1], AtomInit::Random).unwrap();
    assert_eq!(Mesh::atoms(&one), 1);
}

#[test]
fn constants_of_auto() {
    let latency = |bad| Spec::new("auto").with_number("latency", bad);
    let bandwidth = |bad| Spec::new("auto").with_number("bandwidth", bad);
    for bad in [-1.0, NAN, INF] {
        let words = [&*given("latency", bad), "seconds per hop"];
        refused(strategy::build(&latency(bad)), &words);
    }
    for bad in [0.0, -1.0, NAN, INF] {
        let words = [&*given("bandwidth", bad), "bytes per second"];
        refused(strategy::build(&bandwidth(bad)), &words);
        let auto = Arc::new(strategy::Auto {
            bandwidth: Some(bad),
            ..strategy::Auto::default()
        });
        let built = builder().strategy(auto).build(M, &[1; 3], AtomInit::Random);
        refused(built.map(|_| ()), &words);
    }
    strategy::build(&latency(0.0)).unwrap(); // bytes alone count
    let here = latency(0.1).with("one_process", true);
    refused(
        strategy::build(&here),
        &["latency", "no effect in one process"],
    );
    refused(
        strategy::build(&Spec::new("auto").with("rho", 1.0)),
        &["auto.rho", "latency, bandwidth, one_process"],
    );
}

#[test]
fn bits_of_the_tree() {
    for bad in [0.0, 3.0, 17.0, 7.5, -8.0, 1e9] {
        let spec = Spec::new("tree").with("bits", bad);
        refused(
            strategy::build(&spec),
            &[&given("bits", bad), "from 4 to 16"],
        );
    }
    for bits in [0, 17] {
        let spec = Arc::new(strategy::Tree { bits: Some(bits) });
        let built = builder().strategy(spec).build(M, &[1; 3], AtomInit::Random);
        refused(built.map(|_| ()), &["bits", "from 4 to 16"]);
    }
}
