//! Gossip with differences of few bits: the same limit, hardly more rounds, and bytes as packed.

use super::*;
use dictmesh::accel::Accels;
use dictmesh::random::Rng;
use dictmesh::strategy::{
    AgentStrategy, Combine, Exchange, Local, Message, Rounded, SharedConstants,
};
use dictmesh::{laws, AtomInit, Stop, Stopping, Topology};

const BITS: [u32; 4] = [4, 6, 8, 16];
/// The strategies without a bias.
const EXACT: [&str; 3] = ["relaxed-admm", "exact-diffusion", "jacobi-admm"];

fn rounded(name: &str, bits: u32) -> Arc<dyn Strategy> {
    strategy::build(&Spec::new(name).with("bits", bits)).unwrap()
}

/// Blocks of different sizes, an empty one among them, and two informed agents.
fn mesh(residual: &Spec, strategy: Arc<dyn Strategy>, stopping: Stopping) -> (Mesh, Samples) {
    let sizes = [3, 0, 4, 1, 2, 4];
    let w = atoms(10, sizes.iter().sum(), 5);
    let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)];
    let mesh = Mesh::builder(
        task(residual, elastic_net()),
        Topology::from_edges(6, &edges).unwrap(),
    )
    .informed(&[1, 4])
    .strategy(strategy)
    .stopping(stopping)
    .build(10, &sizes, AtomInit::Given(&w))
    .unwrap();
    (mesh, reachable(&w, 3, 6))
}

/// The rounding errors of all rounds would add up if an agent used its exact array where its
/// neighbours use the rounded one.
#[test]
fn the_limit_is_that_of_doubles() {
    for residual in residuals() {
        let strongly_convex = ["squared-l2", "huber"].contains(&residual.kind());
        let rounds = if strongly_convex { 40_000 } else { 80_000 };
        for name in EXACT {
            for bits in if strongly_convex { vec![4, 8] } else { vec![4] } {
                let (mesh, x) = mesh(&residual, rounded(name, bits), Stopping::rounds(rounds));
                let (nu, y, cost) = errors(&mesh, &x, &mesh.infer(&x).unwrap());
                let label = format!("{residual:?} {name} {bits} bits");
                println!("{label}: nu {nu:.1e} y {y:.1e} cost {cost:.1e}");
                assert!(y <= 1e-8 && cost <= 1e-8, "{label}: {y:e} {cost:e}");
                assert!(nu <= 1e-8 || !strongly_convex, "{label}: {nu:e}");
            }
        }
    }
}

#[test]
fn the_bias_is_that_of_doubles() {
    let residual = Spec::new("squared-l2");
    let limit = |strategy| {
        let (mesh, x) = mesh(&residual, strategy, Stopping::rounds(20_000));
        mesh.infer(&x).unwrap().duals
    };
    for name in ["diffusion", "consensus"] {
        let doubles = limit(named(name));
        for bits in [4, 8] {
            for (found, expected) in limit(rounded(name, bits)).iter().zip(&doubles) {
                let apart = error(found, expected);
                assert!(apart < 1e-9, "{name} {bits} bits: {apart:e}");
            }
        }
    }
}

/// The error of nu against `exact` is within the tolerance, up to the accuracy of its estimate, and
/// hardly more rounds are taken than with doubles.
#[test]
fn a_tolerance_is_met_as_with_doubles() {
    for residual in &residuals()[..2] {
        for name in EXACT {
            for tolerance in [1e-3, 1e-4, 1e-6, 1e-8] {
                let run = |strategy| {
                    let stopping = Stopping::tolerance(tolerance);
                    let (mesh, x) = mesh(residual, strategy, stopping);
                    let found = mesh.infer(&x).unwrap();
                    let label = format!("{residual:?} {} {tolerance:e}", mesh.strategy().spec());
                    assert_eq!(found.stop, Stop::Converged, "{label}");
                    (errors(&mesh, &x, &found).0, found.rounds, label)
                };
                let (exact, rounds, _) = run(named(name));
                for bits in BITS {
                    let (error, taken, label) = run(rounded(name, bits));
                    println!("{label}: {error:.1e} in {taken}, doubles {exact:.1e} in {rounds}");
                    assert!(error <= 2.0 * tolerance, "{label}: {error:e}");
                    assert!(taken as f64 <= 1.15 * rounds as f64, "{label}: {taken}");
                }
            }
        }
    }
}

/// A strategy whose nu never changes.
#[derive(Debug)]
struct Still;

#[derive(Debug)]
struct StillAgent(Matrix);

impl Strategy for Still {
    fn spec(&self) -> Spec {
        Spec::new("still")
    }
    fn resolve(&self, _: &SharedConstants) -> dictmesh::Result<Arc<dyn Strategy>> {
        Ok(Arc::new(Still))
    }
    fn agent(&self, _: Rng) -> dictmesh::Result<Box<dyn AgentStrategy>> {
        Ok(Box::new(StillAgent(Matrix::default())))
    }
}

impl AgentStrategy for StillAgent {
    fn start(&mut self, local: &Local) {
        self.0 = Matrix::from_fn(local.rows(), local.samples, |i, j| ((i + j) as f64).cos());
    }
    fn adapt(&mut self, _: &Local) -> Exchange {
        Exchange::Combine(Combine::Weights)
    }
    fn outgoing(&self) -> Message<'_> {
        Message::Array(self.0.as_slice())
    }
    fn absorb(&mut self, _: &Local, _: Message<'_>) -> bool {
        true
    }
    fn dual(&self) -> &Matrix {
        &self.0
    }
}

/// A nu that does not change has not converged while the neighbours hold an old array of it.
#[test]
fn what_neighbours_lack_counts_as_a_change() {
    let rounds = |strategy: Arc<dyn Strategy>| {
        let residual = Spec::new("squared-l2");
        let (mesh, x) = mesh(&residual, strategy, Stopping::tolerance(1e-9));
        let found = mesh.infer(&x).unwrap();
        assert_eq!(found.stop, Stop::Converged);
        found.rounds
    };
    let doubles = rounds(Arc::new(Still));
    let few = |bits| rounds(Arc::new(Rounded::new(Arc::new(Still), bits).unwrap()));
    let few = [few(4), few(6), few(16)];
    println!("{doubles} rounds with doubles, {few:?} with 4, 6 and 16 bits");
    assert!(few[0] > few[1] && few[1] > doubles && few[2] == doubles);
}

#[test]
fn every_gossip_strategy_keeps_the_laws_with_few_bits() {
    for name in strategy::GOSSIP {
        for bits in [4, 8] {
            let strategy = rounded(name, bits);
            assert!(!strategy.is_rotation_equivariant());
            laws::strategy(strategy).unwrap_or_else(|broken| panic!("{name} {bits}: {broken}"));
        }
    }
}

#[test]
fn bytes_are_those_of_packed_messages() {
    let w = atoms(7, 6, 1);
    let x = reachable(&w, 5, 2);
    for bits in 4..=16 {
        let mesh = Mesh::builder(
            task(&Spec::new("squared-l2"), elastic_net()),
            Topology::path(3).unwrap(),
        )
        .strategy(rounded("relaxed-admm", bits))
        .stopping(Stopping::rounds(2))
        .build(7, &[2; 3], AtomInit::Given(&w))
        .unwrap();
        // Two rounds, four directed edges, five samples.
        let bytes = 2 * 4 * 5 * (2 + (7 * u64::from(bits)).div_ceil(8));
        assert_eq!(mesh.infer(&x).unwrap().bytes, bytes, "{bits} bits");
        let mut run = mesh.run(&x).unwrap();
        run.round();
        for sent in run.sent() {
            let Message::Differences(sent) = sent else {
                panic!("{sent:?}");
            };
            let mut packed = Vec::new();
            sent.pack(&mut packed);
            assert_eq!(4 * packed.len() as u64, bytes / 2, "four messages a round");
        }
    }
}

/// Units belong to samples, so that the samples of a batch do not affect each other.
#[test]
fn chunks_and_threads_change_nothing() {
    let w = atoms(40, 24, 3);
    // Magnitudes that share no unit.
    let mut x = reachable(&w, 300, 4).to_dense();
    for j in 0..x.cols() {
        let scale = 10_f64.powi(j as i32 % 7 - 3);
        x.column_mut(j).iter_mut().for_each(|v| *v *= scale);
    }
    let x = Samples::dense(x).unwrap();
    for name in strategy::GOSSIP {
        let found = |accels: Accels, threads: usize| {
            let mesh = Mesh::builder(
                task(&Spec::new("squared-l2"), elastic_net()),
                Topology::ring(8).unwrap(),
            )
            .strategy(rounded(name, 5))
            .stopping(Stopping::rounds(25))
            .accels(accels)
            .threads(threads)
            .build(40, &[3; 8], AtomInit::Given(&w))
            .unwrap();
            let found = mesh.infer(&x).unwrap();
            (found.duals, found.bytes)
        };
        let whole = found(Accels::none(), 1);
        assert_eq!(whole, found(Accels::parse("chunks").unwrap(), 3), "{name}");
        assert_eq!(whole, found(Accels::none(), 3), "{name}");
    }
}

#[test]
fn a_warm_start_lands_in_the_same_place() {
    for name in strategy::GOSSIP {
        let (mesh, x) = mesh(
            &Spec::new("squared-l2"),
            rounded(name, 6),
            Stopping::rounds(5000),
        );
        let (first, second) = (x.range(0..1), x.range(1..2));
        let cold = mesh.infer(&second).unwrap();
        let mut run = mesh.run(&first).unwrap();
        (0..50).for_each(|_| run.round());
        let mut run = mesh.continue_from(run, &second).unwrap();
        let stop = run.until(&mesh.stopping());
        let apart = error(&run.found(stop).duals[3], &cold.duals[3]);
        assert!(apart < 1e-6, "{name}: {apart:e}");
    }
}

/// A first message of few bits would undo what was found before.
#[test]
fn a_warm_start_on_the_same_batch_is_as_short_as_with_doubles() {
    for name in EXACT {
        let rounds = |strategy: Arc<dyn Strategy>| {
            let stopping = Stopping::tolerance(1e-6);
            let (mesh, x) = mesh(&Spec::new("squared-l2"), strategy, stopping);
            let mut first = mesh.run(&x).unwrap();
            first.until(&stopping);
            let mut again = mesh.continue_from(first, &x).unwrap();
            assert_eq!(again.until(&stopping), Stop::Converged);
            again.rounds()
        };
        let doubles = rounds(named(name));
        for bits in BITS {
            let few = rounds(rounded(name, bits));
            println!("{name} {bits} bits: {few} rounds, doubles {doubles}");
            assert!(few <= doubles + 20, "{name} {bits} bits: {few}");
        }
    }
}

/// More rows than in the other tests, and fewer agents with more atoms: the rounding of few bits is
/// largest here relative to a step. The atoms and constants are those of `dictmesh-bench cost`.
#[test]
fn few_bits_take_hardly_more_rounds_on_a_ring_of_large_blocks() {
    const ROWS: usize = 100;
    let w = atoms(ROWS, 200, 1);
    let y = gaussian(20, 4, &mut stream(2, 2));
    let x = Matrix::from_fn(ROWS, 4, |i, j| {
        let atom = |q: usize| y.get(q, j) * w.get(i, (7919 * j + 11 * q) % 200);
        0.2 * (0..20).map(atom).sum::<f64>()
    });
    let x = Samples::dense(x).unwrap();
    let regularizer = Spec::new("elastic-net")
        .with("gamma", 0.05)
        .with("delta", 0.02);
    let rounds = |strategy: Arc<dyn Strategy>| {
        let task = task(&Spec::new("squared-l2"), regularizer.clone());
        let mesh = Mesh::builder(task, Topology::ring(4).unwrap())
            .strategy(strategy)
            .build(ROWS, &[50; 4], AtomInit::Given(&w))
            .unwrap();
        let exact = mesh.exact(&x).unwrap().duals;
        let mut run = mesh.run(&x).unwrap();
        let apart = |run: &dictmesh::mesh::Run| {
            let each = run.duals().map(|nu| error(nu, &exact));
            each.fold(0.0, f64::max)
        };
        while run.rounds() < 2000 && apart(&run) > 1e-3 {
            run.round();
        }
        run.rounds()
    };
    // jacobi-admm is at the edge of stability on this graph, which is bipartite.
    for (name, least) in [("relaxed-admm", 4), ("jacobi-admm", 6)] {
        let doubles = rounds(named(name));
        for bits in BITS.into_iter().filter(|bits| *bits >= least) {
            let few = rounds(rounded(name, bits));
            println!("{name} {bits} bits: {few} rounds, doubles {doubles}");
            assert!(few as f64 <= 1.3 * doubles as f64, "{name} {bits}: {few}");
        }
    }
}

#[test]
fn what_overflows_diverges() {
    let w = atoms(4, 3, 1);
    for name in strategy::GOSSIP {
        for size in [1e200, 1e308] {
            let x = Samples::dense_from_columns(4, &[[size; 4]]).unwrap();
            for stopping in [Stopping::default(), Stopping::rounds(30)] {
                let mesh = Mesh::builder(
                    task(&Spec::new("squared-l2"), elastic_net()),
                    Topology::path(3).unwrap(),
                )
                .strategy(rounded(name, 4))
                .stopping(stopping)
                .build(4, &[1; 3], AtomInit::Given(&w))
                .unwrap();
                assert_eq!(
                    mesh.infer(&x).unwrap().stop,
                    Stop::Diverged,
                    "{name} {size:e} {stopping:?}"
                );
            }
        }
    }
}

#[test]
fn bits_are_checked() {
    for name in strategy::GOSSIP {
        for bad in [3.0, 17.0, 8.5, -4.0, f64::NAN, f64::INFINITY] {
            let spec = Spec::new(name).with_number("bits", bad);
            let said = strategy::build(&spec).unwrap_err().to_string();
            assert!(said.contains("from 4 to 16"), "{name}: {said}");
        }
        let spec = Spec::new(name).with("bits", 8);
        assert_eq!(strategy::build(&spec).unwrap().spec(), spec);
        let said = strategy::build(&spec.with("bots", 8)).unwrap_err();
        assert!(said.to_string().contains("bits"), "{said}");
    }
    assert!(Rounded::new(named("relaxed-admm"), 3).is_err());
    for other in [named("tree"), rounded("diffusion", 4)] {
        let said = Rounded::new(other.clone(), 8).unwrap_err().to_string();
        assert!(
            said.contains(&other.name()) && said.contains("8 bits"),
            "{said}"
        );
    }
}

/// The wrapper of `auto` is that of its choice: gossip is rounded, and sums, which are integers
/// already, are refused by name.
#[test]
fn the_choice_of_auto_is_rounded_or_refused() {
    let build = |latency: f64| {
        let auto = strategy::build(&Spec::new("auto").with("latency", latency)).unwrap();
        Mesh::builder(
            task(&Spec::new("squared-l2"), elastic_net()),
            Topology::ring(60).unwrap(),
        )
        .strategy(Arc::new(Rounded::new(auto, 8).unwrap()))
        .batch(32)
        .build(64, &[2; 60], AtomInit::Random)
    };
    let spec = build(0.1).unwrap().strategy().spec();
    assert_eq!(spec, Spec::new("relaxed-admm").with("bits", 8));
    let error = build(1e-4).unwrap_err().to_string();
    assert!(error.contains("\"tree\""), "{error}");
}
