//! The pieces of this crate satisfy the laws of the library. They code, learn, are certified, saved
//! and loaded, in one process and over the in-memory network.

#![allow(clippy::unwrap_used)]

use dictmesh::accel::Accels;
use dictmesh::exact;
use dictmesh::laws;
use dictmesh::random::{gaussian, stream};
use dictmesh::{
    AtomInit, Matrix, Mesh, Model, Samples, Spec, Stop, Stopping, Task, Topology, Update,
};
use dictmesh_extend::{registry, LogCosh, OneByOne, PgExtra, Simplex, SparseGroup};
use dictmesh_net::agent::{Agent, AgentSettings, Control, Neighbour, Outcome};
use dictmesh_net::codec::Limits;
use dictmesh_net::memory::Hub;
use dictmesh_net::{Rounds, RoundsOptions, Source};
use std::ops::ControlFlow::Continue;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const ROWS: usize = 6;
const SIZES: [usize; 4] = [2, 4, 2, 2];

fn regularizer() -> SparseGroup {
    SparseGroup::new(0.02, 0.05, 0.3, 2).unwrap()
}

fn task() -> Task {
    Task::new(LogCosh).regularizer(regularizer()).atoms(Simplex)
}

fn samples(count: usize) -> Samples {
    let x = gaussian(ROWS, count, &mut stream(3, 0));
    Samples::dense(Matrix::from_fn(ROWS, count, |i, j| x.get(i, j).abs())).unwrap()
}

fn mesh(accels: Accels) -> Mesh {
    Mesh::builder(task(), Topology::ring(4).unwrap())
        .strategy(Arc::new(PgExtra::default()))
        .stopping(Stopping {
            tolerance: Some(1e-8),
            rounds: 20_000,
        })
        .update(Update::Constant { mu_w: 0.1 })
        .batch(5)
        .informed(&[0, 2])
        .accels(accels)
        .build(ROWS, &SIZES, AtomInit::Random)
        .unwrap()
}

fn apart(a: &Matrix, b: &Matrix) -> f64 {
    assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()));
    let each = a.as_slice().iter().zip(b.as_slice());
    each.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn the_pieces_keep_the_laws() {
    laws::residual(&LogCosh).unwrap();
    laws::regularizer(&regularizer(), 6).unwrap();
    laws::atom_set(&Simplex).unwrap();
    laws::strategy(Arc::new(PgExtra::default())).unwrap();
    laws::accel(Arc::new(OneByOne), 1e-11).unwrap();
}

#[test]
fn the_mesh_finds_what_exact_certifies() {
    let (mesh, x) = (mesh(Accels::all()), samples(5));
    let exact = mesh.exact(&x).unwrap();
    assert_eq!(exact.stop(), Stop::Converged, "{:?}", exact.certificates);
    assert!(exact.relative_gap() <= exact::TOLERANCE);
    let found = mesh.infer(&x).unwrap();
    assert_eq!(found.stop, Stop::Converged);
    for nu in &found.duals {
        assert!(
            apart(nu, &exact.duals) < 1e-6,
            "{:e}",
            apart(nu, &exact.duals)
        );
    }
    assert!(apart(&found.stacked_codes(), &exact.codes) < 1e-5);
    // Whole groups are left out.
    let codes = found.stacked_codes();
    let groups = codes.as_slice().chunks(2);
    assert!(groups.filter(|g| g.iter().all(|y| *y == 0.0)).count() > 0);
}

/// The speed-up of this crate alone.
fn cut() -> Accels {
    Accels::none().with(Arc::new(OneByOne))
}

/// With the pieces of this crate; the laws have built-in ones.
#[test]
fn the_speed_up_changes_nothing() {
    let x = samples(5);
    let (mut plain_mesh, mut cut_mesh) = (mesh(Accels::none()), mesh(cut()));
    let plain = plain_mesh.infer(&x).unwrap();
    let cut = cut_mesh.infer(&x).unwrap();
    assert_eq!((plain.rounds, plain.bytes), (cut.rounds, cut.bytes));
    for (a, b) in plain.duals.iter().zip(&cut.duals) {
        assert!(apart(a, b) < 1e-11, "{:e}", apart(a, b));
    }
    plain_mesh.learn(&x, |_| Continue(())).unwrap();
    cut_mesh.learn(&x, |_| Continue(())).unwrap();
    assert!(apart(&plain_mesh.dictionary(), &cut_mesh.dictionary()) < 1e-11);
}

#[test]
fn learning_saves_and_loads_by_name() {
    let x = samples(20);
    let mut mesh = mesh(cut());
    let before = mesh.exact(&x).unwrap();
    mesh.learn(&x, |_| Continue(())).unwrap();
    let cost = |exact: &exact::Exact| exact.certificates.iter().map(|c| c.dual).sum::<f64>();
    let after = mesh.exact(&x).unwrap();
    assert!(
        cost(&after) < cost(&before),
        "{} {}",
        cost(&after),
        cost(&before)
    );
    let bytes = mesh.to_model().to_bytes().unwrap();
    let model = Model::from_bytes_with(&bytes, &registry()).unwrap();
    let mut again = Mesh::from_model_with(&model, &registry()).unwrap();
    assert_eq!(again.dictionary(), mesh.dictionary());
    assert_eq!(again.accels().to_string(), "one-by-one");
    mesh.learn(&x, |_| Continue(())).unwrap();
    again.learn(&x, |_| Continue(())).unwrap();
    assert_eq!(again.dictionary(), mesh.dictionary());
}

/// Loading fails with the name of the piece that is not registered.
#[test]
fn a_model_with_a_piece_that_is_not_registered_is_refused_by_its_name() {
    let own = mesh(cut()).to_model();
    let plain = Mesh::builder(
        Task::sparse_svd(0.1, 0.1).unwrap(),
        Topology::ring(4).unwrap(),
    )
    .build(ROWS, &SIZES, AtomInit::Random)
    .unwrap()
    .to_model();
    let refused = |change: &dyn Fn(&mut Model), name: &str| {
        let mut model = plain.clone();
        change(&mut model);
        let bytes = model.to_bytes().unwrap();
        let error = Model::from_bytes(&bytes).unwrap_err().to_string();
        assert!(error.contains(name), "{name}: {error}");
    };
    let (d, mut common) = (&own.description, plain.description.task.common.clone());
    refused(
        &|m| m.description.task.residual = d.task.residual.clone(),
        "log-cosh",
    );
    common.regularizer = d.task.common.regularizer.clone();
    refused(
        &|m| m.description.task.common = common.clone(),
        "sparse-group",
    );
    let mut common = plain.description.task.common.clone();
    common.set = d.task.common.set.clone();
    refused(&|m| m.description.task.common = common.clone(), "simplex");
    refused(&|m| m.description.strategy = d.strategy.clone(), "pg-extra");
    refused(&|m| m.description.accel = d.accel.clone(), "one-by-one");
}

fn settings(mesh: &Mesh, k: usize) -> AgentSettings {
    let strategy = mesh
        .strategy()
        .resolve(&mesh.shared_constants())
        .unwrap()
        .spec();
    let neighbours = mesh.topology().neighbours(k).iter();
    AgentSettings {
        run: "extend".to_string(),
        registry: registry(),
        neighbours: neighbours
            .map(|id| Neighbour {
                id: *id,
                joins: false,
            })
            .collect(),
        stopping: mesh.stopping(),
        update: Some(mesh.update_rule()),
        batch: mesh.batch(),
        linger: Duration::from_secs(3),
        ..AgentSettings::new(k, mesh.task().spec(), strategy, ROWS)
    }
}

/// An agent of the mesh on the in-memory network.
fn agent(
    hub: &Hub,
    mesh: &Mesh,
    settings: AgentSettings,
    x: &Samples,
    state: Option<&Path>,
) -> Result<Agent, String> {
    let (k, incarnation) = (settings.id, settings.id as u64 + 1);
    let ids: Vec<usize> = settings.neighbours.iter().map(|n| n.id).collect();
    let control = Control::default();
    let limits = Limits::new(ROWS, settings.batch);
    let options = RoundsOptions::new(incarnation, limits);
    let wire = hub.wire(k, &ids, incarnation);
    let rounds = Rounds::new(wire, &ids, options, control.interrupt.clone());
    let source = mesh
        .is_informed(k)
        .then(|| Box::new(x.clone()) as Box<dyn Source>);
    let atoms = mesh.block(k).atoms().clone();
    let observer = Box::new(|_: &_| {});
    Agent::new(
        settings,
        Box::new(rounds),
        atoms,
        source,
        state,
        observer,
        control,
    )
    .map_err(|error| error.to_string())
}

/// The atoms of all agents after they have learned `x` over the in-memory network.
fn learned_over_a_network(mesh: &Mesh, x: &Samples, state: Option<&Path>) -> Vec<Matrix> {
    let hub = Hub::new(0);
    let each = (0..SIZES.len()).map(|k| {
        let state = state.map(|at| at.join(k.to_string()));
        agent(&hub, mesh, settings(mesh, k), x, state.as_deref()).unwrap()
    });
    let agents: Vec<Agent> = each.collect();
    let threads: Vec<_> = agents
        .into_iter()
        .map(|mut agent| {
            std::thread::spawn(move || {
                let outcome = agent.run().unwrap();
                (outcome, agent.block().atoms().clone())
            })
        })
        .collect();
    let ended = threads.into_iter().map(|thread| {
        let (outcome, atoms) = thread.join().unwrap();
        assert_eq!(outcome, Outcome::Ended);
        atoms
    });
    ended.collect()
}

#[test]
fn agents_on_a_network_learn_what_the_mesh_learns_and_exact_certifies() {
    let (mut plain, x) = (mesh(Accels::none()), samples(15));
    let atoms = learned_over_a_network(&plain, &x, None);
    plain.learn(&x, |_| Continue(())).unwrap();
    let mut model = plain.to_model();
    for (block, atoms) in model.blocks.iter_mut().zip(atoms) {
        assert!(apart(&atoms, &block.atoms) < 1e-12, "agent {}", block.agent);
        block.atoms = atoms.into();
    }
    // Their blocks together are a model, which is saved, loaded and certified.
    let model = Model::from_bytes_with(&model.to_bytes().unwrap(), &registry()).unwrap();
    let exact = Mesh::from_model_with(&model, &registry())
        .unwrap()
        .exact(&x)
        .unwrap();
    assert_eq!(exact.stop(), Stop::Converged);
    assert!(exact.relative_gap() <= exact::TOLERANCE);
}

#[test]
fn agents_restart_from_their_checkpoints() {
    let (mesh, x) = (mesh(Accels::none()), samples(15));
    let whole = learned_over_a_network(&mesh, &x, None);
    let place = tempfile::tempdir().unwrap();
    learned_over_a_network(&mesh, &x.range(0..10), Some(place.path()));
    let again = learned_over_a_network(&mesh, &x, Some(place.path()));
    assert_eq!(again, whole);
}

/// Each piece alone, among built-in ones: an agent that does not have it registered refuses to start,
/// and the hand-shake, which compares settings by name, tells its neighbours the name.
#[test]
fn a_peer_without_a_piece_is_refused_with_its_name() {
    let (mesh, x, hub) = (mesh(Accels::none()), samples(5), Hub::new(0));
    let own = settings(&mesh, 0);
    let bare = AgentSettings {
        registry: dictmesh::Registry::default(),
        task: Task::sparse_svd(0.1, 0.1).unwrap().spec(),
        strategy: Spec::new("relaxed-admm")
            .with("rho", 0.1)
            .with("alpha", 0.9),
        ..own.clone()
    };
    assert!(agent(&hub, &mesh, bare.clone(), &x, None).is_ok());
    let refused = |name: &str, change: &dyn Fn(&mut AgentSettings)| {
        let mut settings = bare.clone();
        change(&mut settings);
        let told = settings.agreed();
        assert!(
            told.iter().any(|(_, value)| value.contains(name)),
            "{told:?}"
        );
        let error = agent(&Hub::new(0), &mesh, settings, &x, None)
            .err()
            .unwrap();
        assert!(error.contains(name), "{name}: {error}");
    };
    let common = &own.task.common;
    refused("log-cosh", &|s| s.task.residual = own.task.residual.clone());
    refused("sparse-group", &|s| {
        s.task.common.regularizer = common.regularizer.clone();
    });
    refused("simplex", &|s| s.task.common.set = common.set.clone());
    refused("pg-extra", &|s| s.strategy = own.strategy.clone());
    let unknown = AgentSettings {
        strategy: Spec::new("unheard-of"),
        ..own.clone()
    };
    let error = agent(&hub, &mesh, unknown, &x, None).err().unwrap();
    assert!(
        error.contains("unheard-of") && error.contains("pg-extra"),
        "{error}"
    );
}
