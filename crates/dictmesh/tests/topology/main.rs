//! Laws of graphs and combination weights, each over the list of all constructors and both rules.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod weights;

use dictmesh::graph::Spectrum;
use dictmesh::{Error, Topology, TopologySpec, WeightRule, Weights};
use proptest::prelude::*;
use std::f64::consts::PI;

/// Every constructor at several sizes, the smallest included.
fn all() -> Vec<(String, Topology)> {
    let mut list = Vec::new();
    for n in [1, 2, 3, 4, 7, 12] {
        list.push((format!("complete {n}"), Topology::complete(n).unwrap()));
        list.push((format!("ring {n}"), Topology::ring(n).unwrap()));
        list.push((format!("path {n}"), Topology::path(n).unwrap()));
        list.push((format!("star {n}"), Topology::star(n).unwrap()));
        list.push((format!("column {n}"), Topology::grid(n, 1).unwrap()));
        list.push((format!("grid 3 x {n}"), Topology::grid(3, n).unwrap()));
        let random = Topology::erdos_renyi(n + 8, 0.5, 1).unwrap();
        list.push((format!("erdos-renyi {}", n + 8), random));
        let near = Topology::random_geometric(n + 8, 0.7, 1).unwrap();
        list.push((format!("random geometric {}", n + 8), near));
    }
    let edges = [(3, 1), (0, 1), (1, 0), (2, 3), (4, 0), (3, 4)];
    list.push(("edges".into(), Topology::from_edges(5, &edges).unwrap()));
    list
}

fn rules() -> [WeightRule; 2] {
    [WeightRule::Metropolis, WeightRule::Uniform]
}

fn close(given: f64, expected: f64, what: &str) {
    assert!(
        (given - expected).abs() < 1e-10,
        "{what}: {given} is not {expected}"
    );
}

/// All distances by Floyd and Warshall: another way than the library's.
fn brute_force_diameter(t: &Topology) -> usize {
    let n = t.agents();
    let far = n + 1;
    let mut d = vec![vec![far; n]; n];
    for k in 0..n {
        d[k][k] = 0;
    }
    for (i, j) in t.edges() {
        d[i][j] = 1;
        d[j][i] = 1;
    }
    for via in 0..n {
        for i in 0..n {
            for j in 0..n {
                d[i][j] = d[i][j].min(d[i][via] + d[via][j]);
            }
        }
    }
    let diameter = d.iter().flatten().copied().max().unwrap();
    assert!(diameter < far, "disconnected");
    diameter
}

#[test]
fn graphs_are_symmetric_simple_sorted_and_connected() {
    for (name, t) in all() {
        let mut ends = 0;
        for k in 0..t.agents() {
            let neighbours = t.neighbours(k);
            assert!(neighbours.windows(2).all(|w| w[0] < w[1]), "{name}");
            assert!(!neighbours.contains(&k), "{name}");
            assert!(neighbours.iter().all(|&l| t.neighbours(l).contains(&k)));
            assert_eq!(t.degree(k), neighbours.len());
            assert!(t.max_degree() >= t.degree(k));
            ends += t.degree(k);
        }
        let edges = t.edges();
        assert_eq!(2 * edges.len(), ends, "{name}");
        assert!(edges.iter().all(|(i, j)| i < j), "{name}");
        assert!(edges.windows(2).all(|w| w[0] < w[1]), "{name}");
        assert_eq!(Topology::from_edges(t.agents(), &edges).unwrap(), t);
        assert_eq!(t.diameter(), brute_force_diameter(&t), "{name}");
        // Equality looks at edges, not at whether the diameter is already known.
        assert_eq!(Topology::from_edges(t.agents(), &edges).unwrap(), t);
    }
}

#[test]
fn diameters_have_their_known_values() {
    for n in 3..12 {
        assert_eq!(Topology::complete(n).unwrap().diameter(), 1);
        assert_eq!(Topology::ring(n).unwrap().diameter(), n / 2);
        assert_eq!(Topology::path(n).unwrap().diameter(), n - 1);
        assert_eq!(Topology::star(n).unwrap().diameter(), 2);
        assert_eq!(Topology::grid(n, 4).unwrap().diameter(), n + 4 - 2);
    }
    for t in [
        Topology::ring(1),
        Topology::complete(1),
        Topology::grid(1, 1),
    ] {
        let t = t.unwrap();
        assert_eq!((t.agents(), t.diameter(), t.max_degree()), (1, 0, 0));
        assert!(t.neighbours(0).is_empty());
    }
    assert_eq!(Topology::ring(2).unwrap().edges(), [(0, 1)]);
}

#[test]
fn shapes_have_their_edges() {
    let ring = Topology::ring(4).unwrap();
    assert_eq!(ring.edges(), [(0, 1), (0, 3), (1, 2), (2, 3)]);
    let star = Topology::star(4).unwrap();
    assert_eq!(star.edges(), [(0, 1), (0, 2), (0, 3)]);
    let grid = Topology::grid(2, 3).unwrap();
    let expected = [(0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (4, 5)];
    assert_eq!(grid.edges(), expected);
    assert_eq!(Topology::grid(1, 5).unwrap(), Topology::path(5).unwrap());
}

#[test]
fn laplacian_spectra_have_closed_forms() {
    let first = |t: Topology| t.spectrum().signless_largest;
    let second = |t: Topology| t.spectrum().laplacian_second;
    for n in 3..12 {
        let x = n as f64;
        close(
            second(Topology::ring(n).unwrap()),
            2.0 - 2.0 * (2.0 * PI / x).cos(),
            "ring",
        );
        close(first(Topology::ring(n).unwrap()), 4.0, "ring, largest");
        close(second(Topology::complete(n).unwrap()), x, "complete");
        close(
            first(Topology::complete(n).unwrap()),
            2.0 * (x - 1.0),
            "complete, largest",
        );
        close(
            second(Topology::path(n).unwrap()),
            2.0 - 2.0 * (PI / x).cos(),
            "path",
        );
        close(
            first(Topology::path(n).unwrap()),
            2.0 + 2.0 * (PI / x).cos(),
            "path, largest",
        );
        close(second(Topology::star(n).unwrap()), 1.0, "star");
        close(first(Topology::star(n).unwrap()), x, "star, largest");
        let longest = x.max(4.0);
        let grid = Topology::grid(n, 4).unwrap();
        close(second(grid), 2.0 - 2.0 * (PI / longest).cos(), "grid");
    }
    assert_eq!(Topology::path(1).unwrap().spectrum(), Spectrum::default());
    for (name, t) in all() {
        let (largest, second) = (t.spectrum().signless_largest, t.spectrum().laplacian_second);
        let bound = 2.0 * t.max_degree() as f64 + 1e-10;
        assert!(largest <= bound, "{name}: {largest}");
        assert!(t.agents() == 1 || second > 1e-6, "{name}: {second}");
    }
}

#[test]
fn seeds_fix_random_graphs() {
    let random = |p, seed| Topology::erdos_renyi(20, p, seed).unwrap();
    assert_eq!(random(0.5, 3), random(0.5, 3));
    assert_ne!(random(0.5, 3), random(0.5, 4));
    let near = |radius, seed| Topology::random_geometric(20, radius, seed).unwrap();
    assert_eq!(near(0.6, 3), near(0.6, 3));
    assert_ne!(near(0.6, 3), near(0.6, 4));
    let within = |few: Topology, many: Topology| {
        let edges = many.edges();
        few.edges().len() < edges.len() && few.edges().iter().all(|e| edges.contains(e))
    };
    assert!(within(random(0.4, 3), random(0.6, 3)));
    assert!(within(near(0.6, 3), near(0.8, 3)));

    let complete = Topology::complete(20).unwrap();
    assert_eq!(random(1.0, 5), complete);
    assert_eq!(near(1.42, 5), complete);
    // p is the share of pairs: 19900 draws, so 5 standard deviations are below 0.02.
    let share = Topology::erdos_renyi(200, 0.3, 1).unwrap().edges().len() as f64 / 19_900.0;
    assert!((share - 0.3).abs() < 0.02, "{share}");
}

/// 2e10 pairs and 3e6 edges: one draw a pair took minutes.
#[test]
fn a_large_sparse_random_graph_takes_a_draw_an_edge() {
    let (n, p) = (200_000, 1.5e-4);
    let start = std::time::Instant::now();
    let graph = Topology::erdos_renyi(n, p, 7).unwrap();
    let elapsed = start.elapsed().as_secs();
    assert!(elapsed < 30, "{elapsed} s");
    assert_eq!(graph, Topology::erdos_renyi(n, p, 7).unwrap());
    // The number of edges is binomial, and so is each degree: mean and variance about 30.
    let pairs = n as f64 * (n as f64 - 1.0) / 2.0;
    let edges = graph.edges();
    let off = (edges.len() as f64 - p * pairs) / (p * pairs).sqrt();
    assert!(off.abs() < 5.0, "{off} standard deviations");
    let mean = graph.mean_degree();
    let squares = (0..n).map(|k| (graph.degree(k) as f64 - mean).powi(2));
    let variance = squares.sum::<f64>() / n as f64;
    assert!((variance / mean - 1.0).abs() < 0.02, "{variance} {mean}");
    // Edges of low and high numbers are equally likely.
    let low = edges.iter().filter(|(i, j)| i + j < n).count() as f64 / edges.len() as f64;
    assert!((low - 0.5).abs() < 0.005, "{low}");
}

#[test]
fn disconnected_graphs_are_reported_with_a_remedy() {
    let told = |t: Result<Topology, Error>, what: &str| match t {
        Err(Error::Disconnected { remedy, .. }) => assert!(remedy.contains(what), "{remedy}"),
        other => panic!("{other:?}"),
    };
    told(Topology::erdos_renyi(5, 0.0, 1), "larger p");
    told(Topology::random_geometric(50, 0.001, 1), "larger radius");
    told(Topology::from_edges(3, &[(0, 1)]), "add edges");
    told(Topology::from_edges(2, &[]), "add edges");
    told(Topology::star(4).unwrap().without_agent(0), "only through");
    told(Topology::ring(4).unwrap().with_agent(&[]), "one neighbour");
    let message = Topology::from_edges(5, &[(0, 2), (1, 3)])
        .unwrap_err()
        .to_string();
    assert!(message.contains("agent 1 cannot be reached"), "{message}");
    assert!(message.contains("2 of 5"), "{message}");
}

#[test]
fn bad_input_is_refused_by_name() {
    let refused = |t: Result<Topology, Error>, word: &str| {
        let message = t.expect_err(word).to_string();
        assert!(message.contains(word), "{message}");
    };
    for n in [0, usize::MAX] {
        refused(Topology::complete(n), "agents");
        refused(Topology::ring(n), "agents");
        refused(Topology::path(n), "agents");
        refused(Topology::star(n), "agents");
        refused(Topology::erdos_renyi(n, 0.5, 1), "agents");
        refused(Topology::random_geometric(n, 0.5, 1), "agents");
        refused(Topology::from_edges(n, &[]), "agents");
        refused(Topology::grid(n, 2), "grid");
    }
    for p in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        refused(Topology::erdos_renyi(4, p, 1), "p = ");
    }
    for radius in [-0.1, 0.0, f64::NAN, f64::INFINITY] {
        refused(Topology::random_geometric(4, radius, 1), "radius = ");
    }
    refused(Topology::from_edges(3, &[(0, 1), (1, 1)]), "(1, 1)");
    refused(Topology::from_edges(3, &[(0, 1), (1, 3)]), "(1, 3)");
    refused(
        Topology::ring(3).unwrap().with_agent(&[0, 3]),
        "neighbours = 3",
    );
    refused(Topology::ring(3).unwrap().without_agent(3), "agent = 3");
    refused(Topology::ring(1).unwrap().without_agent(0), "last");
    let grid = TopologySpec::Grid { rows: 2, cols: 3 };
    refused(grid.build(5), "got 6, expected 5");
}

#[test]
fn agents_come_and_go() {
    for (name, t) in all() {
        let n = t.agents();
        let grown = t.with_agent(&[n - 1, 0, 0]).unwrap();
        assert_eq!(grown.agents(), n + 1, "{name}");
        assert!(grown.neighbours(n).contains(&0) && grown.degree(n) <= 2);
        assert_eq!(grown.without_agent(n).unwrap(), t, "{name}");
    }
    let ring = Topology::ring(5).unwrap();
    // 0-1-2-3-4-0 without 2 is the path 3-4-0-1, renumbered 2-3-0-1.
    assert_eq!(
        ring.without_agent(2).unwrap().edges(),
        [(0, 1), (0, 3), (2, 3)]
    );
}

proptest! {
    /// Whatever the edges, the answer is a graph that keeps the laws or an error, never a panic.
    #[test]
    fn arbitrary_edges_never_panic(
        n in prop_oneof![0..8usize, any::<usize>()],
        edges in prop::collection::vec(
            prop_oneof![8 => (0..6usize, 0..6usize), 1 => any::<(usize, usize)>()],
            0..24,
        ),
    ) {
        if let Ok(t) = Topology::from_edges(n, &edges) {
            prop_assert_eq!(t.diameter(), brute_force_diameter(&t));
            for rule in rules() {
                prop_assert!(Weights::new(&t, &rule).unwrap().spectral_gap() > 0.0);
            }
        }
    }
}
