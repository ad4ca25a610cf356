//! The pieces of this crate keep the library's laws, and code, learn, are certified, saved and loaded, in one
//! process and over the in-memory network.

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

#[test]
fn the_speed_up_changes_nothing() {
    let x = samples(5);
    let plain = mesh(Accels::none()).infer(&x).unwrap();
    let cut = mesh(Accels::none().with(Arc::new(OneByOne)))
        .infer(&x)
        .unwrap();
    assert_eq!((plain.rounds, plain.bytes), (cut.rounds, cut.bytes));
    for (a, b) in plain.duals.iter().zip(&cut.duals) {
        assert!(apart(a, b) < 1e-11, "{:e}", apart(a, b));
    }
}

#[test]
fn learning_saves_and_loads_by_name() {
    let x = samples(20);
    let mut mesh = mesh(Accels::all());
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
    mesh.learn(&x, |_| Continue(())).unwrap();
    again.learn(&x, |_| Continue(())).unwrap();
    assert_eq!(again.dictionary(), mesh.dictionary());
    // A program without these pieces says which one it misses.
    let error = Model::from_bytes(&bytes).unwrap_err().to_string();
    assert!(error.contains("log-cosh"), "{error}");
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
fn agent(hub: &Hub, mesh: &Mesh, settings: AgentSettings, x: &Samples) -> Result<Agent, String> {
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
        None,
        observer,
        control,
    )
    .map_err(|error| error.to_string())
}

#[test]
fn agents_on_a_network_learn_what_the_mesh_learns() {
    let (mut plain, x, hub) = (mesh(Accels::none()), samples(15), Hub::new(0));
    let agents: Vec<Agent> = (0..SIZES.len())
        .map(|k| agent(&hub, &plain, settings(&plain, k), &x).unwrap())
        .collect();
    let threads: Vec<_> = agents
        .into_iter()
        .map(|mut agent| {
            std::thread::spawn(move || {
                let outcome = agent.run().unwrap();
                (outcome, agent.block().atoms().clone())
            })
        })
        .collect();
    plain.learn(&x, |_| Continue(())).unwrap();
    for (k, thread) in threads.into_iter().enumerate() {
        let (outcome, atoms) = thread.join().unwrap();
        assert_eq!(outcome, Outcome::Ended);
        assert!(apart(&atoms, plain.block(k).atoms()) < 1e-12, "agent {k}");
    }
}

#[test]
fn a_peer_without_a_piece_is_refused_with_its_name() {
    let (mesh, x, hub) = (mesh(Accels::none()), samples(5), Hub::new(0));
    for (spec, name) in [
        (Spec::new("pg-extra").with("mu", 0.1), "log-cosh"),
        (Spec::new("unheard-of"), "log-cosh"),
    ] {
        let bare = AgentSettings {
            registry: dictmesh::Registry::default(),
            strategy: spec,
            ..settings(&mesh, 0)
        };
        let error = agent(&hub, &mesh, bare, &x).err().unwrap();
        assert!(error.contains(name), "{error}");
    }
    let unknown = AgentSettings {
        strategy: Spec::new("unheard-of"),
        ..settings(&mesh, 0)
    };
    let error = agent(&hub, &mesh, unknown, &x).err().unwrap();
    assert!(
        error.contains("unheard-of") && error.contains("pg-extra"),
        "{error}"
    );
}
