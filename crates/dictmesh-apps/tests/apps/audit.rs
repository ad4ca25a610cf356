//! What a curious neighbour recovers of planted atoms, where theory says what it must be.

use dictmesh::problem::atoms::{AtomSet, UnitBall};
use dictmesh::problem::Task;
use dictmesh::random::{gaussian, stream};
use dictmesh::strategy;
use dictmesh::strategy::Strategy;
use dictmesh::Spec;
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Topology};
use dictmesh_apps::audit::{audit, chance, Audit};
use std::sync::Arc;

const ROWS: usize = 40;
const SAMPLES: usize = 50;

/// Unit atoms, `each` at every agent, and samples that mix three of all of them.
fn planted(topology: Topology, each: usize, informed: &[usize], task: Task) -> (Mesh, Samples) {
    let n = topology.agents();
    let mut w = gaussian(ROWS, n * each, &mut stream(3, 1));
    for q in 0..w.cols() {
        if task.common().set().is_non_negative() {
            w.column_mut(q)
                .iter_mut()
                .for_each(|v| *v = (*v - 0.5).max(0.0));
        }
        UnitBall.normalise(w.column_mut(q));
    }
    // Each atom is in some samples, whatever the others are in.
    let (drawn, chosen) = (
        gaussian(n * each, SAMPLES, &mut stream(3, 2)),
        gaussian(n * each, SAMPLES, &mut stream(3, 4)),
    );
    let rare = if n * each > 8 { 0.6 } else { 0.0 };
    let y = Matrix::from_fn(n * each, SAMPLES, |q, j| {
        let y = drawn.get(q, j);
        match chosen.get(q, j) > rare {
            true if task.common().set().is_non_negative() => 0.6 + y.abs(),
            true => y.signum() * (0.6 + y.abs()),
            false => 0.0,
        }
    });
    let mut builder = Mesh::builder(task, topology);
    if !informed.is_empty() {
        builder = builder.informed(informed);
    }
    let sizes = vec![each; n];
    let mesh = builder.build(ROWS, &sizes, AtomInit::Given(&w)).unwrap();
    (mesh, Samples::dense(w.times(&y)).unwrap())
}

fn svd() -> Task {
    Task::sparse_svd(0.1, 0.1).unwrap()
}

fn diffusion() -> Arc<dyn Strategy> {
    strategy::build(&Spec::new("diffusion")).unwrap()
}

fn admm(random_start: Option<f64>) -> Arc<dyn Strategy> {
    strategy::build(&Spec::new("relaxed-admm").with_some("random_start", random_start)).unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn told(name: &str, audit: &Audit) {
    println!(
        "{name}: atoms {:.6} knowing x, {:.6} not, {:.6} out of sight; x {:.4}, nu {:.3}",
        median(audit.cosines(true)),
        median(audit.cosines(false)),
        median(audit.beyond.clone()),
        audit.x().unwrap_or(0.0),
        audit.nu_and_x
    );
}

/// All strategies, and the random start that is to hide something.
fn strategies() -> Vec<Arc<dyn Strategy>> {
    let plain = strategy::GOSSIP.map(|name| strategy::named(name).unwrap());
    plain.into_iter().chain([admm(Some(1.0))]).collect()
}

/// Every agent receives every message: every agent recovers all atoms, with zero and with random
/// starts.
#[test]
fn on_a_complete_graph_every_strategy_gives_every_atom_away() {
    let (mesh, x) = planted(Topology::complete(9).unwrap(), 1, &[], svd());
    for strategy in strategies() {
        let found = audit(&mesh, &x, &strategy, 300, 1).unwrap();
        told(&format!("complete {strategy:?}"), &found);
        for knows_x in [true, false] {
            let cosines = found.cosines(knows_x);
            assert_eq!(cosines.len(), 9);
            let worst = cosines.iter().copied().fold(1.0, f64::min);
            assert!(worst > 0.99999, "{strategy:?} {knows_x}: {cosines:?}");
        }
        let x = found.x().unwrap();
        assert!(x > 0.9999, "{strategy:?}: {x}");
        assert!(found.nu_and_x < x);
    }
}

/// No agent receives all messages that its neighbour receives, and x is unknown. The sums over
/// rounds determine all atoms of the mesh for each of its agents, including distant ones, and with
/// them x. They do not contain a random start. The attacker can verify them: they explain held-out
/// samples to the last digit.
#[test]
fn on_a_ring_the_limit_gives_all_atoms_to_everybody_and_a_random_start_hides_nothing() {
    let (mesh, x) = planted(Topology::ring(6).unwrap(), 1, &[], svd());
    for strategy in strategies() {
        let found = audit(&mesh, &x, &strategy, 400, 1).unwrap();
        told(&format!("ring {strategy:?}"), &found);
        assert!(found.knowing.iter().all(|r| r.unseen == 1));
        // Agents 0 to 3 attack, and each has three agents out of its sight.
        assert_eq!(found.beyond.len(), 4 * 3);
        let biased = strategy.is_biased();
        let least = if biased { 0.95 } else { 0.99999 };
        for cosines in [
            found.cosines(true),
            found.cosines(false),
            found.beyond.clone(),
        ] {
            assert!(median(cosines.clone()) > least, "{strategy:?}: {cosines:?}");
        }
        assert!(found.x().unwrap() > 0.99, "{strategy:?}: {:?}", found.x());
        if !biased {
            let unsure = found.not_knowing.iter().filter(|r| r.unexplained > 1e-9);
            assert_eq!(unsure.count(), 0, "{strategy:?}");
        }
    }
}

/// Where only some have x, it cancels all the same; and neighbours that work together see more.
#[test]
fn uninformed_agents_and_neighbours_that_work_together() {
    let (mesh, x) = planted(Topology::ring(5).unwrap(), 2, &[1], svd());
    let found = audit(&mesh, &x, &admm(Some(1.0)), 300, 1).unwrap();
    told("one informed", &found);
    assert!(median(found.cosines(false)) > 0.9999);
    assert!(found.x().unwrap() > found.nu_and_x);
    let both = audit(&mesh, &x, &admm(Some(1.0)), 300, 2).unwrap();
    told("two together", &both);
    assert!(both
        .knowing
        .iter()
        .all(|r| r.unseen == 0 && r.attackers.len() == 2));
    assert!(median(both.cosines(false)) > 0.9999);
}

/// Before r_k has decayed, and with x unknown, few rounds reveal almost nothing: an audit can find
/// no leak.
#[test]
fn what_cannot_be_known_is_not_found() {
    let (mesh, x) = planted(Topology::ring(9).unwrap(), 1, &[], svd());
    let hidden = audit(&mesh, &x, &admm(Some(30.0)), 5, 1).unwrap();
    told("ring, five rounds", &hidden);
    assert!(median(hidden.cosines(false)) < 2.0 * chance(ROWS, 8));
    assert!(hidden.x().unwrap() < 2.0 * chance(ROWS, 8));
    // And the measure is not flattering: random directions are as far off as chance says.
    let guess = gaussian(ROWS, 2000, &mut stream(9, 9));
    let w = mesh.block(0).atoms().column(0);
    let cosine = |g: &[f64]| {
        let dot: f64 = g.iter().zip(w).map(|(a, b)| a * b).sum();
        dot.abs() / g.iter().map(|v| v * v).sum::<f64>().sqrt()
    };
    let mean = guess.columns().map(cosine).sum::<f64>() / 2000.0;
    assert!((mean / chance(ROWS, 1) - 1.0).abs() < 0.1, "{mean}");
}

/// Several atoms at an agent leave a dictionary of their sums, which is learned. The Huber loss
/// hides the rows at its bound. Uninformed agents have no share of x that hides their atoms.
#[test]
fn blocks_other_losses_and_uninformed_agents() {
    let (mesh, x) = planted(Topology::complete(5).unwrap(), 3, &[], svd());
    for strategy in [diffusion(), admm(None), admm(Some(1.0))] {
        let found = audit(&mesh, &x, &strategy, 200, 1).unwrap();
        told(&format!("blocks {strategy:?}"), &found);
        assert_eq!(found.cosines(true).len(), 15);
        assert!(median(found.cosines(true)) > 0.98);
    }
    let huber = Task::nmf_huber(0.05, 0.1, 0.2).unwrap();
    let (mesh, x) = planted(Topology::complete(6).unwrap(), 1, &[0, 2], huber);
    for strategy in [diffusion(), admm(None), admm(Some(1.0))] {
        let found = audit(&mesh, &x, &strategy, 300, 1).unwrap();
        told(&format!("huber {strategy:?}"), &found);
        assert!(median(found.cosines(true)) > 0.98);
        assert!(
            found.x().unwrap() > found.nu_and_x - 1e-3,
            "nu is always there to be taken"
        );
    }
}

#[test]
fn refusals_say_what_to_do() {
    let (mesh, x) = planted(Topology::ring(4).unwrap(), 1, &[], svd());
    let refused = |strategy: &Arc<dyn Strategy>, rounds: usize, words: &str| {
        let error = audit(&mesh, &x, strategy, rounds, 1)
            .unwrap_err()
            .to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(&diffusion(), 2, "4 or more");
    let sums = strategy::named("gradient-sums").unwrap();
    refused(&sums, 50, "gradient-sums");
    refused(&diffusion(), usize::MAX / 2, "fewer rounds or samples");
    let nobody = audit(&mesh, &x, &diffusion(), 50, 0).unwrap_err();
    assert!(nobody.to_string().contains("1 or more"), "{nobody}");
    let (alone, x) = planted(Topology::complete(1).unwrap(), 1, &[], svd());
    let error = audit(&alone, &x, &diffusion(), 50, 1)
        .unwrap_err()
        .to_string();
    assert!(error.contains("agents = 1"), "{error}");
}
