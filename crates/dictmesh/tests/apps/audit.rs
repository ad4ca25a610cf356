//! What a curious neighbour recovers of planted atoms, where theory says what it must be.

use dictmesh::apps::audit::{audit, chance, Audit};
use dictmesh::atoms::AtomSet;
use dictmesh::inference::StrategySpec;
use dictmesh::random::{gaussian, stream};
use dictmesh::task::Task;
use dictmesh::{Matrix, Mesh, Samples, Start, Topology};

const ROWS: usize = 40;

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
        AtomSet::UnitBall.normalise(w.column_mut(q));
    }
    let drawn = gaussian(n * each, 50, &mut stream(3, 2));
    let y = Matrix::from_fn(n * each, 50, |q, j| {
        let y = drawn.get(q, j);
        match (q + 7 * j) % (n * each).div_ceil(3) {
            0 if task.common().set().is_non_negative() => 0.6 + y.abs(),
            0 => y.signum() * (0.6 + y.abs()),
            _ => 0.0,
        }
    });
    let mut builder = Mesh::builder(task, topology);
    if !informed.is_empty() {
        builder = builder.informed(informed);
    }
    let sizes = vec![each; n];
    let mesh = builder.build(ROWS, &sizes, Start::Given(&w)).unwrap();
    (mesh, Samples::dense(w.times(&y)).unwrap())
}

fn svd() -> Task {
    Task::sparse_svd(0.1, 0.1).unwrap()
}

fn diffusion() -> StrategySpec {
    StrategySpec::Diffusion { mu: None }
}

fn admm(random_start: Option<f64>) -> StrategySpec {
    StrategySpec::RelaxedAdmm {
        rho: None,
        alpha: None,
        random_start,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn told(name: &str, audit: &Audit) {
    println!(
        "{name}: atoms {:.6} knowing x, {:.6} not; x {:?}, nu {:.3}",
        median(audit.cosines(true)),
        median(audit.cosines(false)),
        audit.x(),
        audit.nu_and_x
    );
}

/// Everybody sees everything here: all is recovered, by everybody, whatever the start of the memory.
#[test]
fn on_a_complete_graph_every_strategy_gives_every_atom_away() {
    let (mesh, x) = planted(Topology::complete(9).unwrap(), 1, &[], svd());
    for strategy in [diffusion(), admm(None), admm(Some(1.0))] {
        let found = audit(&mesh, &x, &strategy, 300).unwrap();
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

/// Nobody sees all that its neighbour gets. The first message of a start from 0 depends on nobody: whoever knows x has
/// the atom. A random start hides that, and is worth something here.
#[test]
fn on_a_ring_the_first_message_gives_the_atom_away_and_a_random_start_hides_it() {
    let (mesh, x) = planted(Topology::ring(9).unwrap(), 1, &[], svd());
    let plain = audit(&mesh, &x, &admm(None), 300).unwrap();
    told("ring plain", &plain);
    assert!(median(plain.cosines(true)) > 0.99999);
    assert!(plain.x().unwrap() > 0.9);
    let hidden = audit(&mesh, &x, &admm(Some(1.0)), 300).unwrap();
    told("ring random start", &hidden);
    assert!(median(hidden.cosines(true)) < 0.999, "it hides something");
    assert!(hidden.cosines(true).len() == 9 && hidden.knowing[0].unseen == 1);
    let first = audit(&mesh, &x, &diffusion(), 300).unwrap();
    told("ring diffusion", &first);
    assert!(
        first.x().unwrap() > 0.99999,
        "diffusion's first message is x itself"
    );
    assert!(median(first.cosines(true)) > 0.95);
    // So that not knowing it is no hindrance.
    assert_eq!(first.cosines(true).len(), first.cosines(false).len());
    assert!((median(first.cosines(true)) - median(first.cosines(false))).abs() < 1e-6);
}

/// Before r_k has faded, and with x not known, few rounds show next to nothing: the audit can come out well.
#[test]
fn what_cannot_be_known_is_not_found() {
    let (mesh, x) = planted(Topology::ring(9).unwrap(), 1, &[], svd());
    let hidden = audit(&mesh, &x, &admm(Some(30.0)), 5).unwrap();
    told("ring, five rounds", &hidden);
    assert!(median(hidden.cosines(false)) < 4.0 * chance(ROWS));
    assert!(hidden.x().unwrap() < 4.0 * chance(ROWS));
    // And the measure is not flattering: random directions are as far off as chance says.
    let guess = gaussian(ROWS, 2000, &mut stream(9, 9));
    let w = mesh.block(0).atoms().column(0);
    let cosine = |g: &[f64]| {
        let dot: f64 = g.iter().zip(w).map(|(a, b)| a * b).sum();
        dot.abs() / g.iter().map(|v| v * v).sum::<f64>().sqrt()
    };
    let mean = guess.columns().map(cosine).sum::<f64>() / 2000.0;
    assert!((mean / chance(ROWS) - 1.0).abs() < 0.1, "{mean}");
}

/// Several atoms at an agent leave a dictionary of their sums, which is learned; the Huber loss hides the rows at its
/// bound; uninformed agents have no share of x to hide behind.
#[test]
fn blocks_other_losses_and_uninformed_agents() {
    let (mesh, x) = planted(Topology::complete(5).unwrap(), 3, &[], svd());
    for strategy in [diffusion(), admm(None), admm(Some(1.0))] {
        let found = audit(&mesh, &x, &strategy, 200).unwrap();
        told(&format!("blocks {strategy:?}"), &found);
        assert_eq!(found.cosines(true).len(), 15);
        assert!(median(found.cosines(true)) > 0.98);
    }
    let huber = Task::nmf_huber(0.05, 0.1, 0.2).unwrap();
    let (mesh, x) = planted(Topology::complete(6).unwrap(), 1, &[0, 2], huber);
    for strategy in [diffusion(), admm(None), admm(Some(1.0))] {
        let found = audit(&mesh, &x, &strategy, 300).unwrap();
        told(&format!("huber {strategy:?}"), &found);
        assert!(median(found.cosines(true)) > 0.98);
        let watched = found.not_knowing.iter().filter(|r| r.x.is_some());
        assert_eq!(watched.count(), 2, "two agents have x");
    }
}

#[test]
fn refusals_say_what_to_do() {
    let (mesh, x) = planted(Topology::ring(4).unwrap(), 1, &[], svd());
    let refused = |strategy: &StrategySpec, rounds: usize, words: &str| {
        let error = audit(&mesh, &x, strategy, rounds).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    refused(
        &StrategySpec::Consensus { mu: None },
        50,
        "audit diffusion or relaxed-admm",
    );
    refused(&diffusion(), 2, "4 or more");
    refused(&diffusion(), usize::MAX / 2, "fewer rounds or samples");
    let (alone, x) = planted(Topology::complete(1).unwrap(), 1, &[], svd());
    let error = audit(&alone, &x, &diffusion(), 50).unwrap_err().to_string();
    assert!(error.contains("agents = 1"), "{error}");
}
