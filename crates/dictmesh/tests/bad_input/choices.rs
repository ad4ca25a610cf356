//! Graphs, names and combinations that do not go together.

use super::{builder, refused, task, M};
use dictmesh::mesh::AtomStats;
use dictmesh::problem::{Task, TaskSpec};
use dictmesh::strategy;
use dictmesh::{AtomInit, Matrix, Mesh, Samples, Spec, Topology, WeightRule};

#[test]
fn disconnected_graphs() {
    let edges = [(0, 1), (2, 3)];
    let words = ["disconnected", "agent 2", "2 of 4", "add edges"];
    refused(Topology::from_edges(4, &edges), &words);
    refused(
        Topology::erdos_renyi(4, 0.0, 1),
        &["disconnected", "1 of 4", "larger p"],
    );
    refused(
        Topology::random_geometric(9, 1e-6, 1),
        &["disconnected", "larger radius"],
    );
    refused(Topology::from_edges(3, &[(0, 3)]), &["(0, 3)", "0 to 2"]);
    refused(
        Topology::from_edges(3, &[(1, 1)]),
        &["(1, 1)", "different agents"],
    );
    refused(Topology::ring(0), &["agents = 0", "at least 1"]);
}

#[test]
fn informed_agents() {
    let empty = builder().informed(&[]).build(M, &[1; 3], AtomInit::Random);
    refused(empty, &["informed", "empty", "at least one agent"]);
    let unknown = builder()
        .informed(&[0, 3])
        .build(M, &[1; 3], AtomInit::Random);
    refused(unknown, &["informed = 3", "0 to 2"]);
    let twice = builder()
        .informed(&[1, 1])
        .build(M, &[1; 3], AtomInit::Random);
    assert!(twice.unwrap().is_informed(1), "named twice counts once");
}

/// The gradient strategies need a smooth f*; the message names those that do not.
#[test]
fn the_ball_with_gradient_strategies() {
    let ball = || task(Spec::new("ball").with("sigma", 0.2));
    for name in strategy::NAMES {
        let spec = strategy::named(name).unwrap();
        let ring = Topology::ring(3).unwrap();
        let built = Mesh::builder(ball(), ring.clone())
            .strategy(spec.clone())
            .build(M, &[1; 3], AtomInit::Random);
        if name == "diffusion" || name == "consensus" {
            let words = [
                name,
                "ball",
                "relaxed-admm",
                "exact-diffusion",
                "jacobi-admm",
            ];
            refused(built, &words);
            let mut mesh = Mesh::builder(ball(), ring)
                .build(M, &[1; 3], AtomInit::Random)
                .unwrap();
            refused(mesh.set_strategy(spec), &words);
        } else {
            built.unwrap();
        }
    }
}

#[test]
fn names_that_do_not_exist() {
    for name in ["", "svd", "NMF", "nmf ", "sparse_svd"] {
        let quoted = format!("\"{name}\"");
        let words = [
            "unknown task",
            &quoted,
            "sparse-svd",
            "biclustering",
            "nmf-huber",
        ];
        refused(TaskSpec::preset(name), &words);
    }
    for name in ["", "admm", "Diffusion"] {
        let quoted = format!("\"{name}\"");
        let mut words = vec!["unknown strategy", &quoted];
        words.extend(strategy::NAMES);
        refused(strategy::named(name), &words);
    }
    for name in TaskSpec::PRESETS {
        TaskSpec::preset(name).unwrap().build().unwrap();
    }
}

/// In a file, an unknown kind or field is refused by name rather than passed over.
#[test]
fn words_in_files() {
    for (text, words) in [
        (r#"{"kind": "huber"}"#, vec!["eta"]),
        (
            r#"{"kind": "huber", "eta": 0.2, "delta": 1}"#,
            vec!["delta"],
        ),
        (
            r#"{"kind": "squared"}"#,
            vec!["squared", "squared-l2", "equality"],
        ),
    ] {
        let mut task = TaskSpec::sparse_svd(0.1, 0.1);
        task.residual = serde_json::from_str(text).unwrap();
        let error = task.build().unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "\"{word}\" is missing in: {error}");
        }
    }
    let spec = serde_json::from_str::<Spec>(r#"{"kind": "diffusion", "rho": 1}"#).unwrap();
    let error = strategy::build(&spec);
    assert!(error.unwrap_err().to_string().contains("rho"));
}

/// Exact diffusion needs symmetric weights; the others take any that are doubly stochastic.
#[test]
fn weights_that_are_not_symmetric() {
    let turning =
        Matrix::from_columns(3, &[[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]).unwrap();
    let build = |name: &str| {
        builder()
            .weights(WeightRule::Given(turning.clone()))
            .strategy(strategy::named(name).unwrap())
            .build(M, &[1; 3], AtomInit::Random)
    };
    let words = [
        "exact-diffusion",
        "not symmetric",
        "Metropolis",
        "relaxed-admm",
    ];
    refused(build("exact-diffusion"), &words);
    for name in ["diffusion", "consensus", "jacobi-admm", "relaxed-admm"] {
        let mut mesh = build(name).unwrap();
        let spec = strategy::named("exact-diffusion").unwrap();
        refused(mesh.set_strategy(spec), &words);
    }
}

#[test]
fn weights_that_are_not_weights() {
    let build = |columns: &[[f64; 3]]| {
        let given = Matrix::from_columns(3, columns).unwrap();
        builder()
            .weights(WeightRule::Given(given))
            .build(M, &[1; 3], AtomInit::Random)
    };
    let third = 1.0 / 3.0;
    let even = [third; 3];
    refused(
        build(&[even, even]),
        &["combination matrix", "got 2", "expected 3"],
    );
    refused(
        build(&[even, even, [0.2, 0.4, 0.4]]),
        &["sums to", "must sum to 1"],
    );
    refused(
        build(&[even, even, [f64::NAN, 0.5, 0.5]]),
        &["row 0", "column 2", "NaN", "finite"],
    );
    refused(
        build(&[[1.2, -0.2, 0.0], even, even]),
        &["-0.2", "negative"],
    );
    refused(
        build(&[[0.0, 0.5, 0.5], even, even]),
        &["diagonal", "positive"],
    );
    // A weight where there is no edge.
    let path = Mesh::builder(
        Task::sparse_svd(0.1, 0.1).unwrap(),
        Topology::path(3).unwrap(),
    )
    .weights(WeightRule::Given(
        Matrix::from_columns(3, &[even; 3]).unwrap(),
    ))
    .build(M, &[1; 3], AtomInit::Random);
    refused(path, &["not neighbours", "must be 0"]);
}

/// An allocation that fails aborts the process.
#[test]
fn sizes_above_the_memory() {
    // W'W is not stored for this number, so that the atoms alone count.
    for (rows, atoms) in [(M, 10_000_000_000_000), (4_000_000_000, 100_000)] {
        let words = ["atoms = ", "of dimension", "memory", "take fewer"];
        refused(builder().build(rows, &[atoms; 3], AtomInit::Random), &words);
    }
    let beyond = builder().build(usize::MAX / 2, &[3; 3], AtomInit::Random);
    refused(
        beyond,
        &[
            "atoms = 9, of dimension",
            "more memory than can be addressed",
        ],
    );
    let mut mesh = builder().build(M, &[1; 3], AtomInit::Random).unwrap();
    let grown = mesh.add_atoms(0, 10_000_000_000_000, AtomInit::Random);
    refused(
        grown,
        &["atoms = 10000000000000, of dimension 6", "480000 GB"],
    );
    assert_eq!(mesh.atoms(), 3);
    for graph in [
        Topology::complete(1_000_000),
        Topology::erdos_renyi(1_000_000, 0.5, 0),
        Topology::random_geometric(1_000_000, 0.5, 0),
    ] {
        refused(graph, &["agents = 1000000", "edges", "take fewer agents"]);
    }
}

/// The arrays of all agents would take 400 TB.
#[test]
fn a_batch_beyond_memory_is_refused() {
    let (rows, samples) = (1_000_000, 100_000);
    let mut sizes = vec![0; 100];
    sizes[0] = 1;
    let mut mesh = Mesh::builder(
        Task::sparse_svd(0.1, 0.1).unwrap(),
        Topology::ring(100).unwrap(),
    )
    .batch(samples)
    .accels(dictmesh::accel::Accels::none())
    .build(rows, &sizes, AtomInit::Random)
    .unwrap();
    let x = Samples::sparse(rows, vec![0; samples + 1], Vec::new(), Vec::new()).unwrap();
    let words = ["batch = 100000 samples of dimension 1000000", "GB"];
    refused(mesh.infer(&x), &words);
    refused(
        mesh.learn(&x, |_| std::ops::ControlFlow::Continue(())),
        &words,
    );
    refused(mesh.exact(&x), &words);
    refused(mesh.exact_duals(&x), &words);
}

#[test]
fn more_atoms_than_can_be_counted_are_refused_and_leave_the_mesh() {
    let mut mesh = builder().build(M, &[1; 3], AtomInit::Random).unwrap();
    let before = mesh.dictionary();
    for count in [usize::MAX, usize::MAX - 1, 1 << 60] {
        refused(mesh.add_atoms(0, count, AtomInit::Random), &["atoms"]);
        let joined = mesh.add_agent(&[0], count, AtomInit::Random, false, None);
        refused(joined, &["atoms"]);
    }
    assert_eq!((mesh.agents(), mesh.dictionary()), (3, before));
}

#[test]
fn restored_blocks_of_other_shapes_are_refused() {
    let mesh = builder().build(M, &[1; 3], AtomInit::Random).unwrap();
    let block = || (Matrix::zeros(M, 1), AtomStats::fresh(1));
    let bad = [
        (Matrix::zeros(M + 1, 1), AtomStats::fresh(1)),
        (Matrix::zeros(M, 1), AtomStats::fresh(2)),
        (Matrix::zeros(M, 2), AtomStats::fresh(1)),
    ];
    for bad in bad {
        let blocks = vec![block(), bad, block()];
        refused(builder().restore(M, blocks, mesh.progress()), &["agent 1"]);
    }
}
