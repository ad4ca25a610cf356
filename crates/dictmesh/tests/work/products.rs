//! The multiply-adds that are done are those of the formulas.

use super::*;
use dictmesh::work::multiply_adds;
use dictmesh::{Matrix, Stopping};
use std::ops::ControlFlow;

fn work_of<T>(work: impl FnOnce() -> T) -> f64 {
    let before = multiply_adds();
    work();
    (multiply_adds() - before) as f64
}

/// Multiply-adds of one round, after a few.
fn of_a_round(mesh: &Mesh, x: &Samples) -> f64 {
    let mut run = mesh.run(x).unwrap();
    (0..5).for_each(|_| run.round());
    work_of(|| (0..10).for_each(|_| run.round())) / 10.0
}

fn assert_near(found: f64, formula: usize, label: &str) {
    let formula = formula as f64;
    println!("{label}: {found} multiply-adds, {formula} by formula");
    assert!(
        (found - formula).abs() <= 0.1 * formula,
        "{label}: {found}, not {formula}"
    );
}

/// gamma = 0, so that no coefficient is 0 and each takes its M multiply-adds.
fn all_fire() -> TaskSpec {
    let regularizer = Spec::new("elastic-net")
        .with("gamma", 0.0)
        .with("delta", 0.1);
    task(Spec::new("squared-l2"), regularizer)
}

/// Every agent but its partner, for an even number of agents.
fn all_but_a_matching(n: usize) -> Topology {
    let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    let edges: Vec<(usize, usize)> = pairs.filter(|(i, j)| i / 2 != j / 2).collect();
    Topology::from_edges(n, &edges).unwrap()
}

/// Combine: M B for each non-zero weight. On a complete graph, the total minus the agent's own
/// part, 2 N M B. On other dense graphs, 16 M B for every four senders, of which each receiver adds
/// one sum.
/// Adapt: W_k'c and W_k y, so 2 M K B for K atoms in all.
#[test]
fn a_round_is_its_combination_and_two_products_with_the_atoms() {
    let _alone = alone();
    let (m, b) = (1000, 4);
    let x = samples(m, b);
    for (n, each) in [(24, 1), (24, 4), (40, 2)] {
        for (graph, weights) in [
            (Topology::ring(n).unwrap(), 2 * n),
            (Topology::complete(n).unwrap(), 2 * n),
            (all_but_a_matching(n), 16 * (n / 4) + n * (n / 4)),
        ] {
            let label = format!("{n} agents, {each} atoms each, {weights} weights");
            let mesh = mesh(&all_fire(), graph, "relaxed-admm", m, each);
            let formula = weights * m * b + 2 * m * n * each * b;
            assert_near(of_a_round(&mesh, &x), formula, &label);
        }
    }
}

/// Weights on the diagonal too, and each agent's share of the samples is subtracted.
#[test]
fn a_round_of_diffusion_is_its_combination_and_its_gradient() {
    let _alone = alone();
    let (m, b, n, each) = (1000, 4, 24, 3);
    let mesh = mesh(
        &all_fire(),
        Topology::ring(n).unwrap(),
        "diffusion",
        m,
        each,
    );
    let formula = 3 * n * m * b + (2 * each + 1) * m * n * b;
    assert_near(of_a_round(&mesh, &samples(m, b)), formula, "diffusion");
}

/// Samples of four atoms each: their codes have about as many coefficients.
fn planted(w: &Matrix, count: usize) -> Samples {
    let x = Matrix::from_fn(w.rows(), count, |i, j| {
        (0..4)
            .map(|a| w.get(i, (j * 31 + a * (w.cols() / 4 + 1)) % w.cols()))
            .sum()
    });
    Samples::dense(x).unwrap()
}

/// M K for the correlations of a sample and M K for its certificate; then support x K per KKT scan.
/// W'W is stored.
#[test]
fn a_sparse_code_costs_its_correlations_and_little_more() {
    let _alone = alone();
    let m = 128;
    for k in [64, 256, 1024] {
        let task = task(
            Spec::new("squared-l2"),
            Spec::new("elastic-net")
                .with("gamma", 0.2)
                .with("delta", 0.1),
        );
        let mesh = mesh(&task, Topology::ring(1).unwrap(), "relaxed-admm", m, k);
        let x = planted(&mesh.dictionary(), 256);
        let solved = mesh.exact(&x).unwrap();
        let support = solved
            .codes
            .as_slice()
            .iter()
            .filter(|y| **y != 0.0)
            .count() as f64
            / 256.0;
        assert!(support < 10.0, "{support} coefficients are not 0");
        let each = work_of(|| mesh.exact(&x).unwrap()) / 256.0;
        let products = 2.0 * (m * k) as f64;
        println!("K = {k}: {support} fire, {each} multiply-adds, {products} for the products");
        assert!(each >= products);
        assert!(
            each <= products + 12.0 * support * k as f64 + 4.0 * support * m as f64,
            "K = {k}: {each}"
        );
    }
}

/// Each batch costs what every other does.
#[test]
fn learning_twice_as_many_samples_is_twice_the_work() {
    let _alone = alone();
    let learn = |count: usize| {
        let mut mesh = Mesh::builder(all_fire().build().unwrap(), Topology::ring(4).unwrap())
            .stopping(Stopping::rounds(10))
            .batch(16)
            .build(60, &[3; 4], AtomInit::Random)
            .unwrap();
        let x = samples(60, count);
        work_of(|| mesh.learn(&x, |_| ControlFlow::Continue(())).unwrap())
    };
    let (once, twice) = (learn(64), learn(128));
    assert!((twice / once - 2.0).abs() < 0.05, "{once} and {twice}");
}
