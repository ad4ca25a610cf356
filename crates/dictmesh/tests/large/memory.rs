//! Peak memory of building, coding and learning, counted by the allocator.

use super::*;
use dictmesh::work::{bytes, forget_peak, peak_bytes, Allocator};
use dictmesh::{strategy, Stop, Stopping};
use std::ops::ControlFlow;
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Peak over atoms, batch and the agents' duals.
const MOST: f64 = 1.5;

/// Builds a mesh on a random graph, codes a batch and learns it by this strategy. Prints the memory of each step,
/// and fails if it exceeds [`MOST`].
fn stays_within(
    strategy: &str,
    (agents, atoms): (usize, usize),
    (rows, batch): (usize, usize),
    rounds: usize,
) {
    let graph = Topology::erdos_renyi(agents, 10.0 / agents as f64, 1).unwrap();
    let x = samples(rows, batch);
    let before = bytes() - x.to_dense().as_slice().len() * 8;
    let numbers = agents * atoms * rows + rows * batch + agents * rows * batch;
    let (need, begin) = (8.0 * numbers as f64, Instant::now());
    forget_peak();
    let check = |what: &str| {
        let used = (peak_bytes() - before) as f64;
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "{what}: {:.3} times {:.0} MB after {seconds:.1} s",
            used / need,
            need / 1e6
        );
        assert!(used <= MOST * need, "{what}: {} times", used / need);
    };
    let task = TaskSpec::sparse_svd(0.1, 0.1).build().unwrap();
    let mut mesh = Mesh::builder(task, graph)
        .strategy(strategy::named(strategy).unwrap())
        .stopping(Stopping {
            tolerance: Some(1e-2),
            rounds,
        })
        .batch(batch)
        .threads(2) // each has some 6 MB of its own
        .build(rows, &vec![atoms; agents], AtomInit::Random)
        .unwrap();
    assert!(mesh.block(0).gram().is_none());
    check("built");
    let found = mesh.infer(&x).unwrap();
    assert!(matches!(found.stop, Stop::Converged | Stop::RoundLimit));
    println!(
        "{:?} after {} rounds, {:.0} atoms a sample",
        found.stop,
        found.rounds,
        found.mean_sparsity()
    );
    drop(found);
    check("coded");
    let mut moved = 0.0;
    let stop = mesh.learn(&x, |event| {
        moved += event.movement;
        ControlFlow::Continue(())
    });
    assert!(matches!(stop.unwrap(), Stop::Converged | Stop::RoundLimit) && moved > 0.0);
    check("learned");
    let file = std::env::temp_dir().join(format!("dictmesh-{}.model", std::process::id()));
    let saved = mesh.to_model().save(&file);
    std::fs::remove_file(&file).unwrap();
    saved.unwrap();
    check("saved");
    let codes = mesh.exact_codes(&x).unwrap();
    assert!(codes.relative_gap() <= 1e-10, "{:e}", codes.relative_gap());
    check("solved exactly");
}

#[test]
fn no_second_copy_of_the_atoms() {
    let _alone = alone();
    // 68 MB of atoms: the memory that does not grow with them, some 20 MB, is well below half of
    // that. Dense codes would take 4 MB, and a strategy has five arrays of 2 MB.
    stays_within("relaxed-admm", (64, 520), (256, 16), 60);
}

/// Beside nu, an agent holds W_k'nu and W_k'p of each sample: 17 MB here, for 272 MB of atoms.
#[test]
fn sums_have_no_second_copy_of_the_atoms() {
    let _alone = alone();
    stays_within("tree", (64, 1_040), (512, 16), 60);
}

/// 540 MB of atoms, 17 MB of duals; dense codes would take 67 MB.
#[test]
#[ignore = "540 MB of atoms, minutes"]
fn the_largest_mesh_of_one_process() {
    let _alone = alone();
    for strategy in ["tree", "relaxed-admm"] {
        println!("{strategy}");
        stays_within(strategy, (64, 2_048), (512, 64), 60);
    }
}
