//! The mesh grows and shrinks in mid-stream, or refuses and stays as it was.

use super::{assert_atoms_in_their_sets, go_on, noise};
use dictmesh::problem::{LocalSpec, LocalTask, Task};
use dictmesh::random::{gaussian, stream};
use dictmesh::{AtomInit, Error, Matrix, Mesh, Spec, Stop, Topology, WeightRule, Weights};

const M: usize = 8;

fn mesh_on(topology: Topology, sizes: &[usize], informed: &[usize]) -> Mesh {
    Mesh::builder(Task::sparse_svd(0.1, 0.1).unwrap(), topology)
        .batch(5)
        .informed(informed)
        .build(M, sizes, AtomInit::Random)
        .unwrap()
}

fn mesh() -> Mesh {
    mesh_on(Topology::ring(4).unwrap(), &[2, 3, 0, 2], &[0, 2])
}

/// After any change: the mesh learns, atoms are in their sets, agents agree, and inference gives
/// the exact solution.
pub fn assert_works(mesh: &mut Mesh, label: &str) {
    let x = noise(M, 10, 2);
    assert_eq!(mesh.learn(&x, go_on).unwrap(), Stop::Converged, "{label}");
    assert_atoms_in_their_sets(mesh, label);
    let (found, exact) = (mesh.infer(&x).unwrap(), mesh.exact(&x).unwrap());
    assert_eq!(found.duals.len(), mesh.agents());
    assert!(found.disagreement < 1e-2, "{label}: {}", found.disagreement);
    for (cost, certificate) in found.costs.iter().zip(&exact.certificates) {
        assert!(
            (cost - certificate.dual).abs() < 1e-3 * certificate.dual,
            "{label}"
        );
    }
    let expected = Weights::new(mesh.topology(), mesh.weight_rule()).unwrap();
    assert_eq!(
        *mesh.weights(),
        expected,
        "{label}: weights of another graph"
    );
    for k in 0..mesh.agents() {
        assert_eq!(mesh.atom_stats(k).samples.len(), mesh.block(k).len());
        assert_eq!(mesh.atom_stats(k).energy.len(), mesh.block(k).len());
    }
}

pub fn text(error: Error) -> String {
    error.to_string()
}

#[test]
fn atoms_are_added_in_mid_stream() {
    let mut mesh = mesh();
    assert_works(&mut mesh, "before");
    let before = mesh.block(1).atoms().clone();
    let used = mesh.atom_stats(1).clone();
    let x = noise(M, 6, 3);
    mesh.add_atoms(1, 2, AtomInit::Samples(&x)).unwrap();
    mesh.add_atoms(2, 1, AtomInit::Random).unwrap();
    mesh.add_atoms(0, 0, AtomInit::Random).unwrap();
    assert_eq!(mesh.atoms(), 10);
    assert_eq!(
        mesh.block(1).atoms().columns_range(0..3),
        before,
        "the old ones stay"
    );
    assert_eq!(mesh.atom_stats(1).samples[..3], used.samples);
    assert_eq!(
        mesh.atom_stats(1).samples[3..],
        [0, 0],
        "the new ones are fresh"
    );
    assert!(mesh.unused_atoms().contains(&(1, 3)) && mesh.unused_atoms().contains(&(2, 0)));
    assert_works(&mut mesh, "after");
    let error = text(mesh.add_atoms(4, 1, AtomInit::Random).unwrap_err());
    assert!(
        error.contains("agent = 4") && error.contains("0 to 3"),
        "{error}"
    );
}

#[test]
fn an_agent_joins_in_mid_stream() {
    let mut mesh = mesh();
    assert_works(&mut mesh, "before");
    let blocks: Vec<Matrix> = (0..4).map(|k| mesh.block(k).atoms().clone()).collect();
    assert_eq!(
        mesh.add_agent(&[0, 2], 3, AtomInit::Random, true, None)
            .unwrap(),
        4
    );
    let own = LocalSpec {
        regularizer: Spec::new("non-negative-elastic-net")
            .with("gamma", 0.05)
            .with("delta", 0.2),
        penalty: Default::default(),
        set: Spec::new("non-negative-unit-ball"),
    };
    let joined = mesh
        .add_agent(
            &[4],
            2,
            AtomInit::Random,
            false,
            Some(LocalTask::build(&own).unwrap()),
        )
        .unwrap();
    assert_eq!(joined, 5);
    for (k, block) in blocks.iter().enumerate() {
        assert_eq!(mesh.block(k).atoms(), block, "agent {k} keeps its atoms");
    }
    assert!(mesh.is_informed(4) && !mesh.is_informed(5));
    assert_eq!(mesh.topology().neighbours(5), &[4]);
    assert_eq!(mesh.task().local(5).spec(), own);
    assert_eq!(mesh.task().spec().own[&5], own);
    assert_works(&mut mesh, "after");
    assert!(mesh.block(5).atoms().as_slice().iter().all(|w| *w >= 0.0));
}

/// The costs of a mesh do not depend on when its agents came: a joined mesh codes as a built one.
#[test]
fn a_grown_mesh_equals_a_built_one() {
    let mut grown = mesh_on(Topology::path(2).unwrap(), &[3, 2], &[0]);
    let w = gaussian(M, 4, &mut stream(9, 0));
    grown
        .add_agent(&[1, 0], 4, AtomInit::Given(&w), true, None)
        .unwrap();
    let built = Mesh::builder(
        Task::sparse_svd(0.1, 0.1).unwrap(),
        Topology::ring(3).unwrap(),
    )
    .informed(&[0, 2])
    .build(M, &[3, 2, 4], AtomInit::Given(&grown.dictionary()))
    .unwrap();
    let x = noise(M, 3, 1);
    assert_eq!(
        grown.infer(&x).unwrap().costs,
        built.infer(&x).unwrap().costs
    );
}

#[test]
fn an_agent_leaves_in_mid_stream() {
    let mut mesh = mesh();
    let own = LocalSpec {
        regularizer: Spec::new("elastic-net")
            .with("gamma", 0.0)
            .with("delta", 0.5),
        penalty: Default::default(),
        set: Spec::new("unit-l1-ball"),
    };
    mesh.add_agent(
        &[0, 1, 3],
        2,
        AtomInit::Random,
        true,
        Some(LocalTask::build(&own).unwrap()),
    )
    .unwrap();
    assert_works(&mut mesh, "before");
    let last = mesh.block(4).atoms().clone();
    mesh.remove_agent(1).unwrap();
    assert_eq!((mesh.agents(), mesh.atoms()), (4, 6));
    assert_eq!(mesh.block(3).atoms(), &last, "later agents move down");
    assert_eq!(mesh.task().local(3).spec(), own, "with their task");
    assert_eq!(mesh.task().local(2).spec(), mesh.task().common().spec());
    assert!(mesh.is_informed(3) && mesh.is_informed(1) && !mesh.is_informed(2));
    assert_works(&mut mesh, "after");
}

/// Refused, with the reason, and nothing has changed.
fn assert_refused(mesh: &mut Mesh, k: usize, words: &[&str]) {
    let (before, topology) = (mesh.dictionary(), mesh.topology().clone());
    let error = text(mesh.remove_agent(k).unwrap_err());
    for word in words {
        assert!(error.contains(word), "\"{word}\" is missing in: {error}");
    }
    assert_eq!(mesh.dictionary(), before);
    assert_eq!(*mesh.topology(), topology);
    assert_works(mesh, &error);
}

#[test]
fn an_agent_that_is_needed_stays() {
    let path = || Topology::path(3).unwrap();
    assert_refused(
        &mut mesh_on(path(), &[2, 2, 2], &[0]),
        1,
        &["disconnected", "only through"],
    );
    assert_refused(
        &mut mesh_on(path(), &[2, 2, 2], &[2]),
        2,
        &["informed", "cannot be removed"],
    );
    assert_refused(
        &mut mesh_on(path(), &[2, 0, 0], &[1]),
        0,
        &["K = 0", "atoms", "cannot be removed"],
    );
    assert_refused(
        &mut mesh_on(path(), &[2, 2, 2], &[0]),
        3,
        &["agent = 3", "0 to 2"],
    );
    let mut alone = mesh_on(Topology::complete(1).unwrap(), &[3], &[0]);
    assert_refused(&mut alone, 0, &["last", "at least 1 agent"]);
}

#[test]
fn a_new_agent_needs_neighbours_that_exist() {
    let mut mesh = mesh();
    let error = text(
        mesh.add_agent(&[], 1, AtomInit::Random, true, None)
            .unwrap_err(),
    );
    assert!(
        error.contains("disconnected") && error.contains("at least one neighbour"),
        "{error}"
    );
    let error = text(
        mesh.add_agent(&[0, 9], 1, AtomInit::Random, true, None)
            .unwrap_err(),
    );
    assert!(
        error.contains("neighbours = 9") && error.contains("0 to 3"),
        "{error}"
    );
    let short = Matrix::zeros(M - 1, 1);
    let error = text(
        mesh.add_agent(&[0], 1, AtomInit::Given(&short), true, None)
            .unwrap_err(),
    );
    assert!(error.contains("got 7, expected 8"), "{error}");
    assert_eq!(mesh.agents(), 4);
    assert_works(&mut mesh, "after refusals");
}

/// A combination matrix of one's own says nothing about another graph.
#[test]
fn given_weights_do_not_grow() {
    let ring = Topology::ring(3).unwrap();
    let given = Weights::new(&ring, &WeightRule::Uniform)
        .unwrap()
        .to_matrix();
    let mut mesh = Mesh::builder(Task::sparse_svd(0.1, 0.1).unwrap(), ring)
        .weights(WeightRule::Given(given))
        .build(M, &[2, 2, 2], AtomInit::Random)
        .unwrap();
    for error in [
        mesh.add_agent(&[0], 1, AtomInit::Random, true, None)
            .unwrap_err(),
        mesh.remove_agent(0).unwrap_err(),
    ] {
        let error = text(error);
        assert!(
            error.contains("combination matrix") && error.contains("Metropolis"),
            "{error}"
        );
    }
    assert_eq!(mesh.agents(), 3);
    mesh.add_atoms(0, 1, AtomInit::Random).unwrap();
    assert_works(&mut mesh, "atoms may still be added");
}
