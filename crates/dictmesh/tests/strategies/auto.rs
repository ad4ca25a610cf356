//! `auto`: which strategy it chooses, and that the choice stays.

use super::*;
use dictmesh::laws;
use dictmesh::problem::residual::{Residual, SquaredL2};
use dictmesh::strategy::Auto;
use dictmesh::{AtomInit, Model, Stopping, Topology};

fn auto(latency: f64) -> Arc<dyn Strategy> {
    Arc::new(Auto {
        latency: Some(latency),
        ..Auto::default()
    })
}

fn mesh(graph: Topology, each: usize, rows: usize, strategy: Arc<dyn Strategy>) -> Mesh {
    let sizes = vec![each; graph.agents()];
    let w = atoms(rows, each * sizes.len(), 1);
    Mesh::builder(Task::sparse_svd(0.05, 0.05).unwrap(), graph)
        .strategy(strategy)
        .stopping(Stopping::tolerance(1e-3))
        .batch(16)
        .build(rows, &sizes, AtomInit::Given(&w))
        .unwrap()
}

#[test]
fn the_default_is_auto_and_keeps_the_laws() {
    assert_eq!(strategy::default().name(), strategy::DEFAULT);
    let default = named(strategy::DEFAULT).spec();
    assert_eq!(default, strategy::default().spec());
    assert_eq!(laws::strategy(auto(0.0)), Ok(()));
    assert_eq!(laws::strategy(auto(100.0)), Ok(()));
}

#[test]
fn latency_decides_on_long_rings() {
    let chosen = |n, latency| {
        let ring = Topology::ring(n).unwrap();
        mesh(ring, 2, 64, auto(latency)).strategy().name()
    };
    assert_eq!(chosen(40, 0.0), "tree");
    assert_eq!(chosen(40, 0.1), "relaxed-admm");
    assert_eq!(chosen(1, 0.0), "relaxed-admm", "an agent solves alone");
}

/// Bandwidth counts bytes against hops: where it is scarce, sums win.
#[test]
fn bandwidth_decides_at_a_given_latency() {
    let chosen = |bandwidth: f64| {
        let spec = Spec::new("auto").with("bandwidth", bandwidth);
        let spec = spec.with("latency", 0.01);
        let ring = Topology::ring(12).unwrap();
        mesh(ring, 2, 64, strategy::build(&spec).unwrap())
            .strategy()
            .name()
    };
    assert_eq!(chosen(1e3), "tree");
    assert_eq!(chosen(1e12), "relaxed-admm");
}

/// The squared residual without the constants from which a gap could be bounded.
#[derive(Debug)]
struct Uncertified;

impl Residual for Uncertified {
    fn spec(&self) -> Spec {
        Spec::new("uncertified")
    }
    fn value(&self, u: &[f64]) -> f64 {
        SquaredL2.value(u)
    }
    fn conjugate(&self, nu: &[f64]) -> f64 {
        SquaredL2.conjugate(nu)
    }
    fn project_dual(&self, nu: &mut [f64]) {
        SquaredL2.project_dual(nu);
    }
    fn conjugate_prox(&self, tau: f64, nu: &mut [f64]) {
        SquaredL2.conjugate_prox(tau, nu);
    }
    fn recover(&self, nu: &[f64], u: &mut [f64]) {
        SquaredL2.recover(nu, u);
    }
}

#[test]
fn a_residual_without_a_certificate_is_solved_by_gossip() {
    let built = |strategy: Arc<dyn Strategy>| {
        let regularizer = dictmesh::problem::regularizer::ElasticNet::new(0.1, 0.1).unwrap();
        let task = Task::new(Uncertified).regularizer(regularizer);
        Mesh::builder(task, Topology::complete(5).unwrap())
            .strategy(strategy)
            .build(8, &[2; 5], AtomInit::Random)
    };
    built(named("tree")).unwrap_err();
    let mesh = built(auto(0.0)).unwrap();
    assert_eq!(mesh.strategy().name(), "relaxed-admm");
}

/// A grown, shrunk or loaded mesh keeps the strategy that its first graph led to.
#[test]
fn the_choice_is_made_once_and_stored() {
    let check = |mesh: &Mesh, kept: &str, anew: &str| {
        assert_eq!(mesh.strategy().name(), kept);
        let model = mesh.to_model();
        assert_eq!(model.description.strategy.kind(), kept);
        let model = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        let again = Mesh::from_model(&model).unwrap();
        assert_eq!(again.strategy().spec(), mesh.strategy().spec());
        // What a new mesh of this graph would take.
        let new = auto(1e-3).resolve(&again.shared_constants()).unwrap();
        assert_eq!(new.name(), anew);
    };
    let mut mesh = mesh(Topology::complete(6).unwrap(), 2, 64, auto(1e-3));
    check(&mesh, "tree", "tree");
    (0..5).for_each(|_| mesh.remove_agent(0).unwrap());
    check(&mesh, "tree", "relaxed-admm");
    let mut mesh = super::auto::mesh(Topology::complete(1).unwrap(), 2, 64, auto(1e-3));
    check(&mesh, "relaxed-admm", "relaxed-admm");
    for agents in 1..6 {
        let all: Vec<usize> = (0..agents).collect();
        mesh.add_agent(&all, 2, AtomInit::Random, true, None)
            .unwrap();
    }
    check(&mesh, "relaxed-admm", "tree");
}

/// The witness: rounds and bytes of both strategies as they run, at the latency and bandwidth that
/// auto assumes. Its choice takes at most 2.5 times the seconds of the other one.
#[test]
fn the_choice_is_near_the_better_one_by_measured_rounds() {
    let random = |n, p| Topology::erdos_renyi(n, p, 1).unwrap();
    let graphs = [
        (Topology::ring(4).unwrap(), 25, 64),
        (Topology::ring(24).unwrap(), 2, 64),
        (Topology::complete(8).unwrap(), 8, 64),
        (random(16, 0.3), 16, 64),
        (random(32, 0.2), 2, 32),
    ];
    for (graph, each, rows) in graphs {
        for latency in [1e-5, 1e-4, 1e-3, 1e-2, 0.1] {
            let seconds = |name: &str| {
                let mesh = mesh(graph.clone(), each, rows, named(name));
                let x = reachable(&mesh.dictionary(), 16, 3);
                let found = mesh.infer(&x).unwrap();
                let shape = graph.shape();
                let (hops, links, busiest) = match name {
                    "tree" => (
                        strategy::tree::PASSES * shape.tree_depth,
                        2 * (graph.agents() - 1),
                        shape.tree_degree,
                    ),
                    _ => (1, 2 * graph.edges().len(), shape.max_degree),
                };
                // Bytes are those of all links, here of those at the busiest agent.
                let bytes = found.bytes as f64 * (2 * busiest) as f64 / links as f64;
                let bandwidth = strategy::auto::DEFAULT_BANDWIDTH;
                (found.rounds * hops) as f64 * latency + bytes / bandwidth
            };
            let (tree, gossip) = (seconds("tree"), seconds("relaxed-admm"));
            let mesh = mesh(graph.clone(), each, rows, auto(latency));
            let chosen = match mesh.strategy().name().as_str() {
                "tree" => tree,
                _ => gossip,
            };
            println!(
                "{} agents, {} links, latency {latency}: tree {tree:.3} s, relaxed-admm {gossip:.3} s",
                graph.agents(),
                graph.edges().len()
            );
            assert!(
                chosen <= 2.5 * tree.min(gossip),
                "{}",
                mesh.strategy().name()
            );
        }
    }
}
