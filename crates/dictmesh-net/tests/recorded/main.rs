//! Every byte that leaves an agent, read by the format's description and not by the program's own decoder: tags, dual
//! vectors and control scalars, and nothing else; over gRPC hand-shakes too, see `hand_shakes.rs`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;
mod hand_shakes;

use common::Plan;
use dictmesh::agent::AgentId;
use dictmesh::inference::StrategySpec;
use dictmesh::{Matrix, Topology};
use dictmesh_net::agent::{Agent, Control};
use dictmesh_net::codec::Limits;
use dictmesh_net::memory::{Hub, MemoryWire};
use dictmesh_net::{Rounds, RoundsOptions, Wire, WireEvent};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow::Continue;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Writes down what is sent through it.
struct Recorded {
    wire: MemoryWire,
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Wire for Recorded {
    fn send(&mut self, to: AgentId, bytes: bytes::Bytes) {
        self.sent.lock().unwrap().push(bytes.to_vec());
        self.wire.send(to, bytes);
    }

    fn next(&mut self, until: Instant) -> Option<WireEvent> {
        self.wire.next(until)
    }

    fn newest_epoch(&mut self, epoch: u32) {
        self.wire.newest_epoch(epoch);
    }
}

/// All that each agent of the plan sends.
fn record(plan: &Plan) -> Vec<Vec<Vec<u8>>> {
    let (mesh, hub) = (plan.mesh(false), Hub::new(0));
    let mut threads = Vec::new();
    for k in 0..plan.topology.agents() {
        let settings = plan.settings(&mesh, k);
        let sent = Arc::new(Mutex::new(Vec::new()));
        let neighbours = plan.topology.neighbours(k).to_vec();
        let wire = Recorded {
            wire: hub.wire(k, &neighbours, 1 + k as u64),
            sent: sent.clone(),
        };
        let options = RoundsOptions {
            resend: Duration::from_secs(30), // nothing is lost here
            ..RoundsOptions::new(1 + k as u64, Limits::new(plan.rows, plan.batch))
        };
        let rounds = Rounds::new(wire, &neighbours, options, Default::default());
        let (atoms, source) = (mesh.block(k).atoms().clone(), plan.source(k));
        let thread = std::thread::spawn(move || {
            let (observer, control) = (Box::new(|_: &_| {}), Control::default());
            let agent = Agent::new(
                settings,
                Box::new(rounds),
                atoms,
                source,
                None,
                observer,
                control,
            );
            agent.unwrap().run().unwrap()
        });
        threads.push((thread, sent));
    }
    let until = Instant::now() + Duration::from_secs(60);
    threads
        .into_iter()
        .map(|(thread, sent)| {
            while !thread.is_finished() {
                assert!(
                    Instant::now() < until,
                    "the agents do not come to their end"
                );
                std::thread::sleep(Duration::from_millis(1));
            }
            thread.join().unwrap();
            let sent = sent.lock().unwrap().clone();
            sent
        })
        .collect()
}

/// A frame as the table in codec.rs describes it: phase, sample, round, scalars, dual vectors.
struct Read {
    phase: u8,
    sample: u64,
    round: u32,
    scalars: Vec<f64>,
    dual: Vec<f64>,
}

fn read(bytes: &[u8]) -> Read {
    let four = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let numbers = |from: usize, count: usize| -> Vec<f64> {
        let part = bytes[from..from + 8 * count].chunks_exact(8);
        part.map(|b| f64::from_le_bytes(b.try_into().unwrap()))
            .collect()
    };
    assert_eq!((&bytes[..5], &bytes[6..8]), (&b"dmf1\0"[..], &[0, 0][..]));
    let (scalars, dual) = (four(32) as usize, four(36) as usize);
    assert_eq!(
        bytes.len(),
        40 + 8 * (scalars + dual),
        "every byte has its place"
    );
    Read {
        phase: bytes[5],
        sample: u64::from_le_bytes(bytes[16..24].try_into().unwrap()),
        round: four(12),
        scalars: numbers(40, scalars),
        dual: numbers(40 + 8 * scalars, dual),
    }
}

/// The dual vectors of every batch and round, from the mesh in one process; and all atoms and codes there ever were.
type Rounds0 = BTreeMap<(u64, u32, AgentId), Matrix>;

fn in_one_process(plan: &Plan, rounds: u32) -> (Rounds0, BTreeSet<u64>) {
    let (mut mesh, mut duals, mut private) = (plan.mesh(false), BTreeMap::new(), BTreeSet::new());
    for from in (0..plan.x.len()).step_by(plan.batch) {
        let x = plan.x.range(from..(from + plan.batch).min(plan.x.len()));
        let mut run = mesh.run(&x).unwrap();
        for round in 0..rounds {
            run.round();
            for (k, sent) in run.sent().enumerate() {
                duals.insert((from as u64, round, k), sent.clone());
            }
        }
        let codes = run.codes();
        for k in 0..mesh.agents() {
            let numbers = mesh
                .block(k)
                .atoms()
                .as_slice()
                .iter()
                .chain(codes[k].as_slice());
            private.extend(
                numbers
                    .filter(|v| v.abs() > 1e-9)
                    .map(|v| v.abs().to_bits()),
            );
        }
        mesh.learn(&x, |_| Continue(())).unwrap();
    }
    (duals, private)
}

/// No number of an atom or a code, of any agent at any time, is at any place, aligned or not.
fn assert_nothing_private(bytes: &[u8], private: &BTreeSet<u64>, what: &str) {
    for (at, eight) in bytes.windows(8).enumerate() {
        let bits = u64::from_le_bytes(eight.try_into().unwrap());
        let bits = f64::from_bits(bits).abs().to_bits();
        assert!(
            !private.contains(&bits),
            "{what} sent a private number at {at}"
        );
    }
}

#[test]
fn only_tags_dual_vectors_and_control_scalars_leave_an_agent() {
    for strategy in StrategySpec::NAMES {
        let edges = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)];
        let mut plan = Plan::new(Topology::from_edges(4, &edges).unwrap(), 8, 12);
        plan.strategy = StrategySpec::from_name(strategy).unwrap();
        plan.batch = 4;
        let rounds = 12; // as the plan has it
        let (duals, private) = in_one_process(&plan, rounds);
        assert!(private.len() > 100);
        let mut seen = 0;
        for (k, sent) in record(&plan).into_iter().enumerate() {
            for bytes in &sent {
                let frame = read(bytes);
                let (scalars, numbers) = (frame.scalars.len(), frame.dual.len());
                match frame.phase {
                    0 => assert!(
                        scalars % 10 == 1 && numbers == 0,
                        "who is there: 10 numbers each"
                    ),
                    1 => assert!(scalars == 6 && numbers == 0, "how many samples"),
                    2 => {
                        assert_eq!(scalars, 2, "residual and trouble");
                        let known = &duals[&(frame.sample, frame.round, k)];
                        assert_eq!(
                            frame.dual,
                            known.as_slice(),
                            "{strategy}: psi or nu, and nothing else"
                        );
                        seen += 1;
                    }
                    3 => assert!(
                        scalars <= 2 + 4 && numbers == 0,
                        "flags and the cost of each sample"
                    ),
                    4 => assert!(scalars == 0 && numbers == 0, "the end"),
                    phase => panic!("phase {phase}"),
                }
                assert_nothing_private(bytes, &private, &format!("{strategy}: agent {k}"));
            }
        }
        // Each of 5 edges twice, in 3 batches of 12 rounds.
        assert_eq!(seen, 10 * 3 * rounds as usize, "{strategy}");
    }
}
