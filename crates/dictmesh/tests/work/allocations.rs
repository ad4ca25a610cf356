//! In the steady state a round allocates nothing.

use super::*;
use dictmesh::work::allocations;

/// Allocations of ten rounds, after those in which memory is made. Everything runs on the thread that
/// counts: rayon gives each job of another thread a little memory of its own, which is not the round's.
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
    // One atom, a few, and enough for a coarse Gram matrix; below and above what is done in parallel.
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

/// Every strategy with every residual it can solve for, but for the argmin of those whose envelope is not
/// one quadratic: proximal Newton makes a Hessian of another size in each of its steps.
fn steady() -> Vec<(&'static str, ResidualSpec)> {
    let by_gradient = ["diffusion", "consensus", "exact-diffusion"];
    let mut all = vec![
        ("relaxed-admm", ResidualSpec::SquaredL2),
        ("relaxed-admm", ResidualSpec::Equality),
        ("jacobi-admm", ResidualSpec::SquaredL2),
        ("jacobi-admm", ResidualSpec::Equality),
        ("exact-diffusion", ResidualSpec::Ball { sigma: 0.3 }),
        ("exact-diffusion", ResidualSpec::Equality),
    ];
    for name in by_gradient {
        all.push((name, ResidualSpec::SquaredL2));
        all.push((name, ResidualSpec::Huber { eta: 0.2 }));
        all.push((name, ResidualSpec::L1));
    }
    assert!(StrategySpec::NAMES
        .iter()
        .all(|name| all.iter().any(|(n, _)| n == name)));
    all
}
