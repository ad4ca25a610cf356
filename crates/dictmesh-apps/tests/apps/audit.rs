//! What a curious neighbour recovers of planted atoms, where theory says what it must be.

use dictmesh::problem::atoms::{AtomSet, UnitBall};
use dictmesh::problem::Task;
use dictmesh::random::{gaussian, stream, Rng};
use dictmesh::strategy;
use dictmesh::strategy::{AgentStrategy, SharedConstants, Strategy};
use dictmesh::Spec;
use dictmesh::{AtomInit, Error, Matrix, Mesh, Samples, Topology};
use dictmesh_apps::audit::{audit, audit_masked, chance, Attack, Audit, Recovered, SurveySettings};
use dictmesh_apps::Progress;
use std::ops::ControlFlow;
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

fn tree() -> Arc<dyn Strategy> {
    strategy::named("tree").unwrap()
}

/// The result for one target.
fn of(found: &[Recovered], target: usize) -> &Recovered {
    found.iter().find(|r| r.target == target).unwrap()
}

/// The parent of a leaf receives its part alone. The hub of a star is the parent of all others, so
/// that it finds every atom and its agent. A leaf has no other neighbour, so that masks change
/// nothing. The same holds for both ends of a path.
#[test]
fn a_leaf_of_a_graph_is_visible_to_its_neighbour_with_masks_too() {
    let (mesh, x) = planted(Topology::star(6).unwrap(), 1, &[0], svd());
    for attack in [audit, audit_masked] {
        let found = attack(&mesh, &x, &tree(), 100, 1).unwrap();
        told("star, tree", &found);
        for leaf in 1..6 {
            for leaf in [of(&found.knowing, leaf), of(&found.not_knowing, leaf)] {
                assert_eq!((&leaf.attackers[..], leaf.unseen), (&[0][..], 0));
                assert_eq!(leaf.by, Attack::Sums);
                assert!(leaf.atoms[0].cosine > 0.99, "{leaf:?}");
            }
        }
        assert!(found.attributed() >= 5);
        assert!(found.x().unwrap() > 0.999, "{:?}", found.x());
    }
    let (mesh, x) = planted(Topology::path(5).unwrap(), 1, &[2], svd());
    for attack in [audit, audit_masked] {
        let found = attack(&mesh, &x, &tree(), 100, 1).unwrap();
        told("path, tree", &found);
        for (end, next) in [(0, 1), (4, 3)] {
            let end = of(&found.not_knowing, end);
            assert_eq!((&end.attackers[..], end.unseen), (&[next][..], 0));
            assert!(end.atoms[0].cosine > 0.99, "{end:?}");
        }
        // On a path the tree is the graph: a cut vertex has the sum of each side.
        assert_eq!(of(&found.not_knowing, 2).unseen, 2);
    }
}

/// Without masks an agent of a ring still has a parent that receives its part alone, if it is a
/// leaf of the tree.
#[test]
fn without_masks_the_leaves_of_the_tree_are_visible_on_every_graph() {
    for each in [1, 2] {
        let (mesh, x) = planted(Topology::ring(6).unwrap(), each, &[], svd());
        let found = audit(&mesh, &x, &tree(), 100, 1).unwrap();
        told("ring, tree", &found);
        let tree = mesh.topology().spanning_tree();
        let leaves: Vec<usize> = (0..6).filter(|k| tree.children[*k].is_empty()).collect();
        assert_eq!(leaves.len(), 2);
        for leaf in leaves {
            let leaf = of(&found.knowing, leaf);
            assert_eq!(leaf.unseen, 0);
            let found = leaf.atoms.iter().filter(|a| a.fired && a.cosine > 0.99);
            assert_eq!(found.count(), each, "{leaf:?}");
        }
    }
}

/// On a graph that stays connected without the attacker, masks leave it W y without its own part:
/// the bound is dictionary learning on the public W y. So the graph does not matter, and neither
/// does which agent holds an atom. No atom is attributed.
#[test]
fn masks_on_a_two_connected_graph_leave_the_public_sum_alone() {
    let (mesh, x) = planted(Topology::ring(6).unwrap(), 1, &[0], svd());
    let ring = audit_masked(&mesh, &x, &tree(), 100, 1).unwrap();
    told("ring, tree, masked", &ring);
    assert!(ring.not_knowing.iter().all(|r| r.unseen == 4));
    assert_eq!(ring.attributed(), 0);
    // Dictionary learning on the sum finds the directions: masks do not hide them.
    assert!(median(ring.cosines(false)) > 0.99);
    // Agent 0 attacks agents 1 and 5 of the ring, and all others of the complete graph.
    let cosine = |audit: &Audit, target: usize| {
        let target = of(&audit.not_knowing, target);
        assert_eq!(target.attackers, [0]);
        target.atoms[0].cosine
    };
    let (complete, _) = planted(Topology::complete(6).unwrap(), 1, &[0], svd());
    let complete = audit_masked(&complete, &x, &tree(), 100, 1).unwrap();
    for target in [1, 5] {
        let apart = cosine(&ring, target) - cosine(&complete, target);
        assert!(apart.abs() < 1e-9, "{target}: {apart}");
    }
    // The atoms of agents 1 and 5, exchanged.
    let mut w = mesh.dictionary();
    for i in 0..ROWS {
        let (one, five) = (w.get(i, 1), w.get(i, 5));
        w.column_mut(1)[i] = five;
        w.column_mut(5)[i] = one;
    }
    let exchanged = Mesh::builder(svd(), Topology::ring(6).unwrap())
        .informed(&[0])
        .build(ROWS, &[1; 6], AtomInit::Given(&w))
        .unwrap();
    let exchanged = audit_masked(&exchanged, &x, &tree(), 100, 1).unwrap();
    for (here, there) in [(1, 5), (5, 1)] {
        let apart = cosine(&ring, here) - cosine(&exchanged, there);
        assert!(apart.abs() < 1e-9, "{here}: {apart}");
    }
    // Both neighbours together isolate an agent of a ring.
    let both = audit_masked(&mesh, &x, &tree(), 100, 2).unwrap();
    assert!(both.not_knowing.iter().all(|r| r.unseen == 0));
    assert!(median(both.cosines(false)) > 0.99);
}

/// A strategy of another crate, whose messages no attack reads.
#[derive(Debug)]
struct Unknown;

impl Strategy for Unknown {
    fn spec(&self) -> Spec {
        Spec::new("unknown")
    }

    fn resolve(&self, _shared: &SharedConstants) -> dictmesh::Result<Arc<dyn Strategy>> {
        Ok(Arc::new(Unknown))
    }

    fn agent(&self, _own: Rng) -> dictmesh::Result<Box<dyn AgentStrategy>> {
        strategy::named("diffusion")?.agent(stream(0, 0))
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
    let unknown: Arc<dyn Strategy> = Arc::new(Unknown);
    refused(&unknown, 50, "unknown");
    let masked = audit_masked(&mesh, &x, &diffusion(), 50, 1).unwrap_err();
    assert!(masked.to_string().contains("use tree"), "{masked}");
    refused(&diffusion(), usize::MAX / 2, "fewer rounds or samples");
    let nobody = audit(&mesh, &x, &diffusion(), 50, 0).unwrap_err();
    assert!(nobody.to_string().contains("1 or more"), "{nobody}");
    let (alone, x) = planted(Topology::complete(1).unwrap(), 1, &[], svd());
    let error = audit(&alone, &x, &diffusion(), 50, 1)
        .unwrap_err()
        .to_string();
    assert!(error.contains("agents = 1"), "{error}");
}

/// On a complete graph, gossip gives every atom away; masks leave the sums of all agents.
#[test]
fn a_survey_names_each_strategy_with_what_it_leaks() {
    let (mesh, x) = planted(Topology::complete(4).unwrap(), 1, &[], svd());
    let settings = SurveySettings {
        rounds: 120,
        random_start: vec![0.5],
        ..SurveySettings::default()
    };
    let candidates = settings.candidates(None, None).unwrap();
    let mut steps = Vec::new();
    let found = settings
        .run(&mesh, &x, &candidates, true, &mut |progress| {
            steps.push(progress.done);
            ControlFlow::Continue(())
        })
        .unwrap();
    let names: Vec<&str> = found.strategies.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names.len(), strategy::NAMES.len() + 2);
    for name in ["relaxed-admm, random start 0.5", "tree", "tree, masked"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!((found.agents, found.links, found.samples), (4, 6, 40));
    assert_eq!(found.seen_in_full, 4);
    for audited in &found.strategies {
        let gossip = audited.strategy != "tree";
        assert_eq!(audited.attributed.is_none(), gossip);
        if gossip {
            assert!(audited.broken, "{}", audited.name);
            assert_eq!(audited.x_unknown.recovered, audited.x_unknown.atoms);
            assert_eq!(audited.x_unknown.agents.len(), 4);
        }
        if audited.masked {
            assert_eq!(audited.attributed, Some(0));
        }
    }
    assert!(steps.windows(2).all(|w| w[0] <= w[1]));
    // A guess in 40 dimensions is far from every atom.
    assert!(found.chance > 0.1 && found.chance < 0.5);

    let stopped = settings.run(
        &mesh,
        &x,
        &candidates,
        true,
        &mut |_| ControlFlow::Break(()),
    );
    assert!(matches!(stopped, Err(Error::Interrupted)));
}

#[test]
fn a_candidate_that_diverges_is_left_out_or_an_error() {
    let (mesh, x) = planted(Topology::complete(3).unwrap(), 1, &[], svd());
    let settings = SurveySettings {
        rounds: 60,
        samples: 6,
        random_start: vec![1e61],
        ..SurveySettings::default()
    };
    let admm = admm(None);
    let candidates = settings.candidates(Some(&admm), None).unwrap();
    assert_eq!(candidates.len(), 2);
    let go = &mut |_: Progress| ControlFlow::Continue(());
    let found = settings.run(&mesh, &x, &candidates, true, go).unwrap();
    assert_eq!((found.strategies.len(), found.left_out.len()), (1, 1));
    assert!(
        found.left_out[0].contains("diverge"),
        "{:?}",
        found.left_out
    );
    assert!(settings.run(&mesh, &x, &candidates, false, go).is_err());
    assert!(settings.run(&mesh, &x, &candidates[1..], true, go).is_err());
}
