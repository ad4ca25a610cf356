//! A saved model loads unchanged, learning continues from it, and invalid files are rejected.

#![allow(clippy::unwrap_used, clippy::panic)]

mod damage;
mod join;
mod old_files;
mod places;
mod refusals;

use dictmesh::model::{Description, Model};
use dictmesh::problem::atoms::AtomPenalty;
use dictmesh::problem::{LocalSpec, TaskSpec};
use dictmesh::random::{gaussian, stream};
use dictmesh::strategy::{self, Strategy};
use dictmesh::{
    AtomInit, Error, Matrix, Mesh, Samples, Spec, Stopping, Topology, Update, WeightRule,
};
use proptest::prelude::*;
use serde_json::{json, Value};
use std::fs;
use std::ops::ControlFlow::Continue;
use std::path::Path;
use std::sync::Arc;

const ROWS: usize = 6;

fn samples(seed: u64, count: usize) -> Samples {
    Samples::dense(gaussian(ROWS, count, &mut stream(seed, 99))).unwrap()
}

/// A task in which every kind of field occurs.
fn rich_task() -> TaskSpec {
    let mut task = TaskSpec::biclustering(0.1, 0.1 + 0.2, 0.01);
    let own = LocalSpec {
        regularizer: Spec::new("boxed-elastic-net")
            .with("gamma", 1.0 / 3.0)
            .with("delta", 0.7)
            .with("lo", -0.3)
            .with("hi", f64::INFINITY),
        penalty: AtomPenalty::None,
        set: Spec::new("unit-l1-ball"),
    };
    task.own.insert(2, own);
    task
}

/// Four agents; one has no atoms and two are informed. The graph has triangles, which Jacobi ADMM
/// needs.
fn mesh_of(task: TaskSpec, strategy: Arc<dyn Strategy>, update: Update) -> Mesh {
    let edges = [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)];
    let topology = Topology::from_edges(4, &edges).unwrap();
    Mesh::builder(task.build().unwrap(), topology)
        .strategy(strategy)
        .stopping(Stopping::rounds(40))
        .update(update)
        .batch(3)
        .warm_start(true)
        .seed(u64::MAX - 5)
        .informed(&[1, 2])
        .build(ROWS, &[2, 0, 1, 3], AtomInit::Random)
        .unwrap()
}

fn learned() -> Mesh {
    let mut mesh = mesh_of(
        rich_task(),
        strategy::named("relaxed-admm").unwrap(),
        Update::default(),
    );
    mesh.learn(&samples(1, 10), |_| Continue(())).unwrap();
    mesh
}

fn bits(matrix: &Matrix) -> Vec<u64> {
    matrix.as_slice().iter().map(|v| v.to_bits()).collect()
}

fn assert_same(a: &Mesh, b: &Mesh) {
    assert_eq!(bits(&a.dictionary()), bits(&b.dictionary()));
    assert_eq!(a.to_model(), b.to_model());
}

#[test]
fn a_file_gives_the_model_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.safetensors");
    let mut model = learned().to_model();
    model.description.feature_names =
        Some((0..ROWS).map(|i| format!("x \"{i}\" \u{e9}")).collect());
    model.description.extra = serde_json::from_value(json!({
        "preprocessing": {"mean": [0.1, 1e-300, -0.0], "kind": "centre"}, "big": u64::MAX
    }))
    .unwrap();
    model.save(&path).unwrap();
    assert_eq!(Model::load(&path).unwrap(), model);
    // The same model is the same bytes, whether in a file or not, written once or twice.
    let bytes = fs::read(&path).unwrap();
    assert_eq!(model.to_bytes().unwrap(), bytes);
    assert_eq!(
        Model::from_bytes(&bytes).unwrap().to_bytes().unwrap(),
        bytes
    );
    // Saving over it works and leaves nothing beside it.
    model.save(&path).unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn other_programs_find_what_the_documentation_says() {
    let model = learned().to_model();
    let bytes = model.to_bytes().unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.len(), 12);
    let atoms = tensors.tensor("agent.3.atoms").unwrap();
    assert_eq!(atoms.shape(), [3, ROWS]);
    let second_atom = &atoms.data()[8 * ROWS..16 * ROWS];
    let expected: Vec<u8> = (model.blocks[3].atoms.column(1).iter())
        .flat_map(|v| v.to_le_bytes())
        .collect();
    assert_eq!(second_atom, expected);
    assert_eq!(tensors.tensor("agent.1.atoms").unwrap().shape(), [0, ROWS]);
    assert_eq!(tensors.tensor("agent.3.energy").unwrap().shape(), [3]);
    let counts = tensors.tensor("agent.3.samples").unwrap();
    assert_eq!(counts.dtype(), safetensors::Dtype::U64);
    let (_, metadata) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = metadata.metadata().clone().unwrap();
    assert_eq!(metadata["format"], "dictmesh-model");
    assert_eq!(metadata["version"], "1");
    let description: Value = serde_json::from_str(&metadata["description"]).unwrap();
    assert_eq!(description["strategy"]["kind"], "relaxed-admm");
    assert_eq!(description["agents"], 4);
    assert_eq!(description["seed"], u64::MAX - 5);
    // The data is aligned for readers that map it.
    assert_eq!(bytes.len() % 8, 0);
}

/// With every strategy and update, learning, growing and restarting give bit-identical results with
/// and without a save and load in between.
#[test]
fn learning_goes_on_exactly() {
    let updates = [
        Update::Constant { mu_w: 0.1 },
        Update::Schedule { mu_w: 1.0 / 3.0 },
        Update::default(),
    ];
    for name in strategy::NAMES {
        for update in updates {
            let strategy = strategy::named(name).unwrap();
            let mut through = mesh_of(rich_task(), strategy, update);
            through.learn(&samples(1, 10), |_| Continue(())).unwrap();
            // A draw beyond the builder's own, so that their number matters from here on.
            through.add_atoms(0, 1, AtomInit::Random).unwrap();
            let bytes = through.to_model().to_bytes().unwrap();
            let mut resumed = Mesh::from_model(&Model::from_bytes(&bytes).unwrap()).unwrap();
            assert_same(&through, &resumed);
            for mesh in [&mut through, &mut resumed] {
                mesh.learn(&samples(2, 7), |_| Continue(())).unwrap();
                mesh.add_atoms(1, 2, AtomInit::Random).unwrap();
                mesh.add_agent(&[0, 3], 1, AtomInit::Random, false, None)
                    .unwrap();
                mesh.learn(&samples(3, 5), |_| Continue(())).unwrap();
                mesh.restart_atoms(&[(0, 1), (2, 0)], AtomInit::Random)
                    .unwrap();
                mesh.remove_agent(1).unwrap();
                mesh.learn(&samples(4, 5), |_| Continue(())).unwrap();
            }
            assert_same(&through, &resumed);
            assert_eq!(resumed.progress().samples_learned, 27);
            assert_eq!(resumed.progress().blocks_learned, 4);
            let x = samples(5, 2);
            let (a, b) = (through.infer(&x).unwrap(), resumed.infer(&x).unwrap());
            assert!(a
                .duals
                .iter()
                .zip(&b.duals)
                .all(|(a, b)| bits(a) == bits(b)));
        }
    }
}

/// Some atoms fire in a batch and some do not. Whatever is cached for atoms that did not move, a
/// mesh restored after any batch continues bit-identically: in all rows and in fewer, for one agent
/// and for several, with few atoms per agent and with many.
#[test]
fn learning_goes_on_exactly_from_every_batch() {
    for (rows, sizes) in [
        (12, vec![4; 4]),
        (15, vec![30]),
        (100, vec![30]),
        (120, vec![9, 0, 30, 1]),
    ] {
        let task = TaskSpec::sparse_svd(0.4, 0.1).build().unwrap();
        let x = gaussian(rows, 24, &mut stream(7, 99));
        let block = |from: usize, to: usize| {
            Samples::dense(Matrix::from_fn(rows, to - from, |i, j| x.get(i, from + j))).unwrap()
        };
        let mut through = Mesh::builder(task, Topology::complete(sizes.len()).unwrap())
            .stopping(Stopping::rounds(30))
            .update(Update::Constant { mu_w: 0.3 })
            .batch(1)
            .build(rows, &sizes, AtomInit::Random)
            .unwrap();
        let mut before = through.to_model();
        for j in 0..24 {
            let mut resumed = Mesh::from_model(&before).unwrap();
            for mesh in [&mut through, &mut resumed] {
                mesh.learn(&block(j, j + 1), |_| Continue(())).unwrap();
            }
            assert_same(&through, &resumed);
            before = through.to_model();
        }
        let fired = before.blocks.iter().flat_map(|b| &b.samples);
        assert!(fired.clone().any(|n| *n > 0) && fired.clone().any(|n| *n < 24));
    }
}

#[test]
fn a_mesh_with_weights_of_its_own_comes_back() {
    let third = 1.0 / 3.0;
    let a = Matrix::from_fn(3, 3, |_, _| third);
    let mesh = Mesh::builder(
        TaskSpec::nmf_huber(0.05, 0.1, 0.2).build().unwrap(),
        Topology::complete(3).unwrap(),
    )
    .weights(WeightRule::Given(a))
    .strategy(strategy::build(&Spec::new("diffusion").with("mu", 0.1)).unwrap())
    .build(ROWS, &[1, 1, 0], AtomInit::Random)
    .unwrap();
    let model = Model::from_bytes(&mesh.to_model().to_bytes().unwrap()).unwrap();
    let again = Mesh::from_model(&model).unwrap();
    assert_eq!(again.weights(), mesh.weights());
    assert_same(&again, &mesh);
}

/// A task may have a part for an agent that does not exist yet. An agent that later joins with that
/// number gets the common part nonetheless. A file once could have swapped them.
#[test]
fn an_agent_that_joined_keeps_the_share_it_has() {
    let mut task = rich_task();
    let spare = task.own[&2].clone();
    task.own.insert(4, spare);
    let mut mesh = mesh_of(task, strategy::default(), Update::default());
    mesh.add_agent(&[0], 2, AtomInit::Random, true, None)
        .unwrap();
    let mut again = Mesh::from_model(&mesh.to_model()).unwrap();
    for mesh in [&mut mesh, &mut again] {
        mesh.learn(&samples(1, 6), |_| Continue(())).unwrap();
    }
    assert_eq!(bits(&mesh.dictionary()), bits(&again.dictionary()));
}

/// The adaptive update cannot be used with the l1 residual, but coding can; so can saving.
#[test]
fn a_mesh_that_only_codes_can_be_saved() {
    let mut task = TaskSpec::sparse_svd(0.1, 0.1);
    task.residual = Spec::new("l1");
    let mesh = mesh_of(task, strategy::default(), Update::default());
    let model = Model::from_bytes(&mesh.to_model().to_bytes().unwrap()).unwrap();
    assert_same(&Mesh::from_model(&model).unwrap(), &mesh);
}
