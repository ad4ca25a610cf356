//! Agents of `mesh init` with the strategy `tree` learn the atoms of one process, which the library
//! builds from mesh.toml: under TLS with masks, and with an agent that joins in mid-stream.

use crate::common::{json, ok};
use crate::feeding::Feeding;
use crate::learned::blocks;
use crate::run::{distance, table, Run};
use dictmesh::accel::Accels;
use dictmesh::random::stream;
use dictmesh::strategy;
use dictmesh::{AtomInit, Matrix, Mesh, Samples};
use dictmesh_net::config::MeshConfig;
use std::ops::ControlFlow::Continue;
use std::path::Path;

/// The stream of an agent's first atoms, beside its number, as `dictmesh agent` has it.
const ATOMS_STREAM: u64 = 0x61_74_6f_6d_73 << 20;

/// The first atoms of an agent.
fn drawn(config: &MeshConfig, k: usize) -> Matrix {
    let task = config.agreed.task.build().unwrap();
    let mut rng = stream(config.seed, ATOMS_STREAM + k as u64);
    let (rows, atoms) = (config.agreed.rows, config.agents[k].atoms);
    let drawn = AtomInit::Random.draw(rows, atoms, task.local(k).set(), &mut rng);
    drawn.unwrap()
}

/// The same mesh in one process, before it has learned.
fn in_one_process(config: &MeshConfig) -> Mesh {
    let agreed = &config.agreed;
    let parts: Vec<Matrix> = (0..config.agents.len()).map(|k| drawn(config, k)).collect();
    let columns: Vec<&[f64]> = parts.iter().flat_map(Matrix::columns).collect();
    let atoms = Matrix::from_fn(agreed.rows, columns.len(), |i, q| columns[q][i]);
    let sizes: Vec<usize> = parts.iter().map(Matrix::cols).collect();
    let agents = config.agents.iter().enumerate();
    let informed: Vec<usize> = agents.filter(|(_, a)| a.informed).map(|(k, _)| k).collect();
    Mesh::builder(agreed.task.build().unwrap(), config.topology().unwrap())
        .weights(agreed.weights.clone())
        .strategy(strategy::build(&agreed.strategy).unwrap())
        .stopping(agreed.stopping)
        .update(agreed.update)
        .batch(agreed.batch)
        .informed(&informed)
        .accels(Accels::parse("lanes").unwrap())
        .build(agreed.rows, &sizes, AtomInit::Given(&atoms))
        .unwrap()
}

/// A table's lines as samples.
fn samples(text: &str) -> Samples {
    let line = |line: &str| line.split(',').map(|v| v.parse().unwrap()).collect();
    let columns: Vec<Vec<f64>> = text.lines().map(line).collect();
    Samples::dense_from_columns(columns[0].len(), &columns).unwrap()
}

fn config(place: &Path) -> MeshConfig {
    MeshConfig::load(&place.join("m/mesh.toml")).unwrap()
}

/// And what was on the links is counted: the frames, and all that gRPC and TLS add.
#[test]
fn sums_under_tls_are_bit_identical_to_one_process() {
    for graph in ["ring", "random:0.6"] {
        let flags = format!("--agents 5 --atoms 10 --topology {graph} --batch 16 --seed 4");
        let run = Run::new(96, &format!("{flags} --strategy tree --tls --informed 1,3"));
        let place = run.place.path();
        let config = config(place);
        assert!(config.tls && config.agreed.masks);
        let told = json(place, "launch m/mesh.toml --collect all.st --json");
        let mut mesh = in_one_process(&config);
        mesh.learn(&samples(&table(96)), |_| Continue(())).unwrap();
        for (k, atoms) in blocks(&place.join("all.st")).iter().enumerate() {
            assert_eq!(atoms, mesh.block(k).atoms(), "{graph}, agent {k}");
        }
        let [frames, written] = ["bytes", "bytes_written"].map(|name| told[name].as_u64().unwrap());
        assert!(frames > 0 && written > frames, "{told}");
        // 50,000 for the hand-shakes of five links and the certificates in them.
        assert!(written < 2 * frames + 50_000, "{told}");
    }
}

/// An agent joins a run that goes on. In one process it is added at the same sample.
#[test]
fn an_agent_joins_a_mesh_of_sums_which_then_learns_as_one_process_does() {
    let flags = "--agents 3 --topology ring --strategy tree --tls --update constant:0.05";
    let mut feeding = Feeding::start(flags);
    feeding.feed_until(3);
    let place = feeding.run.place.path().to_path_buf();
    let mut mesh = in_one_process(&config(&place));
    ok(&place, "mesh add m --neighbours 1,2 --atoms 3");
    let own = drawn(&config(&place), 3);
    feeding.run.agents.push(None);
    // Its neighbours take up their new settings; they finish what they are at.
    for k in [1, 2] {
        feeding.run.signal(k, "-TERM");
    }
    for k in [1, 2] {
        assert_eq!(feeding.run.wait(k), Some(130));
        feeding.run.start(k);
    }
    feeding.feed_until(3);
    feeding.run.start(3);
    feeding.feed_until(4);
    feeding.feed();
    feeding.end();
    let learned = feeding.run.finish();
    let number = |line: &str, name: &str| -> Option<usize> {
        let value = line.split(&format!("{name}=")).nth(1)?;
        value.split_whitespace().next()?.parse().ok()
    };
    let log = feeding.run.log(0);
    let mut agreed = log.lines().filter(|line| line.contains(" agreed "));
    let joined = agreed
        .find(|line| number(line, "agents") == Some(4))
        .unwrap();
    let joined = number(joined, "sample").unwrap();
    let all = feeding.run.checkpoint(0).unwrap() as usize;
    assert!(0 < joined && joined < all, "{joined} of {all}: {log}");
    let x = samples(&table(4).repeat(all / 4));
    mesh.learn(&x.range(0..joined), |_| Continue(())).unwrap();
    mesh.add_agent(&[1, 2], 3, AtomInit::Given(&own), false, None)
        .unwrap();
    mesh.learn(&x.range(joined..all), |_| Continue(())).unwrap();
    // One process projects the newcomer's start onto the set of atoms, which changes last digits.
    let expected: Vec<Matrix> = (0..4).map(|k| mesh.block(k).atoms().clone()).collect();
    let off = distance(&learned, &expected);
    assert!(off <= 1e-12, "joined at {joined}: {off:e}");
}
