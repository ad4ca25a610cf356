//! In the steady state a round allocates nothing.

use super::*;
use dictmesh::work::allocations;

/// Allocations of ten rounds, after the rounds in which memory is allocated. Everything runs on the
/// thread that counts: rayon allocates for each job of another thread, which is not part of the
/// round.
fn in_ten_rounds(mesh: &Mesh, x: &Samples) -> u64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    pool.build().unwrap().install(|| {
        let mut run = mesh.run(x).unwrap();
        (0..30).for_each(|_| run.round());
        let before = allocations();
        (0..10).for_each(|_| run.round());
        allocations() - before
    })
}

#[test]
fn the_counter_counts() {
    let before = allocations();
    let kept = vec![vec![1.0]; 3];
    assert_eq!(allocations() - before, 4, "{kept:?}");
}

#[test]
fn rounds_allocate_nothing() {
    let _alone = alone();
    // One atom, a few, and enough for a coarse Gram matrix; below and above the sizes that run in
    // parallel.
    for (rows, atoms, agents) in [
        (10, 1, 6),
        (10, 3, 6),
        (60, 40, 4),
        (60, 3, 50),
        (60, 1, 50),
    ] {
        let x = samples(rows, 12);
        // Sums for the one, a product for the other.
        for graph in [Topology::ring(agents), Topology::complete(agents)] {
            let graph = graph.unwrap();
            for (name, residual) in steady() {
                let label = format!("{name}, {residual:?}: {agents} agents, {atoms} atoms each");
                let mesh = mesh(
                    &task(residual, elastic_net()),
                    graph.clone(),
                    name,
                    rows,
                    atoms,
                );
                assert_eq!(in_ten_rounds(&mesh, &x), 0, "{label}");
            }
        }
    }
}

/// Every strategy of gossip with every residual it can solve for. Messages of sums differ in length.
fn steady() -> Vec<(&'static str, Spec)> {
    let residuals = [
        Spec::new("squared-l2"),
        Spec::new("huber").with("eta", 0.2),
        Spec::new("l1"),
        Spec::new("ball").with("sigma", 0.3),
        Spec::new("equality"),
    ];
    let pairs = (strategy::GOSSIP.into_iter()).flat_map(|name| {
        residuals
            .iter()
            .map(move |residual| (name, residual.clone()))
    });
    let can = |name: &str, residual: &Spec| {
        let task = task(residual.clone(), elastic_net()).build().unwrap();
        let spec = strategy::named(name).unwrap();
        spec.check(task.residual(), true).is_ok()
    };
    let all: Vec<_> = pairs
        .filter(|(name, residual)| can(name, residual))
        .collect();
    assert!(all.len() >= 4 * residuals.len(), "{all:?}");
    all
}

/// Agents share their memory, whatever the sizes of their blocks.
#[test]
fn blocks_of_different_sizes_allocate_nothing_either() {
    let _alone = alone();
    let sizes = [3, 40, 0, 1, 60, 17];
    for name in strategy::GOSSIP {
        let task = task(Spec::new("squared-l2"), elastic_net());
        let mesh = uneven(&task, Topology::ring(6).unwrap(), name, 50, &sizes);
        assert_eq!(in_ten_rounds(&mesh, &samples(50, 20)), 0, "{name}");
    }
}
