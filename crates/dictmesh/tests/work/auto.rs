//! `auto` in one process, by counted work: where messages take no time, the strategy that it chooses
//! takes hardly more multiply-adds than the other one.

use super::*;
use dictmesh::strategy::{Auto, Strategy};
use dictmesh::work::multiply_adds;
use dictmesh::{Matrix, Stopping};
use std::sync::Arc;

/// The chosen strategy takes at most this many times the work of the other one. The prediction of
/// rounds is within a factor of two.
const MOST: f64 = 2.0;

/// N, atoms of each agent, M, the probability of an edge (a ring for 0), B.
const SETTINGS: [(usize, usize, usize, f64, usize); 12] = [
    (4, 1, 100, 0.0, 32),
    (4, 16, 64, 0.0, 16),
    (4, 50, 100, 0.0, 32),
    (16, 2, 100, 0.5, 16),
    (16, 12, 64, 0.0, 16),
    (16, 64, 256, 0.3, 8),
    (16, 64, 256, 0.3, 32),
    (24, 2, 64, 0.0, 16),
    (30, 1, 1000, 0.3, 16),
    (64, 1, 100, 0.2, 16),
    (64, 4, 100, 0.2, 16),
    (100, 1, 100, 0.5, 16),
];

/// Samples of a few of the atoms.
fn planted(w: &Matrix, count: usize) -> Samples {
    let y = gaussian(w.cols(), count, &mut stream(5, 0));
    let y = Matrix::from_fn(w.cols(), count, |q, j| {
        let is_used = (q + 3 * j) % w.cols().div_ceil(6) == 0;
        if is_used {
            y.get(q, j)
        } else {
            0.0
        }
    });
    Samples::dense(w.times(&y)).unwrap()
}

#[test]
fn the_choice_in_one_process_takes_the_least_work() {
    let _alone = alone();
    let auto: Arc<dyn Strategy> = Arc::new(Auto::in_one_process());
    let mut chosen_names = Vec::new();
    for (n, each, rows, p, batch) in SETTINGS {
        let graph = match p > 0.0 {
            true => Topology::erdos_renyi(n, p, 1).unwrap(),
            false => Topology::ring(n).unwrap(),
        };
        let mesh = |strategy: Arc<dyn Strategy>| {
            let task = TaskSpec::sparse_svd(0.1, 0.05).build().unwrap();
            Mesh::builder(task, graph.clone())
                .strategy(strategy)
                .stopping(Stopping::tolerance(1e-3))
                .batch(batch)
                .build(rows, &vec![each; n], AtomInit::Random)
                .unwrap()
        };
        let x = planted(&mesh(auto.clone()).dictionary(), batch);
        let work = |name: &str| {
            let mesh = mesh(strategy::named(name).unwrap());
            let before = multiply_adds();
            let found = mesh.infer_without_duals(&x).unwrap();
            ((multiply_adds() - before) as f64, found.rounds)
        };
        let (tree, gossip) = (work("tree"), work("relaxed-admm"));
        let chosen = mesh(auto.clone()).strategy().name();
        println!(
            "{n} x {each}, M = {rows}, p = {p}, B = {batch}: {chosen}; tree {:.1e} in {} rounds, \
             relaxed-admm {:.1e} in {}: {:.2}",
            tree.0,
            tree.1,
            gossip.0,
            gossip.1,
            gossip.0 / tree.0
        );
        let (own, other) = match chosen.as_str() {
            "tree" => (tree.0, gossip.0),
            _ => (gossip.0, tree.0),
        };
        assert!(own <= MOST * other, "{chosen}: {own:e} {other:e}");
        chosen_names.push(chosen);
    }
    assert!(["tree", "relaxed-admm"]
        .iter()
        .all(|name| chosen_names.iter().any(|c| c == name)));
}
